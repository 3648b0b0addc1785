"""Components whose inputs follow paths: exact in this process, derivatives for FMUs that take them, means for others."""

import dataclasses

import numpy as np
import pytest

from kingpost import ExportError, History, export, simulate
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.fmu.cosim.description.system import CosimError
from kingpost.fmu.cosim.description.system_file import read_system
from kingpost.mechanism.elements import Input
from kingpost.mechanism.trajectories import Constant, RestToRest, Sampled, Sequence
from tests.fmu.machines import flywheel, rig

PATH = RestToRest(0.0, 3.0, 0.1037, 1.4)
TIMES = np.linspace(0.0, 2.0, 81)


def alone(step: float, path=PATH) -> History:
    return simulate(rig(), 2.0, inputs={"torque": path}, step=0.005, output_step=step)


def coupled(component: Component, step: float) -> History:
    return cosimulate(System("one", [component], step=step, t_end=2.0))


@pytest.mark.parametrize(
    "path",
    [
        PATH,
        Constant("2 * sin(3 * t)"),
        Sampled(tuple(TIMES.tolist()), tuple(np.sin(TIMES).tolist()), "cubic"),
        History(TIMES, (Channel("torque", "N.m"),), np.sin(TIMES)[:, None]),
    ],
    ids=["path", "formula", "table", "history"],
)
def test_a_machine_in_this_process_moves_as_it_does_alone(path):
    """The communication step of 0.25 s is fifty internal steps long."""
    together = coupled(Component("rig", model=rig(), inputs={"torque": path}, step=0.005), 0.25)
    np.testing.assert_allclose(together["rig.pivot.angle"], alone(0.25, path)["pivot.angle"], rtol=0, atol=1e-12)


