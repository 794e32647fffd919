"""A test that fails leaves no half-used tab to the next."""

from __future__ import annotations

import pytest

from tests.browser.conftest import N_FAILURES, SharedTabs


class Page:
    is_open = True

    def close(self):
        self.is_open = False


class Person:
    new_page = Page


def test_after_a_failure_shared_tabs_are_opened_anew():
    stash = pytest.Stash()
    shared = SharedTabs(Person(), stash)
    first, other = (shared.get(name, lambda page: page) for name in ("first", "other"))
    assert shared.get("first", lambda page: page) is first
    stash[N_FAILURES] = 1
    again = shared.get("first", lambda page: page)
    assert again is not first
    assert (first.is_open, other.is_open, again.is_open) == (False, False, True)
    assert shared.get("first", lambda page: page) is again
    shared.close()
    assert not again.is_open
