"""Quality control of the genotypes of a pedigree's animals, by the rules of BLUPF90."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.parentage import iter_parentage_conflicts
from genoviz.analyses.genotypes.prediction.single_step_parts import find_animals
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.sample_statistics import iter_sample_statistics
from genoviz.analyses.genotypes.statistics import VariantStatistics
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go, report_last
from genoviz.model.genotypes.genomic_rules import QualityRules
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

_Removed = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class QualityControl:
    """What passes quality control, and what does not.

    Attributes
    ----------
    counts
        int64, shape (n_variants, 4): genotypes of all samples, as of `allele_counts`.
    is_kept
        bool, shape (n_variants,): whether a variant passes.
    is_used
        bool, shape (n_samples,): whether a sample passes.
    removed_variants, removed_samples
        The reason and the IDs of the variants and samples that were removed for it.
    notes
        What was removed, one sentence each.
    """

    counts: np.ndarray
    is_kept: np.ndarray
    is_used: np.ndarray
    removed_variants: dict[str, np.ndarray]
    removed_samples: dict[str, np.ndarray]
    notes: tuple[str, ...]


def iter_control_quality(
    genotypes: Genotypes,
    pedigree: Pedigree,
    rules: QualityRules | None = None,
    *,
    order: np.ndarray | None = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Control step by step; the last step has the result of `control_quality`."""
    animals = find_animals(pedigree, genotypes.samples.ids)
    order = animals if order is None else order[animals]
    control = _Control(genotypes, pedigree, animals, order, backend)
    yield from control.run(rules or QualityRules())
    found = QualityControl(
        control.counts,
        control.is_kept,
        control.is_used,
        control.removed_variants,
        control.removed_samples,
        tuple(control.notes),
    )
    yield Progress("controlling quality", 1.0, found)


@in_one_go(iter_control_quality)
def control_quality(last: Progress) -> QualityControl:
    """Return which variants and samples pass, in the order of BLUPF90.

    1. Variants are removed by their call rate, frequency and share of heterozygotes.
    2. Samples are removed by their call rate at the variants that are left.
    3. Of pairs of parent and progeny, opposite homozygotes are counted. Variants with too many are
       removed, if there are enough pairs. Then the progeny of pairs with too many are removed one
       after the other; a pair counts no more when its parent is removed.

    The order of 3 is that of published results of BLUPF90. If it matters whether parents come
    before their progeny, an error is raised.

    Parameters
    ----------
    genotypes
        Genotypes of animals of the pedigree, matched by IID.
    pedigree
        Parents of the animals.
    rules
        What is removed; by default as in BLUPF90.
    order
        int64, shape (n_animals,): rank of each animal in step 3; that in the pedigree if None.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a sample is not in the pedigree, or the order of removals matters.

    References
    ----------
    Wiggans et al. 2009, Selection of single-nucleotide polymorphisms and quality of genotypes used
    in genomic evaluation of dairy cattle in the United States and Canada,
    doi:10.3168/jds.2008-1758
    Misztal et al., Manual for BLUPF90 family of programs, University of Georgia
    """
    return last.result


