"""A program whose children write a run into a folder with an earlier one, and are killed while they do.

``python -m tests.core.results.kills FOLDER points|times|crowd KILLS SEED FORMATS`` prints how often the earlier and how often
the new run was found, whole; it fails at once if it finds anything else. ``points`` kills before the n-th call that concerns
files, for all n that there are; ``times`` at a moment drawn from the whole time that writing takes; ``crowd`` kills nobody,
but lets three processes write at once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from kingpost import PluginSet, read_history, write_run
from kingpost.results import read_write
from tests.core.results.synthetic import make_history

NOTES = "notes of the user.txt"
REPORT = "report.html"


class Folder:
    """A folder with two runs that may be in it."""

    def __init__(self, path: Path, formats: str) -> None:
        self.path = path
        self.formats = formats
        self.plugins = PluginSet(entry_points=False)
        self.histories = {"new": make_history(300), "old": make_history(200)}
        self.content = {}
        #: How long writing has taken last.
        self.seconds = 0.0
        path.mkdir()
        (path / NOTES).write_text("mine")
        for which in self.histories:
            self.write(which)
            self.content[which] = self.bytes()

    def write(self, which: str) -> None:
        beside = {REPORT: lambda path: path.write_text(which) and None}
        write_run(self.histories[which], self.path, writers=self.formats, plugins=self.plugins, beside=beside)

    def bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.path.iterdir() if path.is_file()}

    def found(self) -> str:
        """Return which run is in the folder: by readers that cannot write there, by those that can, and file by file."""
        settle, read_write.settle = read_write.settle, _not_permitted
        try:
            seen = self._read()
        finally:
            read_write.settle = settle
        assert self._read() == seen, "a reader that can write finds another run"
        assert self.bytes() == self.content[seen], f"of the {seen} run, not all files"
        return seen

    def _read(self) -> str:
        history = read_history(self.path, self.plugins)
        seen = next(which for which, whole in self.histories.items() if whole == history)
        names = [f"history.{name}" for name in ("csv", "npz") if name in self.formats]
        for name in ("run.json", *names):
            assert read_history(self.path / name, self.plugins) == self.histories[seen], f"{name} is not of the {seen} run"
        return seen

    def restore(self) -> None:
        """Write the earlier run again; nothing may be left then of the processes that were killed."""
        started = time.perf_counter()
        self.write("old")
        self.seconds = time.perf_counter() - started
        left = {path.name for path in self.path.iterdir()}
        assert left == set(self.content["old"]), f"left over: {left - set(self.content['old'])}"


def _not_permitted(folder: Path) -> None:
    raise PermissionError(f"a test does not let {folder} be changed")


def in_child(work, before_call: int | None = None, after: float | None = None) -> bool:
    """Do ``work`` in a process that is killed before a call, or after a time; say whether it was."""
    child = os.fork()
    if child == 0:
        if before_call is not None:
            sys.addaudithook(_killing(before_call))
        work()
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed"
    return False


def _killing(calls: int):
    def hook(event: str, arguments: tuple) -> None:
        nonlocal calls
        if event == "open" or event.startswith(("os.", "shutil.", "tempfile.", "fcntl.")):
            calls -= 1
            if calls == -1:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def crowded(folder: Folder, times: int) -> dict[str, int]:
    """Read while three processes write."""
    counts = {"old": 0, "new": 0}
    children = []
    for which in ("new", "old", "new"):
        child = os.fork()
        if child == 0:
            for _ in range(times):
                folder.write(which)
            os._exit(0)
        children.append(child)
    for _ in range(times):
        history = read_history(folder.path, folder.plugins)
        counts[next(which for which, whole in folder.histories.items() if whole == history)] += 1
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    folder.found()
    folder.restore()
    return counts


def main(path: str, how: str, kills: str, seed: str, formats: str) -> None:
    folder = Folder(Path(path), formats)
    folder.restore()
    if how == "crowd":
        print(json.dumps(crowded(folder, int(kills))))
        return
    draw = random.Random(int(seed))
    counts = {"old": 0, "new": 0, "not killed": 0}
    killed = 0
    while killed < int(kills):
        if how == "points":
            if not in_child(lambda: folder.write("new"), before_call=killed):
                break
            # Whoever finishes the exchange may be killed, too.
            in_child(lambda: read_history(folder.path, folder.plugins), before_call=draw.randrange(12))
        elif not in_child(lambda: folder.write("new"), after=draw.uniform(0.0, 1.5 * folder.seconds)):
            counts["not killed"] += 1
            folder.restore()
            continue
        killed += 1
        counts[folder.found()] += 1
        folder.restore()
    print(json.dumps({"kills": killed, **counts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
