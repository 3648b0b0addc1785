"""What does a step of a closed loop, or in redundant coordinates, cost, and what does a given error, against Exudyn?

The heavy top, the satellite with three rotors under constant torques, Andrews' squeezer, and chains of 4 to 40 links. Exudyn
gets them from the same numbers, but as bodies with joints between them, and takes its generalized-alpha steps on index-3
equations with modified Newton iterations. Both are compared with one tight reference: where errors go to zero with the step,
both are the same machine. Times are processor times of the loop over steps alone, without output; rows take turns, and the
shortest counts.

Peer: pip install exudyn. Without it, only the rows of this package are shown.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from kingpost import KingpostError, Mechanism, PluginSet, prepare, simulate
from kingpost.plugins.models import chain, heavy_top, satellite, squeezer

Array = np.ndarray[Any, np.dtype[np.float64]]
ROUNDS, SLICE = 7, 0.05
RADIUS = 0.8
TORQUES = (200.0, -150.0, 100.0)


@dataclass
class Row:
    """One way to compute a machine's motion: ``run(steps)`` returns what is compared and the time the loop took in s."""

    name: str
    run: Callable[[int], tuple[Array, float]]
    errors: list[float] = field(default_factory=list)
    #: Time per step in s, for each number of steps.
    times: list[float] = field(default_factory=list)
    iterations: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """A machine, its end time in s, the numbers of steps that are tried, and the channels that are compared."""

    name: str
    mechanism: Mechanism
    t_end: float
    steps: tuple[int, ...]
    settings: dict[str, float]
    compared: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    exudyn: Callable[[ModuleType, Any], Callable[[], Array]]
    #: Relative tolerance of Exudyn's Newton iteration: its default where that is enough for the errors at hand.
    tolerance: float = 1e-8
    #: The formulation of the reference.
    minimal: str = "kane"


# The same machines in Exudyn. Each function fills a system and returns what reads the compared numbers at the end.


def exudyn_top(exu: ModuleType, system: Any) -> Callable[[], Array]:
    """Fill a system with the heavy top; its frame is at the centre of mass."""
    height, base, tilt, precession, gravity = 0.1, 0.05, math.pi / 3, 10.0, 9.81
    mass = 2700.0 * math.pi * base**2 * height / 3
    across, along, arm = 3 * mass / 80 * (4 * base**2 + height**2), 3 * mass / 10 * base**2, 0.75 * height
    spin = mass * gravity * arm / (along * precession) + (across + mass * arm**2 - along) / along * precession * math.cos(tilt)
    c, s = math.cos(tilt), math.sin(tilt)
    turned = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    axis = turned[:, 2]
    angular = np.array([0, 0, precession]) + spin * axis
    utilities = importlib.import_module("exudyn.utilities")
    top = system.CreateRigidBody(
        inertia=utilities.RigidBodyInertia(mass=mass, inertiaTensor=np.diag([across, across, along])),
        referencePosition=arm * axis, referenceRotationMatrix=turned, initialAngularVelocity=angular,
        initialVelocity=np.cross(angular, arm * axis), gravity=[0, 0, -gravity],
    )  # fmt: skip
    system.CreateSphericalJoint(itemNumbers=[system.CreateGround(), top], position=[0, 0, 0])
    return lambda: np.array(system.GetObjectOutputBody(top, exu.OutputVariableType.Position, localPosition=[0, 0, 0]))