class _Control:
    """Quality control of genotypes."""

    def __init__(
        self,
        genotypes: Genotypes,
        pedigree: Pedigree,
        animals: np.ndarray,
        order: np.ndarray,
        backend: Backend,
    ) -> None:
        self._genotypes, self._pedigree = genotypes, pedigree
        self._animals, self._order, self._backend = animals, order, backend
        self.is_kept = np.ones(genotypes.n_variants, bool)
        self.is_used = np.ones(genotypes.n_samples, bool)
        self.counts = np.zeros((genotypes.n_variants, 4), np.int64)
        self.removed_variants: _Removed = {}
        self.removed_samples: _Removed = {}
        self.notes: list[str] = []

    def run(self, rules: QualityRules) -> Generator[Progress, None, None]:
        """Find what passes, and say what does not."""
        genotypes = self._genotypes
        steps = iter_allele_counts(genotypes, backend=self._backend)
        self.counts = yield from report_last(steps, 0.0, 0.2)
        self._check_variants(rules)
        n_kept = int(self.is_kept.sum())
        left = genotypes.take_variants(np.flatnonzero(self.is_kept))
        if n_kept:
            counts = self.counts[self.is_kept]
            steps = iter_sample_statistics(left, counts=counts, backend=self._backend)
            found = yield from report_last(steps, 0.2, 0.4)
            low = found.n_called < _least(rules.min_sample_call_rate * n_kept)
            self._drop_samples(low, f"a call rate below {rules.min_sample_call_rate:g}")
        if rules.parentage != "ignore" and n_kept:
            yield from self._check_parentage(left, rules)

    def _check_variants(self, rules: QualityRules) -> None:
        found = VariantStatistics(self.counts)
        n = self._genotypes.n_samples
        of_reasons = {
            f"a call rate below {rules.min_call_rate:g}": found.n_called
            < _least(rules.min_call_rate * n)
        }
        frequency = np.nan_to_num(found.minor_allele_frequency)
        if rules.removes_constant:
            of_reasons["only one allele"] = frequency == 0
        of_reasons[f"a minor allele frequency below {rules.min_maf:g}"] = frequency < rules.min_maf
        if rules.max_hwe_difference is not None:
            p = frequencies_of_counts(self.counts)
            difference = np.abs(np.nan_to_num(found.heterozygosity) - 2 * p * (1 - p))
            of_reasons[
                f"a share of heterozygotes that differs by more than {rules.max_hwe_difference:g} "
                "from 2p(1 - p)"
            ] = difference > rules.max_hwe_difference
        for why, is_bad in of_reasons.items():
            self._drop_variants(is_bad, why)

    def _check_parentage(
        self, left: Genotypes, rules: QualityRules
    ) -> Generator[Progress, None, None]:
        progeny, parents = self._pairs()
        kept = np.flatnonzero(self.is_kept)
        steps = iter_parentage_conflicts(left, progeny, parents)
        found = yield from report_last(steps, 0.4, 0.6)
        of_pairs, n = found.of_pairs, len(kept)
        if rules.parentage == "remove" and len(progeny) >= rules.min_pairs:
            is_bad = found.of_variants > rules.max_variant_conflicts * len(progeny)
            if is_bad.any():
                bad = left.take_variants(np.flatnonzero(is_bad))
                steps = iter_parentage_conflicts(bad, progeny, parents)
                of_bad = yield from report_last(steps, 0.6, 0.7)
                of_pairs, n = of_pairs - of_bad.of_pairs, n - bad.n_variants
                why = f"conflicts in more than {100 * rules.max_variant_conflicts:g} % of the pairs"
                self._drop_variants(np.isin(np.arange(len(self.is_kept)), kept[is_bad]),
                                    f"{why} of parent and progeny")  # fmt: skip
        is_wrong = of_pairs > rules.max_conflicts * n
        progeny, parents = progeny[is_wrong], parents[is_wrong]
        share = f"{100 * rules.max_conflicts:g} % of the markers"
        if not len(progeny):
            return
        if rules.parentage == "report":
            ids = self._genotypes.samples.ids
            self.notes.append(
                f"{n_words(len(progeny), 'pair')} of parent and progeny "
                f"{'has' if len(progeny) == 1 else 'have'} conflicts at more than {share}, the "
                f"first {ids[parents[0]]!s} and {ids[progeny[0]]!s}; none is removed."
            )
            return
        self._drop_progeny(progeny, parents, share)

    def _drop_progeny(self, progeny: np.ndarray, parents: np.ndarray, share: str) -> None:
        """Remove the progeny of pairs, unless their parent is removed before."""
        ids, n = self._genotypes.samples.ids, len(self.is_used)
        by_number = _removals(progeny, parents, self._order, n)
        by_age = _removals(progeny, parents, self._animals, n)  # parents come first
        differs = np.flatnonzero(by_number != by_age)
        if len(differs):
            both = np.intersect1d(progeny, parents)
            raise ParameterError(
                f"animal {ids[both[0]]!s} has conflicts with a parent and with progeny, at more "
                f"than {share}; which of them BLUPF90 removes depends on an order that is not "
                "documented: take its genotype out of the file, or add OPTION verify_parentage 0"
            )
        self._drop_samples(by_number, f"conflicts with a parent at more than {share}")
        counts = np.bincount(parents, minlength=n)
        worst = int(counts.argmax())
        if counts[worst] > 1:
            self.notes.append(
                f"{n_words(int((counts > 1).sum()), 'animal has', 'animals have')} conflicts with "
                f"more than one of their progeny, such as {ids[worst]!s} with "
                f"{counts[worst]:,}: the wrong genotype may be that of the parent."
            )

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples of progeny and parents that both are genotyped, and pass so far."""
        samples = np.full(len(self._pedigree) + 1, -1)
        used = np.flatnonzero(self.is_used)
        samples[self._animals[used]] = used
        progeny, parents = [], []
        for column in (self._pedigree.sires, self._pedigree.dams):
            of_used = samples[np.maximum(column[self._animals[used]], -1)]
            progeny.append(used[of_used >= 0])
            parents.append(of_used[of_used >= 0])
        return np.concatenate(progeny), np.concatenate(parents)

    def _drop_variants(self, is_bad: np.ndarray, why: str) -> None:
        is_bad = is_bad & self.is_kept
        self.is_kept &= ~is_bad
        self._tell(self._genotypes.variants.ids, is_bad, why, "marker", self.removed_variants)

    def _drop_samples(self, is_bad: np.ndarray, why: str) -> None:
        is_bad = is_bad & self.is_used
        self.is_used &= ~is_bad
        self._tell(self._genotypes.samples.ids, is_bad, why, "animal", self.removed_samples)

    def _tell(self, ids: np.ndarray, is_bad: np.ndarray, why: str, what: str, to: _Removed) -> None:
        n = int(is_bad.sum())
        if n:
            to[why] = ids[is_bad]
            self.notes.append(
                f"{n:,} of {n_words(len(ids), what)} {'is' if n == 1 else 'are'} removed for {why}."
            )


def _least(value: float) -> float:
    """Return a bound for whole numbers, which rounding of a product does not raise above one."""
    return value - 1e-9 * max(value, 1.0)


def _removals(
    progeny: np.ndarray, parents: np.ndarray, order: np.ndarray, n_samples: int
) -> np.ndarray:
    """Return which samples are removed, bool, if those of the lowest ``order`` come first."""
    is_removed = np.zeros(n_samples, bool)
    for pair in np.argsort(order[progeny], kind="stable").tolist():
        if not is_removed[parents[pair]]:
            is_removed[progeny[pair]] = True
    return is_removed
