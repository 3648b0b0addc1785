"""Trees of subsystems as machines: run, swept, exported, read from files, and shown."""

import json

import numpy as np
import pytest

from kingpost import ForceElement, Mechanism, Subsystem, as_mechanism, open_model, pose, simulate
from kingpost.base.errors import MechanismError
from kingpost.modular.labelled import Labelled
from kingpost.modular.machine import only_subsystem, subsystems_of
from kingpost.modular.table import ROWS, TableNode, chosen_nodes, record_of, table_at_start, table_in_symbols, text_of
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar


def circuit():
    """L i' + R i = V: a current that settles at V / R with the time constant L / R."""
    return Subsystem(
        "circuit",
        variables={1: ("i",)},
        forces={"i": "-L * i_dot - R * i"},
        inputs={"V": "i"},
        parameters={"L": 0.5, "R": 2.0},
        units={"i": "A", "V": "V", "L": "H", "R": "Ohm"},
    )


def test_a_current_settles():
    """RK4 with 250 steps for each time constant errs by (1/250)^4 / 120 of the current."""
    history = simulate(as_mechanism(circuit()), settings={"V": 3.0, "R": 4.0}, t_end=0.5, output_step=0.1, step=5e-4)
    expected = 3 / 4 * (1 - np.exp(-history.time * 4 / 0.5))
    assert history["circuit.i"] == pytest.approx(expected, abs=1e-10)
    assert {channel.name: channel.unit for channel in history.channels}["circuit.i"] == "A"


def test_parameters_inputs_and_starts_can_be_set():
    history = simulate(as_mechanism(circuit()), settings={"circuit.i": 2.0, "R": 1.0}, t_end=0.1, output_step=0.1, step=1e-4)
    assert history["circuit.i"][-1] == pytest.approx(2 * np.exp(-0.2), abs=1e-10)


def test_start_values_are_fitted_to_what_is_set():
    """A longer rod, and another place of the slider: the machine starts closed, or not at all."""
    opened = open_model("two-rod-slider-subsystems")
    how = {"t_end": 0.01, "output_step": 0.01}
    history = opened.simulate(settings={"l1": 1.3, "P.x2": 2.0}, **how)
    assert history["P.open"].max() < 1e-9
    assert history["P.x2"][0] == 2.0
    assert sum(history[f"P.{axis}1"][0] ** 2 for axis in "xyz") == pytest.approx(1.3**2, abs=1e-9)
    with pytest.raises(MechanismError, match=r"'P' does not close: invariant"):
        opened.simulate(settings={"P.x2": 5.0}, **how)
    with pytest.raises(MechanismError, match=r"'P': variables z1_ddot, x2_ddot cannot be the independent ones"):
        opened.simulate(settings={"P.x2": 2.0, "P.y1": 0.0, "P.z1": float(np.sqrt(1 - 0.25**2))}, **how)


def test_exports_start_where_runs_do():
    opened = open_model("two-rod-slider-subsystems")
    problem = pose(opened.mechanism, values={"l1": 1.3})
    assert [float(value) for value in problem.declared_starts] == pytest.approx(problem.x0.tolist(), abs=0.0)


def test_a_tree_stands_beside_bodies_in_a_file(tmp_path, kingpost_cli):
    (tmp_path / "beside.toml").write_text(
        """
        name = "beside"
        [[bodies]]
        name = "cart"
        mass = 2.0
        [[joints]]
        name = "rail"
        kind = "prismatic"
        parent = "world"
        child = "cart"
        axis = [1, 0, 0]
        start_rate = 1.0
        [[forces]]
        kind = "subsystems"
        name = "filter"
        [forces.system]
        name = "filter"
        variables.1 = ["i"]
        forces.i = "-L * i_dot - R * i"
        parameters = { L = 0.5, R = 2.0 }
        start.i = 1.0
        """
    )
    opened = open_model(str(tmp_path / "beside.toml"))
    history = opened.simulate(t_end=0.25, output_step=0.25, step=1e-3)
    assert history["filter.i"][-1] == pytest.approx(np.exp(-1), abs=1e-9)
    assert history["rail.displacement"][-1] == pytest.approx(0.25, abs=1e-12)
    assert kingpost_cli("modular", str(tmp_path / "beside.toml")).status == 0


