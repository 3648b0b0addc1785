"""FMI 3 FMUs with arrays: the same numbers as one by one, in fmpy and in our own importer."""

import ctypes
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Output, Port
from kingpost.base.errors import ExportError
from kingpost.fmu.cosim import Component
from kingpost.fmu.cosim.components.fmu import open_component
from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
from kingpost.fmu.running import run_fmu
from kingpost.mechanism.port_names import TRIANGLE
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.hosting import Hosted
from tests.fmu.machines import rig, tumbling


def pushed() -> Mechanism:
    """A free body with a force and a moment on it, each given by three inputs."""
    axes = "xyz"
    inputs = tuple(Input(f"{what}_{axis}", unit) for what, unit in (("force", "N"), ("moment", "N.m")) for axis in axes)
    return Mechanism(
        name="pushed",
        inputs=inputs,
        bodies=(Body("brick", mass=2.0, inertia=(1.0, 2.0, 3.0)),),
        joints=(Joint("flight", "free", "world", "brick", start_rate=(0.1, 1.0, 0.2, 0, 0, 0)),),
        forces=(
            ForceElement(
                "body-wrench", name="jet", body="brick",
                force=tuple(f"force_{axis}" for axis in axes), moment=tuple(f"moment_{axis}" for axis in axes),
            ),
        ),
        outputs=(Output("corner", "brick", at=(1, 2, 3)),),
    )  # fmt: skip


def derivative(fmu, unknowns, knowns, seed, size):
    """Return a directional derivative of arrays; fmpy has room for as many numbers as there are references."""
    groups = [(ctypes.c_uint * len(names))(*(fmu.references[name] for name in names)) for names in (unknowns, knowns)]
    seeds, found = (ctypes.c_double * len(seed))(*seed), (ctypes.c_double * size)()
    (unknown, known) = groups
    fmu.raw.fmi3GetDirectionalDerivative(
        fmu.raw.component, unknown, len(unknown), known, len(known), seeds, len(seed), found, size
    )
    return list(found)


@pytest.fixture(scope="module")
def pair(native):
    """The same machine with arrays and without, for a kind of FMU."""
    return lambda kind: (native(pushed(), fmi=3, fmu=kind, arrays=True), native(pushed(), fmi=3, fmu=kind))


@pytest.mark.quick("cs")
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_fmpy_reads_and_runs_arrays(kind, pair):
    arrays, single = pair(kind)
    assert validate_fmu(str(arrays)) == []
    options = {"stop_time": 0.5, "output_interval": 0.05, "record_events": False, "relative_tolerance": 1e-8}
    found = fmpy.simulate_fmu(str(arrays), start_values={"force": "1.0 2.0 3.0"}, output=["corner", "flight.q"], **options)
    starts = {f"force_{axis}": value for axis, value in zip("xyz", (1.0, 2.0, 3.0), strict=True)}
    expected = fmpy.simulate_fmu(str(single), start_values=starts, **options)
    assert found["corner"].shape == (11, 3)
    # The same calls in the same order: the same bits.
    assert (found["corner"] == np.column_stack([expected[f"corner.{axis}"] for axis in "xyz"])).all()
    assert (found["flight.q"] == np.column_stack([expected[f"flight.q{axis}"] for axis in "wxyz"])).all()


