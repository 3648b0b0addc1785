"""A browser for tests: Chromium driven over its own DevTools protocol, with nothing but a websocket."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEYS = {" ": ("Space", 32), "ArrowRight": ("ArrowRight", 39), "ArrowLeft": ("ArrowLeft", 37), "Escape": ("Escape", 27)}


def find_chromium():
    """Return the path of a Chromium, or None."""
    named = os.environ.get("KINGPOST_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One headless browser process."""

    def __init__(self, path, folder: Path):
        self.log = (folder / "chromium.log").open("w+")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
        ]
        flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"]
        flags += [f"--user-data-dir={folder / 'profile'}", "--remote-debugging-port=0", "about:blank"]
        self.process = subprocess.Popen([path, *flags], stdout=subprocess.DEVNULL, stderr=self.log)
        self.url = self._address(folder)

    def _address(self, folder):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"DevTools listening on (ws://\S+)", (folder / "chromium.log").read_text(errors="replace"))
            if found:
                return found[1]
            time.sleep(0.05)
        raise RuntimeError(f"Chromium did not start:\n{(folder / 'chromium.log').read_text(errors='replace')}")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.log.close()


class Page:
    """One tab, and everything that happened in it: console messages, exceptions, requests."""

    def __init__(self, browser: Chromium, width=1280, height=900, scheme="light"):
        self.connection = contextlib.ExitStack()
        self.socket = self.connection.enter_context(connect(browser.url, max_size=None, compression=None))
        self.numbers = itertools.count(1)
        self.session = None
        self.messages, self.requests = [], []
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=30))
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(item.get("value", item.get("description"))) for item in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.messages.append(f"{parameters['entry']['level']}: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, path: Path):
        """Open a file and wait until the report says that it is complete."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'")
        self.settle()

    def run(self, expression):
        """Return the value of a JavaScript expression, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, condition, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(condition):
                return
            time.sleep(0.02)
        raise AssertionError(f"after {seconds} s still not: {condition}\n" + "\n".join(self.messages))

    def settle(self):
        """Wait until everything that was asked for has been drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")

    def box(self, selector):
        """Scroll an element into view and return its place in the window."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.settle()
        return self.run(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))({find}.getBoundingClientRect())")

    def mouse(self, kind, x, y, **more):
        parameters = {"button": "none", "buttons": 0, **more}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y, count=1):
        for k in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=k)
            self.mouse("mouseReleased", x, y, button="left", clickCount=k)
        self.settle()

    def press(self, selector):
        """Click in the middle of an element."""
        box = self.box(selector)
        self.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def drag(self, start, end, steps=6):
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)
        self.settle()

    def key(self, key):
        code, number = KEYS[key]
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, windowsVirtualKeyCode=number, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)
        self.settle()

    def picture(self, selector):
        """Return the pixels of a canvas, as text to compare."""
        self.box(selector)
        return self.run(f"document.querySelector({json.dumps(selector)}).toDataURL()")

    def screenshot(self, path, **more):
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.session = None
        self.call("Target.closeTarget", targetId=self.target)
        self.connection.close()