def exudyn_satellite(exu: ModuleType, system: Any) -> Callable[[], Array]:
    """Fill a system with the satellite."""
    a, b, c = satellite.SEMI_AXES
    radius, height = satellite.RADIUS, satellite.HEIGHT
    mass = satellite.DENSITY * 4 / 3 * math.pi * a * b * c
    disc = satellite.DENSITY * math.pi * radius**2 * height
    about, across = disc * radius**2 / 2, disc * (3 * radius**2 + height**2) / 12
    utilities = importlib.import_module("exudyn.utilities")

    def body(mass: float, moments: Sequence[float], place: Sequence[float]) -> Any:
        inertia = utilities.RigidBodyInertia(mass=mass, inertiaTensor=np.diag(moments))
        return system.CreateRigidBody(inertia=inertia, referencePosition=place)

    main = body(mass, [mass * (b**2 + c**2) / 5, mass * (a**2 + c**2) / 5, mass * (a**2 + b**2) / 5], [0, 0, 0])
    for i, torque in enumerate(TORQUES):
        axis = np.eye(3)[i]
        place = axis * (satellite.SEMI_AXES[i] + height / 2)
        rotor = body(disc, np.where(axis > 0, about, across), place)
        system.CreateRevoluteJoint(itemNumbers=[main, rotor], position=place, axis=axis)
        for number, sign in ((rotor, 1.0), (main, -1.0)):
            system.CreateTorque(itemNumber=number, loadVector=sign * torque * axis, bodyFixed=True)
    variable = exu.OutputVariableType.RotationMatrix
    return lambda: np.array(system.GetObjectOutputBody(main, variable, localPosition=[0, 0, 0])).reshape(3, 3).ravel()


def exudyn_squeezer(exu: ModuleType, system: Any) -> Callable[[], Array]:
    """Fill a system with Andrews' squeezer, of planar bodies and planar joints."""
    items = importlib.import_module("exudyn.itemInterface")
    beta, theta, gamma, phi, delta, omega, epsilon = squeezer.START
    places: dict[str, tuple[Array, float]] = {}

    def placed(name: str, parent: str, at: Sequence[float], angle: float) -> None:
        origin, turn = places.get(parent, (np.zeros(2), 0.0))
        places[name] = origin + turning(turn) @ np.array(at[:2]), turn + angle

    for link in (
        ("K1", "", (0, 0), beta), ("K2", "K1", (0.007, 0), theta), ("K3", "", squeezer.B, gamma), ("K5", "", squeezer.A, delta),
        ("K4", "K5", (0.04, 0), phi), ("K7", "", squeezer.A, epsilon), ("K6", "K7", (0, -0.04), omega),
    ):  # fmt: skip
        placed(*link)
    ground = system.AddObject(items.ObjectGround())
    bodies, nodes = {"": ground}, {}
    for name, (mass, moment, com) in squeezer.LINKS.items():
        origin, turn = places[name]
        centre = origin + turning(turn) @ np.array(com[:2])
        nodes[name] = system.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*centre, turn]))
        bodies[name] = system.AddObject(items.ObjectRigidBody2D(mass=mass, inertia=moment, nodeNumber=nodes[name]))

    def marker(name: str, at: Sequence[float]) -> Any:
        com = np.array(squeezer.LINKS[name][2]) if name else np.zeros(3)
        local = np.array([at[0], at[1], 0.0]) - com
        return system.AddMarker(items.MarkerBodyPosition(bodyNumber=bodies[name], localPosition=local))

    pins = [
        ("", (0, 0), "K1", (0, 0)), ("K1", (0.007, 0), "K2", (0, 0)), ("", squeezer.B, "K3", (0, 0)),
        ("", squeezer.A, "K5", (0, 0)), ("K5", (0.04, 0), "K4", (0, 0)), ("", squeezer.A, "K7", (0, 0)),
        ("K7", (0, -0.04), "K6", (0, 0)), ("K2", (-0.028, 0), "K3", (0, -0.035)), ("K2", (-0.028, 0), "K4", (0, -0.02)),
        ("K2", (-0.028, 0), "K6", (0.02, 0)),
    ]  # fmt: skip
    for one, at, other, there in pins:
        system.AddObject(items.ObjectJointRevolute2D(markerNumbers=[marker(one, at), marker(other, there)]))
    ends = [marker("", squeezer.C), marker("K3", (0.02, -0.018))]
    system.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=0.07785, stiffness=4530.0))
    crank = system.AddMarker(items.MarkerBodyRigid(bodyNumber=bodies["K1"]))
    system.AddLoad(items.LoadTorqueVector(markerNumber=crank, loadVector=[0, 0, 0.033]))

    def read() -> Array:
        turned = system.GetNodeOutput(nodes["K1"], exu.OutputVariableType.Coordinates)
        point = system.GetObjectOutputBody(
            bodies["K2"], exu.OutputVariableType.Position, localPosition=[-0.028 - squeezer.LINKS["K2"][2][0], 0, 0]
        )
        return np.array([beta + turned[2], point[0], point[1]])

    return read


