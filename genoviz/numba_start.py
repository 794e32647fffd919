"""What Numba loads when a process starts, and the stack on which it compiles.

A command whose functions are in Numba's cache needs neither what compiles them nor what Numba
looks for when it is imported. It calls `start_light` before Numba is imported; Numba still brings
in the rest when there is something to compile.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P, R = ParamSpec("P"), TypeVar("R")

STACK_ENTRIES = 2**16
"""Entries of 8 bytes in a frame that is a little larger than half a megabyte.

Python then allocates a megabyte; the half that is not used is never touched.
"""

CONFIGURATION = Path(".numba_config.yaml")
"""The file of settings that Numba reads with yaml, if it is there."""


def start_light() -> None:
    """Let a process whose compiled functions are all in Numba's cache load no more than these.

    Numba otherwise brings in, with its first function, the types and code of all that it can
    compile, which takes as long as its own import.
    """
    sys.meta_path.insert(0, _LightNumba)


def load_compiler() -> None:
    """Load the modules now that Numba needs for its first compiled function.

    They are hundreds of modules, whose import blocks other threads for half a second. All threads
    compile `on_one_piece` from now on.
    """
    import numba
    from numba.core import compiler

    compiler.compile_extra = on_one_piece(compiler.compile_extra)
    numba.njit(lambda: None)()


def on_one_piece(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that does the same with all of its calls in one piece of Python's stack.

    Python keeps the frames of calls in pieces of 16 KB. Python 3.11 and 3.12 ask the system for a
    piece whenever a call crosses the border to the next, and give it back when the call returns.
    Numba's compiler and Panel are called so deep that they cross a border again and again: this
    took a quarter of the time for which Numba compiled. A frame that is larger than a piece gets a
    larger one, and the calls below it share the rest.

    Source: https://github.com/python/cpython/issues/142183
    """

    def call(*arguments: P.args, **named: P.kwargs) -> R:
        return function(*arguments, **named)

    call.__code__ = call.__code__.replace(co_stacksize=STACK_ENTRIES)
    return functools.wraps(function)(call)


class _LightNumba:
    """Import hook that hides packages from Numba, and changes some of its modules."""

    @staticmethod
    def find_spec(name: str, path: Any, _target: object = None) -> ModuleSpec | None:
        importer = _HIDDEN.get(name)
        if importer is not None and importer():
            raise ImportError("Numba is to do without it")
        fill, change = _REPLACED.get(name), _CHANGED.get(name)
        if fill is change is None:
            return None
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            (fill or execute)(module)
            if change is not None:
                change(module)

        spec.loader.exec_module = exec_module
        return spec


def _is_without(name: str, attribute: str) -> bool:
    """Return whether a module is being imported, and has not come to an attribute yet."""
    return name in sys.modules and not hasattr(sys.modules[name], attribute)


# Other code can still import all of these. SciPy takes as long as Numba itself: Numba looks at its
# version, and whether np.convolve can use its BLAS.
_HIDDEN: dict[str, Callable[[], bool]] = {
    "scipy": lambda: _is_without("numba", "config"),
    "scipy.linalg": lambda: _is_without("numba.np.arraymath", "_HAVE_BLAS"),
    "yaml": lambda: _is_without("numba.core.config", "_HAVE_YAML") and not CONFIGURATION.exists(),
}


def _load_without_registries(caching: ModuleType) -> None:
    caching.Cache.load_overload = _load_overload


def _load_overload(self: Any, signature: Any, context: Any) -> Any:
    """Do what Numba's method does, without ``context.refresh()``; compiling does that again."""
    from numba.core.runtime import rtsys

    # It makes a symbol known that compiled sets and dictionaries refer to.
    importlib.import_module("numba.cpython.hashing")
    rtsys.initialize(context)
    with self._guard_against_spurious_io_errors():
        return self._load_overload(signature, context)


def _compile_runtime_late(nrt: ModuleType) -> None:
    """Have counters of references compiled when they are linked to a function that is compiled.

    A function that comes from the cache has its own.
    """
    compile_now = nrt.nrtdynmod.compile_nrt_functions
    runtime = type(nrt.rtsys)
    get_library = runtime.library.fget

    def library(self: Any) -> Any:
        found = get_library(self)
        if isinstance(found, _Uncompiled):
            found = self._library = compile_now(found.context)
        return found

    nrt.nrtdynmod.compile_nrt_functions = _Uncompiled
    runtime.library = property(library)


class _Uncompiled:
    """A library that is compiled when it is asked for."""

    def __init__(self, context: Any) -> None:
        self.context = context


def _import_no_globals(environment: ModuleType) -> None:
    """Have functions of Numba that are within those in the cache not bring in their modules.

    Compiled code does not look at globals.
    """
    rebuild = environment._rebuild_env

    def rebuild_light(module: str, constants: list[Any], name: str) -> Any:
        if module in sys.modules or not module.startswith("numba."):
            return rebuild(module, constants, name)
        found = environment.lookup_environment(name)
        if found is None:
            found = environment.Environment({"__name__": module})
            found.consts[:] = constants
            found.env_name = name
            environment.Environment._memo[name] = found
        return found

    # Files of the cache refer to it by its name.
    rebuild_light.__name__ = rebuild_light.__qualname__ = rebuild.__name__
    rebuild_light.__module__ = environment.__name__
    environment._rebuild_env = rebuild_light


def _have_no_extensions(entrypoints: ModuleType) -> None:
    """Have Numba not look through all installed packages for types that it might be taught."""
    entrypoints.init_all = lambda: None


_REPLACED: dict[str, Callable[[ModuleType], None]] = {
    "numba.core.entrypoints": _have_no_extensions,
    "numba.experimental.jitclass.overloads": lambda _: None,
}
_CHANGED: dict[str, Callable[[ModuleType], None]] = {
    "numba.core.caching": _load_without_registries,
    "numba.core.environment": _import_no_globals,
    "numba.core.runtime.nrt": _compile_runtime_late,
}
