"""Native FMUs move as the machine does in process: every output, both standards, both kinds."""

import shutil
import subprocess
import sys
import zipfile

import casadi as ca
import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import Body, Joint, Mechanism, PluginSet, SolverError, simulate
from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.hosting import Hosted
from tests.fmu.machines import ImplicitMidpoint, carried, flywheel, follower, locking, rig, tumbling, welded

#: Name, internal step, and what differs from the model's own values: a parameter, a start value, inputs over time.
CASES = {
    "vessel-crane": (1e-3, {"m4": 45.0, "luff.angle": 0.2}, {"slew_torque": np.sin, "vessel_moment_x": lambda t: 2000 * t}),
    "double-pendulum": (1e-3, {"mass2": 1.7, "elbow.angle.rate": -0.4}, {}),
    "six-axis-arm": (1e-3, {"payload": 22.0, "bend.angle": 0.1}, {"elbow_target": lambda t: 0.3 + np.cos(3 * t)}),
    "spacecraft-arm": (5e-3, {"craft_mass": 350.0, "elbow.angle": -0.7}, {"shoulder_torque": lambda t: 20 * np.cos(t)}),
}


def agree(ours, theirs, names, relative):
    """Compare histories: relative to the largest value of each output, and of all outputs where one stays near zero."""
    scale = np.maximum(np.abs(ours).max(axis=0), 1e-6 * np.abs(ours).max())
    worst = np.abs(ours - theirs).max(axis=0) / scale
    assert worst.max() <= relative, f"{names[int(worst.argmax())]} differs by {worst.max():.1e} of {scale[worst.argmax()]:g}"


@pytest.mark.slow
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_what_users_get_is_small(name, fmi, machine, plugins, tmp_path, monkeypatch):
    """Compiled as users have it. Those of FMI 3 have derivatives backwards, too, as much code again as those forwards."""
    monkeypatch.delenv("KINGPOST_OPTIMIZE", raising=False)
    path = tmp_path / "machine.fmu"
    model = prepare_export(machine(name), plugins=plugins, step=CASES[name][0], loads="all")
    NativeFmu(NativeOptions(fmi=fmi)).export(model, ExportSelection(), path)
    assert path.stat().st_size < {2: 300_000, 3: 400_000}[fmi]


@pytest.mark.quick("six-axis-arm-2", "double-pendulum-3", "vessel-crane-3")
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_every_output_is_that_of_the_run_in_process(name, fmi, native, machine, plugins):
    step, settings, inputs = CASES[name]
    mechanism, h, count = machine(name), 10 * step, 60
    path = native(mechanism, fmi=fmi, step=step, loads="all")
    assert validate_fmu(str(path)) == []
    history = simulate(
        mechanism, count * h, settings=settings, inputs=inputs, step=step, output_step=h, loads="all", plugins=plugins
    )
    with Hosted(path) as fmu:
        rows = []
        fmu.initialize({**settings, **{signal: float(value(0.0)) for signal, value in inputs.items()}})
        rows.append(fmu.get(fmu.outputs))
        for i in range(count):
            fmu.step(i * h, h)
            fmu.set({signal: float(value((i + 1) * h)) for signal, value in inputs.items()})
            rows.append(fmu.get(fmu.outputs))
        # The same operations, but for the order in which two compilers and libraries round.
        agree(np.array([history[output] for output in fmu.outputs]).T, np.array(rows), fmu.outputs, 1e-9)
        assert len(fmu.outputs) > 20 and fmu.messages == []


@pytest.mark.quick("vessel-crane-2", "double-pendulum-3")
@pytest.mark.parametrize(("name", "fmi"), [(name, 2) for name in CASES] + [("double-pendulum", 3)])
def test_model_exchange_agrees_with_a_solver_in_process(name, fmi, native, machine, plugins):
    _, settings, inputs = CASES[name]
    fixed = {signal: float(value(0.5)) for signal, value in inputs.items()}
    mechanism = machine(name)
    path = native(mechanism, fmi=fmi, fmu="me", outputs=["*"])
    history = simulate(
        mechanism, 0.5, settings={**settings, **fixed}, integrator="dop853", output_step=0.05, backend="vm", plugins=plugins
    )
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.5, solver="CVode", relative_tolerance=1e-9, output_interval=0.05,
        start_values={**settings, **fixed}, output=list(history.names),
    )  # fmt: skip
    # CVode holds the error of each step to 1e-9 of a state, or of 1 if that is larger; it takes a few hundred.
    for channel in history.names:
        scale = max(np.abs(history[channel]).max(), 1.0)
        assert np.abs(found[channel] - history[channel]).max() < 5e-7 * scale, channel


@pytest.mark.quick("hold", "cubic")
@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic", "quintic"])
def test_set_points_in_a_table_travel_as_c(interpolation, native, plugins):
    mechanism = follower(interpolation)
    history = simulate(mechanism, 2.5, plugins=plugins)
    with Hosted(native(mechanism)) as fmu:
        fmu.initialize()
        fmu.steps(250, 0.01)
        assert fmu.get(fmu.outputs) == pytest.approx([history[name][-1] for name in fmu.outputs], rel=1e-9, abs=1e-12)


