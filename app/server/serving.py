"""Serves the dashboard, from Python or the command line."""

from __future__ import annotations

import asyncio
import errno
import re
import secrets
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from tornado.ioloop import IOLoop, PeriodicCallback
from tornado.web import RedirectHandler, RequestHandler

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.files.compiled_errors import take_back_interrupts
from genoviz.io.files.file_source import file_at
from genoviz.numba_start import load_compiler
from genoviz_app.opening.apart import READERS
from genoviz_app.server.doors import LOOPBACK, Doors, SafeHeaders, own_names
from genoviz_app.server.event_loop import collect_seldom, collections_put_off, loop_lag, trim
from genoviz_app.server.jobs import FILES, KERNELS, POOLS
from genoviz_app.server.lab import Lab, is_prefix
from genoviz_app.server.lab_file import read_lab
from genoviz_app.server.limits import GB, Limits
from genoviz_app.server.messages import MAX_MESSAGE_BYTES
from genoviz_app.server.people import WORKER
from genoviz_app.server.quick_models import keep_what_is_loaded
from genoviz_app.server.watching import Health, show_threads_on_signal, write_events
from genoviz_app.session.layout_runs import ALL_RUNS


class StatusHandler(RequestHandler):
    """Answers with the running and waiting jobs, and the event loop's lag."""

    def get(self) -> None:
        """Write the number and titles of jobs, and the event loop's lag in milliseconds.

        Titles of jobs do not name files, traits or users.
        """
        lag = {name: round(1000 * wait, 1) for name, wait in asdict(loop_lag()).items()}
        numbers = {"running": KERNELS.n_active, "opening": FILES.n_active, "loop_lag": lag}
        jobs = [
            {"title": job.title, "state": job.state}
            for pool in sorted(POOLS, key=lambda pool: pool.name)
            for job in pool.active
        ]
        self.write(numbers | {"jobs": jobs})


MAX_BODY = 1024 * 1024

IDLE_SECONDS = 60.0

MAX_OPEN_FILES = 65_536

UNUSED_SESSION_MILLISECONDS = 15_000

CHECK_SESSIONS_MILLISECONDS = 1000

INTERRUPT_MILLISECONDS = 1000

FORGET_SECONDS = 30

STOP_SECONDS, TELL_SECONDS = 5.0, 0.5
LINK_SECONDS = 2.0
"""Tabs look for a new link twice a second, and show one that they have seen twice."""

STOPPING = (
    "The server is stopping. Reload this page in a minute; its address restores the open files."
)


