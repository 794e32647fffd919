"""Connection to a Dask scheduler, with readable errors."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from genoviz.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10
CLOSE_SECONDS = 2
_DISTRIBUTED = (
    "a scheduler needs the packages dask and distributed, and {name} is not here: "
    "install genoviz[cluster]"
)


@contextlib.contextmanager
def open_client(scheduler: str | Client) -> Iterator[Client]:
    """Open a client of a scheduler; a client passed in stays open.

    Raises
    ------
    ClusterError
        If ``distributed`` is missing, or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(_DISTRIBUTED.format(name=error.name or "distributed")) from None
    if isinstance(scheduler, Client):
        if scheduler.asynchronous:
            raise ClusterError("the client is asynchronous, needs one that is not")
        yield scheduler
        return
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # the ClusterError says it in one sentence
    try:
        try:
            _ask(scheduler)
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no scheduler of Dask answers at {scheduler!r} ({_first_line(error)}): start one "
                "with dask scheduler, and name the address that it prints"
            ) from None
        try:
            yield client
        finally:
            client.close(timeout=CLOSE_SECONDS)
    finally:
        logger.setLevel(level)


def _ask(address: str) -> None:
    """Raise OSError or ValueError if the scheduler is down; a failed client would never end."""
    from distributed.core import connect
    from distributed.security import Security

    async def ask() -> None:
        options = Security().get_connection_args("client")
        (await connect(address, timeout=CONNECT_SECONDS, **options)).abort()

    with ThreadPoolExecutor(1) as thread:  # the thread of a notebook already has an event loop
        thread.submit(asyncio.run, ask()).result()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
