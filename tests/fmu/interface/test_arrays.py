"""Vectors, quaternions and matrices as arrays."""

import pytest

from kingpost.fmu.interface.arrays import array_name, members_of_arrays, with_arrays
from kingpost.fmu.interface.interface import build_interface
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection


@pytest.fixture(scope="module")
def crane(machine, plugins):
    model = prepare_export(machine("offshore-crane-on-base"), loads="all", plugins=plugins)
    return build_interface(model, ExportSelection(), "me")


def by_name(interface):
    return {variable.name: variable for variable in interface.variables}


def test_every_component_is_shown_once_and_in_its_order(crane):
    arrays = with_arrays(crane)
    components = [part for variable in arrays.variables for part in dict.fromkeys(variable.components)]
    assert sorted(components) == [variable.reference for variable in crane.variables]
    # The importer's vector of states is the list of derivatives, element by element.
    rates = [part for variable in arrays.derivatives for part in variable.components]
    assert rates == [variable.reference for variable in crane.derivatives]
    names = [variable.name for variable in arrays.variables]
    assert len(names) == len(set(names))
    assert [variable.reference for variable in arrays.arrays] == list(
        range(len(crane.names), len(crane.names) + len(arrays.arrays))
    )


def test_what_becomes_an_array(crane):
    scalars, arrays = by_name(crane), by_name(with_arrays(crane))
    wrench = arrays["slew.F"]
    assert wrench.shape == (3,) and wrench.causality == "output" and wrench.unit == "N"
    assert wrench.elements == tuple(scalars[f"slew.F{axis}"].reference for axis in "xyz")
    assert wrench.labels == ("slew.F[1]", "slew.F[2]", "slew.F[3]")
    assert arrays["base_q"].shape == (4,) and arrays["base_q"].start == (1.0, 0.0, 0.0, 0.0)
    assert arrays["base_w_rate"].elements == tuple(scalars[f"base_w{axis}_rate"].reference for axis in "xyz")
    # Parameters load_x, load_y, load_z and coordinates load.x, load.y, load.z cannot both be called load; load.z is a formula
    # at the start, unlike the others, so those stay single.
    assert arrays["load"].causality == "parameter" and "load.x" in arrays and "load.z" in arrays
    assert arrays["der(load.q)"].derivative_of == arrays["load.q"].reference
    assert "slew.angle" in arrays and not arrays["slew.angle"].shape


def test_a_symmetric_matrix_is_whole(crane):
    scalars, matrix = by_name(crane), by_name(with_arrays(crane))["foot.A"]
    assert matrix.shape == (6, 6) and matrix.unit is None
    for i in range(6):
        for j in range(6):
            name = f"foot.A{min(i, j) + 1}{max(i, j) + 1}"
            assert matrix.elements[6 * i + j] == scalars[name].reference
    assert matrix.labels[7] == "foot.A[2,2]"
    assert "kg.m2" in matrix.description and "kg" in matrix.description


def test_names_of_the_model_are_found_again(crane):
    shown = with_arrays(crane).shown_names
    assert shown["slew.Fy"] == "slew.F[2]" and shown["foot.A23"] == "foot.A[2,3]" and shown["base_qw"] == "base_q[1]"
    assert "slew.angle" not in shown and crane.shown_names == {}


def test_terminals_hold_arrays(crane):
    arrays = with_arrays(crane)
    members = {member: arrays.shown_names[f"foot.{member}"] for member in ("Mx", "My", "Mz", "A11", "A12", "A66")}
    members |= {axis: arrays.shown_names[f"base_{axis}"] for axis in "xyz"} | {"t": "base_t"}
    assert members_of_arrays(members, arrays.arrays) == {"M": "foot.M", "A": "foot.A", "xyz": "base", "t": "base_t"}


def test_what_components_are_called_together():
    assert array_name(["slew.Mx"]) == "slew.M" and array_name(["tip.x"]) == "tip" and array_name(["top.q.w"]) == "top.q"
    assert array_name(["top.d1.x.rate"]) == "top.d1.rate" and array_name(["base_wx_rate"]) == "base_w_rate"
    assert array_name(["x", "y", "z"]) == "xyz" and array_name(["foot.A11"]) == "foot.A"
