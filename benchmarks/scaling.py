"""How do the time of an evaluation and the time to build grow with the number of links, against Pinocchio and MuJoCo?

Two chains hang from the world, each link hinged at right angles to the one before. One is the model ``chain``, whose links are
equal and can share their code; in the other every link has its own mass, length and moments of inertia, so that none can. An
evaluation gives all accelerations under gravity and damping. Building is deriving, generating C and compiling it with an empty
cache: the accelerations alone, or all that a simulation needs.

The other table is of N four-bar linkages side by side, which share their rods: one step of RK4 with the projection of errors of
the closed loops, with `directors` one of generalized-alpha.

Peers: pip install pin mujoco. One that is missing is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np
from measuring import peer, processor_time, shortest, step_time

from kingpost import Body, ForceElement, Joint, Mechanism, PluginSet, prepare
from kingpost.equations.equations import Equations
from kingpost.kernel.kernel import Evaluator, Kernel
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import make, select

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.core.simulation.test_default_formulation import four_bars

SIZES = (6, 12, 24, 48, 96, 192, 384)
#: Numbers of four-bar linkages side by side, and the largest that each formulation is asked for.
LOOPS = (5, 10, 20, 40)
LARGEST_LOOPS = {"kane": 40, "recursive": 40, "directors": 5}
INTEGRATORS = {"directors": "generalized-alpha"}
#: Kane's straight-line code for 24 links takes about a minute to derive and compile, and grows with the third power.
LARGEST_KANE = 12
DAMPING, GRAVITY = 0.05, 9.81
ROUNDS, SLICE = 40, 0.02
#: Building is repeated, but not when it has taken this long (s).
BUILDS, LONG = 3, 30.0
SAMPLES = 100

Array = np.ndarray[Any, np.dtype[np.float64]]
FORMULATIONS = ("recursive", "kane")


@dataclass(frozen=True)
class Link:
    """Numbers of a link: kg, m, kg m^2 about its centre of mass, and the axis it turns about."""

    mass: float
    length: float
    moments: tuple[float, float, float]
    axis: tuple[int, int, int]


def chain(n: int, equal: bool) -> list[Link]:
    """Return the numbers of a chain; those of the equal links are the model's defaults."""
    links = []
    for i in range(n):
        mass, length = (1.0, 0.5) if equal else (1.0 + 0.3 * math.sin(1.0 + i), 0.5 + 0.1 * math.cos(1.0 + i))
        slender = mass * length**2 / 12
        moments = (slender, slender, mass * length**2 / 100)
        if not equal:
            moments = (slender * (1.0 + 0.1 * math.sin(2.0 * i)), slender, moments[2])
        links.append(Link(mass, length, moments, (0, 1, 0) if i % 2 == 0 else (1, 0, 0)))
    return links


def mechanism(links: list[Link], equal: bool) -> Mechanism:
    """Return the chain for Kingpost."""
    if equal:
        return make(PluginSet().models.get("chain"), {"links": len(links)}).build()
    bodies = [f"link{i + 1}" for i in range(len(links))]
    ends = [0.0, *(-link.length for link in links)]
    return Mechanism(
        name="various-chain",
        bodies=tuple(
            Body(name, mass=link.mass, com=(0, 0, -link.length / 2), inertia=link.moments)
            for name, link in zip(bodies, links, strict=True)
        ),
        joints=tuple(
            Joint(
                f"hinge{i + 1}",
                "revolute",
                bodies[i - 1] if i else "world",
                bodies[i],
                axis=link.axis,
                position=(0, 0, ends[i]),
            )
            for i, link in enumerate(links)
        ),
        forces=(
            ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
            *(
                ForceElement("joint-spring", name=f"damper{i + 1}", coordinate=f"hinge{i + 1}.angle", damping=DAMPING)
                for i in range(len(links))
            ),
        ),
    )


