"""Blocks with memory and a sample time: in this process and as FMUs of all kinds, with the same numbers."""

import re

import casadi as ca
import numpy as np
import pytest

from kingpost import ExportError, Input, Parameter
from kingpost.base.channels import Channel
from kingpost.equations.newton import NewtonLoop, StepProblem
from kingpost.fmu.blocks import Block, DiscreteBlock, Measured, State, block_model, export_block, sampled, step_function
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from tests.fmu.conftest import once
from tests.fmu.export.native.test_intermediate_update import Between
from tests.fmu.hosting import Hosted

NATIVE = ("native-fmu", "native-fmu:fmi=3")
EXPORTERS = (*NATIVE, "fmu", "fmu:engine=package")


@pytest.fixture(scope="session")
def made(shared_folder):
    """Export a block, once for all tests: ``made(root(), "fmu")``."""

    def make(block, to="native-fmu"):
        kind = re.sub(r"\W", "-", to)
        path = shared_folder / f"{block.name}-{block.sample_time:g}-{kind}.fmu"
        return once(path, lambda target: export_block(block, target, to=to))

    return make


def difference(sample_time=0.1) -> DiscreteBlock:
    """A difference quotient with a gain; its second output is what it remembers, whatever comes in."""
    inputs, memory, parameters = (Measured("load.x", "m"),), (State("last", "m", 0.5),), (Parameter("gain", 2.0, "1"),)
    step = step_function(
        inputs, memory, parameters,
        lambda s: ([s["load.x"]], [s["gain"] * (s["load.x"] - s["last"]) / s["h"], s["last"]]),
    )  # fmt: skip
    outputs = (Channel("rate", "m/s"), Channel("before", "m"))
    return DiscreteBlock("difference", inputs, outputs, step, sample_time, memory, parameters, held=(7.0, 0.0))


def stamp(sample_time=0.1) -> DiscreteBlock:
    """It remembers when it was asked, how often, and what it was given."""
    inputs = (Input("u", "1"),)
    memory = (State("when", "s", -1.0), State("count", "1"), State("seen", "1"))
    step = step_function(inputs, memory, (), lambda s: ([s["t"], s["count"] + 1, s["u"]], [s["count"]]))
    return DiscreteBlock("stamp", inputs, (Channel("number", "1"),), step, sample_time, memory)


def root(sample_time=0.1) -> DiscreteBlock:
    """y^2 + y^4 = u by Newton's method from the last root: nothing for negative u."""
    y, t, x, u, p, h = (ca.SX.sym(name, size) for name, size in zip("ytxuph", (1, 1, 1, 1, 0, 1), strict=True))
    factors, known = ca.SX.sym("factors", 0), [t, x, u, p, h]
    problem = StepProblem(
        ca.Function("kp_guess", known, [x, ca.SX(0, 1)]),
        ca.Function("kp_equations", [y, *known, factors], [y**2 + y**4 - u]),
        ca.Function("kp_following", [y, *known, factors], [y]),
        ("the equation",),
    )
    symbols = [ca.MX.sym(f"i{k}", size) for k, size in enumerate((1, 1, 1, 0, 1))]
    found = NewtonLoop(problem, 30).solved(symbols)
    step = ca.Function("kp_block_step", symbols, [found, 2 * found])
    return DiscreteBlock(
        "root", (Input("u", "1", 2.0),), (Channel("twice", "1"),), step, sample_time, (State("y", "1", 0.7),), held=(-1.0,)
    )