def serve(
    files: Sequence[Path] = (),
    *,
    port: int | None = None,
    address: str | None = None,
    prefix: str | None = None,
    show: bool = True,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    lab: Path | None = None,
    memory_gigabytes: int | None = None,
    gpu_gigabytes: int | None = None,
    scheduler: str | None = None,
    limits: Limits | None = None,
    unfolds: bool = True,
) -> None:
    """Serve the dashboard until interrupted, and print its address.

    Parameters
    ----------
    files
        Graphs to offer, each followed by its layout and annotations. A new tab opens the first
        graph. A folder of graphs, or a TOML list, stands for all of them, with layouts from the
        folder of layouts that follows it; a new tab then shows an overview, and annotations that
        follow apply to all of them. Reads, signals, and annotations before the first graph become
        tracks. Sequences (FASTA, 2bit) and indexes (.gvfm) are for k-mer searches. Genotypes
        (.bed of PLINK, .pgen, .bgen, VCF, BCF) are opened with the table of phenotypes after them.
    port
        TCP port, 5006 by default; 0 chooses a free one.
    address
        Listening address, this machine only by default. With another one ("0.0.0.0"), only files
        below the folders of ``files`` and the current folder can be opened by path, unless ``lab``
        names folders.
    prefix
        Path of the dashboard, as "/genoviz"; by default it is at "/".
    show
        Whether to open a browser.
    hosts
        Additional host names of the server; requests for other hosts are rejected.
    origins
        Foreign origins that may use the server, for example behind a proxy that hides the host
        name: "https://lab.example.org".
    lab
        Configuration file with all this and more: users and their permissions (`read_lab`).
    memory_gigabytes, gpu_gigabytes
        Memory limit of all open files, and GPU memory limit of the server.
    scheduler
        Address of a Dask scheduler whose workers compute large analyses.
    limits
        Limits of one tab; None, also for a single limit, uses that of ``lab``.
    unfolds
        Whether to lay out a small graph as soon as it is opened.

    Raises
    ------
    FileFormatError
        If ``lab`` is invalid.
    GenovizError
        If a file does not exist or belongs to no graph, or the port is taken.
    ParameterError
        If a host, an origin or ``prefix`` is invalid.
    """
    from genoviz_app.opening.files import check_path
    from genoviz_app.opening.served_collections import expand_collections
    from genoviz_app.server.cluster import find_problem
    from genoviz_app.server.settings import SETTINGS

    if not is_prefix(prefix or ""):
        raise ParameterError(f"prefix is {prefix!r}, needs a path as /genoviz")
    READERS.start()  # they also look for the chromosomes of a file
    given = read_lab(lab, print_now) if lab is not None else Lab()
    expanded = expand_collections(map(Path, files), print_now)
    paths = (*given.offer, *(check_path(str(file)) for file in expanded.paths))
    given = replace(
        given,
        address=given.address if address is None else address,
        port=given.port if port is None else port,
        prefix=given.prefix if prefix is None else prefix.rstrip("/"),
        hosts=(*given.hosts, *hosts),
        origins=(*given.origins, *origins),
        offer=paths,
        members=given.members | expanded.members,
        memory_gigabytes=memory_gigabytes or given.memory_gigabytes,
        gpu_gigabytes=gpu_gigabytes or given.gpu_gigabytes,
        scheduler=scheduler or given.scheduler,
        tab=given.tab if limits is None else limits.over(given.tab),
    )
    if given.is_limited and not (given.folders or given.groups):
        given = replace(
            given, folders=tuple({Path.cwd(), *(file_at(path).parent for path in paths)})
        )
    offer_files(given)
    if given.scheduler and (problem := find_problem(given.scheduler)):
        print_now(f"{problem}; until then, the server computes everything itself")
    SETTINGS.unfolds = unfolds
    allow_open_files()
    show_threads_on_signal()
    if lab is not None:
        write_events()
    health = Health()
    with collections_put_off():
        server = make_server(given, health, show=show)
        load_compiler()
        keep_what_is_loaded()  # within, as a collection is due when they come back
    names = own_names(given.address)
    host = "localhost" if given.address in LOOPBACK else names[len(LOOPBACK)]
    print_now(f"genoviz is at http://{host}:{server.port}{given.prefix}")
    server.start()
    with suppress(NotImplementedError):  # platforms without these signals
        server.io_loop.asyncio_loop.add_signal_handler(
            signal.SIGTERM, server.io_loop.add_callback, end_jobs_and_stop, server.io_loop, health
        )
    PeriodicCallback(take_back_interrupts, INTERRUPT_MILLISECONDS).start()
    collect_seldom()
    forget = partial(forget_idle, 60 * given.kept_minutes)
    PeriodicCallback(forget, 1000 * FORGET_SECONDS).start()
    server.io_loop.start()


def print_now(words: str) -> None:
    """Print to standard output, even if that is a file or a pipe."""
    print(words, flush=True)  # noqa: T201


def allow_open_files() -> None:
    """Let this process have as many connections as the system permits; 1,024 is a usual default."""
    with suppress(ImportError, OSError, ValueError):  # no such limit, or not permitted
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def forget_idle(seconds: float) -> None:
    """Drop files that have been unused for ``seconds``, and return their memory."""
    from genoviz_app.opening.files import FileCache
    from genoviz_app.opening.memory import MEMORY

    if MEMORY.forget_idle(FileCache.all_kept(), seconds, time.monotonic()):
        trim()


