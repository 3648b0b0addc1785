"""A process that reads damaged inputs, started anew when one of them ends it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import kingpost
from tests.fuzz.child import SECONDS
from tests.fuzz.readers import READERS

ROOT = Path(__file__).parents[2]
#: Inputs in one request; if one of them ends the process, those before it are read once more.
BATCH = 500


class Victim:
    """The process, which lives as long as it survives its inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[str] | None = None

    def read(self, reader: str, count: int, first: int = 0) -> list[str]:
        """Let the process read damaged inputs; return a text for each that it could not answer for."""
        faults: list[dict[str, Any]] = []
        for start in range(first, first + count, BATCH):
            faults += self._batch(reader, start, min(first + count, start + BATCH))
        return [self._kept(reader, **fault) for fault in faults]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()
            self._process = None

    def _batch(self, reader: str, first: int, end: int) -> list[dict[str, Any]]:
        if first == end:
            return []
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"reader": reader, "first": first, "count": end - first}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline() if self._answers(process) else ""
        if line:
            answer: list[dict[str, Any]] = json.loads(line)
            return answer
        process.kill()
        status = process.wait()
        number = self._number()
        fault = {"number": number, "fault": f"the process ended with status {status}\n{self._said()}"}
        self.close()
        return [*self._batch(reader, first, number), fault, *self._batch(reader, number + 1, end)]

    def _answers(self, process: subprocess.Popen[str]) -> bool:
        """Wait for an answer as long as the process goes on from input to input; its own alarm does not ring inside C."""
        last = -1
        while not select.select([process.stdout], [], [], 3 * SECONDS)[0]:
            number = self._number()
            if number == last:
                return False
            last = number
        return True

    def _number(self) -> int:
        return int((self.folder / "number").read_text() or -1)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            above = str(Path(kingpost.__file__).parents[1])
            paths = os.pathsep.join([above, str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
            (self.folder / "number").write_text("")
            with (self.folder / "stderr").open("w") as stderr:
                self._process = subprocess.Popen(
                    [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.child", str(self.folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                    env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
                    cwd=ROOT,
                )
        return self._process

    def _said(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")[-3000:]

    def _kept(self, reader: str, number: int, fault: str) -> str:
        """Keep the input, for whoever looks into it, and return what happened."""
        place = Path(tempfile.gettempdir()) / f"kingpost-fuzz-{reader}-{number}{READERS[reader].suffix}"
        place.write_bytes(READERS[reader].content(number))
        return f"input {number} of '{reader}', kept as {place}: {fault}"
