"""Trees of subsystems: what is counted, chosen and solved, in symbols and in numbers, and what is refused."""

import casadi as ca
import numpy as np
import pytest

from kingpost.base.errors import MechanismError
from kingpost.modular.closing import values_of
from kingpost.modular.labelled import LabelError, Labelled
from kingpost.modular.partitions import SingularChoiceError
from kingpost.modular.recursion import accelerations, everyone
from kingpost.modular.subsystem import Subsystem
from kingpost.modular.system import build
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import linkage
from kingpost.plugins.models.pendulum_subsystems import in_angles, in_place, of_a_body, with_speed_square
from kingpost.plugins.models.two_rod_subsystems import in_points
from tests.core.modular.document_systems import quaternion_body, two_node_element

ROUNDING = 1e-11


def particle(name, place=(0.0, 0.0), mass=1.0):
    """A particle that falls along y."""
    return Subsystem(
        name,
        variables={0: ("x", "y")},
        forces={"x": "-m * x_ddot", "y": "-m * y_ddot - m * g"},
        parameters={"m": mass, "g": 9.81},
        start={"x": place[0], "y": place[1]},
    )


def chain(levels, count=4):
    """Particles joined by rods, as one leaf-level assembly, or with every two in an assembly of their own."""
    places = [(0.8, -0.6), (1.4, -1.4), (1.4, -2.4), (2.2, -1.8)]
    parts = [particle("m", places[i], 1.0 + 0.3 * i).used_as(f"m{i}", suffix=str(i), keep=("g",)) for i in range(count)]
    rods = {f"rod{i}": f"(x{i} - x{i - 1})**2 + (y{i} - y{i - 1})**2 - 1" for i in range(1, count)}
    first = {"hook": "x0**2 + y0**2 - 1"}
    if levels == 0:
        return Subsystem("chain", children=parts, invariants={**first, **rods})
    pairs = [
        Subsystem(f"pair{i}", children=parts[i : i + 2], invariants={f"rod{i + 1}": rods[f"rod{i + 1}"]})
        for i in range(0, count, 2)
    ]
    between = {name: text for name, text in rods.items() if int(name[3:]) % 2 == 0}
    if levels == 1:
        return Subsystem("chain", children=pairs, invariants={**first, **between})
    inner = Subsystem("inner", children=pairs, invariants=between)
    return Subsystem("chain", children=(inner,), invariants=first)


def found(tree):
    values = np.array(tree.accelerations(tree.t, tree.x, tree.u, tree.p)).ravel()
    return dict(zip(tree.system.q, values, strict=True))


@pytest.mark.parametrize(
    ("make", "order", "freedom"),
    [
        (in_angles, 0, 2),
        (in_place, 1, 2),
        (with_speed_square, 2, 2),
        (of_a_body, 1, 5),
        (in_points, 1, 2),
        (quaternion_body, 1, 6),
        (linkage, 1, 2),
    ],
)
def test_constraint_order_and_degrees_of_freedom(make, order, freedom):
    tree = assembled(make())
    assert tree.system.constraint_order == order
    assert tree.degrees_of_freedom == freedom
    assert {tree.system.symbols.orders[label] for label in tree.system.configuration} == set(range(order))


@pytest.mark.parametrize("make", [with_speed_square, of_a_body, in_points, linkage, two_node_element])
def test_the_recursion_in_symbols_is_that_in_numbers(make):
    tree = assembled(make())
    symbols = found(tree)
    for way in ("keep", "refuse", "pivot"):
        numbers = accelerations(tree.numbers(tree.t, tree.x, tree.u, tree.p, way))
        expected = np.array([symbols[label] for label in numbers.rows])
        assert np.allclose(numbers.matrix.ravel(), expected, rtol=0, atol=ROUNDING * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("make", [in_points, linkage])
def test_accelerations_are_those_of_multipliers(make):
    """The augmented form (3.95) of the whole, without any subsystem: least squares where rows are redundant."""
    tree = assembled(make())
    node = tree.start
    A, b = node.A, node.b
    M = np.zeros((len(node.given.q),) * 2)
    g = np.zeros(len(node.given.q))
    for part in everyone(node):
        places = [node.given.q.index(label) for label in part.given.q]
        M[np.ix_(places, places)] += part.given.M.matrix
        g[places] += part.given.g.matrix.ravel()
    rows = len(A.rows)
    left = np.block([[M, A.matrix.T], [A.matrix, np.zeros((rows, rows))]])
    solved = np.linalg.lstsq(left, np.concatenate([g, -b.matrix.ravel()]), rcond=1e-12)[0][: len(g)]
    mine = found(tree)
    expected = np.array([mine[label] for label in node.given.q])
    assert np.allclose(solved, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))


