"""The real launcher with fake servers: fake_launcher.py PAUSE '<options of the fake API server>' <options of deploy.local>…

PAUSE is the first before a restart, in seconds. No run of a test is so long that it ends a row of failures.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from deploy.local import main
from deploy.supervisor import RestartLimits

FAKE = (sys.executable, str(Path(__file__).with_name("fake_server.py")))

LIMITS = RestartLimits(first_pause=float(sys.argv[1]), longest_pause=0.2, healthy_after=3600.0)

sys.exit(
    main(
        sys.argv[3:],
        commands={
            "apiserver": (*FAKE, "apiserver", *shlex.split(sys.argv[2])),
            "proxy": (*FAKE, "proxy"),
            # The compiler has work left in every test.
            "bytecode": ("sleep", "1000"),
        },
        restart_limits=LIMITS,
    )
)
