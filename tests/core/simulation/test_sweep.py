"""Eigenvalues along a parameter, an input or a start value, against closed forms and a published benchmark."""

import csv
import json

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, KingpostError, Mechanism, MechanismError, Parameter, SolverError, Sweep
from kingpost import sweep_linearisation as sweep
from kingpost.cli.main import main
from kingpost.simulation.loci_files import loci_figure, stable_ranges, write_loci
from tests.plugins.forces.deriving import BUILT_IN

G = 9.81
#: Eigenvalues of small matrices, and values found by secants of 1e-6: curvatures of order one leave their square.
ROUNDING, FOUND = 1e-11, 1e-9


def upright(damping=0.0, **more):
    """A rod on a torsional spring: J s^2 + d s + (k - m g L) = 0 upright."""
    return Mechanism(
        "upright",
        parameters=[Parameter("k", 5.0, "N.m/rad"), Parameter("d", damping, "N.m.s/rad")],
        inputs=[Input("torque", "N.m")],
        bodies=[Body("rod", mass=2.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("pin", "revolute", "world", "rod", axis=(0, 1, 0))],
        forces=[
            ForceElement("gravity"),
            ForceElement("joint-spring", coordinate="pin.angle", stiffness="k", damping="d"),
            ForceElement("joint-effort", coordinate="pin.angle", effort="torque"),
        ],
        **more,
    )


J, WEIGHT = 0.6, 2.0 * G * 0.5


def test_an_upright_rod_is_stable_once_its_spring_beats_its_weight():
    loci = sweep(upright(0.5), "k=0..20:21", plugins=BUILT_IN)
    assert (loci.name, loci.unit, loci.branches, loci.zeros) == ("k", "N.m/rad", 2, 0)
    for k, row in zip(loci.values, loci.eigenvalues, strict=True):
        exact = np.roots([J, 0.5, k - WEIGHT])
        assert np.abs(np.sort_complex(row) - np.sort_complex(exact)).max() < ROUNDING * 10
    buckling, meeting = loci.criticals
    assert buckling.kind == "divergence" and buckling.growing == (1, 0)
    assert buckling.value == pytest.approx(WEIGHT, rel=FOUND)
    assert buckling.words == "stable from here on: an eigenvalue stops growing"
    # Two real eigenvalues meet at d^2 = 4 J (k - m g L), at -d / 2J.
    assert meeting.kind == "pair"
    assert meeting.value == pytest.approx(WEIGHT + 0.5**2 / (4 * J), rel=FOUND)
    assert meeting.eigenvalue == pytest.approx(-0.5 / (2 * J), rel=1e-3)
    assert loci.stable.tolist() == [k > WEIGHT for k in loci.values]


def test_without_damping_two_eigenvalues_meet_at_zero_and_that_is_one_critical_value():
    (critical,) = sweep(upright(), "k=20..0:11", plugins=BUILT_IN).criticals
    assert critical.value == pytest.approx(WEIGHT, rel=FOUND)
    assert critical.words == "unstable from here on: an eigenvalue grows"


def two_masses(**more):
    """Masses on springs of their own: their frequencies cross, and their shapes have nothing to do with each other."""
    return Mechanism(
        "two",
        parameters=[Parameter("k", 1.0, "N/m")],
        bodies=[Body(name, mass=1.0) for name in ("one", "other")],
        joints=[
            Joint("first", "prismatic", "world", "one", axis=(1, 0, 0)),
            Joint("second", "prismatic", "world", "other", axis=(0, 1, 0)),
        ],
        forces=[
            ForceElement("joint-spring", name="a", coordinate="first.displacement", stiffness="k", damping=0.1),
            ForceElement("joint-spring", name="b", coordinate="second.displacement", stiffness=4.0, damping=0.1),
        ],
        **more,
    )


def test_branches_that_cross_go_through_each_other():
    loci = sweep(two_masses(), "k=1..9:9", plugins=BUILT_IN)
    for branch in range(4):
        lengths = np.abs(loci.shapes[:, :, branch])
        # Each branch belongs to one mass throughout, the crossing at k = 4 included.
        assert np.abs(lengths - lengths[0]).max() < 1e-6
        stiffness = loci.values if lengths[0, 0] > 0.5 else np.full(9, 4.0)
        assert np.abs(np.abs(loci.eigenvalues[:, branch].imag) - np.sqrt(stiffness - 0.05**2)).max() < 1e-9
    assert loci.criticals == ()


def gyroscopic():
    """A top, upright on two gimbals, with a wheel that spins: enough of it holds it up."""
    return Mechanism(
        "top",
        parameters=[Parameter("spin", 10.0, "rad/s")],
        bodies=[
            Body("yoke", mass=0.0),
            Body("frame", mass=0.0),
            Body("wheel", mass=1.5, com=(0, 0, 0.3), inertia=(0.02, 0.02, 0.03)),
        ],
        joints=[
            Joint("roll", "revolute", "world", "yoke", axis=(1, 0, 0)),
            Joint("pitch", "revolute", "yoke", "frame", axis=(0, 1, 0)),
            Joint("axle", "revolute", "frame", "wheel", axis=(0, 0, 1), start_rate="spin"),
        ],
        forces=[ForceElement("gravity")],
    )


def test_a_sleeping_top_wakes_below_the_spin_of_the_closed_form():
    # A s^2 -+ i C w s - m g L = 0 of the upright top: stable if C^2 w^2 > 4 A m g L, where two pairs meet.
    A, C, weight = 0.02 + 1.5 * 0.3**2, 0.03, 1.5 * G * 0.3
    exact = 2 * np.sqrt(A * weight) / C
    loci = sweep(gyroscopic(), "spin=30..90:7", plugins=BUILT_IN)
    # The angle of the wheel, and its spin, change nothing.
    assert (loci.zeros, loci.branches) == (2, 4)
    changes = [item for item in loci.criticals if item.kind != "pair"]
    assert [item.kind for item in changes] == ["flutter"]
    assert changes[0].value == pytest.approx(exact, rel=1e-6)
    assert changes[0].eigenvalue.imag == pytest.approx(C * exact / (2 * A), rel=1e-3)
    for spin, row in zip(loci.values, loci.eigenvalues, strict=True):
        roots = np.concatenate([np.roots([A, sign * 1j * C * spin, -weight]) for sign in (1, -1)])
        assert max(np.abs(row - root).min() for root in roots) < 1e-9


def test_an_input_and_a_start_speed_can_be_swept_too():
    # The torque leans the rod: with k = 30 it rests where k a = m g L sin a + T.
    loci = sweep(upright(0.5), "torque=0..5:3", settings={"k": 30.0}, start="equilibrium", plugins=BUILT_IN)
    angle = 0.0
    for _ in range(100):
        angle = (WEIGHT * np.sin(angle) + 5.0) / 30.0
    exact = np.roots([J, 0.5, 30.0 - WEIGHT * np.cos(angle)])
    assert np.abs(loci.eigenvalues[-1] - exact[np.argsort(-exact.imag)]).max() < 1e-9
    top = sweep(gyroscopic(), "axle.angle.rate=30..90:3", plugins=BUILT_IN)
    same = sweep(gyroscopic(), "spin=30..90:3", plugins=BUILT_IN)
    assert np.abs(top.eigenvalues - same.eigenvalues).max() < 1e-12
    assert top.unit == "rad/s"


def test_a_state_that_is_given_stays_but_for_what_is_swept():
    at = {"q": [0.4], "v": [0.0], "u": [1.0]}
    loci = sweep(upright(0.5), "k=10..20:3", at, plugins=BUILT_IN)
    for k, row in zip(loci.values, loci.eigenvalues, strict=True):
        exact = np.roots([J, 0.5, k - WEIGHT * np.cos(0.4)])
        assert np.abs(np.sort_complex(row) - np.sort_complex(exact)).max() < ROUNDING * 10
    turned = sweep(upright(0.5), "pin.angle=0..0.4:3", at, settings={"k": 20.0}, plugins=BUILT_IN)
    assert np.abs(np.sort_complex(turned.eigenvalues[-1]) - np.sort_complex(loci.eigenvalues[-1])).max() < ROUNDING * 10


@pytest.mark.slow
def test_the_bicycle_is_stable_between_the_published_speeds():
    machine = BUILT_IN.models.get("whipple-bicycle")().build()
    loci = sweep(machine, "speed=3..7:9", plugins=BUILT_IN)
    weave, capsize = loci.criticals
    # Meijaard et al. (2007), to 14 digits; the eigenvalue zero of the forward speed beside the capsize costs some.
    assert weave.value == pytest.approx(4.29238253634111, abs=1e-8)
    assert capsize.value == pytest.approx(6.02426201538837, abs=1e-8)
    assert (weave.kind, capsize.kind) == ("flutter", "divergence")
    assert weave.words.startswith("stable from here on")
    assert capsize.words.startswith("unstable from here on")
    assert loci.branches == 4


def falling(**more):
    """A mass on a rail that is pushed with k, and that nothing holds."""
    return Mechanism(
        "falling",
        parameters=[Parameter("k", 1.0, "N")],
        bodies=[Body("mass", mass=1.0)],
        joints=[Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0))],
        forces=[ForceElement("joint-effort", name="push", coordinate="rail.displacement", effort="k")],
        **more,
    )