def offer_files(lab: Lab) -> None:
    """Tell all tabs which files exist and who may read them."""
    from genoviz_app.opening.served_files import (
        group_files,
        split_genotypes,
        split_sequences,
        split_tracks,
    )
    from genoviz_app.server.settings import SETTINGS

    SETTINGS.genotypes, others = split_genotypes(lab.offer)
    SETTINGS.sequences, others = split_sequences(others)
    SETTINGS.tracks, others = split_tracks(others)
    SETTINGS.files = group_files(others, lab.members)
    genes = (path for graph in SETTINGS.files if graph.member for path in graph.annotations)
    SETTINGS.tracks = tuple(dict.fromkeys((*SETTINGS.tracks, *genes)))
    SETTINGS.folders, SETTINGS.groups = lab.folders, lab.groups
    layouts = (member.place for member in lab.members.values())  # may be created later
    SETTINGS.offered, SETTINGS.is_limited = (*lab.offer, *layouts), lab.is_limited
    if lab.memory_gigabytes is not None:
        SETTINGS.memory = lab.memory_gigabytes * GB
    if lab.gpu_gigabytes is not None:
        SETTINGS.gpu_memory = lab.gpu_gigabytes * GB
    SETTINGS.tab, SETTINGS.quotas = lab.tab, lab.quotas
    SETTINGS.scheduler = lab.scheduler


def make_server(
    lab: Lab,
    health: Health,
    *,
    show: bool,
    unused_milliseconds: int = UNUSED_SESSION_MILLISECONDS,
) -> Any:
    """Return Panel's server, which listens but does not answer yet.

    A session without a connection is closed after ``unused_milliseconds``.
    """
    import panel as pn

    from genoviz_app.dashboard import make_tab
    from genoviz_app.server.setup import close_doors, prepare_server
    from genoviz_app.theme import FAVICON

    prepare_server()
    people = lab.people
    secret = secrets.token_hex(32)
    doors = Doors.of((*own_names(lab.address), *lab.hosts), lab.origins, secret=secret)
    login: dict[str, Any] = {}
    if people is not None:
        doors = replace(doors, person_of=people.person_of, refuse_person=people.refuse)
        login = {"auth_provider": people.provider(), "cookie_secret": people.secret}
    try:
        server = pn.serve(
            {"/": make_tab},
            title="genoviz",
            port=lab.port,
            address=lab.address,
            prefix=lab.prefix,
            show=show,
            start=False,
            liveness=True,
            verbose=False,
            extra_patterns=[("/status", StatusHandler), *health.patterns],
            ico_path=str(FAVICON),
            websocket_max_message_size=MAX_MESSAGE_BYTES,
            unused_session_lifetime_milliseconds=unused_milliseconds,
            check_unused_sessions_milliseconds=CHECK_SESSIONS_MILLISECONDS,
            websocket_origin="*",
            sign_sessions=True,
            secret_key=secret.encode(),
            include_headers=[],
            include_cookies=[],
            http_server_kwargs={
                "max_body_size": MAX_BODY,
                "idle_connection_timeout": IDLE_SECONDS,
                "body_timeout": IDLE_SECONDS,
            },
            transforms=[SafeHeaders],
            **login,
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise GenovizError(f"port {lab.port} is taken; another is needed, or 0") from error
        raise GenovizError(f"{lab.address} cannot be listened at: {error.strerror}") from error
    tornado = close_doors(server, doors)
    if lab.prefix:
        # Panel would first redirect to the login page, at an address relative to the last slash.
        home = {"url": f"{lab.prefix}/", "permanent": False}
        tornado.add_handlers(".*", [(re.escape(lab.prefix), RedirectHandler, home)])
    health.watch(tornado)
    return server


async def end_jobs_and_stop(loop: IOLoop, health: Health) -> None:
    """Notify all tabs, cancel the jobs after their current slice, and stop the loop."""
    if health.is_stopping:
        return
    health.is_stopping = True
    WORKER.shutdown(wait=False, cancel_futures=True)  # or the process would wait for all attempts
    tell_tabs(health.tornado, STOPPING)
    running = asyncio.get_running_loop()
    ends = [running.run_in_executor(None, pool.close, STOP_SECONDS) for pool in tuple(POOLS)]
    await asyncio.gather(*ends)
    kept = [await running.run_in_executor(None, runs.keep_now) for runs in tuple(ALL_RUNS)]
    await asyncio.sleep(LINK_SECONDS if any(kept) else TELL_SECONDS)
    loop.stop()


def tell_tabs(tornado: Any, sentence: str) -> None:
    """Show a sentence in all tabs of a server."""
    from panel.io.state import set_curdoc, state

    def tell(document: Any) -> None:
        with set_curdoc(document):
            if state.notifications is not None:
                state.notifications.warning(sentence, duration=0)

    for path in tornado.app_paths:
        for session in tornado.get_sessions(path):
            session.document.add_next_tick_callback(partial(tell, session.document))
