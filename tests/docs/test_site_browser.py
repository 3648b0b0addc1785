"""The site as a reader has it: built, served, and looked at in a browser."""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.core.report.browsers import browser, in_a_browser

ROOT = Path(__file__).parents[2]
pytestmark = [*in_a_browser, pytest.mark.slow]
__all__ = ["browser"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return where the site is served, with one live report."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, ROOT / "tools" / "build_docs.py", "--out", folder, "--reports", "mathematical-pendulum"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def tab(browser, address):
    """Give a function that opens a page of the site; nothing may be asked from outside, and nothing complained about."""
    from tests.core.report.chromium import Page

    opened = []

    def show(place, width=1280, scheme="light"):
        page = Page(browser, width, 900, scheme)
        opened.append(page)
        page.call("Page.navigate", url=address + place)
        page.wait("document.readyState === 'complete'", 60)
        page.settle()
        return page

    yield show
    for page in opened:
        assert page.messages == []
        assert [url for url in page.requests if not url.startswith((address, "data:", "about:"))] == []
        page.close()


def search(page, words):
    """Type words into the search field, and return what the page of results says, and its first results."""
    page.press("input.sidebar-search")
    page.call("Input.insertText", text=words)
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if kind == "keyDown" else {}
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, **text)
    page.wait("location.pathname.endsWith('search.html') && document.readyState === 'complete'", 60)
    page.wait("/finished|did not match/.test(document.querySelector('.search-summary')?.innerText)", 60)
    page.settle()
    said = page.run("document.querySelector('.search-summary').innerText")
    return said, page.run("[...document.querySelectorAll('#search-results li a')].map(link => link.innerText)")


def test_a_word_is_found_and_nonsense_is_not(tab):
    said, found = search(tab("index.html"), "rainflow")
    assert "found" in said and "Fatigue" in found
    said, found = search(tab("index.html"), "qqzzqq")
    assert "did not match" in said and found == []


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_pictures_are_those_of_the_screen(tab, width, scheme):
    page = tab("index.html", width, scheme)
    assert page.run("document.documentElement.scrollWidth") <= width
    shown = "[...document.querySelectorAll('article img')].filter(image => image.offsetWidth).map(image => image.src)"
    overview = [source for source in page.run(shown) if "overview" in source]
    assert len(overview) == 1 and f"overview-{scheme}" in overview[0]
    page = tab("models/vessel-crane.html", width, scheme)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("document.querySelector('article img').naturalWidth") > 0


def test_the_live_report_of_a_model_is_on_its_page(tab):
    page = tab("models/mathematical-pendulum.html")
    page.box("iframe.report")
    page.wait("document.querySelector('iframe.report').contentDocument?.documentElement.dataset.ready === 'yes'", 60)
