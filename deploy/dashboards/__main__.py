"""Write the dashboards as JSON into ``deploy/monitoring/dashboards/``.

make dashboards
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from deploy.dashboards.api_server import api_server
from deploy.dashboards.callers import callers
from deploy.dashboards.fleet import fleet
from deploy.dashboards.pair import pair
from deploy.dashboards.proxies import proxies

FOLDER: Final = Path(__file__).parents[1] / "monitoring/dashboards"


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    built = [each.build() for each in (fleet(), pair(), api_server(), proxies(), callers())]
    return {f"{each.uid}.json": f"{JSONEncoder(indent=1, sort_keys=True).encode(each)}\n" for each in built}


def main() -> int:
    """Write them, and remove those of other names."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
