"""A process with imported libraries that forks a child for each test run.

The imports take longer than most test runs. Nothing of the project is imported here, so each child
sees only its mutant. The process reads one line of JSON per run, and answers with the child's
process ID and later with its exit status.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import warnings

LIBRARIES = (
    "_pytest.assertion.rewrite",
    "numba.np.ufunc.parallel",
    "numpy.testing",
    "pandas",
    "scipy.linalg",
    "scipy.sparse",
    "scipy.stats",
    "bokeh.server.server",
    "holoviews.operation.datashader",
    "panel",
    "panel_material_ui",
    "PIL.Image",
    "reportlab.pdfgen.canvas",
    "rich.console",
    "typer.testing",
)
MAX_MEMORY = 14 << 30


def main() -> None:
    """Serve requested runs until the input ends."""
    # Ctrl-C is handled by the requesting process, which ends the runs here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        for name in sys.argv[1:]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(**json.loads(line))
        _answer(child)
        _, status = os.waitpid(child, 0)
        _answer(os.waitstatus_to_exitcode(status))


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _run(folder: str, output: str, environment: dict[str, str], arguments: list[str]) -> None:
    """Run pytest in this process and end it."""
    os.setsid()
    # A background process may ignore signals that tests send.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(number, target)
    os.chdir(folder)
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv[:] = ["pytest", *arguments]
    status = 3
    try:
        import pytest

        status = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
