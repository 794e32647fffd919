"""Products and predictions of genotypes for programs in C, Fortran, R and Julia.

``genoviz.h`` declares the interface. ``genoviz.c`` forwards calls to a separate process,
``service.py``; ``genoviz.f90``, ``genoviz.R`` and ``genoviz.jl`` are wrappers for other languages.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from os import PathLike
from pathlib import Path

from genoviz.errors import GenovizError
from genoviz.io.files.replace_file import make_folder

FILES = (
    "genoviz.h", "genoviz.c", "genoviz.f90", "genoviz.R", "genoviz.jl",
    "example.c", "example.f90", "example.R", "example.jl",
)  # fmt: skip
LIBRARY = "libgenoviz.so"


def write_library(folder: str | PathLike[str]) -> Path:
    """Write the sources and wrappers into a folder, and compile the library there.

    The compiler is ``cc``, or that of the variable CC. The library starts this Python interpreter,
    or the one that the variable GENOVIZ_PYTHON names at run time.

    Parameters
    ----------
    folder
        Output folder, created if missing. Existing files are overwritten.

    Returns
    -------
    pathlib.Path
        The compiled library.

    Raises
    ------
    GenovizError
        If the folder is a file, there is no compiler, or the compiler fails.
    """
    folder = Path(folder)
    make_folder(folder)
    for name in FILES:
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
    library = folder / LIBRARY
    compiler = shlex.split(os.environ.get("CC", "cc"))
    escaped = sys.executable.replace("\\", "\\\\").replace('"', '\\"')
    options = ["-O2", "-fPIC", "-shared", f'-DGENOVIZ_PYTHON="{escaped}"']
    command = [*compiler, *options, str(folder / "genoviz.c"), "-o", str(library)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise GenovizError(
            f"the C compiler {compiler[0]} was not found: install one, or name it in the variable "
            f"CC; the sources are in {folder}"
        ) from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.splitlines() or ["it said nothing"]
        raise GenovizError(
            f"{compiler[0]} cannot compile {folder / 'genoviz.c'}: {lines[0]}"
        ) from None
    return library