def test_the_shape_of_the_tree_changes_nothing():
    """Target 48: a hanging chain of four particles, flat, in pairs, and in pairs of pairs."""
    kick = {"y3_dot": 0.4, "y1_dot": -0.7}
    reference = found(assembled(chain(0), kick))
    assert max(abs(value) for value in reference.values()) > 1
    for levels in (1, 2):
        assert found(assembled(chain(levels), kick)) == pytest.approx(reference, abs=ROUNDING * 100)


@pytest.mark.parametrize("seed", range(6))
def test_complements_of_random_trees(seed):
    """Target 8: ker A = R ker B; the ranks of C and S are the nullity of A."""
    rng = np.random.default_rng(seed)

    def leaf(name):
        labels = tuple(f"{name}_{k}" for k in range(rng.integers(2, 5)))
        rows = {f"row{i}": _linear(labels, rng) for i in range(rng.integers(0, len(labels)))}
        return Subsystem(name, variables={1: labels}, invariants=rows, forces={label: f"-{label}_dot" for label in labels})

    def branch(name, depth):
        if depth == 0:
            return leaf(name)
        parts = [branch(f"{name}{k}", depth - 1) for k in "ab"]
        labels = tuple(label for part in parts for label in _labels(part))
        extra = (f"{name}_x",)
        return Subsystem(
            name, variables={1: extra}, children=parts, invariants={"join": _linear((*labels, *extra), rng)},
            forces={extra[0]: f"-{extra[0]}_dot"},
        )  # fmt: skip

    tree = assembled(branch("s", 2))
    for node in everyone(tree.start):
        A, S = node.A.matrix, node.S.matrix
        nullity = A.shape[1] - np.linalg.matrix_rank(A) if A.size else A.shape[1]
        assert S.shape[1] == np.linalg.matrix_rank(S) == np.linalg.matrix_rank(node.C.matrix) == nullity
        assert np.abs(A @ S).max(initial=0.0) < 1e-9
        # All of ker A is spanned by R C, not only a part of it.
        kernel = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T if A.size else np.eye(A.shape[1])
        assert np.linalg.matrix_rank(np.hstack([S, kernel]), tol=1e-9) == nullity


def _linear(labels, rng):
    return " + ".join(f"({rng.uniform(-1, 1):.6f}) * {label}" for label in labels)


def _labels(part):
    own = [label for labels in part.variables.values() for label in labels]
    return [*own, *(label for child in part.children for label in _labels(child))]


def test_a_part_is_used_many_times_under_other_names():
    twin = particle("p").used_as("L", {"x": "left"}, suffix="_L", keep=("g",))
    both = Subsystem("pair", children=(twin, particle("p").used_as("R", suffix="_R", keep=("g",))))
    system = build(both)
    assert system.states == ("left", "y_L", "x_R", "y_R", "left_dot", "y_L_dot", "x_R_dot", "y_R_dot")
    assert system.parameters == ("m_L", "g", "m_R")
    # Renamed twice: an assembly of one keeps both.
    again = Subsystem("whole", children=(twin.used_as("LL", suffix="2", keep=("g",)),))
    assert build(again).states[:2] == ("left2", "y_L2")


def test_formulas_may_be_functions():
    text = assembled(in_place())
    function = Subsystem(
        "place",
        variables={0: ("x", "y", "z")},
        invariants={"sphere": lambda s: ca.sumsqr(ca.vertcat(s.x, s.y, s["z"])) - s.r**2},
        forces={"x": lambda s: s.m * (s.g - s.x_ddot), "y": lambda s: -s.m * s.y_ddot, "z": lambda s: -s.m * s.z_ddot},
        parameters={"m": 1.0, "g": 9.81, "r": 1.0},
        start=in_place().start,
    )
    assert found(assembled(function)) == pytest.approx(found(text), abs=ROUNDING)
    with pytest.raises(MechanismError, match="invariants of 'sphere' is a function, which cannot be written to a file"):
        function.to_data()


def test_descriptions_go_through_plain_data():
    whole = linkage()
    again = Subsystem.from_data(whole.to_data())
    assert again.to_data() == whole.to_data()
    assert found(assembled(again)) == pytest.approx(found(assembled(whole)), abs=ROUNDING)


def test_inputs_act_along_their_variables():
    """(4.14): the force along a variable is that without the input, plus the input."""
    pushed = Subsystem("p", variables={0: ("x",)}, forces={"x": "-m * x_ddot"}, inputs={"force": "x"}, parameters={"m": 2.0})
    assert found(assembled(pushed, {"force": 3.0}))["x_ddot"] == pytest.approx(1.5)