def test_values_without_an_equilibrium_are_named_and_left_out():
    # k = 0 balances everywhere, no other k anywhere.
    loci = sweep(falling(), "k=0..1:3", start="equilibrium", plugins=BUILT_IN)
    assert list(loci.left_out) == [0.5, 1.0]
    assert loci.known.tolist() == [True, False, False]
    assert np.isnan(loci.eigenvalues[1:]).all()
    with pytest.raises(SolverError, match=r"sweep of 'k': none of the 3 values can be linearised. At the first one: .*falling"):
        sweep(falling(), "k=1..2:3", start="equilibrium", plugins=BUILT_IN)


def test_values_that_no_machine_can_have_are_left_out_too():
    machine = Mechanism(
        "light",
        parameters=[Parameter("m", 1.0, "kg")],
        bodies=[Body("mass", mass="m")],
        joints=[Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0))],
        forces=[ForceElement("joint-spring", coordinate="rail.displacement", stiffness=4.0)],
    )
    loci = sweep(machine, "m=-1..1:3", plugins=BUILT_IN)
    assert -1.0 in loci.left_out and "mass" in loci.left_out[-1.0]
    assert loci.eigenvalues[-1].imag.tolist() == pytest.approx([2, -2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k", "'k' is no sweep; write NAME=A..B or NAME=A..B:N"),
        ("k=1", "'k=1' is no sweep"),
        ("k=1..1", "from 1 to 1 there is nothing to sweep"),
        ("k=0..1:1", "1 values; a sweep takes 2 to 10000"),
        ("k=0..1:0", "0 values"),
        ("k=0..1:ten", "'ten' is not a whole number of values"),
        ("k=nan..1", "'nan' is not a finite number"),
        ("k=0..inf", "'inf' is not a finite number"),
        ("k=0..1:20000", "20000 values; a sweep takes 2 to 10000"),
    ],
)
def test_a_sweep_that_is_none_is_refused(text, message):
    with pytest.raises(KingpostError) as refused:
        Sweep.parse(text)
    assert message in str(refused.value)


