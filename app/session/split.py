"""Which page is shown beside or below the layout and how large it is, as a link says it."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.errors import ParameterError

BESIDE, BELOW = SIDES = ("beside", "below")
MIN_SHARE, USUAL_SHARE, LARGEST_SHARE = 20, 45, 75


@dataclass(frozen=True)
class Split:
    """A page that is docked.

    Attributes
    ----------
    page
        Its slug.
    side
        "beside" or "below" the layout.
    share
        How much of the width, or of the height, it takes: per cent.
    """

    page: str
    side: str = BESIDE
    share: int = USUAL_SHARE

    @classmethod
    def parse(cls, text: str, *, pages: tuple[str, ...]) -> Split:
        """Return what ``tracks,beside,45`` says; ``pages`` are those that can be docked.

        Raises
        ------
        ParameterError
            If it names another page, another side, or a share that is no number.
        """
        page, _, rest = text.partition(",")
        side, _, share = rest.partition(",")
        side, share = side or BESIDE, share or str(USUAL_SHARE)
        is_right = page in pages and side in SIDES and share.isascii() and share.isdigit()
        if not is_right:
            raise ParameterError(
                f"split is {text!r}, needs one of {', '.join(pages)}, then beside or below, "
                f"then its share in per cent"
            )
        return cls(page, side, within(int(share)))

    def __str__(self) -> str:
        return f"{self.page},{self.side},{self.share}"


def within(share: float) -> int:
    """Return the nearest share that leaves room for both pages."""
    return int(min(max(round(share), MIN_SHARE), LARGEST_SHARE))