@pytest.mark.quick("3")
@pytest.mark.parametrize("fmi", [2, 3])
def test_an_implicit_step_is_solved_inside_the_fmu(fmi, native, plugins):
    mechanism = rig()
    history = simulate(mechanism, 1.0, integrator=ImplicitMidpoint, step=0.02, output_step=0.1, plugins=plugins)
    path = native(mechanism, fmi=fmi, integrator=ImplicitMidpoint, step=0.02)
    with Hosted(path) as fmu:
        fmu.initialize()
        fmu.steps(10, 0.1)
        # Newton's method stops at 1e-13 in both, from the same guesses.
        assert fmu.get("pivot.angle") == pytest.approx(history["pivot.angle"][-1], rel=1e-9)
        explicit = simulate(mechanism, 1.0, step=0.02, plugins=plugins)["pivot.angle"][-1]
        assert abs(fmu.get("pivot.angle") - explicit) > 1e-6


def test_an_implicit_step_without_a_solution_is_discarded(native):
    class Impossible(ImplicitMidpoint):
        """Asks for a number that does not exist."""

        name = "impossible"

        def step(self, equations, t, x, u, p, h):
            new = ca.MX.sym("new", x.numel())
            symbols = [ca.MX.sym("x", x.numel()), ca.MX.sym("h")]
            # new^2 = -1 - h: there is no such number.
            residual = ca.Function("residual", [new, *symbols], [new**2 + 1 + symbols[1] + 0 * symbols[0]])
            return ca.rootfinder("newton", "fast_newton", residual, {"max_iter": 5})(x + 0.3, x, h)

    with Hosted(native(flywheel(), integrator=Impossible)) as fmu:
        fmu.initialize()
        with pytest.raises(Exception, match="fmi2DoStep failed with status 2"):
            fmu.step(0.0, 0.001)
        assert "the step of 0.001 s from t = 0 s found no solution" in fmu.said
        assert fmu.get("axle.angle") == 0.0


def test_a_machine_that_cannot_move_has_loads_all_the_same(native):
    for fmi in (2, 3):
        for kind in ("cs", "me"):
            path = native(welded(), fmi=fmi, fmu=kind, loads="all")
            assert validate_fmu(str(path)) == []
            with Hosted(path) as fmu:
                fmu.initialize()
                if kind == "cs":
                    fmu.steps(3, 0.5)
                # It weighs 3 kg times 10 m/s^2, half a metre out.
                assert fmu.get(["foot.Fz", "foot.My", "corner.x"]) == pytest.approx([30.0, -15.0, 1.0])


def test_a_lock_stops_the_step_with_the_joint_and_the_time(native, plugins):
    with pytest.raises(SolverError, match="about to lock at t = 0.161 s"):
        simulate(locking(), 1.0, plugins=plugins)
    for fmi in (2, 3):
        with Hosted(native(locking(), fmi=fmi)) as fmu:
            fmu.initialize()
            with pytest.raises(Exception, match="DoStep failed with status 2"):
                fmu.step(0.0, 1.0)
            assert fmu.said == "joint 'hinge' is about to lock at t = 0.161 s: its coordinates become singular"
            # In FMI 2 it stands at the last good moment, and says so; in FMI 3 where it was. Steps from there are no matter.
            reached = 0.16 if fmi == 2 else 0.0
            assert fmu.get("time") == pytest.approx(reached, abs=1e-12)
            assert fmu.get("hinge.pitch") == pytest.approx(1.4 + reached, abs=1e-9)
            if fmi == 2:
                assert fmu.raw.getRealStatus(2) == pytest.approx(0.16, abs=1e-12)
        with Hosted(native(locking(), fmi=fmi)) as fmu:
            with pytest.raises(Exception, match="ExitInitializationMode failed with status 3"):
                fmu.initialize({"hinge.pitch": 1.5707})
            assert "joint 'hinge' starts where its coordinates are singular" in fmu.said
            if fmi == 3:  # an error has ended the instance
                fmu.raw.reset()
                fmu.begin()
            fmu.set({"hinge.pitch": 0.0})
            fmu.raw.exitInitializationMode()
            fmu.step(0.0, 0.1)


def test_model_exchange_ends_at_a_lock_too(native):
    with Hosted(native(locking(), fmu="me")) as fmu:
        fmu.initialize()
        assert fmu.raw.completedIntegratorStep() == (0, 0)
        state = np.array([0, 1.565, 0, 0, 1, 0])
        fmu.raw.setContinuousStates(state.ctypes.data_as(fmpy.fmi2.POINTER(fmpy.fmi2.c_double)), 6)
        fmu.raw.setTime(0.165)
        assert fmu.raw.completedIntegratorStep() == (0, 1)
        assert fmu.said == "joint 'hinge' is about to lock at t = 0.165 s: its coordinates become singular"


