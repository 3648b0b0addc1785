"""A crane and its vessel, coupled at a port: the same as in one piece, stable whatever they weigh, and alike in other tools."""

import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from lxml import etree

from kingpost import SolverError, prepare, simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate, prepare_cosimulation
from kingpost.fmu.interface.ports import port_members
from kingpost.fmu.osp.model_description import NAMESPACE, write_osp_description

CRANE = "small-crane-parked-on-base"
LOADS = ["slew", "rope"]
PORT = Connection("crane.foot", "vessel.mount")
#: The hull rolls at the start.
ROLLING = {"hull.wx": 0.1}
#: Allowed errors in parts of the largest value, by communication step.
ALLOWED = {0.01: 0.01, 0.1: 0.05}


@pytest.fixture(scope="module")
def example(root):
    """The functions of the example that makes the table of docs/offshore.md."""
    return runpy.run_path(str(root / "examples" / "B4_split_or_whole.py"))


@pytest.fixture(scope="module")
def wholes(example):
    """Settings, start and motion of the whole machine at a tight tolerance, by the ratio of roll inertias: computed once."""
    found = {}

    def whole(ratio):
        if ratio not in found:
            settings = {"roll_radius": example["hull_for"](ratio)}
            found[ratio] = (settings, *example["reference"](settings))
        return found[ratio]

    return whole


def errors_against_the_whole(example, wholes, ratio, step):
    """The largest error of each channel in parts of its largest value."""
    settings, start, exact = wholes(ratio)
    system = example["halves"]("small-vessel", "interface-inertia", step, settings, start)
    history = cosimulate(system, plugins=example["plugins"])
    every = round(0.1 / step)
    return {
        name: np.abs(history[split][::every] - exact[one]).max() / np.abs(exact[one]).max()
        for name, (one, split) in example["COMPARED"].items()
    }


@pytest.mark.parametrize(
    "ratio",
    [pytest.param(0.2, marks=pytest.mark.slow), pytest.param(0.75, marks=pytest.mark.slow),
     pytest.param(1.06, marks=pytest.mark.slow), 1.6],
)  # fmt: skip
def test_with_interface_inertia_the_halves_are_the_whole(ratio, example, wholes):
    """Within 1 % at 10 ms and 5 % at 100 ms, and of second order: wrench and inertia are straight lines in a step."""
    errors = {step: errors_against_the_whole(example, wholes, ratio, step) for step in ALLOWED}
    for step, allowed in ALLOWED.items():
        assert max(errors[step].values()) < allowed, errors
    # Second order is a factor of 100; halfway to it is far from the 10 of first order.
    for name, error in errors[0.01].items():
        assert errors[0.1][name] > 50 * error, name


@pytest.mark.slow
def test_iteration_closes_the_loop_of_the_usual_interface(example, wholes):
    """The other cure that the message names, at a higher price; inputs are straight lines over a step: second order, too."""
    settings, start, exact = wholes(1.6)
    errors = []
    for step in (0.1, 0.05):
        system = example["halves"]("small-vessel-plain", "iterated", step, settings, start).with_changes(t_end=10.0)
        history, rows = cosimulate(system, plugins=example["plugins"]), exact.time <= 10.0 + 1e-9
        roll = history["vessel.hull.qx"][:: round(0.1 / step)]
        errors.append(np.abs(roll - exact["hull.qx"][rows]).max() / np.abs(exact["hull.qx"]).max())
    assert errors[0] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


@pytest.mark.slow
def test_the_table_of_the_docs_is_what_the_example_prints(root):
    done = subprocess.run(
        [sys.executable, root / "examples" / "B4_split_or_whole.py"], capture_output=True, text=True, check=True, timeout=900
    )
    assert_table(done.stdout, (root / "docs" / "offshore.md").read_text())


