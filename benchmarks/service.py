"""How quickly the service answers: 20 clients that look and submit, with idle processors and while all of them compute.

    python benchmarks/service.py [--seconds 20] [--clients 20]

Prints p50 and p99 of both, and their ratio, measured in the same run of the same server; and the CPU time of the server for
each request, in all and by route, which tells more on a machine that has other things to do.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kingpost.fmu.service.client import Client

#: Of so many requests, one submits a job.
SUBMIT_EVERY = 20
SHORT = {"t_end": 0.1, "report": False, "write": "csv", "loads": "none"}
LONG = {"t_end": 1e6, "step": 0.001, "output_step": 1000.0, "report": False, "write": "csv", "loads": "none"}


def started(folder: Path, workers: int) -> tuple[subprocess.Popen[str], Client]:
    """Start a server and return it with a client."""
    words = [sys.executable, "-m", "kingpost", "serve", str(folder), "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.match(r"(http://[\d.:]+)/\?token=(\S+)", line):
            return process, Client(found[1], found[2])
    raise SystemExit("the server did not start")


def measure(client: Client, clients: int, seconds: float, submit: bool) -> dict[str, list[float]]:
    """Return the seconds that requests of each kind took while so many clients asked at once, each ten times a second."""
    looks: dict[str, Callable[[], object]] = {
        "50 jobs": client.jobs,
        "one job": lambda: client.job(1),
        "health": lambda: client.ask("GET", "health"),
    }
    took: dict[str, list[float]] = {name: [] for name in (*looks, *(["submit"] if submit else []))}
    end = time.monotonic() + seconds

    def ask(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            name = "submit" if submit and chance.randrange(SUBMIT_EVERY) == 0 else chance.choice(list(looks))
            began = time.perf_counter()
            if name == "submit":
                client.submit("run", model="double-pendulum", options=SHORT)
            else:
                looks[name]()
            took[name].append(time.perf_counter() - began)
            time.sleep(chance.uniform(0.05, 0.15))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used."""
    words = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def by_route(client: Client, process: int, count: int = 200) -> dict[str, float]:
    """Return the CPU time of the server for a request of each kind, in ms; one client asks, one request after the other."""
    routes = {
        "health": lambda: client.ask("GET", "health"),
        "one job": lambda: client.job(1),
        "50 jobs": client.jobs,
        "history": lambda: client.ask("GET", "jobs/1/history?points=1200"),
    }
    found = {}
    for name, ask in routes.items():
        ask()
        before = cpu_seconds(process)
        for _ in range(count):
            ask()
        found[name] = round(1e3 * (cpu_seconds(process) - before) / count, 2)
    return found


def measured(client: Client, process: int, arguments: argparse.Namespace, submit: bool) -> dict[str, Any]:
    """Let clients ask for a while; return what they found, and what it cost the server."""
    before = cpu_seconds(process)
    by_kind = measure(client, arguments.clients, arguments.seconds, submit)
    took = [seconds for kind in by_kind.values() for seconds in kind]
    cost = {"server_cpu_ms_per_request": round(1e3 * (cpu_seconds(process) - before) / len(took), 2)}
    return {**figures(took), **cost, "p99_ms_by_kind": {name: figures(kind)["p99_ms"] for name, kind in by_kind.items()}}


def figures(took: list[float]) -> dict[str, float]:
    """Return p50 and p99 in ms."""
    cuts = statistics.quantiles(took, n=100)
    return {"requests": len(took), "p50_ms": round(1e3 * cuts[49], 2), "p99_ms": round(1e3 * cuts[98], 2)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=20)
    arguments = parser.parse_args()
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as place:
        process, client = started(Path(place) / "project", workers)
        try:
            client.wait(client.submit("run", model="double-pendulum", options=SHORT))
            routes = by_route(client, process.pid)
            idle = measured(client, process.pid, arguments, submit=False)
            busy = [client.submit("run", model="double-pendulum", options=LONG) for _ in range(workers)]
            while not all(client.job(job)["state"] == "running" for job in busy):
                time.sleep(0.2)
            loaded = measured(client, process.pid, arguments, submit=True)
        finally:
            process.terminate()
            process.wait()
    ratios = {name: round(loaded[name] / idle[name], 2) for name in ("p50_ms", "p99_ms")}
    found = {
        "clients": arguments.clients,
        "idle": idle,
        "all cores compute": loaded,
        "ratio": ratios,
        "cpu_ms_by_route": routes,
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