def exudyn_chain(links: int) -> Callable[[ModuleType, Any], Callable[[], Array]]:
    """Return what fills a system with the chain of so many links, without the dampers of its hinges."""
    mass, length, gravity, start = 1.0, 0.5, 9.81, 0.3
    moments = np.diag([mass * length**2 / 12, mass * length**2 / 12, mass * length**2 / 100])

    def fill(exu: ModuleType, system: Any) -> Callable[[], Array]:
        utilities = importlib.import_module("exudyn.utilities")
        inertia = utilities.RigidBodyInertia(mass=mass, inertiaTensor=moments)
        place, turn, before = np.zeros(3), np.eye(3), system.CreateGround()
        for i in range(links):
            axis = np.array([0.0, 1.0, 0.0]) if i % 2 == 0 else np.array([1.0, 0.0, 0.0])
            world_axis = turn @ axis
            c, s = (math.cos(start), math.sin(start)) if i < 2 else (1.0, 0.0)
            about_y, about_x = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
            turn = turn @ (about_y if i % 2 == 0 else about_x)
            body = system.CreateRigidBody(
                inertia=inertia, referencePosition=place + turn @ np.array([0, 0, -length / 2]), referenceRotationMatrix=turn,
                gravity=[0, 0, -gravity],
            )  # fmt: skip
            system.CreateRevoluteJoint(itemNumbers=[before, body], position=place, axis=world_axis)
            place, before = place + turn @ np.array([0, 0, -length]), body
        variable, tip = exu.OutputVariableType.Position, [0, 0, -length / 2]
        return lambda: np.array(system.GetObjectOutputBody(before, variable, localPosition=tip))

    return fill


def turning(angle: float) -> Array:
    """Return the matrix of a rotation in the plane."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


MINIMAL, DIRECTORS, NULLSPACE = "kane", "directors", "nullspace"
PLANAR, RECURSIVE = "directors:planar=true", "recursive"
LINKS = (4, 10, 20, 40)
ALPHA, MOMENTUM = f"generalized-alpha:spectral_radius={RADIUS}", "energy-momentum"


def machines() -> list[Machine]:
    """Return all machines."""
    every = tuple((way, method) for way in (MINIMAL, DIRECTORS, NULLSPACE) for method in (ALPHA, MOMENTUM))
    drives = {f"torque{i + 1}": torque for i, torque in enumerate(TORQUES)}
    return [
        Machine(
            "heavy top", heavy_top.HeavyTop().build(), 0.5, (250, 500, 1000, 2000), {}, ("centre.x", "centre.y", "centre.z"),
            every, exudyn_top,
        ),
        Machine(
            "satellite", satellite.Satellite().build(), 4.0, (100, 200, 400, 800), drives,
            tuple(f"motion.{name}" for name in ("qw", "qx", "qy", "qz")), every, exudyn_satellite,
        ),
        Machine(
            "squeezer", squeezer.AndrewsSqueezer().build(), 0.03, (1500, 3000, 6000, 12000), {}, ("O.angle", "P.x", "P.y"),
            (*every[:2], (PLANAR, ALPHA)), exudyn_squeezer, 1e-10,  # planar, so that spatial directors would be a waste
        ),
        *(
            Machine(
                f"chain {links}", chain.Chain(chain.ChainOptions(links)).build(), 0.2, (50, 100, 200), {"damping": 0.0},
                ("tip.x", "tip.y", "tip.z"), ((DIRECTORS, ALPHA), (DIRECTORS, MOMENTUM)), exudyn_chain(links),
                minimal=RECURSIVE,
            )
            for links in LINKS
        ),
    ]  # fmt: skip


# The rows.


def matrix_of(quaternion: Array) -> Array:
    """Return the rotation matrix of a unit quaternion (w, x, y, z), row by row."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).ravel()


