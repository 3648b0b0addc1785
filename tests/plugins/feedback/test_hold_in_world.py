"""Loads that stay in the world: the law by itself, as FMUs, and in closed loop in an irregular sea."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import MechanismError, PluginError
from kingpost.fmu.blocks import controller_block, export_block
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.plugins.models.offshore_data import LARGE, LARGE_CRANE
from kingpost.registry.selection import select
from tests.fmu.hosting import Hosted
from tests.plugins.feedback.test_suspension import tip_on_base

DRIVES = ("slew", "luff", "knuckle", "winch")
FOOT = np.array(LARGE.vessel.foot)
#: A base that rolls, pitches and heaves: amplitudes in rad and m, frequencies in rad/s.
ROLL, PITCH, HEAVE = (0.05, 0.7), (0.03, 0.9), (0.8, 0.6)


@pytest.fixture(scope="module")
def model(plugins):
    return plugins.models.get("offshore-crane-on-base")()


def made(model, plugins, task="hold-in-world", **options):
    """The controller as a block."""
    feedback = select(plugins.of("feedback"), "hold-in-world", options)
    return controller_block(model.build(), model.tasks()[task], feedback, plugins=plugins)[0]


def base_at(t):
    """Pose, twist and rate of twist of the base in closed form, and its rotation: roll about x, then pitch about y."""

    def wave(size, w):
        return size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)

    (a, da, dda), (b, db, ddb), (z, dz, ddz) = wave(*ROLL), wave(*PITCH), wave(*HEAVE)
    turn = Rotation.from_euler("yx", [b, a])  # extrinsic: first about y, R = Rx(a) Ry(b)
    R = turn.as_matrix()
    # Body rates of Rx(a) Ry(b): a' seen through Ry(b), and b' about y.
    x_seen, x_turned = np.array([np.cos(b), 0, np.sin(b)]), np.array([-np.sin(b), 0, np.cos(b)]) * db
    w, dw = da * x_seen + [0, db, 0], dda * x_seen + da * x_turned + [0, ddb, 0]
    v = R.T @ [0, 0, dz]
    dv = R.T @ [0, 0, ddz] - np.cross(w, v)
    qx, qy, qz, qw = turn.as_quat()
    place = FOOT + [0, 0, z]
    values = [t, *place, qw, qx, qy, qz, *w, *v, *dw, *dv]
    return values, place, R


class Carried:
    """A crane whose drives do what they are told, with a load that stays where it should: the law alone."""

    def __init__(self, block):
        self.block = block
        self.p = np.array([entry.default for entry in block.parameters])
        self.memory = np.array([entry.start for entry in block.memory])
        self.names = [entry.name for entry in block.memory]
        self.rows = []

    def run(self, t_end, y):
        h = self.block.sample_time
        start = [*LARGE_CRANE.start, 0.0]
        for k in range(round(t_end / h)):
            values, _, _ = base_at(k * h)
            u = np.array([*values, *start, *y, 0, 0, 0])
            memory, outputs = self.block.step(k * h, self.memory, u, self.p, h)
            self.rows.append((np.asarray(memory).ravel(), np.asarray(outputs).ravel()))
            self.memory = self.rows[-1][0]
        return self

    def of(self, ending):
        columns = [self.names.index(f"{drive}.{ending}") for drive in DRIVES]
        return np.array([memory[columns] for memory, _ in self.rows])

    @property
    def outputs(self):
        return np.array([outputs for _, outputs in self.rows])


def hook_at_start(model):
    scope = {parameter.name: parameter.default for parameter in model.build().parameters}
    return np.array([float(path.value(0.0, scope)) for path in model.tasks()["hold-in-world"].path.values()])


def test_the_planned_tip_stays_above_the_load_while_the_base_moves(model, plugins):
    """By closed forms of base and crane; at rest in the world the rope is vertical and as long as the weight makes it.

    The base goes on with a constant rate of twist for a sample of 10 ms: h^3 / 6 of rad/s^3 times 50 m, some micrometres.
    """
    y, h = hook_at_start(model), 0.01
    rates = {"slew": 0.3, "luff": 0.3, "knuckle": 0.3, "winch": 5.0}
    carried = Carried(made(model, plugins, rates=rates, engage=0.5, integral=0.0, correction=4.0)).run(10.0, y)
    strain = LARGE_CRANE.masses["load"] * 9.81 / LARGE_CRANE.rope_EA
    planned, worst = carried.of("planned"), 0.0
    for k in range(500, 1000):
        _, place, R = base_at((k + 1) * h)  # a sample ahead
        tip = place + R @ tip_on_base(planned[k])
        whole = LARGE_CRANE.rope + 0.9 * LARGE_CRANE.knuckle + LARGE_CRANE.drum_radius * planned[k, 3]
        length = whole * (1 + strain) - 0.9 * LARGE_CRANE.knuckle
        worst = max(worst, np.linalg.norm(tip - y - [0, 0, length]))
    assert worst < 5e-5
    # Rates are those of what is planned: central differences, of second order.
    sent, slope = carried.of("setpoint.rate")[500:999], (planned[501:1000] - planned[499:998]) / (2 * h)
    np.testing.assert_allclose(sent, slope, atol=2e-5)
    assert np.abs(slope).max() > 0.05


@pytest.mark.quick("0.05")
@pytest.mark.parametrize("part", [0.05, 0.3])
def test_bounds_hold_to_the_last_digit(model, plugins, part):
    rates = {"slew": 0.1 * part, "luff": 0.1 * part, "knuckle": 0.1 * part, "winch": 2.0 * part}
    ends = {"minimum": {"luff": 0.88, "winch": -0.3}, "maximum": {"luff": 0.92, "knuckle": -1.08}}
    block = made(model, plugins, rates=rates, engage=1.0, **ends)
    carried = Carried(block).run(12.0, hook_at_start(model))
    setpoints, sent, planned = (carried.of(name) for name in ("setpoint", "setpoint.rate", "planned"))
    limit = np.array([rates[name] for name in DRIVES])
    assert (np.abs(sent) <= limit).all()
    # A sum of a set-point and h times a rate is rounded once.
    assert (np.abs(np.diff(setpoints, axis=0)) <= limit * block.sample_time + 4e-16).all()
    speeds = carried.of("planned.rate")
    assert (np.abs(speeds) <= limit).all()
    changes = np.abs(np.diff(speeds, axis=0))
    for rows in (setpoints, planned):
        assert rows[:, 1].min() >= 0.88
        assert rows[:, 1].max() <= 0.92
        assert rows[:, 2].max() <= -1.08
        assert rows[:, 3].min() >= -0.3
    assert (changes <= limit / 0.5 * block.sample_time + 1e-15).all()  # by default full rate in half a second
    # They bind, and say so.
    assert (speeds == limit).any() or (speeds == -limit).any()
    assert carried.outputs[:, -1].max() >= 1
    assert carried.outputs[:, -2].max() > 0.1


def test_weights_say_who_moves(model, plugins):
    """Least norm: on the way that leaves the load alone, weighted rates balance; with no posture to return to."""
    y = hook_at_start(model)
    rates = {"slew": 0.3, "luff": 0.3, "knuckle": 0.3, "winch": 5.0}

    def run(**weights):
        block = made(model, plugins, rates=rates, engage=0.5, integral=0.0, posture=0.0, weights=weights)
        return Carried(block).run(8.0, y)

    even, sparing = run(), run(luff=9.0)
    for carried, weights in ((even, np.ones(4)), (sparing, np.array([1, 9.0, 1, 1]))):
        speeds, planned = carried.of("planned.rate"), carried.of("planned")
        for k in (400, 555, 700):
            _, _, R = base_at((k + 1) * 0.01)
            reach, strain = 1e-6, LARGE_CRANE.masses["load"] * 9.81 / LARGE_CRANE.rope_EA
            before = planned[k] - 0.005 * speeds[k]
            J = np.array([
                (R @ (tip_on_base(before + reach * unit) - tip_on_base(before - reach * unit))) / (2 * reach)
                - [0, 0, (1 + strain) * LARGE_CRANE.drum_radius * unit[3]] for unit in np.eye(4)
            ]).T  # fmt: skip
            alone = np.linalg.svd(J)[2][-1]
            scaled = weights / np.array([rates[name] for name in DRIVES]) ** 2
            terms = scaled * speeds[k] * alone
            assert abs(terms.sum()) < 1e-4 * np.abs(terms).sum()
    used = {
        name: np.abs(carried.of("planned.rate")[400:]).max(axis=0) for name, carried in (("even", even), ("spared", sparing))
    }
    assert used["spared"][1] < 0.97 * used["even"][1]
    assert used["spared"][2] > 1.1 * used["even"][2]


@pytest.mark.quick("3")
@pytest.mark.parametrize("fmi", [2, 3])
def test_as_an_fmu_it_refuses_what_is_no_number_and_holds(model, plugins, tmp_path, fmi):
    block = made(model, plugins, engage=0.1)
    path = export_block(block, tmp_path / "hold.fmu", to=f"native-fmu:fmi={fmi}").path
    outputs = [channel.name for channel in block.outputs]
    names, y = [entry.name for entry in block.inputs], hook_at_start(model)
    carried = Carried(block)
    with Hosted(path) as fmu:
        fmu.initialize()
        for k in range(30):
            values, _, _ = base_at(0.01 * k)
            given = dict(zip(names, [*values, *LARGE_CRANE.start, 0.0, *y, 0, 0, 0], strict=True))
            if k == 20:
                given["hook.y"] = float("nan")
            fmu.set(given)
            before = fmu.get(outputs)
            fmu.step(0.01 * k, 0.01)
            if k == 20:
                assert fmu.get(outputs).tolist() == before.tolist()
                assert fmu.get(["refused_samples"]).tolist() == [1.0]
                continue
            memory, _ = block.step(0.01 * k, carried.memory, np.array(list(given.values())), carried.p, 0.01)
            carried.memory = np.asarray(memory).ravel()
            expected = [carried.memory[carried.names.index(f"{drive}.setpoint")] for drive in DRIVES]
            assert fmu.get([f"{drive}_target" for drive in DRIVES]).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
            assert fmu.get(["targets_t"]).tolist() == pytest.approx([0.01 * (k + 1)], rel=1e-12)
        told = [text for status, text in fmu.messages if status == 1]
        assert told == [
            "'hook.y' is nan at t = 0.2 s: the sample is refused, and the last good outputs are held",
            "the sample at t = 0.21 s is good again, after 1 that were refused or failed",
        ]


@pytest.mark.slow
def test_the_checks_find_nothing(model, plugins, tmp_path):
    report = check_fmu(export_block(made(model, plugins), tmp_path / "hold.fmu").path)
    assert [result for result in report.results if result.outcome not in ("pass", "not applicable")] == []


def test_what_cannot_work_is_refused_with_the_numbers(model, plugins):
    with pytest.raises(MechanismError, match=r"rates: there is no drive 'luf'; did you mean 'luff'\? Drives: slew, luff"):
        made(model, plugins, rates={"luf": 0.1})
    with pytest.raises(MechanismError, match=r"the drive 'luff' starts at 0.9 rad, outside its range from -10000 to 0.8"):
        made(model, plugins, maximum={"luff": 0.8})
    with pytest.raises(MechanismError, match=r"goes from 1 to 0.5 rad; the maximum must be the larger one"):
        made(model, plugins, minimum={"knuckle": 1.0}, maximum={"knuckle": 0.5})
    with pytest.raises(
        MechanismError,
        match=r"servo task 'move-in-world': at t = \d+ s 'hook' would have to be at \(.*\) m, and the drives of "
        r"'offshore-crane-on-base' come no nearer than [\d.]+ m .*; at an end of their range: slew \(-1.5\d* rad\)",
    ):
        made(model, plugins, "move-in-world", minimum={"slew": -1.6}, maximum={"slew": -1.55})
    with pytest.raises(PluginError, match=r"rates: 'slew' has 'fast', which is no number"):
        made(model, plugins, rates="slew=fast")
    with pytest.raises(PluginError, match=r"motion_first = 0 m/s: it must be positive"):
        made(model, plugins, motion_first=0.0)


def test_a_load_too_far_for_the_boom_is_named(model, plugins):
    from kingpost.mechanism.tasks import ServoTask

    far = ServoTask({"hook.x": 12.0, "hook.y": -80.0, "hook.z": 12.0}, tuple(f"{name}_target" for name in DRIVES), 10.0)
    with pytest.raises(MechanismError, match=r"at t = 0 s .* come no nearer than \d+.*none: the boom is too short"):
        controller_block(model.build(), far, "hold-in-world", plugins=plugins)


def coupled(model, plugins, step, t_end, master, controlled=True, **options):
    """Vessel, crane and controller in one process, in an irregular sea."""
    vessel = Component("vessel", model="offshore-vessel:hs=2.0,tp=8.0,seed=1")
    components, wires = [vessel, Component("crane", model="offshore-crane-on-base")], [("crane.foot", "vessel.mount")]
    if controlled:
        block = made(model, plugins, sample_time=step, **options)
        components.append(Component("controller", model=block))
        for entry in block.inputs:
            base = entry.name.startswith("base_")
            wires.append((f"vessel.mount.{entry.name[5:]}" if base else f"crane.{entry.name}", f"controller.{entry.name}"))
        wires += [(f"controller.{out.name}", f"crane.{out.name}") for out in block.outputs if "target" in out.name]
    shown = ["crane.hook.*", "vessel.hull.*"] + (["controller.*_target", "controller.gap"] if controlled else [])
    return System(
        "sea",
        tuple(components),
        tuple(Connection(*wire) for wire in wires),
        step=step,
        t_end=t_end,
        master=master,
        record=shown,
    )


FAST = {"slew": 0.06, "luff": 0.14, "knuckle": 0.14, "winch": 2.0}


def spread(history, since):
    late = history.time >= since
    return np.array([history[f"crane.hook.{axis}"][late].std() for axis in "xyz"])


@pytest.mark.slow
def test_little_of_the_motion_is_left_in_an_irregular_sea(model, plugins):
    """The figure is 2 % of what the load does while the drives hold their angles; here after 15 s, while it still settles."""
    still = spread(cosimulate(coupled(model, plugins, 0.02, 30.0, "jacobi", controlled=False), plugins=plugins), 15.0)
    history = cosimulate(coupled(model, plugins, 0.02, 30.0, "jacobi", rates=FAST, engage=5.0), plugins=plugins)
    assert np.linalg.norm(still) > 0.5
    assert np.linalg.norm(spread(history, 15.0)) < 0.02 * np.linalg.norm(still)
    assert history["controller.gap"][history.time > 15].max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("master", ["jacobi", "interface-inertia"])
def test_less_than_one_per_cent_is_left_in_each_direction(model, plugins, master):
    still = spread(cosimulate(coupled(model, plugins, 0.01, 90.0, master, controlled=False), plugins=plugins), 30.0)
    history = cosimulate(coupled(model, plugins, 0.01, 90.0, master, rates=FAST), plugins=plugins)
    assert (spread(history, 30.0) < 0.01 * still).all()


@pytest.mark.slow
def test_set_points_that_go_on_leave_the_vessel_its_motion(model, plugins):
    """The roll of the vessel under the controlled crane, by a master of second order and by one that samples the wrench.

    With set-points that are held, what the springs of the drives do at communication points is k h / 2 times their rate off its
    mean, 3e7 N m s of damping in roll at 10 ms: as much again as the vessel has.
    """
    rolls = [
        cosimulate(coupled(model, plugins, 0.01, 60.0, master, rates=FAST), plugins=plugins)["vessel.hull.qx"]
        for master in ("jacobi", "interface-inertia")
    ]
    assert np.abs(rolls[0] - rolls[1]).max() < 0.05 * np.abs(rolls[1]).max()
