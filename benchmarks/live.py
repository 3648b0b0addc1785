"""What a live session costs: CPU time of its program at fifty frames a second, and how long going back takes.

The session runs as in the service: a program of its own, in step with the clock, every frame with all poses and some watched
channels. CPU time is that of the program, from the system's count, over some seconds of playing; 1 % of a core is 10 ms a
second. Other programs on the machine do not count, but caches are shared.

    python benchmarks/live.py [MODEL ...]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kingpost.fmu.live import LiveSession, open_session
from kingpost.fmu.process.program import start_program

MODELS = ("small-crane", "vessel-crane", "double-pendulum")
SECONDS = 10.0
WATCHED = 8


class Program:
    """A session in its program."""

    def __init__(self, model: str) -> None:
        self.process = start_program("kingpost.fmu.live.child", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.say({"start": {"model": model}})
        self.ready = self.hear("ready")

    def say(self, message: dict[str, Any]) -> None:
        """Tell it to do something."""
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind."""
        while True:
            message = json.loads(self.process.stdout.readline())
            if message["type"] == "failed":
                sys.exit(message["error"])
            if message["type"] == kind:
                return message

    def cpu(self) -> float:
        """Return the CPU time so far in s."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def playing(model: str) -> dict[str, float]:
    """Return the share of a core that a session takes while it plays, and the frames that it shows."""
    program = Program(model)
    channels = [channel["name"] for channel in program.ready["channels"]][:WATCHED]
    program.say({"do": "watch", "channels": channels})
    program.say({"do": "play"})
    program.hear("frame")
    time.sleep(1.0)
    begin, cpu, frames, size = time.monotonic(), program.cpu(), 0, 0
    while time.monotonic() - begin < SECONDS:
        line = program.process.stdout.readline()
        size += len(line)
        frames += line.startswith(b'{"type":"frame"')
    lasted, spent = time.monotonic() - begin, program.cpu() - cpu
    program.say({"do": "end"})
    program.process.communicate()
    return {"share": spent / lasted, "frames": frames / lasted, "bytes": size / max(frames, 1)}


def going_back(model: str) -> dict[str, float]:
    """Return CPU times: of a frame, of going back to a state that is kept, and of going back to one that is repeated."""
    session = open_session({"model": model})
    began = time.process_time()
    session.advance(3000)
    frame = (time.process_time() - began) / 3000

    def median(times: list[float]) -> float:
        found = []
        for t in times:
            began = time.process_time()
            session.go(t)
            found.append(time.process_time() - began)
        return statistics.median(found)

    end = session.t
    near = median([end - 0.02 * k if k % 2 else end for k in range(100)])
    session = LiveSession(open_session({"model": model}).subject, most_states=64)
    session.advance(3000)
    far = median([end * (k * 37 % 100) / 100 for k in range(100)])
    return {"frame": frame, "near": near, "far": far}


def main() -> None:
    """Print a table."""
    heads = ("share of a core", "frames/s", "bytes/frame", "one frame", "back", "with 64 states")
    print(f"{'model':18}" + "".join(f"{head:>17}" for head in heads))
    for model in sys.argv[1:] or MODELS:
        live, back = playing(model), going_back(model)
        times = (f"{1e3 * back[key]:.3f} ms" for key in ("frame", "near", "far"))
        cells = (f"{100 * live['share']:.1f} %", f"{live['frames']:.1f}", f"{live['bytes']:.0f}", *times)
        print(f"{model:18}" + "".join(f"{cell:>17}" for cell in cells))


if __name__ == "__main__":
    main()