@pytest.mark.quick("native-fmu", "fmu:engine=package")
@pytest.mark.parametrize("to", EXPORTERS)
def test_memory_and_outputs_follow_the_inputs_at_sample_times(made, to):
    path = made(difference(), to)
    values = [0.5, 0.75, 1.5, 1.25]
    last, held = 0.5, []
    with Hosted(path) as fmu:
        fmu.initialize({"load.x": values[0]})
        for k, value in enumerate(values):
            fmu.set({"load.x": value})
            # At a sample time the outputs are those of the sample: g (x - last) / h.
            expected = 2 * (value - last) / 0.1
            assert fmu.get(["rate", "before", "last"]).tolist() == pytest.approx([expected, last, last], rel=1e-14)
            fmu.step(0.1 * k, 0.05)
            last = value
            held.append(fmu.get(["rate", "before"]).tolist())
            fmu.set({"load.x": -100.0})
            assert (
                fmu.get(["rate", "before"]).tolist() == held[-1] == pytest.approx([expected, values[max(k - 1, 0)]], rel=1e-14)
            )
            fmu.step(0.1 * k + 0.05, 0.05)
            assert fmu.get(["last", "refused_samples", "failed_samples"]).tolist() == [value, 0, 0]


@pytest.mark.quick("0.0-native-fmu", "0.53-native-fmu:fmi=3", "0.53-fmu:engine=package")
@pytest.mark.parametrize("to", EXPORTERS)
@pytest.mark.parametrize("start", [0.0, 0.53])
def test_samples_are_taken_at_their_times_whatever_the_communication_steps(made, to, start):
    path = made(stamp(), to)
    steps = [0.03, 0.07, 0.1, 0.25, 0.05, 0.001, 0.099, 0.4, 0.1]
    with Hosted(path) as fmu:
        fmu.initialize(t_start=start)
        t = start
        for h in steps:
            fmu.step(t, h)
            t += h
            # All sample times before t, the first one where the run began.
            count = int(np.ceil((t - start) / 0.1 - 1e-6))
            when, number = fmu.get(["when", "count"]).tolist()
            assert number == count
            assert when == pytest.approx(start + 0.1 * (count - 1), abs=1e-12)


def test_many_small_steps_take_no_sample_twice(made):
    path = made(stamp(0.01))
    with Hosted(path) as fmu:
        fmu.initialize()
        t = 0.0
        for _ in range(3000):
            fmu.step(t, 0.001)
            t += 0.001
        assert fmu.get(["count"]).tolist() == [300]


def test_inputs_with_rates_are_sampled_on_their_way(made):
    path = made(stamp())
    with Hosted(path) as fmu:
        fmu.initialize({"u": 1.0})
        fmu.raw.setRealInputDerivatives([fmu.references["u"]], [1], [2.0])
        fmu.step(0.0, 0.35)
        # The last sample is at 0.3 s.
        assert fmu.get(["seen", "u"]).tolist() == pytest.approx([1.6, 1.7], rel=1e-14)


@pytest.mark.quick("native-fmu", "fmu:engine=package")
@pytest.mark.parametrize("to", EXPORTERS)
def test_what_is_not_finite_is_refused_and_the_last_good_outputs_are_held(made, to):
    path = made(difference(), to)
    with Hosted(path) as fmu:
        fmu.initialize({"load.x": float("nan")})
        assert fmu.get(["rate"]).tolist() == [7.0]  # nothing good was there yet
        fmu.step(0.0, 0.1)
        fmu.set({"load.x": 1.0})
        assert fmu.get(["rate", "refused_samples"]).tolist() == pytest.approx([10.0, 1.0], rel=1e-14)
        fmu.step(0.1, 0.1)
        for k, value in enumerate((float("nan"), float("inf"), -float("inf"))):
            fmu.set({"load.x": value})
            assert fmu.get(["rate"]).tolist() == pytest.approx([10.0], rel=1e-14)
            fmu.step(0.2 + 0.1 * k, 0.1)
            assert fmu.get(["rate", "refused_samples", "last"]).tolist() == pytest.approx([10.0, 2.0 + k, 1.0], rel=1e-14)
        fmu.set({"load.x": 1.5})
        fmu.step(0.5, 0.1)
        assert fmu.get(["last", "refused_samples", "failed_samples"]).tolist() == [1.5, 4.0, 0.0]
        told = [text for status, text in fmu.messages if status == 1]
        assert told == [
            "'load.x' is nan at t = 0 s: the sample is refused, and the last good outputs are held",
            "the sample at t = 0.1 s is good again, after 1 that were refused or failed",
            "'load.x' is nan at t = 0.2 s: the sample is refused, and the last good outputs are held",
            "the sample at t = 0.5 s is good again, after 3 that were refused or failed",
        ]


