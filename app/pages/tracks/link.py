"""The page's part of a link: where it is, which depths there are, how tracks look."""

from __future__ import annotations

from genoviz.errors import GenovizError
from genoviz_app.pages.tracks.counting.path_depths import PathDepths, PathSet
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.drawing.navigation import Navigation
from genoviz_app.pages.tracks.track_link import follow_looks, write_looks
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session


class TracksLink:
    """Writes links, and follows one as soon as all is open that it names."""

    def __init__(
        self,
        session: Session,
        tracks: TrackList,
        depths: PathDepths,
        browser: TrackBrowser,
        navigation: Navigation,
    ) -> None:
        self._session, self._tracks, self._depths = session, tracks, depths
        self._browser, self._navigation = browser, navigation
        self._waiting: Address | None = None
        self._n_asked = 0

    @property
    def address(self) -> Address:
        """What a link to the present view says."""
        return Address(
            region=self._browser.region,
            looks=write_looks(self._tracks.tracks, self._session.tracks.sources),
            depths=tuple(map(str, self._depths.sets)),
        )

    def follow(self, link: Address) -> None:
        """Follow a link as soon as that is possible."""
        self._waiting, self._n_asked = link, self._navigation.n_asked

    def poll(self) -> bool:
        """Follow the link if everything is there; tell whether tracks are others then."""
        link = self._waiting
        if link is None or self._session.is_opening or self._session.tracks.is_opening:
            return False
        self._waiting = None
        complaints = [*self._follow_depths(link)]
        sources = self._session.tracks.sources
        complaints += follow_looks(self._tracks.tracks, sources, link.looks)
        # Where its person has gone meanwhile is the better place.
        if link.region is not None and self._navigation.n_asked == self._n_asked:
            contig = self._navigation.known(link.region.path)
            if contig is None:
                complaints.append(
                    f"The link's region is not shown: nothing here has {link.region.path}."
                )
            else:
                self._navigation.go_to(link.region)
        for complaint in complaints:
            self._session.complain(complaint)
        return True

    def _follow_depths(self, link: Address) -> list[str]:
        complaints = []
        for text in link.depths:
            try:
                self._depths.add(PathSet.parse(text))
            except GenovizError as error:
                complaints.append(f"The link's depth is not shown: {error}.")
        return complaints
