"""opty as a peer of `optimal_control.py`: in a process of its own, where its binding to IPOPT may have been built for it.

cyipopt has no wheel for most platforms. It is built here against the IPOPT inside CasADi's wheel, without an environment of its
own for the build, in which numpy and scipy might be compiled, too.

    python benchmarks/optimal_opty.py MODEL INTERVALS
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from optimal_machines import MACHINES, Machine, Measured, processor

#: Seconds for every step of the way to an environment, and for one solution; a machine that many share takes minutes.
LIMIT = 1800


def opty_peer(machine: Machine, N: int) -> Measured | None:
    """Return what opty takes, with the mid-point rule and its own approximation of the Hessian; None where it cannot be had."""
    python, _ = environment()
    if python is None:
        return None
    command = [str(python), __file__, machine.model, str(N)]
    try:
        done = _run(command)
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
        print(f"opty failed on {machine.model} with {N} intervals: {' '.join(said)[:300]}")
        return None
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


@cache
def environment() -> tuple[Path | None, str]:
    """Return a Python that has opty, and how that came; or None, and what could not be done."""
    if all(importlib.util.find_spec(name) for name in ("opty", "cyipopt")):
        return Path(sys.executable), "opty is installed"
    import casadi

    libraries = Path(casadi.__file__).parent
    if not (libraries / "libipopt.so").exists() or not (libraries / "include" / "coin-or").is_dir():
        return None, "opty is left out: cyipopt is not installed, and this CasADi has no libipopt.so to build it against"
    name = f"kingpost-opty-{sys.version_info[0]}.{sys.version_info[1]}-{casadi.__version__}"
    folder = Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python, f"opty is in {folder}"
    began = time.perf_counter()
    try:
        _build(folder, python, libraries)
    except (subprocess.SubprocessError, OSError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
        return None, f"opty is left out: its environment could not be built ({' '.join(said)[:300]})"
    (folder / "complete").touch()
    return python, f"opty is in {folder}, built in {time.perf_counter() - began:.0f} s"


def _build(folder: Path, python: Path, libraries: Path) -> None:
    """Make an environment that sees all packages of this one, and build cyipopt in it."""
    _run([sys.executable, "-m", "venv", str(folder)])
    here = {str(Path(module.origin).parents[1]) for module in map(importlib.util.find_spec, ("casadi", "numpy")) if module}
    packages = next((folder / "lib").glob("python*/site-packages"))
    (packages / "parent.pth").write_text("\n".join(sorted(here)))
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    program = tools / "pkg-config"
    program.write_text(f"#!/bin/sh\necho -I{libraries}/include/coin-or -L{libraries} -lipopt\n")
    program.chmod(0o755)
    own = {
        **os.environ,
        "PATH": f"{tools}:{folder / 'bin'}:{os.environ['PATH']}",
        "LDFLAGS": f"-Wl,-rpath,{libraries}",
    }
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    # Those of a new environment are too old to build without one of its own.
    _run([*pip, "--upgrade", "setuptools", "wheel"], own)
    _run([*pip, "cython", "sympy", "scipy"], own)
    _run([*pip, "--no-deps", "--no-build-isolation", "cyipopt"], own)
    _run([*pip, "--no-deps", "opty"], own)
    _run([str(python), "-c", "import opty"], own)


def _run(command: list[str], environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT, check=True)


def solved(machine: Machine, N: int) -> Measured:
    """Return what opty takes in this process."""
    import sympy as sm
    from opty import Problem
    from sympy.physics.mechanics import dynamicsymbols

    began = processor()
    n, h = machine.n, machine.time / N
    t = dynamicsymbols._t
    q, v, u = ([dynamicsymbols(f"{name}{i}") for i in range(n)] for name in "qvu")
    kinetic, potential = machine.energies(q, v, sm.cos, sm.sin)
    momenta = sm.Matrix([kinetic]).jacobian(v).T
    M, forces = momenta.jacobian(v), sm.Matrix([kinetic - potential]).jacobian(q).T
    rates = sm.Matrix([item.diff(t) for item in v])
    at_start = dict(zip(q, machine.start, strict=True))
    inertia = [float(M[i, i].subs(at_start)) for i in range(n)]
    motion = M * rates + momenta.jacobian(q) * sm.Matrix(v) - forces - machine.size * sm.Matrix(u)
    equations = sm.Matrix(
        [
            *(q[i].diff(t) - v[i] for i in range(n)),
            *(motion[i] / inertia[i] for i in range(n)),
        ]
    )
    count, states = N + 1, 2 * n

    def between(free: Any) -> Any:
        inputs = free[states * count :].reshape(n, count)
        return (inputs[:, 1:] + inputs[:, :-1]) / 2

    def cost(free: Any) -> float:
        return float(h / 2 * (between(free) ** 2).sum())

    def slope(free: Any) -> Any:
        found, middle = np.zeros_like(free), between(free)
        inputs = found[states * count :].reshape(n, count)
        inputs[:, 1:] += h / 2 * middle
        inputs[:, :-1] += h / 2 * middle
        return found

    ends = []
    for i in range(n):
        for when, place in ((0.0, machine.start), (machine.time, machine.end)):
            ends += [q[i].func(when) - place[i], v[i].func(when)]
    problem = Problem(
        cost, slope, equations, [*q, *v], count, h, instance_constraints=ends, time_symbol=t, integration_method="midpoint"
    )
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "ipopt.txt"
        for name, value in (("print_level", 0), ("sb", "yes"), ("tol", 1e-9), ("constr_viol_tol", 1e-9), ("max_iter", 3000)):
            problem.add_option(name, value)
        problem.add_option("output_file", str(told))
        problem.add_option("file_print_level", 5)
        guess = np.zeros(problem.num_free)
        guess[: n * count] = np.repeat(machine.start, count)
        prepared = processor()
        free, _ = problem.solve(guess)
        ended = processor()
        iterations = next(
            int(line.split(":")[1]) for line in told.read_text().splitlines() if line.startswith("Number of Iterations")
        )
    last = free[: states * count].reshape(states, count)[:, -1]
    away = float(np.abs(last - np.concatenate([machine.end, np.zeros(n)])).max())
    return Measured(prepared - began, ended - prepared, iterations, cost(free) * machine.size**2, away)


if __name__ == "__main__":
    print(json.dumps(dataclasses.asdict(solved(MACHINES[sys.argv[1]], int(sys.argv[2])))))
