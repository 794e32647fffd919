"""``python -m tests.soak``: a long day of many people on one server."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.soak.day import live_a_day
from tests.soak.heavy import Sizes


def main() -> None:
    """Run it and print what was measured; the status is 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long [%(default)s]")
    parser.add_argument("--people", type=int, default=20, help="how many tabs [%(default)s]")
    parser.add_argument("--bases", type=int, default=2_000_000, help="of each genome [%(default)s]")
    parser.add_argument(
        "--share", type=int, default=1, help="divides the sizes of what takes long [%(default)s]"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        day = asyncio.run(
            live_a_day(
                Path(folder),
                seconds=60 * chosen.minutes,
                n_people=chosen.people,
                n_bases=chosen.bases,
                sizes=Sizes().over(chosen.share),
            )
        )
    for line in day.lines():
        print(line)  # noqa: T201
    if day.errors or day.log:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
