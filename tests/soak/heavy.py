"""Rare and slow actions: index construction, a large upload, millions of hits, a killed reader."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.soak.people import Diary, Person, Searcher

BUILD, UPLOAD, FIND = "build an index", "upload a file", "find many sites"
KILLED, AGAIN = "hear of a killed reader", "open a file after that"
HEAVY = (BUILD, UPLOAD, FIND, KILLED, AGAIN)
UNIT, GUIDE_LENGTH, LINE = "ACGTT", 20, 80
NODE_BASES = 10_000
LOOK_SECONDS = 0.001
N_TRIES = 6
FIELD = "panel.models.file_dropper.FileDropper"


@dataclass(frozen=True)
class Sizes:
    """Sizes of all data.

    Attributes
    ----------
    bases
        Bases of each genome to index.
    upload
        Bytes of the uploaded graph.
    rows
        Hits of the search.
    nodes
        Nodes of the first graph whose reader is killed.
    """

    bases: int = 5_000_000
    upload: int = 200_000_000
    rows: int = 10_000_000
    nodes: int = 200_000

    def over(self, divisor: int) -> Sizes:
        """Return sizes reduced by a factor, but large enough to kill a reader in time."""
        smaller = (size // divisor for size in (self.bases, self.upload, self.rows))
        return Sizes(*smaller, self.nodes)


class Guest(Person):
    """A user who does one thing and leaves."""

    stays = False

    def says(self, words: str) -> Callable[[], bool]:
        """Return a function that says whether the page shows a text."""
        return lambda: any(words in text for text in self.tab.texts())


class Builder(Guest, Searcher):
    """Builds an index and queries it."""

    async def begin(self) -> None:
        """Do not wait here; the action does."""

    async def act(self) -> None:
        await self.measure(BUILD, super().begin(), lambda: True)
        await super().act()


class Uploader(Guest):
    """Uploads a graph by drag and drop."""

    def __init__(self, url: str, diary: Diary, content: bytes) -> None:
        super().__init__(url, {"file": "simulated"}, diary, 0)
        self.content = content

    async def act(self) -> None:
        ways = await self.tab.wait_for("Tabs", _names=["Samples", "Server", "Upload"])
        await self.tab.set(ways, active=2)
        field = await self.tab.wait_for(FIELD)
        hand = self.tab.upload(field, "uploaded.gfa", self.content)
        await self.measure(UPLOAD, hand, self.says(shown_title("uploaded.gfa")))


class Finder(Guest):
    """Searches for guides that occur throughout a genome."""

    def __init__(self, url: str, diary: Diary, genome: Path, n_rows: int) -> None:
        text = UNIT * (GUIDE_LENGTH // len(UNIT) + 1)
        guides = [text[at : at + GUIDE_LENGTH] for at in range(len(UNIT))]
        link = {"genome": genome, "guides": ";".join(guides), "pam": "none", "limits": "0,0,0"}
        super().__init__(url, {"page": "offtargets", **link}, diary, 0)
        self.n_rows = n_rows

    async def act(self) -> None:
        words = f"{self.n_rows:,} hits of {len(UNIT)} guides, found in"
        await self.measure(FIND, asyncio.sleep(0), self.says(words))


class Opener(Guest):
    """Opens a graph."""

    kind = AGAIN

    def __init__(self, url: str, diary: Diary, graph: Path) -> None:
        super().__init__(url, {"file": graph}, diary, 0)
        self.graph = graph

    @property
    def words(self) -> str:
        """The final text of the page."""
        return shown_title(self.graph.name)

    async def act(self) -> None:
        await self.measure(self.kind, asyncio.sleep(0), self.says(self.words))


class Victim(Opener):
    """Opens a graph whose reader is killed, unless it has already finished.

    Attributes
    ----------
    was_told
        Whether the page reported that the reader was killed.
    """

    kind = KILLED

    def __init__(self, url: str, diary: Diary, graph: Path) -> None:
        super().__init__(url, diary, graph)
        self.was_told = False

    async def act(self) -> None:
        words = f"{self.graph.name}: the process that read it was ended by SIGKILL"
        hears, sees = self.says(words), self.says(self.words)
        self.doing, start = self.kind, time.perf_counter()
        await self.tab.until(lambda: hears() or sees())
        self.was_told = hears()
        if self.was_told:
            self.diary.seconds[self.kind].append(time.perf_counter() - start)


async def befall(url: str, pid: int, folder: Path, diary: Diary, sizes: Sizes, name: str) -> None:
    """Run all these actions; nobody else may open a file until the readers are killed.

    Parameters
    ----------
    url, pid
        Address and process ID of the server.
    folder, name
        Folder of the files, and prefix of their names, because no file may be opened twice.
    diary
        Records the actions.
    sizes
        Sizes of the data.
    """
    begin = str(folder / name)
    graph = await kill_a_reader(url, pid, begin, diary, sizes.nodes)
    kill(fork_servers(pid))
    await Opener(url, diary, graph).live()
    genomes = [Path(f"{begin}-{number}.fa") for number in range(2)]
    for genome in genomes:
        write_genome(genome, "".join(random.Random(str(genome)).choices("ACGT", k=sizes.bases)))
    builders = [
        Builder(url, {"page": "kmers", "sequences": genome}, diary, 0) for genome in genomes
    ]
    uploader = Uploader(url, diary, graph_of(sizes.upload))
    await asyncio.gather(*(person.live() for person in (*builders, uploader)))
    repeats = Path(f"{begin}-repeats.fa")
    n_bases = sizes.rows + GUIDE_LENGTH - 1
    write_genome(repeats, (UNIT * (n_bases // len(UNIT) + 1))[:n_bases])
    await Finder(url, diary, repeats, sizes.rows).live()


async def kill_a_reader(url: str, pid: int, begin: str, diary: Diary, n_nodes: int) -> Path:
    """Make a user experience a killed reader; return the graph that was not opened.

    On a busy machine, a reader may finish before it is killed, or another one is killed. The graph
    is then open as it should be, and the next try uses another one of twice the size.
    """
    for number in range(N_TRIES):
        graph = Path(f"{begin}-{number}.gfa")
        graph.write_text("".join(f"S\t{n}\tACGT\n" for n in range(n_nodes << number)))
        is_over = threading.Event()
        killing = asyncio.create_task(asyncio.to_thread(kill_reader, pid, is_over))
        victim = Victim(url, diary, graph)
        await victim.live()
        is_over.set()
        await killing
        if victim.was_told:
            break
    return graph


def shown_title(name: str) -> str:
    """Return the form of a file's name in the title of a page."""
    return f"object: &lt;p&gt;{name}&lt;/p&gt;"