def test_descriptions_in_files_are_checked(tmp_path):
    wrong = Mechanism("m", bodies=(), joints=(), forces=(ForceElement("subsystems", system={"name": "s", "variable": {}}),))
    with pytest.raises(MechanismError, match="a subsystem has no 'variable'; did you mean 'variables'"):
        simulate(wrong, t_end=0.1)


def test_trees_are_found_in_mechanisms():
    whole = as_mechanism(circuit())
    assert list(subsystems_of(whole)) == ["circuit"]
    assert only_subsystem(whole).name == only_subsystem(whole, "circuit").name == "circuit"
    with pytest.raises(MechanismError, match=r"holds 1 trees of subsystems \(circuit\), but none called 'other'"):
        only_subsystem(whole, "other")
    with pytest.raises(MechanismError, match=r"holds 0 trees of subsystems \(none\); say which one is meant"):
        only_subsystem(open_model("double-pendulum").mechanism)


@pytest.fixture(scope="module")
def tree():
    return assembled(five_bar(), {"VL": 2.0})


def test_the_table_has_every_row_of_every_node(tree):
    root = table_at_start(tree)
    nodes = chosen_nodes(root)
    assert len(nodes) == 11
    for node in nodes:
        assert set(node.entries) == set(ROWS)
        assert np.abs((node.entries["A"] @ node.entries["S"]).matrix).max(initial=0.0) < 1e-10
    assert np.abs(root.entries["fbar"].matrix).max() < 1e-9


def test_the_table_in_symbols_is_that_in_numbers(tree):
    numbers, symbols = (chosen_nodes(table(tree), "HL")[0] for table in (table_at_start, table_in_symbols))
    assert symbols.entries["B"].symbolic
    for row in ROWS:
        assert symbols.entries[row].rows == numbers.entries[row].rows
    assert "cos" in str(symbols.entries["b"]) or "sin" in str(symbols.entries["b"])


def test_nodes_are_chosen_by_name_or_path(tree):
    root = table_at_start(tree)
    assert chosen_nodes(root, "P.R.HL")[0].name == "HL"
    with pytest.raises(MechanismError, match=r"several nodes are called 'U': P.R.HL.U, P.R.HR.U; give the path of one"):
        chosen_nodes(root, "U")
    with pytest.raises(MechanismError, match=r"there is no node 'nobody'. Nodes: P, "):
        chosen_nodes(root, "nobody")


def test_a_table_is_shown_as_text_and_as_data():
    node = TableNode(
        "m.n", ("x_ddot",), ("m.n.c",), {"A": Labelled([[2.0]], ("m.n.c",), ("x_ddot",))}, (), 1, 0.5, ("m.n.d",),
        facts={"bodies": "2"},
    )  # fmt: skip
    text = text_of(node)
    for words in (
        "m.n",
        "x_ddot",
        "rank 1, margin 0.5",
        "m.n.d: left out, since others say the same",
        "A: constraints",
        "bodies",
    ):
        assert words in text
    record = json.loads(json.dumps(record_of(node)))
    assert record["A"] == {"rows": ["m.n.c"], "columns": ["x_ddot"], "values": [[2.0]]}
    assert record["facts"] == {"bodies": "2"}


def test_the_verb_prints_lines_tables_symbols_and_data(kingpost_cli):
    lines = kingpost_cli("modular", "five-bar-subsystems")
    assert lines.status == 0
    assert "P.R.HL.U" in lines.out
    table = kingpost_cli("modular", "two-rod-slider-subsystems", "--table", "--symbols", "--node", "P")
    assert "C: complement of B" in table.out
    assert "x1" in table.out
    data = json.loads(kingpost_cli("modular", "two-rod-slider-subsystems", "--json", "--set", "l1=1.1").out)
    assert data[0]["rank"] == 4
    rod = dict(zip(data[0]["A"]["rows"], data[0]["A"]["values"], strict=True))["P.rod1"]
    assert rod[0] ** 2 + rod[1] ** 2 + rod[2] ** 2 == pytest.approx(4 * 1.1**2, abs=1e-8)
    wrong = kingpost_cli("modular", "double-pendulum", "--table", "--symbols")
    assert wrong.status == 3
    assert "'double-pendulum' is not described as subsystems, so that there are no symbols to show" in wrong.err
