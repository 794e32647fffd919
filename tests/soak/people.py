"""Simulated users with one tab each, and the time from each action to its result."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from benchmarks.tab_client import CANVAS, Tab

PAGES = ("Tracks", "K-mers", "Off-targets", "Genotypes", "Quality", "Pangenome")
SWITCH = "Another page with the same files"
THINKING_SECONDS = 0.5


class Diary:
    """A log of all users' actions.

    Attributes
    ----------
    seconds
        Durations of each kind of action, until its result is visible.
    errors
        Errors, one sentence each.
    look_into
        Called with a user after an error.
    """

    def __init__(self, look_into: Callable[[Person], Awaitable[None]] | None = None) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.look_into = look_into
        self.begin, self.end = time.monotonic(), float("inf")

    async def complain(self, person: Person, error: Exception) -> None:
        """Record an error with time, user and action."""
        seconds = time.monotonic() - self.begin
        words = f"{person.name}, {person.doing!r}, after {seconds:.1f} s"
        self.errors.append(f"{words}: {type(error).__name__}: {error}")
        if self.look_into is not None:
            await self.look_into(person)

    @property
    def goes_on(self) -> bool:
        """Whether the day is not over."""
        return time.monotonic() < self.end


class Person:
    """A user with one open tab.

    Parameters
    ----------
    url
        Address of the server.
    query
        Address that the user opens.
    diary
        Records the actions.
    seed
        Seed of the user's random choices.

    Attributes
    ----------
    stays
        Whether the user acts until the day is over, or only once.
    """

    stays = True

    def __init__(self, url: str, query: dict[str, Any], diary: Diary, seed: int) -> None:
        self.url, self.query, self.diary = url, "?" + urlencode(query, doseq=True), diary
        self.whim = random.Random(seed)
        self.tab: Tab | None = None
        self.has_begun = False
        self.name, self.doing = f"{type(self).__name__} {seed}", "open a tab"

    async def live(self) -> None:
        """Open a tab, act until the day is over, and close it."""
        try:
            start = time.perf_counter()
            self.tab = await Tab.open(self.url, self.query)
            await self.begin()
            self.diary.seconds["open a tab"].append(time.perf_counter() - start)
            self.has_begun = True
            await self.act()
            while self.stays and self.diary.goes_on:
                await asyncio.sleep(THINKING_SECONDS * (0.5 + self.whim.random()))
                await self.act()
        except Exception as error:
            await self.diary.complain(self, error)
        finally:
            if self.tab is not None:
                self.diary.errors += [f"{self.name}: {error}" for error in self.tab.errors]
                await self.tab.close()

    async def open_and_vanish(self) -> None:
        """Start to work and disconnect without notice, like a killed browser."""
        self.tab = await Tab.open(self.url, self.query)
        await self.begin()
        await self.act()
        self.tab.vanish()

    async def begin(self) -> None:
        """Prepare for the actions."""

    async def act(self) -> None:
        """Perform one action and record its duration."""

    async def measure(self, kind: str, hand: Any, is_shown: Callable[[], Any]) -> None:
        """Record the time from an action (an awaitable) to its visible result."""
        self.doing, start = kind, time.perf_counter()
        await hand
        await self.tab.until(is_shown)
        self.diary.seconds[kind].append(time.perf_counter() - start)
        self.doing = f"after: {kind}"

    async def say_hello(self, kind: str, **more: Any) -> str:
        """Report the size of a canvas; return its id."""
        canvas = await self.tab.wait_for(kind)
        await self.tab.answer(canvas, {"kind": "hello", **more})
        await self.tab.until(lambda: self.tab.n_frames > 0)
        return canvas

    def next_frame(self) -> Callable[[], bool]:
        """Return a function that says whether a picture has arrived since this call."""
        n_frames = self.tab.n_frames
        return lambda: self.tab.n_frames > n_frames


class Designer(Person):
    """Runs layouts, and zooms meanwhile."""

    async def begin(self) -> None:
        width, height = CANVAS
        size = {"width": width, "height": height, "bounds": [0, width, 0, height], "moves": 0}
        self.canvas = await self.say_hello("GraphCanvas", **size)
        self.run = await self.tab.wait_for("Button", label="Run")
        self.n_moves = 0

    async def act(self) -> None:
        tab = self.tab
        if self.n_moves == 0:  # small graphs are laid out when opened
            await tab.until(lambda: not tab.parts[self.run].get("disabled"))
        if not tab.parts[self.run].get("disabled"):
            n_told = tab.n_told[self.run, "disabled"]  # a short run may end before this looks
            is_taken = lambda: tab.n_told[self.run, "disabled"] > n_told  # noqa: E731
            await self.measure("run a layout", tab.click(self.run), is_taken)
        self.n_moves += 1
        width, height = CANVAS
        x, y = self.whim.uniform(0, 50_000), self.whim.uniform(-5000, 5000)
        span = 10 ** self.whim.uniform(2, 5)
        view = {
            "kind": "view", "width": width, "height": height, "moves": self.n_moves,
            "bounds": [x, x + span, y, y + span * height / width],
        }  # fmt: skip
        await self.measure("zoom a layout", tab.answer(self.canvas, view), self.next_frame())


class Searcher(Person):
    """Types k-mers."""

    async def begin(self) -> None:
        self.field = await self.tab.wait_for("TextAreaInput", label="K-mers")
        await self.tab.until(self.says("Enter a k-mer"))

    def says(self, words: str) -> Callable[[], bool]:
        """Return a function that says whether the page shows a text."""
        return lambda: any(words in str(part.get("text")) for part in self.tab.parts.values())

    async def act(self) -> None:
        kmer = "".join(self.whim.choices("ACGT", k=self.whim.randint(4, 11)))
        hand = self.tab.set(self.field, value_input=kmer)
        await self.measure("type a k-mer", hand, self.says("class=&quot;hits&quot;"))
        await self.tab.set(self.field, value_input="")
        await self.tab.until(self.says("Enter a k-mer"))


class Reader(Person):
    """Drags tracks along a contig."""

    async def begin(self) -> None:
        place = {"contig": "", "bounds": [0, 1], "width": CANVAS[0], "moves": 0}
        self.canvas = await self.say_hello("TrackCanvas", **place)
        self.n_moves = 0

    async def act(self) -> None:
        self.n_moves += 1
        start = self.whim.uniform(0, 90_000)
        bounds = [start, start + self.whim.uniform(1000, 10_000)]
        view = {
            "kind": "view", "contig": "c1", "bounds": bounds, "width": CANVAS[0],
            "moves": self.n_moves,
        }  # fmt: skip
        await self.measure("drag tracks", self.tab.answer(self.canvas, view), self.next_frame())


class Wanderer(Person):
    """Goes from page to page."""

    async def begin(self) -> None:
        self.switch = await self.tab.wait_for("RadioButtonGroup", description=SWITCH)
        self.seen: set[str] = set()
        self.turn = 0

    async def act(self) -> None:
        title = PAGES[self.turn % len(PAGES)]
        self.turn += 1
        kind = "come back to a page" if title in self.seen else "see a page first"
        self.seen.add(title)
        n_messages = self.tab.n_changes
        hand = self.tab.set(self.switch, value=title)
        await self.measure(kind, hand, lambda: self.tab.n_changes > n_messages)