def compared(values: Sequence[float]) -> Array:
    """Return numbers that are the same for every way to write a rotation."""
    found = np.array(values, dtype=float)
    return matrix_of(found / np.linalg.norm(found)) if len(found) == 4 else found


def reference(machine: Machine, plugins: PluginSet) -> Array:
    """Return the end of the motion by a tight method of another kind; the steps of rk4 are short enough for 1e-10."""
    history = simulate(
        machine.mechanism, machine.t_end, settings=machine.settings, formulation=machine.minimal, integrator="rk4",
        step=machine.t_end / (4 * machine.steps[-1]), output_step=machine.t_end, plugins=plugins,
    )  # fmt: skip
    return compared([history[name][-1] for name in machine.compared])


def kingpost_row(machine: Machine, formulation: str, method: str, plugins: PluginSet) -> Row:
    """Return a row of this package; everything is derived and compiled once, for all numbers of steps."""
    row = Row(f"kingpost, {formulation}, {method.partition(':')[0]}", lambda steps: (np.zeros(0), 0.0))
    known: dict[int, Any] = {}

    def run(steps: int) -> tuple[Array, float]:
        if steps not in known:
            known[steps] = prepare(
                machine.mechanism, machine.t_end, settings=machine.settings, formulation=formulation, integrator=method,
                step=machine.t_end / steps, output_step=machine.t_end, backend="c", plugins=plugins,
            )  # fmt: skip
        ready = known[steps]
        names = [channel.name for channel in ready.equations.channels]
        y = np.empty((1, len(names)))
        begun = time.process_time()
        stop = ready.kernel.march(y, steps, 0.0, ready.grid.step, ready.x0, ready.inputs, ready.p, at_once=True)
        took = time.process_time() - begun
        if stop.status:
            raise RuntimeError(f"{row.name}: the run ended at t = {stop.t:g} s with {machine.t_end / steps:g} s")
        return compared([y[0, names.index(name)] for name in machine.compared]), took

    def iterations(steps: int) -> float:
        """Return the mean number of Newton iterations, from a run with an output at every 50th of it."""
        history = simulate(
            machine.mechanism, machine.t_end, settings=machine.settings, formulation=formulation, integrator=method,
            step=machine.t_end / steps, output_step=machine.t_end / 50, backend="c", plugins=plugins,
        )  # fmt: skip
        told = history.provenance["statistics"].get("newton_iterations", {})
        return float(told.get("mean", math.nan))

    row.run = run
    row.iterations = [iterations(steps) for steps in machine.steps]
    return row


def exudyn_row(exu: ModuleType, machine: Machine) -> Row:
    """Return a row of Exudyn; the time is that of its solver's loop, with what it prepares taken off by a run of one step."""
    system = exu.SystemContainer().AddSystem()
    read = machine.exudyn(exu, system)
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = RADIUS
    settings.timeIntegration.adaptiveStep = False
    # Full iterations, sparse matrices and rotation vectors are slower for these machines, or fail.
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = machine.tolerance
    settings.parallel.numberOfThreads = 1
    row = Row("Exudyn, generalized-alpha", lambda steps: (np.zeros(0), 0.0))

    def solve(steps: int, t_end: float) -> float:
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, t_end
        begun = time.process_time()
        if not system.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha, updateInitialValues=False):
            raise RuntimeError(f"{row.name}: the solver failed")
        return time.process_time() - begun

    def run(steps: int) -> tuple[Array, float]:
        overhead = solve(1, machine.t_end / steps)
        took = solve(steps, machine.t_end)
        counts.append(system.sys["dynamicSolver"].it.newtonStepsCount / steps)
        return read(), max(took - overhead, 0.0)

    counts: list[float] = []
    row.run = run
    for steps in machine.steps:
        run(steps)
    row.iterations = counts[: len(machine.steps)]
    return row


