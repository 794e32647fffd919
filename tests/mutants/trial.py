"""A copy of the source tree, in which mutants are tried one at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutations import Mutant
from tests.mutants.nearest_tests import TestMap
from tests.mutants.nursery import LIBRARIES

OUTCOME = re.compile(r"^(tests/\S+?\.py(?:::.*?)?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
STARTED = re.compile(r"^(tests/\S+?\.py::.*?)(?: \+.*| Fatal Python error: .*)?$")
BROKEN_FILE = re.compile(r"^ERROR (?:collecting )?(tests/\S+?\.py)", re.MULTILINE)


THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Verdict:
    """``word`` is killed, crashed, timed out or survived, or unsure if the run was cancelled.

    ``by`` is the failed test.
    """

    word: str
    by: str
    seconds: float


# Files that are not part of a checkout: those that git ignores, also where there is no git.
NOT_COPIED = re.compile(r"\.git|\.venv|\.mutants|__pycache__|\.\w+_cache|\.hypothesis|.*\.egg-info")


class Copy:
    """A copy of a checkout with its compiled kernels.

    Numba does not detect changes in other files, so the caches of all files that import a mutated
    one are moved away while the mutant is tried.
    """

    def __init__(
        self,
        checkout: Path,
        folder: Path,
        libraries: tuple[str, ...] = LIBRARIES,
        n_threads: int | None = None,
    ):
        self.checkout, self.folder = checkout, folder
        self.is_given_up = False
        self.root, self._stash = folder / "tree", folder / "stash"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"another run uses {folder}: wait for it, or give --folder") from None
        self._mutated: Path | None = None
        self._stored: list[Path] = []
        if (note := folder / "mutated.json").exists():
            mutated, stored = json.loads(note.read_text())
            self._mutated, self._stored = Path(mutated), [Path(path) for path in stored]
            self.restore()
        self._refresh()
        # Caches elsewhere than next to the sources would not be found here when a mutant is
        # applied.
        environment = {name: at for name, at in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        if n_threads:
            environment |= dict.fromkeys(THREADS, str(n_threads))
        self._nursery = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("nursery.py")), *libraries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def _refresh(self) -> None:
        names = list_files(self.checkout)
        if not self.root.exists():
            names |= {
                path.relative_to(self.checkout).as_posix()
                for path in self.checkout.glob("genoviz/**/__pycache__/*.nb[ic]")
            }
        else:
            for path in self.root.rglob("*"):
                name = path.relative_to(self.root).as_posix()
                if path.is_file() and "__pycache__" not in path.parts and name not in names:
                    path.unlink()
        for name in names:
            source, target = self.checkout / name, self.root / name
            if source.is_file() and not _is_same(source, target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        # The folder is imported by this name; otherwise tests would import from the original
        # checkout.
        installed = self.root / "genoviz_app"
        if not installed.is_symlink():
            installed.symlink_to("app")

    def mutate(self, mutant: Mutant, tests: TestMap) -> None:
        """Apply a mutant to the copy, and move away outdated caches."""
        self._mutated = Path(mutant.path)
        compiled = [p for p in tests.importers(mutant.path) if "@njit" in tests.texts[p]]
        self._stored = [Path(path) for path in compiled]
        note = json.dumps([mutant.path, compiled])
        (self.folder / "mutated.json").write_text(note)
        for path in self._compiled_files():
            target = self._stash / path.relative_to(self.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        self._forget_bytecode()
        source = self.root / mutant.path
        shutil.copy2(source, self.folder / "original")
        source.write_bytes(mutant.applied_to(source.read_bytes()))

    def restore(self) -> None:
        """Remove the mutant from the copy."""
        for path in self._compiled_files():
            path.unlink()
        if self._stash.exists():
            for path in filter(Path.is_file, self._stash.rglob("*")):
                path.replace(self.root / path.relative_to(self._stash))
            shutil.rmtree(self._stash)
        if (original := self.folder / "original").exists():
            original.replace(self.root / self._mutated)
        self._forget_bytecode()
        (self.folder / "mutated.json").unlink()

    def _compiled_files(self) -> list[Path]:
        return [
            path
            for file in self._stored
            for path in (self.root / file).parent.glob(f"__pycache__/{file.stem}.*.nb[ic]")
        ]

    def _forget_bytecode(self) -> None:
        file = self.root / self._mutated
        for path in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            path.unlink()

    def give_up(self) -> None:
        """Cancel the current run, and each later one as soon as it starts."""
        self.is_given_up = True

    def run(self, tests: list[str], *, longest: float, seconds: float, options: tuple = ("-x",)):
        """Run some tests, and return the verdict and their output.

        A test that takes more than ``longest`` seconds fails. No test is started after ``seconds``.
        """
        for name in ("cache", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        output, began = self.folder / "output.txt", time.monotonic()
        output.write_bytes(b"")
        limits = ["--timeout", f"{longest:.0f}", "-o", "timeout_method=thread"]
        quiet = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-v", "--no-header"]
        order = {
            "folder": str(self.root),
            "output": str(output),
            "environment": self._environment(),
            "arguments": [*limits, *quiet, *options, f"--basetemp={self.folder / 'tmp'}", *tests],
        }
        self._nursery.stdin.write(json.dumps(order) + "\n")
        self._nursery.stdin.flush()
        child = int(self._nursery.stdout.readline())
        try:
            end = self._wait(output, longest + 60, began + seconds)
        finally:
            # with all processes started by the tests
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        status = int(self._nursery.stdout.readline())
        text = output.read_text(errors="replace")
        word, by = _judge(text, status, end)
        return Verdict(word, by, time.monotonic() - began), text

    def _environment(self) -> dict[str, str]:
        data = self.checkout.parent / "shared" / "data"
        own = {
            "PYTHONPATH": str(self.root),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "GENOVIZ_TEST_DATA": os.environ.get("GENOVIZ_TEST_DATA", str(data)),
            "COLUMNS": "200",
        }
        return own

    def _wait(self, output: Path, longest_silence: float, last: float) -> str:
        """Wait for the tests; return "itself", "silent", "out of time" or "given up"."""
        size, heard = 0, time.monotonic()
        while not select.select([self._nursery.stdout], [], [], 0.1)[0]:
            now = time.monotonic()
            if self.is_given_up:
                return "given up"
            if output.stat().st_size != size:
                size, heard = output.stat().st_size, now
                if now > last:
                    return "out of time"
            elif now - heard > longest_silence:
                return "silent"
        return "itself"

    def close(self) -> None:
        """End the process that runs the tests."""
        self._nursery.stdin.close()
        self._nursery.wait()
        self._nursery.stdout.close()
        self._lock.close()


def list_files(checkout: Path) -> set[str]:
    """Return a checkout's own file names, including untracked ones."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    if (checkout / ".git").exists():
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            listed = subprocess.run(command, cwd=checkout, capture_output=True, check=True).stdout
            return {name for name in os.fsdecode(listed).split("\0") if name}
    names: set[str] = set()
    for folder, folders, files in os.walk(checkout):
        folders[:] = [name for name in folders if not NOT_COPIED.fullmatch(name)]
        own = (Path(folder) / name for name in files if not NOT_COPIED.fullmatch(name))
        names |= {path.relative_to(checkout).as_posix() for path in own}
    return names


def _is_same(source: Path, target: Path) -> bool:
    if not target.exists():
        return False
    old, new = source.stat(), target.stat()
    return (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)


def _judge(text: str, status: int, end: str) -> tuple[str, str]:
    by = running = ""
    for line in text.splitlines():
        if outcome := OUTCOME.match(line):
            running = ""
            if outcome[2] in ("FAILED", "ERROR"):
                by = by or outcome[1]
        elif started := STARTED.match(line):
            running = started[1].strip()
    if by:
        return ("timed out" if "Failed: Timeout" in text else "killed"), by
    if end == "given up":
        return "unsure", ""
    if end == "silent" or "+ Timeout +" in text:
        return "timed out", running
    if end == "out of time" or status in (0, 5):
        return "survived", ""
    if broken := BROKEN_FILE.search(text):
        return "killed", broken[1]
    return ("crashed" if status < 0 else "killed"), running or "tests/conftest.py"