def test_a_quaternion_is_taken_as_the_direction_that_it_is(native, plugins):
    turned = {"flight.qw": 2.0, "flight.qx": 0.0, "flight.qy": 2.0, "flight.qz": 0.0}
    history = simulate(tumbling(), 0.5, settings=turned, plugins=plugins)
    for fmi in (2, 3):
        with Hosted(native(tumbling(), fmi=fmi)) as fmu:
            fmu.initialize(turned)
            assert fmu.get(["flight.qw", "flight.qy"]) == pytest.approx([0.5**0.5] * 2, rel=1e-15)
            fmu.steps(50, 0.01)
            assert fmu.get(fmu.outputs) == pytest.approx([history[name][-1] for name in fmu.outputs], rel=1e-9, abs=1e-12)
        with Hosted(native(tumbling(), fmi=fmi)) as fmu:
            with pytest.raises(Exception, match="ExitInitializationMode failed with status 3"):
                fmu.initialize({"flight.qw": 0.0})
            assert "the quaternion that begins with 'flight.qw' has length 0" in fmu.said


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_quaternion_from_outside_that_is_zero_is_named(native, fmi):
    """What others would call the first number that is none: masters that set inputs late begin with zeros."""
    said = "the quaternion of 'base_qw', 'base_qx', 'base_qy', 'base_qz' is zero at t = {} s, which is no rotation"
    with Hosted(native(carried(), fmi=fmi)) as fmu:
        fmu.initialize({"base_qw": 0.0})
        with pytest.raises(Exception, match="failed with status 3"):
            fmu.get("load.x")
        assert fmu.said.startswith(said.format(0))
    with Hosted(native(carried(), fmi=fmi)) as fmu:
        fmu.initialize()
        fmu.steps(1, 0.01)
        fmu.set({"base_qw": 0.0})
        with pytest.raises(Exception, match="failed with status 3"):
            fmu.step(0.01, 0.01)
        assert fmu.said.startswith(said.format(0.01))


def test_the_same_model_gives_the_same_bytes(native, plugins, tmp_path):
    def export(name):
        model = prepare_export(rig(), plugins=PluginSet(entry_points=False))
        return NativeFmu(NativeOptions()).export(model, ExportSelection(), tmp_path / name)

    first, again = export("first.fmu").path, export("again.fmu")
    assert again.path.read_bytes() == first.read_bytes()
    # Perhaps from another process, and with other levels of optimisation.
    for path in (earlier := zipfile.ZipFile(native(rig()))).namelist():
        assert path.startswith("binaries/") or earlier.read(path) == zipfile.ZipFile(first).read(path)
    other = NativeFmu(NativeOptions()).export(
        prepare_export(rig(), plugins=plugins, step=0.002), ExportSelection(), tmp_path / "other.fmu"
    )
    tokens = {fmpy.read_model_description(str(path)).guid for path in (first, again.path, other.path)}
    assert len(tokens) == 2


@pytest.mark.quick("3")
@pytest.mark.parametrize("fmi", [2, 3])
def test_it_can_be_built_again_from_its_own_sources(fmi, native, tmp_path):
    pytest.importorskip("cmake", reason="fmpy compile needs CMake")
    path = shutil.copy(native(rig(), fmi=fmi), tmp_path / "rig.fmu")
    with Hosted(path) as fmu:
        fmu.initialize()
        fmu.steps(100, 0.01)
        before = fmu.get(fmu.outputs)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.startswith("binaries/")}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    subprocess.run([sys.executable, "-m", "fmpy", "compile", str(path)], check=True, capture_output=True, cwd=tmp_path)
    with Hosted(path) as fmu:
        fmu.initialize()
        fmu.steps(100, 0.01)
        # CMake compiles with other levels of optimisation, which may round differently.
        assert fmu.get(fmu.outputs) == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
def test_turns_are_counted_in_the_state_so_that_an_fmu_that_goes_back_counts_them_again(formulation, native):
    wheel = Mechanism(
        "wheel",
        bodies=(Body("wheel", mass=1.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.4)),),
        joints=(Joint("pivot", "revolute", "world", "wheel", axis=(0, 0, 1), start=-7.0, start_rate=5.0),),
    )
    path = native(wheel, formulation=formulation, step=0.01, outputs=["pivot.angle"])
    with Hosted(path) as fmu:
        fmu.initialize()
        fmu.steps(20, 0.1)
        state, angle = fmu.save(), fmu.get("pivot.angle")
        # Errors of rk4 in 700 steps of 0.05 rad: (0.05)^5 / 120 each, and about as much from a speed that fades.
        assert angle == pytest.approx(-7.0 + 2.0 * 5.0, abs=1e-5)
        fmu.steps(50, 0.1, first=20)
        there = fmu.get("pivot.angle")
        assert there == pytest.approx(-7.0 + 7.0 * 5.0, abs=1e-5)
        fmu.restore(state)
        assert fmu.get("pivot.angle") == angle
        fmu.steps(50, 0.1, first=20)
        assert fmu.get("pivot.angle") == there
        fmu.forget(state)
