"""The real launcher with fake servers: fake_launcher.py '<options of the fake API server>' <options of deploy.local>…"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from deploy.local import main

FAKE = (sys.executable, str(Path(__file__).with_name("fake_server.py")))

sys.exit(
    main(
        sys.argv[2:], commands={"apiserver": (*FAKE, "apiserver", *shlex.split(sys.argv[1])), "proxy": (*FAKE, "proxy")}
    )
)