def test_negative_numbers_and_exponents_are_read():
    assert Sweep.parse("k=-1e-3..2.5e2:7") == Sweep("k", -1e-3, 250.0, 7)
    assert Sweep.parse(" a.b = .5..-.5 ") == Sweep("a.b", 0.5, -0.5, 51)


def test_an_unknown_name_is_answered_with_those_that_there_are():
    with pytest.raises(MechanismError, match="'upright' has nothing called 'kk' that could be set; did you mean 'k'"):
        sweep(upright(), "kk=0..1", plugins=BUILT_IN)


@pytest.fixture(scope="module")
def loci():
    return sweep(upright(0.5), "k=0..20:5", plugins=BUILT_IN)


def test_tables_and_records_say_the_same(loci, tmp_path):
    for suffix in (".csv", ".json"):
        write_loci(loci, tmp_path / f"loci{suffix}")
    rows = list(csv.reader((tmp_path / "loci.csv").read_text().splitlines()))
    header = ["k [N.m/rad]", "branch1.real [1/s]", "branch1.imag [1/s]", "branch2.real [1/s]", "branch2.imag [1/s]"]
    assert rows[0] == header
    numbers = np.array(rows[1:], dtype=float)
    assert (numbers[:, 0] == loci.values).all()
    assert (numbers[:, 1::2] + 1j * numbers[:, 2::2] == loci.eigenvalues).all()
    record = json.loads((tmp_path / "loci.json").read_text())
    assert record["sweep"]["values"] == loci.values.tolist()
    assert record["eigenvalues_real"] == loci.eigenvalues.real.tolist()
    assert record["critical"][0]["value"] == loci.criticals[0].value
    assert record["shape_names"] == ["pin.angle"]
    assert np.shape(record["shapes_real"]) == (5, 2, 1)