def test_arrays_are_read_and_set_in_one_row(pair):
    arrays, _ = pair("cs")
    with Hosted(arrays) as fmu:
        places, raw = fmu.references, fmu.raw
        fmu.begin()
        raw.setFloat64([places["moment"], places["force"]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        assert raw.getFloat64([places["force"]], 3) == [4.0, 5.0, 6.0]
        assert raw.getFloat64([places["time"], places["moment"]], 4) == [0.0, 1.0, 2.0, 3.0]
        raw.exitInitializationMode()
        state = raw.getFMUState()
        # A number too few, a number that is none: all or nothing.
        with pytest.raises(FMICallException):
            raw.setFloat64([places["force"]], [1.0, 2.0])
        assert fmu.said == "1 value references came with 2 values; they stand for 3"
        raw.setFMUState(state)
        with pytest.raises(FMICallException):
            raw.setFloat64([places["moment"], places["force"]], [7.0, 7.0, 7.0, 7.0, 7.0, np.nan])
        assert fmu.said == "'force[3]' was set to nan at t = 0 s; it must be finite"
        raw.setFMUState(state)
        assert raw.getFloat64([places["force"]], 3) == [4.0, 5.0, 6.0]
        with pytest.raises(FMICallException):
            raw.getFloat64([max(places.values()) + 1], 1)
        assert (
            fmu.said
            == f"there is no variable with value reference {max(places.values()) + 1}; the last one is {max(places.values())}"
        )
        raw.setFMUState(state)
        raw.freeFMUState(state)


def test_directional_derivatives_of_arrays_are_those_of_their_elements(pair):
    arrays, single = pair("me")
    generator = np.random.default_rng(3)
    seed = list(generator.standard_normal(10))
    with Hosted(arrays) as fmu, Hosted(single) as other:
        for one in (fmu, other):
            one.initialize()
        found = derivative(fmu, ["der(flight.w)", "corner"], ["moment", "flight.q", "flight.w"], seed, 6)
        unknowns = [*(f"der(flight.w{axis})" for axis in "xyz"), *(f"corner.{axis}" for axis in "xyz")]
        knowns = [*(f"moment_{axis}" for axis in "xyz"), *(f"flight.q{axis}" for axis in "wxyz")]
        knowns += [f"flight.w{axis}" for axis in "xyz"]
        assert list(found) == list(other.derivative(unknowns, knowns, seed)) and any(found)


def test_our_own_importer_reads_arrays_by_the_names_of_the_model(pair):
    arrays, single = pair("cs")
    settings = {"force": [1.0, 2.0, 3.0]}
    found = run_fmu(arrays, t_end=0.2, step=0.02, settings=settings, isolated=False)
    expected = run_fmu(
        single, t_end=0.2, step=0.02, settings={f"force_{a}": v for a, v in zip("xyz", (1, 2, 3), strict=True)}, isolated=False
    )
    assert set(found.names) == set(expected.names)
    for name in expected.names:
        assert (found[name] == expected[name]).all(), name


def matrix_fed() -> Mechanism:
    """A body that carries something whose inertia is given by the upper triangle of a matrix of inputs."""
    wrench = tuple(
        Input(f"load_{name}", unit)
        for name, unit in zip(("Mx", "My", "Mz", "Fx", "Fy", "Fz"), ["N.m"] * 3 + ["N"] * 3, strict=True)
    )
    units = {True: "kg.m2", False: "kg"}
    inertia = tuple(
        Input(f"load_A{i}{j}", "kg.m" if (i <= 3) != (j <= 3) else units[j <= 3], 10.0 if i == j else 0.0) for i, j in TRIANGLE
    )
    return Mechanism(
        name="matrix-fed",
        inputs=(*wrench, *inertia),
        bodies=(Body("deck", mass=20.0, inertia=(10.0, 10.0, 10.0)),),
        joints=(Joint("flight", "free", "world", "deck"),),
        forces=(
            ForceElement(
                "carried-load", name="cargo", body="deck", wrench=tuple(item.name for item in wrench),
                inertia=tuple(item.name for item in inertia),
            ),
        ),
    )  # fmt: skip


def test_a_matrix_of_inputs_must_be_symmetric_and_counts_once(native):
    with (
        Hosted(native(matrix_fed(), fmi=3, fmu="me", arrays=True)) as fmu,
        Hosted(native(matrix_fed(), fmi=3, fmu="me")) as single,
    ):
        matrix = 10.0 * np.eye(6)
        matrix[0, 1] = matrix[1, 0] = 2.0
        wrench = {"load_Mx": 1.0, "load_My": 3.0}
        fmu.begin(), single.begin()
        fmu.raw.setFloat64([fmu.references["load_A"], fmu.references["load_M"]], [*matrix.ravel(), 1.0, 3.0, 0.0])
        single.set({"load_A12": 2.0, **wrench})
        for one in (fmu, single):
            one.raw.exitInitializationMode()
        rates = [f"der(flight.w{axis})" for axis in "xyz"]
        found = fmu.raw.getFloat64([fmu.references["der(flight.w)"]], 3)
        assert found == list(single.get(rates)) and any(found)
        # Along a symmetric change, the entry and its mirror image are one change.
        seed = np.zeros((6, 6))
        seed[0, 1] = seed[1, 0] = 1.0
        along = derivative(fmu, ["der(flight.w)"], ["load_A"], list(seed.ravel()), 3)
        assert list(along) == pytest.approx(list(single.derivative(rates, ["load_A12"], [1.0])), rel=1e-14)
        assert any(along)
        matrix[1, 0] = 3.0
        with pytest.raises(FMICallException):
            fmu.raw.setFloat64([fmu.references["load_A"]], list(matrix.ravel()))
        assert fmu.said == "'load_A[1,2]' was set to 2 and to 3: the matrix must be symmetric"


def test_ports_are_found_in_arrays(native):
    """Coupled systems and terminals: members of a port keep their names, wherever their numbers are."""
    mechanism = replace(matrix_fed(), ports=(Port("seat", body="deck"),))
    single, arrays = (
        open_component(Component("a", fmu=native(mechanism, fmi=3, arrays=given))).ports["seat"] for given in (False, True)
    )
    assert single["A12"] == "load_A12" and single["free.Mx"] == "load_Mx" and single["wx"] == "seat.wx"
    assert arrays["A12"] == "load_A[1,2]" and arrays["free.Mx"] == "load_M[1]" and arrays["wx"] == "seat.w[1]"
    assert arrays.keys() == single.keys()
    with zipfile.ZipFile(native(mechanism, fmi=3, arrays=True)) as archive:
        root = ElementTree.fromstring(archive.read("terminalsAndIcons/terminalsAndIcons.xml"))
    members = {item.get("memberName"): item.get("variableName") for item in root.iter("TerminalMemberVariable")}
    assert members["A"] == "load_A" and members["free.M"] == "load_M" and members["w"] == "seat.w"
    described = fmpy.read_model_description(str(native(mechanism, fmi=3, arrays=True)))
    assert set(members.values()) <= {variable.name for variable in described.modelVariables}


def test_fmi_2_has_no_arrays(plugins, tmp_path):
    with pytest.raises(ExportError, match="FMI 2 has no arrays"):
        NativeFmu(NativeOptions(arrays=True)).export(
            prepare_export(rig(), plugins=plugins), ExportSelection(), tmp_path / "x.fmu"
        )


def test_messages_speak_of_the_names_that_are_shown(native):
    with Hosted(native(tumbling(), fmi=3, arrays=True, names="structured")) as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            fmu.raw.setFloat64([fmu.references["flight.q"]], [1.0, 0.0, 0.0, 0.0])
        assert fmu.said == "the start value of 'flight.q[1]' can be set only before the end of the initialization"