@pytest.mark.quick("native-fmu:fmi=3", "fmu")
@pytest.mark.parametrize("to", EXPORTERS)
def test_newton_solves_inside_a_sample(made, to):
    path = made(root(), to)
    with Hosted(path) as fmu:
        fmu.initialize()
        for k, u in enumerate([2.0, 3.0, 20.0, 6.0]):
            fmu.set({"u": u})
            fmu.step(0.1 * k, 0.1)
            # y^2 is the positive root of a quadratic equation; Newton's method ends below 1e-10 squared.
            y = np.sqrt((-1 + np.sqrt(1 + 4 * u)) / 2)
            assert fmu.get(["y"]).tolist() == pytest.approx([y], rel=1e-14)
        before = fmu.get(["y", "twice"]).tolist()
        fmu.set({"u": -1.0})
        fmu.step(0.4, 0.1)
        assert fmu.get(["y", "twice", "failed_samples", "refused_samples"]).tolist() == pytest.approx(
            [*before, 1.0, 0.0], rel=1e-14
        )
        assert fmu.messages[-1] == (1, "the sample at t = 0.4 s has no finite result: the last good outputs are held")


@pytest.mark.quick("native-fmu:fmi=3", "fmu")
@pytest.mark.parametrize("to", EXPORTERS)
def test_an_earlier_state_gives_the_same_bits_again(made, to):
    path = made(root(), to)
    with Hosted(path) as fmu:
        fmu.initialize()

        def go():
            seen = []
            for k, u in enumerate([3.0, -1.0, float("nan"), 5.0, 9.0]):
                fmu.set({"u": u})
                fmu.step(0.25 + 0.07 * k, 0.07)
                seen.append(fmu.get(["y", "twice", "refused_samples", "failed_samples"]).tolist())
            return seen

        fmu.step(0.0, 0.25)  # between two samples
        state = fmu.save()
        first = go()
        fmu.restore(state)
        assert go() == first
        fmu.forget(state)


def test_in_process_as_in_fmus(made):
    drive = Block("drive", (), (Channel("u", "1"),), (State("x", "1", 1.0),), rates=lambda s: [2.0], values=lambda s: [s["x"]])
    path = made(root())

    def run(**block):
        system = System(
            "both", (Component("drive", model=drive), Component("root", **block)), (Connection("drive.u", "root.u"),),
            t_end=1.0, step=0.05,
        )  # fmt: skip
        return cosimulate(system)

    inside, outside = run(model=root()), run(fmu=path)
    for name in ("root.y", "root.twice", "root.failed_samples"):
        np.testing.assert_array_equal(inside[name], outside[name])
    # At 0.95 s the last sample was that of 0.9 s.
    u = 1 + 2 * 0.9
    assert inside["root.y"][19] == pytest.approx(np.sqrt((-1 + np.sqrt(1 + 4 * u)) / 2), rel=1e-13)


@pytest.mark.quick("native-fmu")
@pytest.mark.parametrize("to", [*NATIVE, pytest.param("fmu", marks=pytest.mark.slow)])
def test_the_checks_find_nothing(made, to):
    report = check_fmu(made(root(), to))
    assert [result for result in report.results if result.outcome not in ("pass", "not applicable")] == []


def test_outputs_that_come_from_memory_alone_have_no_feedthrough():
    model = block_model(difference())
    names = [channel.name for channel in model.equations.channels]
    rows = set(model.equations.observe.jac_sparsity(0, 2).row())
    assert names.index("rate") in rows
    assert names.index("before") not in rows


