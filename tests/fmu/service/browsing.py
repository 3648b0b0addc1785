"""The page of the service in a browser: visits, keys, dropped files; and a server of its own to visit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.report.browsers import fresh_tabs
from tests.core.report.chromium import KEYS, Page

KEYS.update(
    {
        "Tab": ("Tab", 9),
        "Enter": ("Enter", 13),
        "Delete": ("Delete", 46),
        "ArrowUp": ("ArrowUp", 38),
        "ArrowDown": ("ArrowDown", 40),
        "Home": ("Home", 36),
        ".": ("Period", 190),
    }
)
#: Everything here waits on a machine that may be busy with something else.
PATIENCE = 120


class Served:
    """``kingpost serve`` on a folder, with a port of its own choice."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.output = (folder.parent / f"{folder.name}.out").open("w+")
        command = [
            sys.executable,
            "-m",
            "kingpost",
            "serve",
            str(folder),
            "--port=0",
            "--workers=1",
            "--nice=0",
            "--no-open",
            *options,
        ]
        self.process = subprocess.Popen(
            command, stdout=self.output, stderr=subprocess.STDOUT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        )
        self.address = self._address()

    def _address(self) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            self.output.flush()
            found = re.search(r"http://\S+", Path(self.output.name).read_text())
            if found:
                return found[0]
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{Path(self.output.name).read_text()}")

    @property
    def root(self) -> str:
        return self.address.partition("?")[0]

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.output.close()


class ServicePage(Page):
    """A tab that visits a server."""

    def visit(self, served: Served, place: str = "") -> None:
        """Come with the token, then go to a place such as ``#/jobs``."""
        self.served = served
        self.call("Page.navigate", url=served.address + (place if place.startswith("#") else ""))
        self.ready()

    def go(self, place: str) -> None:
        self.run(f"void (location.hash = {json.dumps(place)})")
        self.wait(f"location.hash === {json.dumps(place)}", PATIENCE)
        self.ready()

    def ready(self) -> None:
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'", PATIENCE)
        self.settle()

    def text(self, selector: str = "#view") -> str:
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def await_text(self, words: str, selector: str = "#view", seconds: float = PATIENCE) -> None:
        find = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"({find}?.innerText ?? '').includes({json.dumps(words)})", seconds)

    def key(self, key: str) -> None:
        """Press a key; Enter also gives the character by which buttons are pressed."""
        if key != "Enter":
            super().key(key)
            return
        code, number = KEYS[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, windowsVirtualKeyCode=number, text="\r")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)
        self.settle()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.settle()

    def focus(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def focused(self) -> str:
        """Return what has the focus: its name for those who do not see it, or its text."""
        return self.run(
            "(e => e.getAttribute('aria-label') || e.getAttribute('name') || e.textContent.trim())(document.activeElement)"
        )

    def tab_to(self, words: str, most: int = 120) -> None:
        """Press Tab until something whose name begins with these words has the focus."""
        for _ in range(most):
            if self.focused().startswith(words):
                return
            self.key("Tab")
        raise AssertionError(f"Tab never came to '{words}'; last: '{self.focused()}'")

    def drop(self, *paths: Path) -> None:
        """Drop files onto the middle of the page."""
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=400, y=300, data=data)
        self.settle()

    def strangers(self) -> list[str]:
        """Return requests that went somewhere else than to the server."""
        own = (self.served.root, self.served.root.replace("http", "ws", 1), "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(own)]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("service") / "project", "--trust-fmus")
    yield served
    served.close()


@pytest.fixture
def visit(browser, served):
    """Visit a place in a fresh tab; at the end, nothing may have been complained about, nor asked of anybody else."""

    def visited(place="", **how):
        page = ServicePage(browser, **how)
        page.visit(served, place)
        return page

    def asked_for(page, place=""):
        assert page.strangers() == []

    with fresh_tabs(visited, asked_for) as visit:
        yield visit


def chosen(selector, value):
    """Return JavaScript that chooses in a select as a user would."""
    choose = f"e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change'));"
    return f"(e => {{ {choose} }})(document.querySelector({selector!r}))"
