"""``genoviz serve``: the dashboard."""

from __future__ import annotations

import errno
import os
import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import option, with_examples
from genoviz.errors import GenovizError

_MEGABYTE = str(1 << 20)
# From this size on, free memory at the end of a heap, or a block, goes back at once. Arrow, which
# pandas uses, otherwise has an allocator of its own, which cannot be told to give memory back.
GIVEN_BACK = {
    "MALLOC_TRIM_THRESHOLD_": _MEGABYTE,
    "MALLOC_MMAP_THRESHOLD_": _MEGABYTE,
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


@with_examples(
    "genoviz serve",
    "genoviz serve graph.gfa.gz --port 8080",
    "genoviz serve graph.gfa.gz graph.lay genes.bed",
    "genoviz serve reads.bam signal.bigwig genes.gtf",
    "genoviz serve genome.fa.gz",
    "genoviz serve mice.bed mice.pheno.csv",
    "genoviz serve --lab lab.toml --no-browser",
    "ssh -L 5006:localhost:5006 server genoviz serve --no-browser",
    no_args_is_help=False,
)
def serve(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Graphs, each optionally followed by its layout and annotations; the first "
            "graph is opened. A folder of graphs, a TOML list or a large GBZ file offers all its "
            "graphs, with layouts from the folder after it (genoviz layout --all). Without graphs, "
            "files of intervals, reads and signals are opened as tracks. Sequences (FASTA, "
            "2bit), k-mer indexes (.gvfm), and genotypes (PLINK .bed with .bim and .fam, "
            ".pgen, .bgen, VCF, BCF), each optionally followed by its table of phenotypes, are "
            "offered on their pages.",
        ),
    ] = None,
    port: Annotated[int, option("TCP port; 0 selects a free port.", within=(0, 65535))] = 5006,
    address: Annotated[
        str, option("Address to listen at; 0.0.0.0 for all networks.")
    ] = "127.0.0.1",
    prefix: Annotated[
        str | None,
        option(
            "Path of the dashboard, e.g. behind a proxy: /genoviz. By default, it is at /.",
            metavar="PATH",
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        option(
            "Additional host name under which browsers reach the server (repeatable). "
            "Requests for other hosts are rejected.",
            metavar="NAME",
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        option(
            "Allowed origin of pages other than the server's own address, e.g. behind a "
            "proxy that hides the name: https://lab.example.org (repeatable).",
            metavar="ADDRESS",
        ),
    ] = None,
    lab: Annotated[
        Path | None,
        option(
            "Settings of a lab's server (TOML): users, folders they may read, address and "
            "prefix; see docs/server.md. Options on the command line take precedence.",
            metavar="FILE",
        ),
    ] = None,
    add_person: Annotated[
        str | None,
        option(
            "Ask for a password, store its hash for this person in the password file of "
            "--lab, and exit.",
            metavar="NAME",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        option(
            "Memory limit of all open files; one file may use half of it. Default: 60 % of "
            "the machine's memory. A file that does not fit is rejected before it is read.",
            within=(1, 100_000),
            metavar="GB",
        ),
    ] = None,
    tab_memory: Annotated[
        int | None,
        option(
            "Memory limit of the open files of one tab. Default: no limit.",
            within=(1, 100_000),
            metavar="GB",
        ),
    ] = None,
    gpu_memory: Annotated[
        int | None,
        option(
            "GPU memory limit of the server. Default: all of it.",
            within=(1, 100_000),
            metavar="GB",
        ),
    ] = None,
    job_minutes: Annotated[
        int | None,
        option(
            "Time limit of one layout, analysis or query. Default: no limit.",
            within=(1, 100_000),
            metavar="MINUTES",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        option(
            "Maximum number of rows of a result. Default: what each page can show.",
            within=(1, 10**9),
            metavar="N",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        option(
            "Dask scheduler whose workers compute large analyses: associations, relationships and "
            r"statistics of genotypes, and off-targets. Needs genoviz\[cluster].",
            metavar="ADDRESS",
        ),
    ] = None,
    browser: Annotated[
        bool, option("Open the dashboard in a browser.", "--browser/--no-browser")
    ] = True,
) -> None:
    """Serve the dashboard, and print its address, until interrupted."""
    _begin_with_malloc()
    try:
        from genoviz_app.server.limits import Limits
        from genoviz_app.server.serving import serve as serve_app

        if add_person is not None:
            _add_person(lab, add_person)
            return
        if lab is not None:  # what it says counts, and not what is said nowhere
            port, address = (
                value if context.get_parameter_source(name).name == "COMMANDLINE" else None
                for name, value in (("port", port), ("address", address))
            )
        others = {
            "prefix": prefix,
            "hosts": host,
            "origins": origin,
            "lab": lab,
            "memory_gigabytes": memory,
            "gpu_gigabytes": gpu_memory,
            "scheduler": scheduler,
        }
        limits = Limits(memory_gigabytes=tab_memory, job_minutes=job_minutes, rows=rows)
        if limits != Limits():
            others["limits"] = limits
        others = {name: value for name, value in others.items() if value}
        serve_app(files or [], port=port, address=address, show=browser, **others)
    except ModuleNotFoundError as error:
        if not error.name or error.name.split(".")[0] == "genoviz":
            raise
        raise GenovizError(
            f"the dashboard needs {error.name}, which is not installed: pip install 'genoviz[app]'"
        ) from error
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise GenovizError(f"port {port} is taken; give another as --port, or 0") from error


def _begin_with_malloc() -> None:
    """Begin this process anew with an allocator that can give back what a closed tab had.

    Python's own returns a megabyte only when nothing is left in it, which never happens: a server
    would keep its peak of memory until it ends. That of glibc keeps up to 64 MB at the end of what
    each thread has, unless it is told from which size on free memory goes back at once.
    """
    main = sys.modules["__main__"]
    name = main.__spec__.name if main.__spec__ else Path(sys.argv[0]).name
    is_ours = name in ("genoviz", "genoviz.__main__")
    if is_ours and "PYTHONMALLOC" not in os.environ and platform.libc_ver()[0] == "glibc":
        chosen = {**GIVEN_BACK, **os.environ, "PYTHONMALLOC": "malloc"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], chosen)


def _add_person(lab: Path | None, name: str) -> None:
    from genoviz_app.server.lab_file import passwords_of
    from genoviz_app.server.passwords import add_person

    if lab is None:
        raise GenovizError("--add-person needs --lab, a file that names the file of passwords")
    path = passwords_of(lab)
    password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    add_person(path, name, password)
    typer.echo(f"{name} can log in; {path} has the hash of the password")