def pinocchio_call(pin: ModuleType, links: list[Link], q: Array, v: Array) -> Callable[[], Array]:
    """Return a call of pin.aba, torques given."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    joint, place = 0, pin.SE3.Identity()
    for i, link in enumerate(links):
        turn = pin.JointModelRY() if link.axis[1] else pin.JointModelRX()
        joint = model.addJoint(joint, turn, place, f"hinge{i}")
        own = pin.Inertia(link.mass, np.array([0.0, 0.0, -link.length / 2]), np.diag(link.moments))
        model.appendBodyToJoint(joint, own, pin.SE3.Identity())
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -link.length]))
    data, tau = model.createData(), -DAMPING * v
    return lambda: pin.aba(model, data, q, v, tau)


def mujoco_call(mujoco: ModuleType, links: list[Link], q: Array, v: Array) -> Callable[[], Array]:
    """Return a call of mj_forward."""
    spec = mujoco.MjSpec()
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.balanceinertia = spec.compiler.fusestatic = False
    spec.option.gravity = (0.0, 0.0, -GRAVITY)
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    body, end = spec.worldbody, 0.0
    for link in links:
        body = body.add_body(pos=(0, 0, end))
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = link.mass, (0, 0, -link.length / 2), link.moments
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=link.axis).damping = (DAMPING, 0, 0)
        end = -link.length
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos, data.qvel = q, v

    def call() -> Array:
        mujoco.mj_forward(model, data)
        return data.qacc

    return call


@dataclass
class Row:
    """The times in s of a chain with n links, by what was timed, and the largest relative difference of accelerations."""

    n: int
    calls: dict[str, tuple[Callable[[], Array], int]] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    difference: float = 0.0


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """Have kernels built anew."""
    before = os.environ.get("KINGPOST_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KINGPOST_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["KINGPOST_CACHE_DIR"]
            else:
                os.environ["KINGPOST_CACHE_DIR"] = before


def build(machine: Mechanism, formulation: str) -> tuple[Equations, Evaluator, dict[str, float]]:
    """Return equations, their accelerations ready to be called, and what it took to build that and a whole simulation."""
    plugins = PluginSet()
    times = {"build": math.inf, "prepare": math.inf}
    begun = processor_time()
    for i in range(BUILDS):
        if i and processor_time() - begun > LONG:
            break
        with empty_cache():
            started = processor_time()
            equations = select(plugins.formulations, formulation).derive(assemble(machine, plugins))
            kernel = Kernel([equations.accelerations], "c")
            times["build"] = min(times["build"], processor_time() - started)
            started = processor_time()
            prepare(machine, 1.0, formulation=formulation, backend="c")
            times["prepare"] = min(times["prepare"], processor_time() - started)
            evaluator = kernel.evaluator("kp_accelerations")  # loads the library before its folder goes
    return equations, evaluator, times


def make_row(n: int, equal: bool, peers: dict[str, ModuleType | None]) -> Row:
    """Build everything for a chain of n links, and compare the accelerations."""
    links = chain(n, equal)
    rng = np.random.default_rng(n)
    q, v = rng.uniform(-0.5, 0.5, n), rng.uniform(-0.5, 0.5, n)
    row = Row(n)
    machine = mechanism(links, equal)
    p = np.array([parameter.default for parameter in machine.parameters])
    u = np.zeros(0)
    for formulation in FORMULATIONS:
        if formulation == "kane" and n > LARGEST_KANE:
            continue
        equations, evaluator, times = build(machine, formulation)
        row.times |= {f"{formulation} {what}": seconds for what, seconds in times.items()}
        row.calls[f"{formulation} call"] = (lambda evaluator=evaluator: evaluator(0.0, q, v, u, p)), 1
        t, s, w, m = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", 2 * n), ("u", 0), ("p", p.size)))
        loop = Kernel([ca.Function("kp_observe", [t, s, w, m], [equations.accelerations(t, s[:n], s[n:], w, m)])], "c")
        states = np.zeros(SAMPLES), np.tile(np.append(q, v), (SAMPLES, 1)), np.zeros((SAMPLES, 0)), p
        row.calls[f"{formulation} loop"] = (lambda loop=loop, states=states: loop.sample(*states)[0]), SAMPLES
    if peers["pinocchio"]:
        row.calls["pin.aba"] = pinocchio_call(peers["pinocchio"], links, q, v), 1
    if peers["mujoco"]:
        row.calls["mj_forward"] = mujoco_call(peers["mujoco"], links, q, v), 1
    results = [np.array(call()) for call, _ in row.calls.values()]
    row.difference = max(np.abs(result - results[0]).max() for result in results) / np.abs(results[0]).max()
    return row


def measure(rows: list[Row]) -> None:
    """Take the times of all evaluations in turn, many times over."""
    for _ in range(ROUNDS):
        for row in rows:
            for name, (call, count) in row.calls.items():
                row.times[name] = min(row.times.get(name, math.inf), shortest(call, SLICE) / count)


#: What is in a column, its heading, and the factor from s to its unit.
EVALUATIONS = (
    ("recursive loop", "recursive, loop", 1e6),
    ("recursive call", "recursive, call", 1e6),
    ("kane loop", "kane, loop", 1e6),
    ("kane call", "kane, call", 1e6),
    ("pin.aba", "pin.aba, call", 1e6),
    ("mj_forward", "mj_forward, call", 1e6),
)
BUILDINGS = (
    ("recursive build", "recursive", 1.0),
    ("recursive prepare", "... simulation", 1.0),
    ("kane build", "kane", 1.0),
    ("kane prepare", "... simulation", 1.0),
)


def print_loops(largest: int) -> None:
    """Print what a step of N four-bar linkages costs, and what it takes to build it."""
    print("\nN four-bar linkages: us per step of 1 ms, and s to build")
    print(f"{'':>8}" + "".join(f"{name:>18}{'build':>9}" for name in LARGEST_LOOPS))
    before: dict[str, float] = {}
    for n in (n for n in LOOPS if n <= largest):
        cells = []
        for name, most in LARGEST_LOOPS.items():
            if n > most:
                cells.append(f"{'-':>18}{'-':>9}")
                continue
            with empty_cache():
                began = processor_time()
                integrator = INTEGRATORS.get(name, "rk4")
                run = prepare(
                    four_bars(n), 0.2, step=1e-3, output_step=0.2, formulation=name, integrator=integrator, backend="c"
                )
                built = processor_time() - began
            seconds = min(step_time(run, SLICE) for _ in range(ROUNDS // 4))
            growth = f" ({seconds / before[name]:.1f}x)" if name in before else ""
            before[name] = seconds
            cells.append(f"{f'{seconds * 1e6:.1f}{growth}':>18}{built:9.1f}")
        print(f"{n:>8}" + "".join(cells), flush=True)


def print_table(title: str, rows: list[Row]) -> None:
    """Print the times, and how they grow from the last but one size to the last."""
    print(f"\n{title}")
    for unit, columns in (("us per evaluation", EVALUATIONS), ("s to build", BUILDINGS)):
        compared = columns is EVALUATIONS
        print(f"{unit:<18}" + "".join(f"{text:>18}" for _, text, _ in columns) + f"{'differ by':>12}" * compared)
        for row in rows:
            cells = [f"{row.times[name] * scale:18.2f}" if name in row.times else f"{'-':>18}" for name, _, scale in columns]
            print(f"{row.n:>12} links" + "".join(cells) + f"{row.difference:12.0e}" * compared)
        if len(rows) > 1:
            last, before = rows[-1].times, rows[-2].times
            ratios = [f"{last[name] / before[name]:17.2f}x" if name in last else f"{'-':>18}" for name, _, _ in columns]
            print(f"{f'{rows[-1].n} / {rows[-2].n}':>18}" + "".join(ratios))


def main() -> None:
    """Print one table for each chain."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--max", type=int, default=SIZES[-1], metavar="N", help="the largest number of links (default %(default)s)"
    )
    parser.add_argument("--loops", action="store_true", help="closed loops alone")
    arguments = parser.parse_args()
    largest = arguments.max
    if arguments.loops:
        print_loops(largest)
        return
    peers = {"pinocchio": peer("pinocchio", "pin"), "mujoco": peer("mujoco")}
    sizes = [n for n in SIZES if n <= largest]
    print("loop: in a compiled loop; call: one call from Python; x: from one size to the next")
    print(f"accelerations of chains; kane up to {LARGEST_KANE} links only: 24 take about a minute to build")
    for title, equal in (("equal links", True), ("links that all differ", False)):
        rows = [make_row(n, equal, peers) for n in sizes]
        measure(rows)
        print_table(title, rows)
    print_loops(largest)


if __name__ == "__main__":
    main()
