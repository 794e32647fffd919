"""The page docked beside or below the layout, and its size, as encoded in a link."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.errors import ParameterError

BESIDE, BELOW = SIDES = ("beside", "below")
MIN_SHARE, USUAL_SHARE, LARGEST_SHARE = 20, 45, 75


@dataclass(frozen=True)
class Split:
    """A docked page.

    Attributes
    ----------
    page
        Its slug.
    side
        "beside" or "below" the layout.
    share
        Its share of the width or height, per cent.
    """

    page: str
    side: str = BESIDE
    share: int = USUAL_SHARE

    @classmethod
    def parse(cls, text: str, *, pages: tuple[str, ...]) -> Split:
        """Parse ``tracks,beside,45``; ``pages`` are those that can be docked.

        Raises
        ------
        ParameterError
            If the page, the side or the share is invalid.
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
    """Clip a share so that both pages have room."""
    return int(min(max(round(share), MIN_SHARE), LARGEST_SHARE))
