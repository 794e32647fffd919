"""State of one browser tab: its open files, and the region and highlights that pages share."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
import param

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import GenovizError, ParameterError
from genoviz.model.temporary_file import TemporaryFolder
from genoviz_app.opening.companions import (
    AnnotationFile,
    OpenAnnotations,
    OpenLayout,
    iter_open_annotations,
    iter_open_layout,
    iter_place_annotations,
)
from genoviz_app.opening.files import (
    OPENING,
    FileCache,
    OpenGraph,
    OpeningProgress,
    check_path,
    find_sample,
    iter_after_writing,
    iter_open_file,
    iter_open_source,
)
from genoviz_app.opening.genome_files import GenomeFiles
from genoviz_app.opening.genotype_files import GenotypeFiles
from genoviz_app.opening.genotype_names import is_table
from genoviz_app.opening.index_files import IndexFiles
from genoviz_app.opening.kept_layouts import is_kept_layout, iter_open_kept
from genoviz_app.opening.overviews import Chromosome, genome_of
from genoviz_app.opening.served_files import (
    FileKind,
    ServedGraph,
    file_kind,
    is_part_of_genotypes,
    is_plink_bed,
    safe_name,
)
from genoviz_app.opening.track_files import TrackFiles
from genoviz_app.parts.words import n_words, shorten_middle, write_place
from genoviz_app.server.jobs import FILES, KERNELS, Job, JobPool, JobState, describe_problem
from genoviz_app.server.limits import GB, TAB, Limits, Quota, Share, first_jobs, iter_while
from genoviz_app.session.address import Region
from genoviz_app.session.highlights import Highlights
from genoviz_app.session.layout_runs import LayoutRuns

WAITING_SECONDS = 1.0
GRAPH_IS_COMING = "The graph is being opened …"
PAGES_OF_KINDS = {
    FileKind.TRACK: ("tracks", "tracks"),
    FileKind.SEQUENCES: ("indexes", "kmers"),
    FileKind.GENOTYPES: ("genotypes", "genotypes"),
}
"""What opens files of a kind, and the page that shows them; of others it is the first one."""
KINDS_OF_SAMPLES = {
    "gfa": FileKind.GRAPH, "bed": FileKind.TRACK, "genome": FileKind.SEQUENCES,
    "genotypes": FileKind.GENOTYPES,
}  # fmt: skip
UPLOAD_ENDINGS = (
    "in .gfa, .gbz, .lay, .tsv, .bed, .gff3, .gtf, .fa or .vcf (also with .gz), .2bit, .gvfm, "
    ".bam, .bw or that of another kind of file that a page shows"
)
OF_TABLES = (
    "a table of traits is opened on the Genotypes page, and one of values of nodes with Colour by: "
    "Own table on the Pangenome page"
)

MAX_PROBLEMS, MAX_SENTENCE = 8, 600
"""Maximum number of problem lines (the newest are kept), and length of each."""


class _Followed:
    """A job, and the callback for its progress and result."""

    def __init__(self, job: Job, follow: Callable[[Job], None]) -> None:
        self.job, self._follow, self._n_seen = job, follow, 0

    def look(self, *, has_ended: bool) -> None:
        """Call the callback if there is progress, or at the end."""
        n_snapshots = self.job.n_snapshots
        if has_ended or n_snapshots != self._n_seen:
            self._n_seen = n_snapshots
            self._follow(self.job)


class Session(param.Parameterized):
    """One browser tab.

    Pages follow the open files, `region`, `picked` and the highlights (`highlights`), and write to
    the last three. `poll` updates the session from its jobs; it is called some twenty times per
    second.

    Parameters
    ----------
    files
        Graphs that the server was started with, offered to everybody.
    folders
        If given, only files below these folders can be opened.
    limits
        Resource limits of the tab.
    quota
        Resource limits shared with the other tabs of its group; None without a group.
    """

    opened = param.ClassSelector(class_=OpenGraph, allow_None=True, doc="The graph that is open.")
    layout = param.ClassSelector(
        class_=OpenLayout, allow_None=True, doc="The layout that was read for it."
    )
    annotation_files = param.ClassSelector(
        class_=OpenAnnotations, default=OpenAnnotations(), doc="Annotations that are open."
    )
    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the opening is; None when idle."
    )
    waiting = param.String(doc="For how many jobs of others a job waits; empty when for none.")
    problem = param.String(doc="What went wrong last, as one sentence; empty when nothing.")
    region = param.ClassSelector(class_=Region, allow_None=True, doc="The stretch that pages show.")
    unclear = param.String(doc="A place of a link that several contigs have; then empty again.")
    is_split = param.Boolean(doc="Whether another page is beside or below the layout.")
    wanted_page = param.String(doc="Slug of a page that a button leads to; empty once it is shown.")
    picked = param.ClassSelector(
        class_=np.ndarray, default=np.empty(0, np.int64), doc="Nodes that a person has picked."
    )

    _all: ClassVar[WeakSet[Session]] = WeakSet()

    def __init__(
        self,
        *,
        files: tuple[ServedGraph, ...] = (),
        folders: tuple[Path, ...] = (),
        limits: Limits = TAB,
        quota: Quota | None = None,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.limits, self.quota = limits, quota
        self._all.add(self)
        self.files, self.chromosomes = files, tuple(map(Chromosome, genome_of(files)))
        self._folders = folders
        self._jobs: list[Job] = []
        self._followed: list[_Followed] = []
        self.watched: dict[Any, None] = {}
        """What `poll` visits until it stops to wait (`Watched`), in the order of its start."""
        self._opening_job: Job | None = None
        self._is_companion, self._opening_source = False, ""
        self._next: deque[str] = deque()
        self._left: tuple[str, OpenLayout | None] = ("", None)
        self._wanted_region: Region | None = None
        self._needs_region = True
        self._next_waiting = 0.0
        self._uploads: TemporaryFolder | None = None
        self._queued: deque[tuple[str, bytes | str]] = deque()
        self.is_closed = False
        self.will_open = False  # a graph, once the browser has the page
        self.follows_link = False  # until everything that the link names is open
        self.tracks = TrackFiles(self)
        self.indexes = IndexFiles(self)
        self.genomes = GenomeFiles(self)
        self.genotypes = GenotypeFiles(self)
        self.highlights = Highlights(self)
        self.runs = LayoutRuns(self)
        self.hand_over: Callable[[str, bytes], None] = lambda _name, _content: None

    def submit(
        self,
        steps: Iterator[Any],
        *,
        title: str,
        pool: JobPool = KERNELS,
        follow: Callable[[Job], None] | None = None,
        about: str = "",
    ) -> Job:
        """Run a generator as a job of this tab; it is cancelled when the tab closes.

        Parameters
        ----------
        steps
            The generator.
        title
            Description of the job. Everybody may see it, so it must not name files.
        pool
            Where to compute.
        follow
            Called with the job from `poll` after progress, and at its end; an idle job is not
            polled.
        about
            Detailed description for the log.
        """
        own: list[Job] = []
        if self._is_counted(pool):
            steps = iter_while(lambda: any(job in self._first_of_group() for job in own), steps)
        minutes = self.limits.job_minutes
        job = pool.submit(steps, title=title, owner=self, about=about, max_minutes=minutes)
        own.append(job)
        self._jobs = [*(other for other in self._jobs if not other.has_ended), job]
        if follow is not None:
            self._followed.append(_Followed(job, follow))
        return job

    @property
    def genome(self) -> tuple[ServedGraph, ...]:
        """The graphs of a genome that the server offers, with their layouts if known."""
        return tuple(each.served for each in self.chromosomes)

    @property
    def contents(self) -> tuple[Any, ...]:
        """The contents of the files that are open in the tab."""
        indexes, genomes = self.indexes.opened, self.genomes.opened
        genotypes = self.genotypes.opened
        found = (
            self.opened and self.opened.graph,
            *(file.data for file in self.tracks.files),
            indexes and indexes.built,
            genomes and genomes.genome,
            genotypes and genotypes.genotypes,
        )
        return tuple(content for content in found if content is not None)

    @property
    def shares(self) -> tuple[Share, ...]:
        """The memory budgets of the tab: its own, and that of its group."""
        found, of_tab = [], self.limits.memory_gigabytes
        if of_tab is not None:
            remedy = "open it in a tab of its own, or close files in this one"
            found.append(Share("this tab", of_tab * GB, (self,), remedy))
        of_group = None if self.quota is None else self.quota.limits.memory_gigabytes
        if of_group is not None:
            remedy = "close files or tabs of this group first"
            found.append(Share(self.quota.words, of_group * GB, self._group(), remedy))
        return tuple(found)

    def max_rows(self, shown: int) -> int:
        """Return the maximum number of rows of a result, of which a page can show so many."""
        rows = self.limits.rows
        return shown if rows is None else min(rows, shown)

    def _group(self) -> tuple[Session, ...]:
        """Return all open tabs of the group."""
        found = (tab for tab in tuple(self._all) if tab.quota == self.quota)
        return tuple(tab for tab in found if not tab.is_closed)

    def _is_counted(self, pool: JobPool) -> bool:
        return self.quota is not None and self.quota.limits.jobs is not None and pool is not FILES

    def _first_of_group(self) -> list[Job]:
        """Return the jobs of the group that may run now."""
        jobs = (job for tab in self._group() for job in tab._jobs if self._is_counted(job.pool))
        return first_jobs(jobs, self.quota.limits.jobs)

    @property
    def _awaits_group(self) -> bool:
        """Whether a job of the tab waits for others of its group."""
        if not self._is_counted(KERNELS):
            return False
        first = self._first_of_group()
        return any(job.can_run and job not in first for job in self._jobs if job.pool is not FILES)

    def open(
        self,
        source: str,
        *,
        region: Region | None = None,
        needs_region: bool = True,
        companions: tuple[str, ...] = (),
    ) -> None:
        """Start opening a sample by name or a file on the server by path.

        What is no graph, nor belongs to one, is shown on the page that it is of.

        Parameters
        ----------
        source
            Name of a sample, or path of a graph, or of a layout or annotations of the open graph.
        region
            Region of a graph to show.
        needs_region
            Whether to complain if the graph lacks it.
        companions
            Layout and annotations to open after the graph; by default those that the server was
            started with.
        """
        sample = find_sample(source)
        kind = file_kind(source) if sample is None else KINDS_OF_SAMPLES[sample.kind]
        if sample is None and self._is_plink(source):
            kind = FileKind.GENOTYPES
        if kind in PAGES_OF_KINDS:
            files, self.wanted_page = PAGES_OF_KINDS[kind]
            getattr(self, files).open(source if sample is None else sample.name)
            return
        if kind in (FileKind.LAYOUT, FileKind.ANNOTATIONS):
            self._begin_opening(self._iter_open_companion(source), source)
            return
        if sample is None and kind is None and is_table(source) and not source.endswith(".txt"):
            self.forget_problem()
            self.complain(f"{Path(source).name} was not opened: {OF_TABLES}.")
            return
        if not companions:
            companions = next(
                (
                    served.companions
                    for served in (*self.genome, *self.files)
                    if str(served.path) == source
                ),
                (),
            )
        self._forget_left(source)
        self._begin_opening(iter_open_source(source, self._folders, iter_open_file), source)
        self._wanted_region, self._needs_region = region, needs_region
        self._next.extend(str(companion) for companion in companions)

    def _is_plink(self, source: str) -> bool:
        """Return whether a path belongs to PLINK genotypes; other files are not read."""
        if is_part_of_genotypes(source):
            return True
        try:
            is_bed = source.lower().strip().endswith(".bed")
            return is_bed and is_plink_bed(check_path(source, self._folders))
        except GenovizError:
            return False  # opening it reports the problem

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Start opening an uploaded file, which is kept until the tab closes."""
        name = Path(name).name
        kind = FileKind.GENOTYPES if is_part_of_genotypes(name) else file_kind(name)
        if kind is None:
            advice = f"its name needs to end {UPLOAD_ENDINGS}"
            if is_table(name):
                advice = OF_TABLES
            self.problem = f"{name} was not opened: {advice}."
            return
        if kind in PAGES_OF_KINDS:
            files, self.wanted_page = PAGES_OF_KINDS[kind]
            if kind is FileKind.GENOTYPES:
                self.genotypes.open_uploads({name: content})
            else:
                getattr(self, files).open_upload(name, content)
            return
        path = self.upload_path(name)
        if kind is FileKind.GRAPH:
            steps = iter_open_file(path, title=name)
        else:
            steps = self._iter_open_kind(kind, path, title=name)
        self._begin_opening(iter_after_writing(path, content, steps), name)

    def queue_uploads(self, contents: Mapping[str, bytes | str]) -> None:
        """Open uploaded files one after another."""
        self._queued.extend(contents.items())

    def upload_path(self, name: str) -> Path:
        """Return the path where an uploaded file is kept until the tab closes."""
        if self._uploads is None or not self._uploads.path.is_dir():
            self._forget_uploads()  # the folder was removed by somebody else
            self._uploads = TemporaryFolder("genoviz-uploads")
        return self._uploads.path / safe_name(name) if name else self._uploads.path

    def complain(self, sentence: str) -> None:
        """Report a problem, in addition to earlier ones, each once and on its own line."""
        told = self.problem.splitlines()
        sentence = "\n".join(shorten_middle(line, MAX_SENTENCE) for line in sentence.splitlines())
        if not set(sentence.splitlines()) <= {*told}:
            self.problem = "\n".join((*told[1 - MAX_PROBLEMS :], sentence))

    def forget_problem(self) -> None:
        """Clear the reported problems before a new action.

        An action that follows a link does not clear the problems of the rest of the link.
        """
        if not self.follows_link:
            self.problem = ""

    @contextmanager
    def following(self) -> Iterator[None]:
        """Mark everything that is started within the context as following a link."""
        before, self.follows_link = self.follows_link, True
        try:
            yield
        finally:
            self.follows_link = before

    @property
    def folders(self) -> tuple[Path, ...]:
        """If not empty, only files below these folders can be opened."""
        return self._folders

    def _iter_open_companion(self, source: str) -> Iterator[OpeningProgress | None]:
        if is_kept_layout(source) and self.opened is not None:
            yield from iter_open_kept(source, self.opened.graph)
            return
        path = check_path(source, self._folders)
        kind = file_kind(path.name)
        yield from self._iter_open_kind(kind, path, source=str(path), title=path.name)

    def _iter_open_kind(
        self, kind: FileKind, path: Path, *, source: str = "", title: str
    ) -> Iterator[OpeningProgress]:
        """Yield the opening of something that belongs to the open graph."""
        if self.opened is None:
            raise GenovizError(f"{title} holds the {kind} of a graph; open the graph first")
        graph = self.opened.graph
        if kind is FileKind.LAYOUT:
            genome = (each for each in self.files if str(each.path) == self.opened.source)
            stress = next((each.stress_of(path) for each in genome), None)
            yield from iter_open_layout(path, graph, source=source, title=title, stress=stress)
        else:
            others = self.annotation_files.files
            yield from iter_open_annotations(path, graph, others=others, source=source, title=title)

    @property
    def annotations(self) -> PlacedAnnotations | None:
        """All annotations of the open graph on its paths, or None."""
        return self.annotation_files.placed

    def close_annotations(self, file: AnnotationFile) -> None:
        """Start removing a file of annotations."""
        files = tuple(other for other in self.annotation_files.files if other is not file)
        if self.opened is not None:
            steps = iter_place_annotations(self.opened.graph, files)
            self._begin_opening(steps, f"the annotations without {file.title}")

    def cancel_opening(self) -> None:
        """Cancel the current opening; open files stay open."""
        self._next.clear()
        if self._opening_job is not None:
            self._opening_job.cancel()
            self._opening_job = None
        self.opening = None

    def _begin_opening(self, steps: Iterator[Any], source: str) -> None:
        self.cancel_opening()
        self._wanted_region = None
        self.forget_problem()
        self._submit_opening(steps, source)

    def _submit_opening(self, steps: Iterator[Any], source: str) -> None:
        self.opening = OpeningProgress(f"Opening {Path(source).name}")
        self._opening_job = self.submit(
            steps, title=OPENING, pool=FILES, follow=self._on_opening, about=f"open {source}"
        )
        self._is_companion, self._opening_source = False, source

    def poll(self) -> None:
        """Process the results of jobs, and what waits."""
        for each in tuple(self._followed):
            has_ended = each.job.has_ended
            if has_ended:
                self._followed.remove(each)
            each.look(has_ended=has_ended)
        for each in tuple(self.watched):
            each.look()
        if "run" in vars(self.runs):  # only if a layout was created
            self.runs.poll()
        self._tell_waiting()
        if self._queued and self.opening is None:
            self.open_upload(*self._queued.popleft())
        if self.genotypes.is_waiting:
            self.genotypes.poll()

    def _tell_waiting(self) -> None:
        """Update the waiting message once per second, because turns change more often."""
        if time.monotonic() < self._next_waiting:
            return
        n_before = max((job.n_before for job in self._jobs), default=0)
        words = f"waiting for {n_words(n_before, 'other job')}" if n_before else ""
        if self._awaits_group:
            words = f"waiting for other jobs of {self.quota.words}"
        if words != self.waiting:
            self._next_waiting = time.monotonic() + WAITING_SECONDS
            self.waiting = words

    def _on_opening(self, job: Job) -> None:
        if job is not self._opening_job:  # cancelled or replaced
            return
        progress = job.snapshot
        if not job.has_ended:
            self.opening = progress
            return
        self._opening_job = None
        self.opening = None
        if job.state is JobState.FAILED:
            self.complain(describe_problem(job.error))
            if not self._is_companion:
                self._next.clear()  # companions of the graph that failed to open
        elif job.state is JobState.FINISHED:
            self._keep(progress.opened)
        if self._next:
            source = self._next.popleft()
            self._submit_opening(self._iter_open_companion(source), source)
            self._is_companion = True

    def _keep(self, opened: OpenGraph | OpenLayout | OpenAnnotations) -> None:
        if isinstance(opened, OpenLayout):
            self.layout = opened
        elif isinstance(opened, OpenAnnotations):
            before = self.annotation_files.files
            self.annotation_files = opened
            for file in opened.files:
                if file not in before and not len(file.annotations):
                    self.complain(f"{file.title} is open, and has no annotations to show.")
        else:
            self._keep_graph(opened)

    def _keep_graph(self, opened: OpenGraph | None) -> None:
        self._queued.clear()  # belongs to the previous graph
        self._note_left()
        region, unclear = None if opened is None else self._wanted_region, ""
        if region is not None and region.path not in opened.graph.path_names:
            try:
                region = resolve_region(opened.graph, str(region))[0]
            except ParameterError as error:
                is_unclear = len(opened.graph.path_directory.meanings(region.path)) > 1
                if self._needs_region and is_unclear:
                    unclear = write_place(region)
                elif self._needs_region:
                    self.complain(f"The link's region is not shown: {error}.")
                region = None
        self.param.update(
            opened=opened,
            layout=None,
            annotation_files=OpenAnnotations(),
            region=region,
            picked=np.empty(0, np.int64),
        )
        self.unclear = unclear
        if opened is not None:
            self._forget_left(opened.source)

    def _note_left(self) -> None:
        """Keep the chromosome that is closed, with its layout."""
        left = "" if self.opened is None else self.opened.source
        if any(str(served.path) == left for served in self.genome):
            self._left = left, self.layout

    def _forget_left(self, next_source: str = "") -> None:
        """Free the memory of the chromosome that was closed last, unless it is opened again."""
        left, _ = self._left
        if left != next_source:
            FileCache.forget(Path(left))
            self._left = ("", None)

    def leave_graph(self) -> None:
        """Close the graph, for example to show all chromosomes of a genome.

        A chromosome stays in memory until another is opened or the tab is closed.
        """
        self.cancel_opening()
        self.forget_problem()
        self._keep_graph(None)
        self._jobs = [job for job in self._jobs if not job.has_ended]  # frees their results

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened or queued."""
        return self._opening_job is not None or bool(self._next)

    @property
    def awaits_graph(self) -> bool:
        """Whether a graph is being opened, or will be once the browser has the page."""
        return self.is_opening or self.will_open

    def without_graph(self, words: str) -> str:
        """Return what to say while no graph is open: ``words``, unless one is being opened."""
        return GRAPH_IS_COMING if self.awaits_graph else words

    @property
    def awaits_layout(self) -> bool:
        """Whether a layout is being opened, or waits for its graph."""
        opening = [] if self._opening_job is None else [self._opening_source]
        return any(
            is_kept_layout(source) or file_kind(source) is FileKind.LAYOUT
            for source in (*opening, *self._next)
        )

    @property
    def opens_files(self) -> bool:
        """Whether a file of any kind is being opened."""
        others = (self.tracks, self.indexes, self.genomes, self.genotypes)
        return any(files.is_opening for files in (self, *others))

    @property
    def is_busy(self) -> bool:
        """Whether a job of this tab runs or waits."""
        return any(job.can_run for job in self._jobs)

    @property
    def awaits_jobs(self) -> bool:
        """Whether the next `poll` may have a job result to process."""
        return bool(self._followed) or self.is_busy

    def close(self) -> None:
        """Cancel the jobs of the tab and remove its uploads."""
        self.is_closed = True
        for job in self._jobs:
            job.cancel()
        self._jobs = [job for job in self._jobs if not job.has_ended]
        self._followed = []
        self.watched.clear()
        self._note_left()
        self._forget_left()
        self._forget_uploads()

    def _forget_uploads(self) -> None:
        if self._uploads is not None:
            self._uploads.remove()
            FileCache.forget_below(self._uploads.path)
