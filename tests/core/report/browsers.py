"""What tests in a browser have in common: one Chromium for a module, and tabs that must not have said or asked anything."""

import importlib.util
from contextlib import contextmanager

import pytest

if importlib.util.find_spec("websockets") is None:
    CHROMIUM = None
else:
    from tests.core.report.chromium import Chromium, find_chromium

    CHROMIUM = find_chromium()

in_a_browser = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium found; install one (apt-get install chromium) or set KINGPOST_CHROMIUM; pip install websockets",
    ),
    pytest.mark.xdist_group("browser"),  # one browser for all
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Chromium(CHROMIUM, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@contextmanager
def fresh_tabs(show, asked_for):
    """Give a function that shows something in a fresh tab, and closes the one before: a tab in the background draws nothing.

    ``show`` makes a tab; ``asked_for(page, *what)`` checks what it asked for. When a tab is closed, its console must be empty.
    """
    opened = []

    def finish():
        while opened:
            page, what = opened.pop()
            page.settle()
            assert page.messages == []
            asked_for(page, *what)
            page.close()

    def fresh(*what, **how):
        finish()
        opened.append((show(*what, **how), what))
        return opened[-1][0]

    yield fresh
    finish()
