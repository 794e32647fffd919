"""Import of optional packages that some formats need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from genoviz.errors import GenovizError


def import_reader(name: str, files: str) -> ModuleType:
    """Return a package that reads ``files``.

    Raises
    ------
    GenovizError
        If it is not installed; the message says what to install.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise GenovizError(
            f"{files} are read with {name}, which is not installed: pip install {name}"
        ) from error