def assert_table(printed, page):
    """Compare the rows that were printed with those of the page, which are rounded."""
    said = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 8 and re.fullmatch(r"\d[\d.]*", cells[0]):
            said[float(cells[0]), float(cells[1]), cells[2]] = cells[3:]
    rows = 0
    for line in printed.splitlines()[1:]:
        ratio, step, rest = line.split(maxsplit=2)
        coupling = next(name for name in ("interface inertia", "Gauss-Seidel", "Jacobi") if rest.startswith(name))
        numbers, shown = rest[len(coupling) :].split(), said[float(ratio), float(step), coupling]
        rows += 1
        if "diverges" in line:
            assert shown[0].startswith("diverges")
            continue
        for number, text in zip(numbers, shown, strict=True):
            # Two digits are shown, of numbers that may be small.
            assert float(number) == pytest.approx(float(text), rel=0.06, abs=2e-4)
    assert rows == len(said) == 24


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_the_usual_interface_diverges_and_the_message_names_port_and_cure(master, example, wholes):
    settings, start, _ = wholes(1.6)
    system = example["halves"]("small-vessel-plain", master, 0.01, settings, start)
    with pytest.raises(SolverError) as error:
        cosimulate(system, plugins=example["plugins"])
    message = str(error.value)
    assert "diverge" in message
    assert re.search(r"'(crane\.foot|vessel\.mount)\.\w+' ha[sd] grown", message)
    assert "let one side take the interface inertia of the other (docs/cosim.md" in message
    history = error.value.history
    assert history.provenance["outcome"] == "failed"
    # Errors grow 1.6 times in one step (Gauss-Seidel) or in two (Jacobi): some tens of steps until a crane flies apart.
    assert 10 < len(history) < 200
    assert np.isfinite(history.values).all()
    assert any("algebraic loop: crane." in text for text in history.provenance["warnings"])


@pytest.mark.slow
def test_a_taut_stiff_rope_is_stable_at_a_communication_step_of_10_ms(plugins):
    """The crane with drives and elastic rope against the same in one piece, both with internal steps of 1 ms.

    The load on a rope ten times as stiff as usual, 1.2e7 N/m, swings up and down at 50 rad/s: half a radian in a communication
    step. Only the coupling differs, so its error of second order is all there is.
    """
    stiff = {"rope_EA": 1.5e8}
    whole = plugins.models.get("small-crane")().build()
    rest = prepare(whole, 0.01, output_step=0.01, settings=stiff, start="equilibrium", plugins=plugins).x0
    start = dict(zip([item.name for item in whole.coordinates], map(float, rest), strict=False))
    exact = simulate(whole, 3.0, settings={**stiff, **start}, step=0.001, output_step=0.01, loads=["slew"], plugins=plugins)
    hull = {name: value for name, value in start.items() if name.startswith("hull.")}
    crane = {name: value for name, value in start.items() if name not in hull}
    components = (
        Component("crane", model="small-crane-on-base", settings={**stiff, **crane}, loads=["slew"]),
        Component("vessel", model="small-vessel", settings=hull),
    )
    history = cosimulate(System("taut", components, (PORT,), step=0.01, t_end=3.0, master="interface-inertia"), plugins=plugins)
    assert exact["rope.tension"].min() > 0.9 * 4000 * 9.81  # taut all the time
    for one, half in (("hull.qx", "vessel"), ("hull.z", "vessel"), ("rope.tension", "crane"), ("slew.Mx", "crane")):
        error = np.abs(history[f"{half}.{one}"] - exact[one]).max()
        assert error < 1e-3 * np.abs(exact[one]).max(), one


