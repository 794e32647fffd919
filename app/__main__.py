"""``python -m genoviz_app``: serve the dashboard on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from genoviz.errors import GenovizError
from genoviz_app.server.serving import serve


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(
        prog="python -m genoviz_app", description="The genoviz dashboard."
    )
    parser.add_argument("files", nargs="*", type=Path, help="graphs (GFA) to offer")
    parser.add_argument("--port", type=int, default=5006, help="TCP port (default: 5006)")
    parser.add_argument("--address", default="127.0.0.1", help="where to listen")
    parser.add_argument("--no-show", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--from-start", action="store_true", help="show initial positions until Run is pressed"
    )
    given = parser.parse_args()
    try:
        serve(
            given.files,
            port=given.port,
            address=given.address,
            show=not given.no_show,
            unfolds=not given.from_start,
        )
    except GenovizError as error:
        parser.exit(1, f"genoviz: {error}\n")


if __name__ == "__main__":
    main()