def write_genome(path: Path, bases: str) -> None:
    """Write a genome of one contig."""
    lines = (bases[at : at + LINE] for at in range(0, len(bases), LINE))
    path.write_text(f">{path.stem}\n" + "\n".join(lines) + "\n")


def graph_of(n_bytes: int) -> bytes:
    """Return a GFA file of about this many bytes: a chain of long nodes."""
    n_nodes = max(n_bytes // NODE_BASES, 1)
    bases = "".join(random.Random(n_bytes).choices("ACGT", k=NODE_BASES))
    nodes = "".join(f"S\t{n}\t{bases}\n" for n in range(n_nodes))
    links = "".join(f"L\t{n - 1}\t+\t{n}\t+\t0M\n" for n in range(1, n_nodes))
    steps = ",".join(f"{n}+" for n in range(n_nodes))
    return f"{nodes}{links}P\tall\t{steps}\t*\n".encode()


def kill_reader(pid: int, is_over: threading.Event) -> None:
    """Wait for the server's next reader process and kill it; stop on request."""
    while not is_over.is_set():
        readers = [each for server in fork_servers(pid) for each in children(server)]
        if readers:
            kill(readers)
            return
        time.sleep(LOOK_SECONDS)


def fork_servers(pid: int) -> list[psutil.Process]:
    """Return the fork servers of a server's readers."""
    found = []
    for each in children(psutil.Process(pid)):
        with suppress(psutil.Error):
            if "forkserver" in " ".join(each.cmdline()):
                found.append(each)
    return found


def children(process: psutil.Process) -> list[psutil.Process]:
    """Return the children of a process; empty if it has ended."""
    with suppress(psutil.Error):
        return process.children()
    return []


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes like the system does when it is out of memory."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