def test_what_the_port_takes_is_what_the_crane_loses(example, wholes):
    """Nothing in the parked crane loses energy: all that changes goes through the port; its power and energy are channels."""
    settings, start, _ = wholes(1.6)
    system = example["halves"]("small-vessel", "interface-inertia", 0.01, settings, start)
    history = cosimulate(system, plugins=example["plugins"])
    power, taken, energy = (history[f"crane.{name}"] for name in ("foot.power", "foot.energy", "energy.total"))
    assert history.unit("crane.foot.energy") == "J"
    # Both the coupling and the trapezoidal sum are of second order: about 1e-4 of what comes and goes.
    assert np.abs(energy - energy[0] + taken).max() < 1e-3 * np.ptp(energy)
    twist = [history[f"vessel.mount.{name}"] for name in ("wx", "wy", "wz", "vx", "vy", "vz")]
    wrench = [history[f"crane.foot.{name}"] for name in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
    # The crane carries its base on by itself over a step; what it then knows of the twist is of second order, too.
    difference = sum(a * b for a, b in zip(twist, wrench, strict=True)) - power
    assert np.abs(difference).max() < 1e-3 * np.abs(power).max()


@pytest.fixture(scope="module")
def pair(native, machine):
    """The pair as models, or as FMUs of FMI 2 or 3: ``pair("small-vessel", "jacobi", fmi=3)``."""

    def make(vessel, master, fmi=None, **options):
        components = []
        for name, model, loads, settings in (("crane", CRANE, LOADS, {}), ("vessel", vessel, None, ROLLING)):
            if fmi is None:
                components.append(Component(name, model=model, loads=loads, settings=settings))
            else:
                path = native(machine(model), fmi=fmi, loads=loads)
                components.append(Component(name, fmu=path, settings=settings))
        return System("pair", tuple(components), (PORT,), **{"step": 0.01, "t_end": 1.0, "master": master, **options})

    return make


def largest_difference(one, other):
    """The largest difference of all channels that both have, in parts of the largest value of each."""
    names = [name for name in one.names if name in other.names]
    assert len(names) > 100
    scale = np.abs(one.select(names)).max(axis=0)
    return (np.abs(one.select(names) - other.select(names)).max(axis=0) / np.where(scale > 1e-12, scale, 1.0)).max()


@pytest.mark.quick("small-vessel-interface-inertia")
@pytest.mark.parametrize(
    ("vessel", "master"),
    [("small-vessel", "interface-inertia"), ("small-vessel-plain", "jacobi")],
)
def test_fmus_of_the_pair_do_what_the_models_do(vessel, master, pair, plugins):
    """FMUs of FMI 2 follow inputs that change in a step by their derivatives, those of FMI 3 by asking for them in between."""
    expected = cosimulate(pair(vessel, master), plugins=plugins)
    for fmi in (2, 3):
        assert largest_difference(expected, cosimulate(pair(vessel, master, fmi=fmi), plugins=plugins)) < 1e-9


@pytest.mark.parametrize("vessel", ["small-vessel", "small-vessel-plain"])
def test_libcosim_does_the_same_with_the_files_that_were_written(vessel, pair, tmp_path, kingpost_cli, plugins):
    pytest.importorskip("libcosimpy.CosimExecution")
    system = pair(vessel, "jacobi", fmi=2, t_end=2.0)
    folder = system.write_osp(tmp_path / "osp", plugins).parent
    components = "".join(
        f'[components.{name}]\nfmu = "osp/{name}.fmu"\n' + ("set = { 'hull.wx' = 0.1 }\n" if name == "vessel" else "")
        for name in ("crane", "vessel")
    )
    (tmp_path / "system.toml").write_text(
        f'name = "pair"\n[run]\nt_end = 2.0\nstep = 0.01\nmaster = "jacobi"\n{components}'
        '[[connections]]\nfrom = "crane.foot"\nto = "vessel.mount"\n'
    )
    outcome = kingpost_cli("cosim", tmp_path / "system.toml", "--out", tmp_path / "out", "--write", "csv")
    assert outcome.status == 0, outcome.err
    names = (tmp_path / "out" / "history.csv").read_text().splitlines()
    header = next(i for i, line in enumerate(names) if line.startswith("time"))
    last = dict(zip(names[header].split(","), names[-1].split(","), strict=True))
    for simulator, variables in {
        "vessel": ["hull.qx", "hull.z", "mount.vz_rate"], "crane": ["rope.Fz", "slew.Mx", "foot.Mx"]
    }.items():  # fmt: skip
        words = [sys.executable, Path(__file__).with_name("osp_script.py"), folder, "2.0", simulator, *variables]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        values = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("value ")]
        assert values == pytest.approx([float(last[f"{simulator}.{name}"]) for name in variables], rel=1e-9)