def test_a_continuous_block_can_be_sampled():
    block = Block(
        "lag", (Input("u", "N"),), (Channel("y", "N"),), (State("x", "N", 3.0),), (Parameter("tau", 0.5, "s"),),
        rates=lambda s: [(s["u"] - s["x"]) / s["tau"]], values=lambda s: [s["x"] + s["u"]],
    )  # fmt: skip
    for divisions in (1, 2, 4):
        discrete = sampled(block, 0.1, divisions=divisions)
        x, y = discrete.step(0.0, 3.0, 1.0, 0.5, 0.1)
        # RK4: e^-z to z^4/24 with z = h / tau / divisions; what is left is z^5/120 of 2 N for each division.
        error = 2 * (0.2 / divisions) ** 5 / 120 * divisions
        assert abs(float(x) - (1 + 2 * np.exp(-0.2))) < 1.05 * error
        assert float(y) == 4.0


def test_between_samples_importers_look_give_inputs_and_return_early(made, tmp_path):
    """Intermediate update of FMI 3: inputs are asked for at sample times, and outputs can be had after each part of a step."""
    path = made(stamp(), "native-fmu:fmi=3")
    fmu = Between(path, tmp_path / "unpacked", wanted=("u",), early=True)
    try:
        fmu.begin()
        fmu.ask = lambda time, finished: None if finished else fmu.set("u", 10 * time)
        fmu.raw.doStep(0.0, 0.35)
        asked = [time for time, _, _, finished, _ in fmu.calls if not finished]
        seen = [time for time, _, _, finished, _ in fmu.calls if finished]
        assert asked == pytest.approx([0.0, 0.1, 0.2, 0.3])
        assert seen == pytest.approx([0.1, 0.2, 0.3, 0.35])
        assert fmu.get("seen") == pytest.approx(3.0)
        fmu.calls.clear()
        # Back at 0.45 s: the sample of 0.4 s was taken, that of 0.5 s was not.
        fmu.ask = lambda time, finished: 0.45 if finished else None
        answer = fmu.raw.doStep(0.35, 0.35)
        assert answer[2] is True or answer[2] == 1
        assert answer[3] == pytest.approx(0.45)
        assert fmu.get("count") == 5
        fmu.ask = lambda time, finished: None
        fmu.raw.doStep(0.45, 0.1)
        assert fmu.get("count") == 6
    finally:
        fmu.raw.terminate()
        fmu.raw.freeInstance()


def test_what_makes_no_sense_is_refused(tmp_path):
    block = difference()
    with pytest.raises(ExportError, match=r"works at sample times, 0.1 s apart, and has no rates for a solver"):
        export_block(block, tmp_path / "block.fmu", to="native-fmu:fmu=me")
    with pytest.raises(ExportError, match=r"0.1 s apart; it takes no integrator and no other step"):
        export_block(block, tmp_path / "block.fmu", step=0.01)
    with pytest.raises(ExportError, match=r"its sample time is -1 s; it must be above zero"):
        difference(-1.0)
    with pytest.raises(ExportError, match=r"its step takes \[1, 1, 1, 1, 1\] numbers and returns \[1, 2\]; expected is"):
        DiscreteBlock("block", (), block.outputs, block.step, 0.1, block.memory, block.parameters)
    with pytest.raises(ExportError, match=r"1 values to hold were given for 2 outputs"):
        DiscreteBlock("block", block.inputs, block.outputs, block.step, 0.1, block.memory, block.parameters, held=(1.0,))
    taken = step_function((), (State("sample.x", "1"),), (), lambda s: ([s["sample.x"]], []))
    with pytest.raises(ExportError, match=r"'sample.x' is a name of its own"):
        block_model(DiscreteBlock("block", (), (), taken, 0.1, (State("sample.x", "1"),)))
    assert not (tmp_path / "block.fmu").exists()
