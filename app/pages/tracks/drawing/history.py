"""Where a person has been: back and forward."""

from __future__ import annotations

from genoviz.model import PathRegion

MAX_PLACES = 200


class History:
    """Regions that were looked at for a while.

    Examples
    --------
    >>> history = History()
    >>> for start in (0, 10, 20):
    ...     history.visit(PathRegion("c", start, start + 5))
    >>> str(history.back()), str(history.back()), history.back()
    ('c:10-15', 'c:0-5', None)
    >>> str(history.forward())
    'c:10-15'
    """

    def __init__(self) -> None:
        self._places: list[PathRegion] = []
        self._at = -1

    @property
    def can_go_back(self) -> bool:
        """Whether there is a region before."""
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether there is a region after."""
        return self._at < len(self._places) - 1

    def visit(self, region: PathRegion) -> None:
        """Note a region; what was ahead is forgotten."""
        if self._places and region == self._places[self._at]:
            return
        self._places = [*self._places[: self._at + 1], region][-MAX_PLACES:]
        self._at = len(self._places) - 1

    def back(self) -> PathRegion | None:
        """Return the region before, or None."""
        return self._move(-1) if self.can_go_back else None

    def forward(self) -> PathRegion | None:
        """Return the region after, or None."""
        return self._move(1) if self.can_go_forward else None

    def _move(self, step: int) -> PathRegion:
        self._at += step
        return self._places[self._at]