@pytest.mark.parametrize(("vessel", "taken"), [("small-vessel", 27), ("small-vessel-plain", 6)])
def test_the_ports_of_both_halves_fit_each_other(vessel, taken, machine, pair, plugins):
    """Members of one name are an output on one side and an input on the other; every input is fed."""
    definitions = {name: machine(model).to_dict() for name, model in (("crane", CRANE), ("vessel", vessel))}
    plan = prepare_cosimulation(pair(vessel, "jacobi"), plugins)
    foot, mount = (
        port_members(definitions[name], set(plan.components[name].signals))[port]
        for name, port in (("crane", "foot"), ("vessel", "mount"))
    )
    common = {
        member: {
            plan.components["crane"].signals[foot[member]].causality,
            plan.components["vessel"].signals[mount[member]].causality,
        }
        for member in foot.keys() & mount.keys()
    }
    assert all(causalities == {"input", "output"} for causalities in common.values())
    # Time, place, quaternion, twist and its rate one way; the wrench, perhaps with 21 entries of the inertia, the other.
    assert len(common) == 1 + 3 + 4 + 6 + 6 + taken
    assert {wire.names for wire in plan.wires if wire.source == "crane"} == {
        (f"crane.{foot[member]}", f"vessel.{mount[member]}") for member in common if foot[member].startswith("foot.")
    }
    assert len(plan.wires) == len(common)


@pytest.mark.parametrize("model", [CRANE, "small-vessel", "small-vessel-plain"])
def test_ports_are_terminals_of_fmi_3(model, native, machine):
    path = native(machine(model), fmi=3, loads=LOADS if model == CRANE else None)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("terminalsAndIcons/terminalsAndIcons.xml")
        description = ElementTree.fromstring(archive.read("modelDescription.xml"))
    schema = etree.XMLSchema(file=str(Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd"))
    schema.assertValid(etree.fromstring(text))
    variables = {element.get("name") for element in description.find("ModelVariables")}
    (terminal,) = ElementTree.fromstring(text).iter("Terminal")
    assert terminal.get("name") == ("foot" if model == CRANE else "mount")
    members = {entry.get("memberName"): entry.get("variableName") for entry in terminal}
    assert set(members.values()) <= variables
    assert {"Fx", "A66", "vz_rate"} - members.keys() == {
        CRANE: set(), "small-vessel": {"Fx"}, "small-vessel-plain": {"A66"}
    }[model]  # fmt: skip


@pytest.mark.parametrize("model", [CRANE, "small-vessel", "small-vessel-plain"])
def test_ports_are_mechanical_ports_of_the_open_simulation_platform(model, native, machine, tmp_path):
    path = tmp_path / "half.fmu"
    path.write_bytes(native(machine(model), fmi=2, loads=LOADS if model == CRANE else None).read_bytes())
    root = ElementTree.parse(write_osp_description(path)).getroot()
    wrench = {CRANE: "foot.", "small-vessel": "crane_free_", "small-vessel-plain": "crane_"}[model]
    twist = "base_" if model == CRANE else "mount."
    for kind, effort, letters, flow, speeds in (
        ("Linear", "Force", "F", "LinearVelocity", "v"), ("Angular", "Torque", "M", "AngularVelocity", "w"),
    ):  # fmt: skip
        (port,) = root.iter(f"{{{NAMESPACE}}}{kind}MechanicalPort")
        for group, stem in ((effort, f"{wrench}{letters}"), (flow, f"{twist}{speeds}")):
            (found,) = port.findall(f"{{{NAMESPACE}}}{group}")
            assert [variable.get("ref") for variable in found] == [f"{stem}{axis}" for axis in "xyz"]


@pytest.mark.parametrize("fmi", [None, 2, 3])
def test_only_the_usual_interface_is_an_algebraic_loop(fmi, pair, plugins):
    """Acceleration in, wrench out, and the other way round, without any time between; interface inertia has none of it."""
    assert prepare_cosimulation(pair("small-vessel", "interface-inertia", fmi), plugins).loops == ()
    (loop,) = prepare_cosimulation(pair("small-vessel-plain", "jacobi", fmi), plugins).loops
    assert loop.certain
    chain = " ".join(loop.chain)
    assert re.search(r"crane\.base_\w+_rate crane\.foot\.[MF][xyz] vessel\.crane_[MF][xyz] vessel\.mount\.\w+_rate", chain)
