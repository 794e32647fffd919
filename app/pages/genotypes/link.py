"""What a link to the page says: thresholds, trait, covariates and the variant looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from app.address import Address
from app.pages.genotypes.state import GenotypeState
from app.pages.genotypes.thresholds import Thresholds, read_thresholds, write_thresholds
from genoviz.errors import ParameterError
from genoviz.model.genotypes import VariantTable

PLACE = re.compile(r"(.+):(\d+)")


@dataclass
class LinkFollower:
    """Follows a link step by step, as what it needs comes about.

    Attributes
    ----------
    state
        What the page shares.
    link
        The link that is followed, or None.
    """

    state: GenotypeState
    link: Address | None = None
    _is_filtering: bool = False

    def follow(self, link: Address) -> None:
        """Begin to follow a link, once its genotypes are open."""
        self.link, self._is_filtering = link, False

    def poll(self) -> None:
        """Take the next step; called some twenty times a second."""
        state, link = self.state, self.link
        files = state.session.genotypes
        if link is None or files.is_opening or state.opened is None:
            return
        if not self._is_filtering:
            self._is_filtering = True
            self._take_trait(link)
            thresholds = self._thresholds(link)
            if thresholds != state.thresholds:
                state.keep(thresholds)
        if not state.filtering.is_running:
            self.link = None
            self._take_variant(link)

    def _take_trait(self, link: Address) -> None:
        """Take the trait and the covariates that the table has."""
        state, table = self.state, self.state.table
        if not link.trait:
            return
        if table is None or link.trait not in table.numeric_names:
            self._complain(f"no column of numbers is named {link.trait!r}")
            return
        state.param.update(trait=link.trait, covariates=link.covariates)

    def _thresholds(self, link: Address) -> Thresholds:
        try:
            return read_thresholds(link.kept)
        except ParameterError as error:
            self._complain(str(error))
            return self.state.thresholds

    def _take_variant(self, link: Address) -> None:
        if not link.variant:
            return
        found = find_variant(self.state.subject.variants, link.variant)
        if found is None:
            self._complain(f"no variant is named {link.variant!r}")
        elif found != self.state.variant:
            self.state.choose_variant(found)

    def _complain(self, words: str) -> None:
        self.state.session.complain(f"The link is not followed all the way: {words}.")


def write_state(state: GenotypeState, tab: str) -> Address:
    """Return the address of what is looked at."""
    subject = state.subject
    variant = ""
    if state.variant is not None and subject is not None:
        variant = subject.variants.label(state.variant)
    return Address(
        trait=state.trait,
        covariates=tuple(state.covariates),
        kept=write_thresholds(state.thresholds) if state.kept is not None else "",
        variant=variant,
        tab=tab,
    )


def find_variant(variants: VariantTable, name: str) -> int | None:
    """Return the number of a variant by its ID, or contig:position (1-based); None for none."""
    found = np.flatnonzero(variants.ids == name)
    place = PLACE.fullmatch(name)
    if not len(found) and place is not None:
        start = int(place[2]) - 1
        found = variants.in_region(place[1], start, start + 1)
    return int(found[0]) if len(found) else None
