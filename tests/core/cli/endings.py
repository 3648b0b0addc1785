"""A program whose children carry out one command line each, and are asked to end (SIGTERM) just after one of their file calls.

``python -m tests.core.cli.endings FOLDER FILE WORD ...`` runs in FOLDER, which holds an earlier FILE, and keeps temporary files
beside it. It prints how often the earlier and how often the new FILE was found, whole; it fails at once if it finds
anything else, another exit status, or anything that is left over.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from kingpost.cli.main import main as kingpost

EARLIER = b"earlier"


def asking(calls: int, places: tuple[str, ...]):
    """Return a hook that sends the signal at the n-th call that concerns files in these places."""

    def hook(event: str, arguments: tuple) -> None:
        nonlocal calls
        if event != "open" and not event.startswith(("os.", "shutil.", "tempfile.")):
            return
        path = os.fspath(arguments[0]) if arguments and isinstance(arguments[0], str | os.PathLike) else ""
        # Names in a folder that is being removed are relative to it; here they count as if they were in the present one.
        if path and str(Path.cwd() / path).startswith(places):
            calls -= 1
            if calls == -1:
                os.kill(os.getpid(), signal.SIGTERM)

    return hook


def in_child(words: list[str], before_call: int, places: tuple[str, ...], said: Path) -> int:
    """Return the exit status of a command line."""
    child = os.fork()
    if child == 0:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.addaudithook(asking(before_call, places))
        status = 77
        try:
            status = kingpost(words)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, file: str, words: list[str]) -> None:
    temporary = folder.with_name(f"{folder.name}-temporary")
    temporary.mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    os.chdir(folder)
    said, target = folder.with_name(f"{folder.name}-said"), folder / file
    places = (str(folder), str(temporary))
    kept = {path.relative_to(folder) for path in folder.rglob("*")}
    # Here, so that children need not import it all again.
    with said.open("w") as stream, contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        status = kingpost(words)
    assert status == 0, said.read_text()
    new = target.read_bytes()
    assert new != EARLIER
    made = {path.relative_to(folder) for path in folder.rglob("*")} | kept
    counts = {"asked": 0, "earlier": 0, "new": 0}
    while True:
        target.write_bytes(EARLIER)
        status = in_child(words, counts["asked"], places, said)
        if status == 0:
            break
        what = f"asked at call {counts['asked']}: "
        assert status == 143, f"{what}status {status}: {said.read_text()}"
        assert "Traceback" not in said.read_text() and "(by SIGTERM)" in said.read_text(), f"{what}{said.read_text()}"
        left = {path.relative_to(folder) for path in folder.rglob("*")} - made
        assert not left, f"{what}left over: {sorted(map(str, left))}"
        assert not list(temporary.iterdir()), f"{what}temporary files: {sorted(map(str, temporary.rglob('*')))}"
        content = target.read_bytes()
        assert content in (EARLIER, new), f"{what}{file} holds {len(content)} bytes, not {len(new)}"
        counts["asked"] += 1
        counts["new" if content == new else "earlier"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