def measure(machine: Machine, rows: Sequence[Row], exact: Array, rounds: int = ROUNDS) -> None:
    """Fill in errors and times; the rows take turns, so that all of them meet the machine at its fast and slow moments."""
    for row in rows:
        row.errors = [float(np.abs(row.run(steps)[0] - exact).max()) for steps in machine.steps]
        row.times = [math.inf] * len(machine.steps)
    for k, steps in enumerate(machine.steps):
        for _ in range(rounds):
            for row in rows:
                begun, repeats = time.process_time(), 0
                while repeats == 0 or time.process_time() - begun < SLICE:
                    row.times[k] = min(row.times[k], row.run(steps)[1] / steps)
                    repeats += 1


def time_for(row: Row, machine: Machine, error: float) -> float:
    """Return the time that a row needs for an error, from the two runs between which it lies, or nearest to it."""
    wall = np.log([each * steps for each, steps in zip(row.times, machine.steps, strict=True)])
    errors = np.log(row.errors)
    k = int(np.clip(np.searchsorted(-errors, -math.log(error)), 1, len(errors) - 1))
    slope = (wall[k] - wall[k - 1]) / (errors[k] - errors[k - 1])
    return float(np.exp(wall[k] + slope * (math.log(error) - errors[k])))


def show(machine: Machine, rows: Sequence[Row]) -> None:
    """Print the table of one machine, and what Exudyn takes relative to each row of this package."""
    print(f"\n{machine.name}, {machine.t_end:g} s")
    print(f"{'':<52}" + "".join(f"{f'h = {machine.t_end / n:.3g} s':>34}" for n in machine.steps))
    print(f"{'':<52}" + f"{'us/step':>12}{'error':>11}{'iterations':>11}" * len(machine.steps))
    for row in rows:
        cells = zip(row.times, row.errors, row.iterations, strict=True)
        print(f"{row.name:<52}" + "".join(f"{1e6 * t:>12.2f}{e:>11.1e}{i:>11.1f}" for t, e, i in cells))
    peers = [row for row in rows if row.name.startswith("Exudyn")]
    for row in rows:
        if not peers or row in peers:
            continue
        # The error that Exudyn reaches with its second shortest step.
        error = peers[0].errors[-2]
        step = peers[0].times[-1] / row.times[-1]
        whole = time_for(peers[0], machine, error) / time_for(row, machine, error)
        print(f"Exudyn / {row.name:<43} per step {step:7.1f}   for an error of {error:.0e} {whole:7.1f}")


def load_exudyn() -> ModuleType | None:
    """Return Exudyn without its range checks, or None where it is not installed."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ImportError):
        return importlib.import_module("exudyn")
    return None


def main(names: Sequence[str] = ()) -> None:
    """Print one table for each machine, or for those that are named."""
    plugins, exu = PluginSet(), load_exudyn()
    if exu is None:
        print("Exudyn is not installed: pip install exudyn")
    for machine in machines():
        if names and machine.name not in names:
            continue
        exact = reference(machine, plugins)
        rows = []
        for formulation, method in machine.rows:
            try:
                rows.append(kingpost_row(machine, formulation, method, plugins))
            except KingpostError as error:
                print(f"{machine.name}, {formulation}, {method}: {error}")
        rows += [exudyn_row(exu, machine)] if exu else []
        measure(machine, rows, exact)
        show(machine, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
