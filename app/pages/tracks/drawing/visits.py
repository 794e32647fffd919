"""Where the view has been, and where it has come to rest."""

from __future__ import annotations

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.history import History

REST_SECONDS = 0.7


class Visits:
    """Notes regions at which the view rests for a while.

    Attributes
    ----------
    history
        These regions.
    seen
        The region that was seen last.
    """

    def __init__(self) -> None:
        self.history = History()
        self.seen: PathRegion | None = None
        self._seen_since, self._is_noted = 0.0, True

    def is_other(self, region: PathRegion | None, now: float) -> bool:
        """Tell whether the view is at another region than before; ``now`` is in seconds."""
        if region == self.seen:
            return False
        self.seen, self._seen_since, self._is_noted = region, now, False
        return True

    def comes_to_rest(self, now: float) -> bool:
        """Tell whether the view has just come to rest; its region is noted then."""
        if self._is_noted or self.seen is None or now - self._seen_since <= REST_SECONDS:
            return False
        self._is_noted = True
        self.history.visit(self.seen)
        return True

    def revisit(self, region: PathRegion) -> None:
        """Take note that a region of the history is shown again."""
        self.seen, self._is_noted = region, True