def test_a_block_in_this_process_follows_its_path():
    """x' = u with a staircase as u, which jumps where internal steps end."""
    block = Block(
        "sum", inputs=(Input("u", "1"),), outputs=(Channel("y", "1"),), states=(State("x", "1"),),
        rates=lambda s: [s["u"]], values=lambda s: [s["x"]],
    )  # fmt: skip
    stairs = Sequence((0.0, 0.5, 1.0), (1.0, -2.0, 3.0), "linear")
    together = coupled(Component("sum", model=block, inputs={"u": stairs}, step=0.01), 0.5)
    np.testing.assert_allclose(together["sum.y"], [0.0, -0.25, 0.0, 1.5, 3.0], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rigs")
    kinds = {"fmi2": "fmi=2", "fmi3": "fmi=3", "me": "fmu=me"}
    native = {
        name: export(rig(), folder / f"{name}.fmu", to=f"native-fmu:{kind},platforms=linux64", step=0.005).path
        for name, kind in kinds.items()
    }
    return {**native, "python": export(rig(), folder / "python.fmu", to="fmu", step=0.005).path}


@pytest.mark.quick("True")
@pytest.mark.parametrize("isolate", [False, True])
def test_an_fmu_that_takes_derivatives_follows_its_path(fmus, isolate):
    """It gets straight lines whose means are those of the path, and follows them exactly: fourth order in its steps."""
    errors = []
    for step in (0.2, 0.1):
        together = coupled(Component("rig", fmu=fmus["fmi2"], inputs={"torque": PATH}, isolate=isolate), step)
        errors.append(np.abs(together["rig.pivot.angle"] - alone(step)["pivot.angle"]).max())
        assert not together.provenance["warnings"]
        facts = together.provenance["system"]["components"]["rig"]
        assert facts["inputs"] == {"torque": {"trajectory": "rest-to-rest"}}
    assert errors[0] < 1e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


def test_an_fmu_that_asks_for_its_inputs_follows_its_path(fmus):
    """What it is told of the path in between is good to the fourth power of the communication step."""
    errors = []
    for step in (0.2, 0.1):
        together = coupled(Component("rig", fmu=fmus["fmi3"], inputs={"torque": PATH}, isolate=False), step)
        assert not together.provenance["warnings"]
        errors.append(np.abs(together["rig.pivot.angle"] - alone(step)["pivot.angle"]).max())
    assert errors[0] < 1e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


def test_an_fmu_that_holds_its_inputs_is_told(fmus):
    together = coupled(Component("rig", fmu=fmus["python"], inputs={"torque": PATH}), 0.05)
    (note,) = together.provenance["warnings"]
    assert note.startswith("component 'rig' holds torque over each of its steps, at the mean")
    # Means are good to second order; values from the beginning of each step would be forty times as far off.
    assert np.abs(together["rig.pivot.angle"] - alone(0.05)["pivot.angle"]).max() < 1e-3


def test_an_fmu_for_model_exchange_follows_its_path(fmus):
    together = coupled(Component("rig", fmu=fmus["me"], inputs={"torque": PATH}, tolerance=1e-9, isolate=False), 0.05)
    np.testing.assert_allclose(together["rig.pivot.angle"], alone(0.05)["pivot.angle"], rtol=0, atol=2e-5)


def test_paths_beside_connections(fmus):
    """A wheel's speed drives the rig's FMU, of which nothing else is connected; the wheel follows a path."""
    system = System(
        "two",
        [
            Component("wheel", model=flywheel(), inputs={"torque": Constant("sin(t)")}, step=0.005),
            Component("rig", fmu=fmus["fmi2"], isolate=False),
        ],
        [Connection("wheel.axle.angle.rate", "rig.torque", factor=1.0)],
        step=0.05,
        t_end=1.0,
    )
    together = cosimulate(system)
    # 2 w' = sin t
    np.testing.assert_allclose(together["wheel.axle.angle.rate"], (1 - np.cos(together.time)) / 2, rtol=0, atol=1e-10)
    twice = dataclasses.replace(system.components[1], inputs={"torque": PATH})
    with pytest.raises(CosimError, match="the causality of 'rig.torque' is driven, not input"):
        cosimulate(system.with_changes(components=[system.components[0], twice]))


def test_files_say_it_too(tmp_path):
    (tmp_path / "torque.csv").write_text("time,torque\n0,0\n1,1\n2,0\n")
    (tmp_path / "system.toml").write_text(
        '[run]\nt_end = 2\nstep = 0.5\n[components.wheel]\nmodel = "wheel.toml"\n'
        'inputs = { torque = { file = "torque.csv" } }\n'
    )
    (tmp_path / "wheel.toml").write_text(
        'name = "wheel"\n[inputs]\ntorque = { unit = "N.m", moves = 5 }\n'
        '[[bodies]]\nname = "wheel"\nmass = 1\ninertia = [1, 1, 2]\n'
        '[[joints]]\nname = "axle"\nkind = "revolute"\nparent = "world"\nchild = "wheel"\naxis = [0, 0, 1]\n'
        '[[forces]]\nkind = "joint-effort"\ncoordinate = "axle.angle"\neffort = "torque"\n'
    )
    together = cosimulate(read_system(tmp_path / "system.toml"))
    # A triangle of height 1 and base 2: w = t^2 / 4 up to its top.
    np.testing.assert_allclose(together["wheel.axle.angle.rate"][[1, 2, 4]], [0.0625, 0.25, 0.5], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"torq": PATH}, "component 'rig': it has no input 'torq'; did you mean 'torque'?"),
        ({"torque": lambda t: t}, "component 'rig': input 'torque' is a Python function or a table"),
        ({"torque": Constant("2 * b")}, "component 'rig': input 'torque': its constant trajectory uses 'b'"),
    ],
)
def test_what_cannot_be_followed_is_refused(fmus, inputs, message):
    with pytest.raises(CosimError) as error:
        coupled(Component("rig", fmu=fmus["fmi2"], inputs=inputs), 0.1)
    assert message in str(error.value)


def test_systems_that_leave_take_no_paths_of_fmus_along(fmus, tmp_path):
    system = System("one", [Component("rig", fmu=fmus["fmi2"], inputs={"torque": PATH})], step=0.1)
    with pytest.raises(ExportError, match="component 'rig': torque follow paths that only Kingpost knows"):
        system.write_ssp(tmp_path / "one.ssp")