def test_forces_of_an_assembly_act_on_its_parts():
    spring = Subsystem(
        "pair",
        children=[particle("p", (i, 0.0)).used_as(f"p{i}", suffix=str(i), keep=("g",)) for i in (0.0, 3.0) for i in (int(i),)],
        forces={"x0": "k * (x3 - x0 - 1)", "x3": "-k * (x3 - x0 - 1)"},
        parameters={"k": 5.0},
    )
    result = found(assembled(spring))
    assert (result["x0_ddot"], result["x3_ddot"]) == pytest.approx((10.0, -10.0))


def test_a_moving_invariant_is_differentiated_in_time():
    """A bead carried along x = sin(2 t): acceleration -4 sin(2 t)."""
    bead = Subsystem(
        "bead",
        variables={0: ("x", "y")},
        invariants={"carried": "x - sin(2 * t)"},
        forces={"x": "-x_ddot", "y": "-y_ddot"},
    )
    tree = assembled(bead, t=0.3)
    assert tree.x[:2] == pytest.approx((np.sin(0.6), 0.0), abs=1e-10)
    assert found(tree)["x_ddot"] == pytest.approx(-4 * np.sin(0.6), abs=1e-9)


def test_an_invariant_of_order_two_is_a_programmed_acceleration():
    carried = Subsystem(
        "p", variables={0: ("x", "y")}, invariants={"programme": "x_ddot - 3 * t"}, forces={"x": "-x_ddot", "y": "-y_ddot - 1"}
    )
    tree = assembled(carried, t=2.0)
    assert tree.system.constraint_order == 2
    assert found(tree) == pytest.approx({"x_ddot": 6.0, "y_ddot": -1.0})


def test_start_values_that_are_not_given_are_fitted():
    tree = assembled(in_points())
    for order in (0, 1):
        errors = np.array(tree.invariants(order)(tree.t, tree.x, tree.u, tree.p))
        assert np.abs(errors).max() < 1e-9
    x, _, _, held = values_of(tree.system)
    for label in held:
        assert tree.x[tree.system.states.index(label)] == x[tree.system.states.index(label)]


def test_baumgarte_pulls_errors_back():
    """c'' + 2 a c' + a^2 c = 0 for an invariant of order 0, with its errors as they are in the state."""
    rate = 7.0
    tree = assembled(in_place(), pull=rate)
    x = tree.x + 0.01 * np.arange(1, 7)
    a = np.array(tree.accelerations(0.0, x, tree.u, tree.p)).ravel()
    place, speed = x[:3], x[3:]
    c, c1, c2 = place @ place - 1, 2 * place @ speed, 2 * (speed @ speed + place @ a)
    assert c2 + 2 * rate * c1 + rate**2 * c == pytest.approx(0.0, abs=1e-10)


def test_labels_that_clash_are_refused():
    with pytest.raises(MechanismError, match=r"label 'x' clashes: both 'pair.b' and another subsystem have it"):
        build(Subsystem("pair", children=(particle("a"), particle("b"))))
    with pytest.raises(MechanismError, match="parameter 'm' is 2 here and 1 in another subsystem; rename one of them"):
        build(Subsystem("pair", children=(particle("a").used_as("a", {"x": "u", "y": "v"}), particle("b", mass=2.0))))
    with pytest.raises(MechanismError, match="has variable 'x' twice"):
        Subsystem("s", variables={0: ("x",), 1: ("x",)})
    with pytest.raises(MechanismError, match="'x' is the name of two things; rename the parameter"):
        Subsystem("s", variables={0: ("x",)}, parameters={"x": 1.0})
    with pytest.raises(MechanismError, match="has two children called 'a'"):
        Subsystem("s", children=(particle("a"), particle("a")))
    with pytest.raises(MechanismError, match="is called 'x_dot', which is what the rate of another would be called"):
        Subsystem("s", variables={0: ("x_dot",)})
    with pytest.raises(MechanismError, match="is called 'sin', which means something else in formulas"):
        Subsystem("s", variables={0: ("sin",)})


def test_a_system_that_does_not_close_is_refused():
    apart = Subsystem(
        "rod",
        variables={0: ("x", "y")},
        invariants={"length": "x**2 + y**2 - 1", "wall": "x - 2"},
        forces={"x": "-x_ddot", "y": "-y_ddot"},
        guess={"y": 0.5},
    )
    with pytest.raises(
        MechanismError, match=r"'rod' does not close: invariant 'rod\..*' \(order 0.*rank . of 2 invariants, margin"
    ):
        assembled(apart)


def test_an_over_constrained_system_is_refused():
    torn = Subsystem(
        "p",
        variables={0: ("x", "y")},
        invariants={"one": "x_ddot - 1", "two": "x_ddot - 2"},
        forces={"x": "-x_ddot", "y": "-y_ddot"},
    )
    with pytest.raises(
        MechanismError, match=r"'p' is over-constrained: invariant 'p.two' .*2 invariants have rank 1 \(margin 1\)"
    ):
        assembled(torn)