def test_left_out_values_are_gaps_in_files(tmp_path):
    gaps = sweep(falling(), "k=0..1:2", start="equilibrium", plugins=BUILT_IN)
    write_loci(gaps, tmp_path / "gaps.json")
    record = json.loads((tmp_path / "gaps.json").read_text())
    assert record["eigenvalues_real"][1] is None and record["left_out"][0]["value"] == 1.0


def test_a_picture_has_both_parts_and_the_locus(loci, tmp_path):
    figure = loci_figure(loci)
    assert [axis.get_title(loc="left") for axis in figure.axes[:2]] == ["real parts", "imaginary parts"]
    real = figure.axes[0].lines[0]
    assert (real.get_ydata() == loci.eigenvalues[:, 0].real).all()
    write_loci(loci, tmp_path / "loci.png")
    assert (tmp_path / "loci.png").read_bytes()[:4] == b"\x89PNG"


def test_the_shaded_range_begins_and_ends_where_stability_does(loci):
    # Above the spring that carries the weight; the sweep's own values are 5 N m/rad apart.
    assert stable_ranges(loci) == [(loci.criticals[0].value, 20.0)]


def test_the_command_prints_branches_and_critical_values(tmp_path, capsys):
    out = tmp_path / "loci.csv"
    first = BUILT_IN.models.get("double-pendulum")().build().parameters[0]
    name = first.name
    arguments = ["linearize", "double-pendulum", "--sweep", f"{name}={first.default}..{2 * first.default}:3"]
    assert main([*arguments, "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["sweep"]["name"] == name
    assert len(out.read_text().splitlines()) == 4
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert f"double-pendulum: 3 of 3 values of {name}" in text
    assert "BRANCH" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--sweep", "gravity=1..2", "--out", "loci.txt"],
            "'loci.txt': the name of a file of loci must end in one of .csv, .json, .png",
        ),
        (["--out", "loci.csv"], "--out loci.csv: files are written of a sweep; add --sweep NAME=A..B"),
        (["--sweep", "gravity"], "'gravity' is no sweep"),
        (["--sweep", "nothing=1..2"], "has nothing called 'nothing' that could be set"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(arguments, message, capsys):
    assert main(["linearize", "double-pendulum", *arguments]) != 0
    assert message in capsys.readouterr().err
