"""A failed test leaves no half-used tab to the next test."""

from __future__ import annotations

import pytest

from tests.browser.conftest import N_FAILURES, SharedTabs


class Page:
    is_open, n_times_in_front = True, 0

    @property
    def page(self):
        return self

    def bring_to_front(self):
        self.n_times_in_front += 1

    def close(self):
        self.is_open = False


class Person:
    new_page = Page


def test_after_a_failure_shared_tabs_are_opened_anew():
    stash = pytest.Stash()
    shared = SharedTabs(Person(), stash)
    first, other = (shared.get(name, lambda page: page) for name in ("first", "other"))
    assert shared.get("first", lambda page: page) is first
    assert (first.n_times_in_front, other.n_times_in_front) == (2, 1)
    stash[N_FAILURES] = 1
    again = shared.get("first", lambda page: page)
    assert again is not first
    assert (first.is_open, other.is_open, again.is_open) == (False, False, True)
    assert shared.get("first", lambda page: page) is again
    shared.close()
    assert not again.is_open
