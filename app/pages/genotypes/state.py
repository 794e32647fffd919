"""Shared state of the page: data, quality, filtered data, and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import param

from genoviz.analyses.genotypes.sample_statistics import iter_sample_statistics
from genoviz.analyses.genotypes.statistics import iter_variant_statistics
from genoviz.generators import Progress, report_last
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.opening.genotype_files import OpenGenotypes
from genoviz_app.pages.genotypes.quality.thresholds import Thresholds
from genoviz_app.parts.questions import Question
from genoviz_app.server.cluster import is_worth_sharing, iter_shared
from genoviz_app.server.jobs import KERNELS
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.address import Region
from genoviz_app.session.graph_places import on_graph
from genoviz_app.session.session import Session

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.filters import FilteredGenotypes

ASSOCIATION, PREDICTION = "association", "prediction"
"""Names of results in links."""
NOBODY = np.empty(0, np.int64)
AROUND = 50_000
"""Bases on each side of a selected variant in its region."""
RESULTS = ("components", "relationships", "scan", "partial", "blup")


@dataclass(frozen=True, eq=False)
class Quality:
    """Statistics of all variants and samples.

    Attributes
    ----------
    variants
        Their `VariantStatistics`.
    samples
        Their `SampleStatistics`.
    """

    variants: Any
    samples: Any


def iter_measure(genotypes: Genotypes) -> Iterator[Progress]:
    """Yield progress; the last one has the `Quality`."""

    def make(scheduler: str | None) -> Iterator[Progress]:
        return iter_variant_statistics(genotypes, scheduler=scheduler)

    is_shared = SETTINGS.scheduler and is_worth_sharing(genotypes)
    steps = iter_shared(make) if is_shared else make(None)
    variants = yield from report_last(steps, 0.0, 0.3, what="measuring variants")
    # The statistics cache these, so the page does not compute them while drawing.
    yield from report_last(variants.iter_hwe_p(), 0.3, 0.5)
    steps = iter_sample_statistics(genotypes, counts=variants.counts)
    samples = yield from report_last(steps, 0.5, 1.0, what="measuring samples")
    yield Progress("ready", 1.0, Quality(variants, samples))


class GenotypeState(param.Parameterized):
    """The data and the view; parts of the page watch it.

    Analyses run on `subject`, which is all genotypes or those that pass the thresholds. Indices of
    samples and variants refer to the subject. Results are dropped when the subject changes. Panels
    call `new_question` for their long computations.

    Parameters
    ----------
    session
        The session of the page's tab.
    """

    opened = param.ClassSelector(class_=OpenGenotypes, allow_None=True, doc="What is open.")
    table = param.Parameter(None, doc="PhenotypeTable of `opened`'s samples, in order, or None.")
    thresholds = param.ClassSelector(class_=Thresholds, default=Thresholds(), doc="Of quality.")
    only = param.ClassSelector(
        class_=np.ndarray, allow_None=True, doc="int64: the samples of `opened` kept by a person."
    )
    kept = param.Parameter(None, doc="FilteredGenotypes; None: the thresholds leave everything.")
    quality = param.ClassSelector(class_=Quality, allow_None=True, doc="Statistics of `opened`.")
    chosen = param.ClassSelector(
        class_=np.ndarray, default=NOBODY, doc="int64: samples of the subject picked by a person."
    )
    variant = param.Integer(None, allow_None=True, doc="The variant of the subject looked at.")
    region = param.ClassSelector(class_=Region, allow_None=True, doc="The place on a contig.")
    trait = param.String(doc="Name of a numeric column of the table; empty for none.")
    trait_types = param.Dict(
        default={}, doc="How traits are read that are not read by the rule; see `read_trait`."
    )
    covariates = param.ClassSelector(
        class_=tuple, default=(), doc='Names of columns, and of components: "PC1".'
    )
    conditions = param.ClassSelector(
        class_=tuple,
        default=(),
        doc="Variants of the subject whose dosages are covariates of scans.",
    )
    scan_conditions = param.ClassSelector(class_=tuple, default=(), doc="Those of `scan`.")
    components = param.Parameter(None, doc="PrincipalComponents of the subject, or None.")
    relationships = param.Parameter(None, doc="RelationshipMatrix of the subject, or None.")
    scan = param.Parameter(None, doc="AssociationScan of the subject, or None.")
    partial = param.Parameter(None, doc="The same, of the chromosomes a running scan has tested.")
    coming = param.ClassSelector(
        class_=tuple, default=(), doc="Names of results that a link asks for, until they are begun."
    )
    blup = param.Parameter(None, doc="The newest BlupSnapshot of the subject, or None.")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._questions: list[Question] = []
        self._measured: OpenGenotypes | None = None
        self.filtering = self.new_question("applying thresholds", self._on_kept)
        self.measuring = Question(session, "measuring quality", self._on_quality, pool=KERNELS)
        session.genotypes.param.watch(self._follow_files, ["opened", "phenotypes"])
        self._follow_files()

    def new_question(
        self, title: str, on_answer: Callable[[Any], None], *, takes_all: bool = False
    ) -> Question:
        """Create a long computation for a panel, dropped when the genotypes change."""
        question = Question(self.session, title, on_answer, pool=KERNELS, takes_all=takes_all)
        self._questions.append(question)
        return question

    @property
    def subject(self) -> Genotypes | None:
        """The genotypes that analyses use; None while nothing is open."""
        if self.kept is not None:
            return self.kept.genotypes
        return None if self.opened is None else self.opened.genotypes

    @property
    def shown_scan(self) -> Any:
        """The scan to draw: what a running one has found, or else the last one; or None."""
        return self.partial or self.scan

    @property
    def sample_indices(self) -> np.ndarray:
        """int64, indices of the subject's samples among the open ones."""
        if self.kept is not None:
            return self.kept.sample_indices
        return np.arange(0 if self.opened is None else self.opened.genotypes.n_samples)

    def column(self, name: str) -> np.ndarray | None:
        """Return a table column for the subject's samples, or None if it does not exist."""
        if self.table is None or name not in self.table.columns:
            return None
        values = self.table.columns[name]
        return values if self.kept is None else values[self.kept.sample_indices]

    def want_quality(self) -> None:
        """Measure the quality of the open genotypes unless that is done or running."""
        if self.opened is not None and self._measured is not self.opened:
            self._measured = self.opened
            self.measuring.ask(iter_measure, self.opened.genotypes)

    def keep(self, thresholds: Thresholds, *, samples: np.ndarray | None = None) -> None:
        """Start to apply thresholds, to all samples or to some of the open ones."""
        if self.opened is None:
            return
        self.param.update(thresholds=thresholds, only=samples)
        self.filtering.ask(_iter_filter, self.opened.genotypes, thresholds, samples)

    def keep_all(self) -> None:
        """Use all open genotypes for analyses."""
        self.filtering.drop()
        self.param.update(thresholds=Thresholds(), only=None)
        self._change_subject(None)

    def choose_variant(self, variant: int | None, region: Region | None = None) -> None:
        """Select a variant, and show its neighbourhood, or another region, on all pages."""
        self.variant = variant
        if variant is None:
            return
        variants = self.subject.variants
        position = int(variants.positions[variant])
        if position < 0:
            return
        if region is None:
            contig = variants.contigs[variants.contig_ids[variant]]
            region = Region(contig, max(position - AROUND, 0), position + AROUND)
        self.region = region
        graph = self.session.opened
        self.session.region = on_graph(graph.graph if graph is not None else None, region)

    def _follow_files(self, *_events: Any) -> None:
        opened, phenotypes = self.session.genotypes.opened, self.session.genotypes.phenotypes
        is_other = opened is not self.opened
        if is_other:
            self._drop_questions()
        table = None if opened is None or phenotypes is None else phenotypes.table
        changes: dict[str, Any] = {"table": table}
        if table is None or self.trait not in table.numeric_names:
            changes |= {"trait": "", "trait_types": {}, "covariates": ()}
        if is_other:
            self.measuring.drop()
            changes |= {"opened": opened, "quality": None, "thresholds": Thresholds()}
            changes |= {"only": None, **_nothing_computed()}
        self.param.update(**changes)

    def _on_quality(self, quality: Quality) -> None:
        self.quality = quality

    def _on_kept(self, kept: FilteredGenotypes) -> None:
        genotypes = self.opened.genotypes
        n_kept = len(kept.sample_indices), len(kept.variant_indices)
        is_all = n_kept == (genotypes.n_samples, genotypes.n_variants)
        self._change_subject(None if is_all else kept)

    def _change_subject(self, kept: FilteredGenotypes | None) -> None:
        if kept is self.kept:
            return
        self._drop_questions()
        conditions = np.array(self.conditions, np.int64)
        if self.kept is not None:
            conditions = self.kept.variant_indices[conditions]
        if kept is not None:
            is_kept = np.isin(kept.variant_indices, conditions)
            conditions = np.flatnonzero(is_kept)
        changes = _nothing_computed() | {"kept": kept, "conditions": tuple(conditions.tolist())}
        self.param.update(**changes)

    def _drop_questions(self) -> None:
        for question in self._questions:
            question.drop()


def _nothing_computed() -> dict[str, Any]:
    nothing: dict[str, Any] = {"kept": None, "chosen": NOBODY, "variant": None}
    return nothing | {"conditions": (), "scan_conditions": ()} | dict.fromkeys(RESULTS)


def _iter_filter(
    genotypes: Genotypes, thresholds: Thresholds, samples: np.ndarray | None
) -> Iterator[Progress]:
    from genoviz.analyses.genotypes.filters import FilterOptions, iter_filter_genotypes
    from genoviz.generators import report_last

    steps = iter_filter_genotypes(genotypes, FilterOptions(**asdict(thresholds)), samples=samples)
    kept = yield from report_last(steps, what="Applying thresholds")
    yield Progress("Ready", 1.0, kept)