def test_a_dead_centre_is_refused():
    at_zero = in_points(start={"x1": 1.0, "x2": 3.0, "theta": 0.0}, independent=None)
    with pytest.raises(
        MechanismError, match=r"'P' is at a singular configuration: its 5 invariants have rank 4 there .* and 5"
    ):
        assembled(at_zero)


def test_a_singular_choice_is_refused_or_changed():
    hanging = {"x": 1.0, "y": 0.0, "z": 0.0}
    choice = with_speed_square(hanging, ("x", "y"))
    with pytest.raises(
        SingularChoiceError, match=r"'square': variables x_ddot, y_ddot cannot be the independent ones"
    ) as caught:
        assembled(choice)
    assert caught.value.rank == 1
    assert caught.value.proposed == ("y_ddot", "z_ddot")
    assert assembled(choice, singular="pivot").root.partition.independent == ("y_ddot", "z_ddot")


def test_variables_without_inertia_are_refused_unless_constraints_determine_them():
    loose = Subsystem("p", variables={0: ("x", "y")}, forces={"x": "-x_ddot"})
    with pytest.raises(LabelError, match=r"the equations balance of x_ddot, balance of y_ddot do not determine"):
        assembled(loose)
    held = Subsystem("p", variables={0: ("x", "y")}, invariants={"tie": "y - 2 * x"}, forces={"x": "-x_ddot + 1"})
    assert found(assembled(held)) == pytest.approx({"x_ddot": 1.0, "y_ddot": 2.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"invariants": {"c": "x - w"}}, r"'p', invariant 'c': 'x - w' uses 'w', which is not declared"),
        ({"invariants": {"c": "m"}}, "invariant 'c' depends on no variable"),
        (
            {"invariants": {"c": ("x - y", "x - y")}},
            "rate number 1 of it must be of order 1; what is given for it is of order 0",
        ),
        ({"invariants": {"c": "x_ddot**2"}}, "invariant 'p.c' is not affine in the variables of order 2"),
        ({"forces": {"x": "-x_ddot**3"}}, "a force is not affine in the variables of order 2"),
        ({"forces": {"w": "1"}}, "a force or input acts along 'w', which is neither a variable nor a motion variable"),
        ({"rates": {"w": "1"}}, "rates has 'w', which is not one of its variables"),
        ({"rates": {"x": "y_ddot"}}, "the rate of 'x', of order 0, uses a variable of order 2"),
        ({"start": {"w": 1.0}}, "start has 'w', which is not a variable"),
        ({"units": {"w": "m"}}, "units has 'w', which is not declared"),
        ({"independent": ("w",)}, "'w' cannot be independent: it is not a variable"),
        ({"maps": {"one": "x_dot * y_dot"}}, "0 equations that are affine in the rates of x, y; 2 are needed"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(change, message):
    given = {"variables": {0: ("x", "y")}, "forces": {"x": "-m * x_ddot", "y": "-y_ddot"}, "parameters": {"m": 1.0}, **change}
    with pytest.raises(MechanismError, match=message):
        build(Subsystem("p", **given))


def test_formulas_and_numbers_are_read_when_they_are_written():
    with pytest.raises(MechanismError, match=r"subsystem 'p', forces of 'x': .* is not a formula"):
        Subsystem("p", variables={0: ("x",)}, forces={"x": "1 +"})
    with pytest.raises(MechanismError, match="parameter 'm' must be a number, got 'k'"):
        Subsystem("p", parameters={"m": "k"})
    with pytest.raises(MechanismError, match="a subsystem has no 'variable'; did you mean 'variables'"):
        Subsystem.from_data({"name": "p", "variable": {}})
    with pytest.raises(MechanismError, match="'first' is no order"):
        Subsystem.from_data({"name": "p", "variables": {"first": ["x"]}})
    with pytest.raises(MechanismError, match="a subsystem needs a name"):
        Subsystem.from_data({})
    with pytest.raises(MechanismError, match="expected a table that describes a subsystem, got 3"):
        Subsystem.from_data(3)
    with pytest.raises(MechanismError, match=r"'p' has no variables; list some by their order"):
        build(Subsystem("p"))
    with pytest.raises(MechanismError, match="'place' has no state, input or parameter 'w'"):
        assembled(in_place(), {"w": 1.0})


def test_nodes_are_found_by_name_and_path():
    tree = assembled(linkage())
    assert tree.node("HL").path == tree.node("R.HL").path == "R.HL"
    with pytest.raises(MechanismError, match="there are several nodes called 'U'"):
        tree.node("U")
    with pytest.raises(MechanismError, match="there is no node 'nobody'"):
        tree.node("nobody")
    assert isinstance(tree.node("HL").C, Labelled)
