"""Loads that rigid bodies leave open: the smallest over all joints of their loops, wherever these are cut."""

import dataclasses

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, MechanismError, Parameter, Port, equilibrium, simulate
from kingpost.fatigue import assess_loads
from kingpost.mechanism.closures import Closure
from tests.core.loads.redundant import bennett, four_bar, two_loops
from tests.core.mechanism.closed import PLUGINS, TURNING, bar

#: Round-off of some 1e-16 in each of a few hundred operations, times the squared conditions of A and D, some 1e2 together.
SAME = 1e-11


@pytest.mark.quick("Bennett", "two loops")
@pytest.mark.parametrize(
    ("linkage", "ways", "cuts"),
    [
        (four_bar(), 3, [(name, "kane") for name in "OABC"] + [("A", "recursive"), ("B", "directors"), ("O", "nullspace")]),
        (bennett(), 3, [("p0", "kane"), ("p2", "kane")]),
        (two_loops(), 6, [("BD", "kane"), ("AE", "kane"), ("OF", "recursive")]),
    ],
    ids=["four-bar", "Bennett", "two loops"],
)
def test_loads_are_those_of_minimum_norm_wherever_the_loops_are_cut(linkage, ways, cuts):
    """Against the pseudo-inverse of an equilibrium matrix made by hand, with what the bodies' motion demands."""
    first = None
    for names, formulation in cuts:
        names = (names,) if names.startswith("p") else tuple(names)
        loads, history = linkage.loads(linkage.cut(*names), formulation=formulation)
        first = loads if first is None else first
        scale = np.abs(loads).max()
        expected = linkage.of_minimum_norm(linkage.demand(history), linkage.size)
        np.testing.assert_allclose(loads, expected, atol=SAME * scale)
        np.testing.assert_allclose(loads, first, atol=SAME * scale)
        assert max(history["loads.residual.force"].max(), history["loads.residual.moment"].max()) < SAME * scale
        (loop,) = history.provenance["loads"]["not_unique"]["loops"]
        assert loop["ways"] == ways and loop["metric"] == "size"
        assert loop["length_m"] == pytest.approx(linkage.size, rel=1e-12)
        assert set(history.provenance["loads"]["not_unique"]["joints"]) == {pin.name for pin in linkage.pins}


def test_all_pins_carry_the_moment_of_a_coupler_beside_its_plane():
    """Formerly the pins of one side carried all of it, and which ones they were depended on the cut."""
    linkage = four_bar()
    loads, _ = linkage.loads(linkage.cut("B"))
    assert np.abs(loads[:, 0]).min() > 0.05 * np.abs(loads[:, 0]).max()


@pytest.mark.parametrize(("formulation", "method"), [("directors", "multipliers"), ("kane", "auxiliary-speeds")])
def test_every_method_shares_alike(formulation, method):
    linkage = four_bar()
    expected, _ = linkage.loads(linkage.cut("C"), load_method="recursive")
    loads, _ = linkage.loads(linkage.cut("C"), formulation=formulation, load_method=method)
    np.testing.assert_allclose(loads, expected, atol=SAME * np.abs(expected).max())


def test_compiled_loads_are_those_of_the_interpreter_all_along_a_run():
    linkage = four_bar()
    kept = [linkage.loads(linkage.cut("B"), t_end=0.5, sample=-1, backend=backend)[0] for backend in ("vm", "c")]
    np.testing.assert_allclose(*kept, atol=SAME * np.abs(kept[0]).max())


STIFF = {"O": (2e5, 8e6), "A": (1e5, 3e6), "B": (4e5, 5e6, 6e5, 2e6, 9e6, 4e6), "C": (3e5, 1e6)}


def test_stiffnesses_decide_the_shares_as_elastic_pins_do():
    """Against the displacement method: rigid bodies on springs, in the limit of small displacements."""
    linkage = four_bar(**STIFF)
    for name, formulation in (("O", "kane"), ("B", "directors")):
        loads, history = linkage.loads(linkage.cut(name), formulation=formulation)
        expected = linkage.of_elastic_pins(linkage.demand(history))
        # The stiffness matrix is inverted there: its condition is some 1e3.
        np.testing.assert_allclose(loads, expected, atol=1e-9 * np.abs(loads).max())
        (loop,) = history.provenance["loads"]["not_unique"]["loops"]
        assert loop["metric"] == "stiffness" and set(loop["stiffness_of"]) == set("OABC")
    smallest, _ = linkage.loads(linkage.cut("O"), load_metric="size")
    np.testing.assert_allclose(smallest, four_bar().loads(four_bar().cut("O"))[0], atol=SAME * np.abs(smallest).max())
    assert np.abs(smallest - loads).max() > 0.1 * np.abs(loads).max()


def test_one_pin_that_yields_takes_what_the_others_leave_and_no_more():
    """With a stiff turn but a soft shift along the axis at one pin, next to no axial force goes round."""
    stiff = (1e6,) * 3 + (1e9, 1e9, 1e9)
    soft = (1e6,) * 3 + (1e9, 1.0, 1e9)
    linkage = four_bar(O=stiff, A=stiff, B=stiff, C=soft)
    loads, history = linkage.loads(linkage.cut("A"))
    np.testing.assert_allclose(loads, linkage.of_elastic_pins(linkage.demand(history)), atol=1e-6 * np.abs(loads).max())
    assert abs(loads[3, 4]) < 1e-6 * np.abs(loads).max()


def test_a_length_makes_moments_dear_or_cheap():
    linkage = four_bar()
    for length in (0.01, 100.0):
        loads, history = linkage.loads(linkage.cut("B"), load_metric=length)
        np.testing.assert_allclose(
            loads, linkage.of_minimum_norm(linkage.demand(history), length), atol=1e-9 * np.abs(loads).max()
        )


def test_stiffnesses_that_decide_nothing_are_refused():
    linkage = four_bar()
    with pytest.raises(MechanismError, match=r"none of them has one.*Give C, B, A, O a stiffness.*load_metric = 'size'"):
        linkage.loads(linkage.cut("O"), load_metric="stiffness")
    springs = [dataclasses.replace(pin, stiffness=(1e5, 1e6) if pin.name == "A" else ()) for pin in two_loops().pins]
    machine = dataclasses.replace(two_loops(), pins=springs)
    with pytest.raises(MechanismError, match="but only A has one, which leaves some of them open"):
        machine.loads(machine.cut("B", "D"))
    with pytest.raises(KingpostError, match=r"load_metric is 'weight'; .* 'size' .* 'stiffness' .* a length in m"):
        linkage.loads(linkage.cut("O"), load_metric="weight")
    for given, words in (
        ((1.0,), "has 1 entries; give one for turning"),
        ((1e5, -2.0), "a stiffness is -2; it must be positive"),
    ):
        with pytest.raises(MechanismError, match=words):
            four_bar(A=given).cut("B")
    formula = dataclasses.replace(linkage.pins[1], stiffness=("-k", 1e6))
    negative = dataclasses.replace(linkage, pins=[linkage.pins[0], formula, *linkage.pins[2:]])
    with pytest.raises(MechanismError, match="joint 'A': its stiffness is -3"):
        negative.loads(negative.cut("B", parameters=[Parameter("k", 3.0, "N.m/rad")]))


def test_a_loop_with_enough_freedom_shares_nothing():
    """A pin that only holds the rods together in their plane leaves a plane four-bar nothing to hold twice."""
    linkage = four_bar()
    pins = {pin.name: pin for pin in linkage.pins}
    kept = []
    for metric in ("size", 0.01):
        machine = linkage.cut("B")
        machine = dataclasses.replace(
            machine,
            closures=[
                Closure(
                    "B",
                    "point-on-line",
                    "coupler",
                    "rocker",
                    axis=pins["B"].axis,
                    position=pins["B"].at,
                    child_position=pins["B"].at,
                )
            ],
        )
        loads, history = linkage.loads(machine, load_metric=metric)
        assert "not_unique" not in history.provenance["loads"] and "redundant_closures" not in history.provenance
        kept.append(loads)
    assert np.array_equal(*kept)


def test_a_section_in_a_loop_changes_no_other_load():
    machine = bar(*TURNING, closure="revolute")
    plain, cut = (
        simulate(machine, 0.01, loads="all", backend="vm", step=0.005, plugins=PLUGINS, cut=cut)
        for cut in (None, ["crank=0.4"])
    )
    for name in ("one.Mx", "two.My", "three.Mx", "pin.My", "pin.Fz", "one.Fy"):
        np.testing.assert_allclose(cut[name], plain[name], atol=1e-10)


def test_an_actuator_is_known_and_takes_no_share():
    linkage = four_bar()
    drive = ForceElement("joint-actuator", name="drive", coordinate="O.angle", stiffness=50.0, damping=2.0)
    driven = dataclasses.replace(linkage, forces=[*linkage.forces, drive])
    kept = []
    for name in "ABC":
        loads, history = driven.loads(driven.cut(name))
        assert np.abs(history["O.actuator.My"]).max() > 1.0
        kept.append(loads)
    for loads in kept[1:]:
        np.testing.assert_allclose(loads, kept[0], atol=SAME * np.abs(loads).max())


def gears(*pairs):
    names = ("a", "b", "c")
    return Mechanism(
        "gears",
        [Body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in names],
        [Joint(name, "revolute", "world", name, axis=(0, 0, 1), position=(i, 0, 0)) for i, name in enumerate(names)],
        [ForceElement("joint-effort", coordinate="a.angle", effort=9.0)],
        closures=[
            Closure(f"{one}{two}", "gear", coordinates=(f"{one}.angle", f"{two}.angle"), ratio=1.0) for one, two in pairs
        ],
    )


def test_gears_in_a_ring_share_evenly():
    """A torque of 9 turns three equal wheels; the two gears at a carry 3 each by symmetry, and that between b and c none."""
    found = simulate(gears("ab", "ac", "bc"), 0.01, loads="all", backend="vm", step=0.005, plugins=PLUGINS)
    assert found.provenance["redundant_closures"] == ["bc"]
    effort = {name: found[f"{name}.closure.Mz"][0] for name in "abc"}
    assert effort == pytest.approx({"a": -6.0, "b": 3.0, "c": 3.0}, abs=1e-12)


def test_ports_and_their_energy_with_redundant_closures():
    """A four-bar on a base that heaves: the wrench on what carries it does not depend on how its loads are shared."""
    plain = bar(*TURNING, closure="revolute")
    joints = [dataclasses.replace(joint, parent="base" if joint.parent == "world" else joint.parent) for joint in plain.joints]
    base = Joint("foot", "given", "world", "base", pose=(0, 0, "0.1 * sin(3 * t)", 0, 0, 0))
    kept = []
    for kind in ("revolute", "point-on-line"):
        machine = dataclasses.replace(
            plain,
            bodies=[Body("base", mass=1.0, inertia=(1, 1, 1)), *plain.bodies],
            joints=[base, *joints],
            closures=[dataclasses.replace(plain.closures[0], kind=kind)],
            ports=[Port("port", joint="foot", energy=True)],
        )
        kept.append(simulate(machine, 0.2, loads="all", backend="vm", step=0.01, plugins=PLUGINS))
    assert "not_unique" in kept[0].provenance["loads"]
    for name in ("port.Mx", "port.Fz", "port.Fy", "port.power", "port.energy", "foot.Fz"):
        np.testing.assert_allclose(kept[0][name], kept[1][name], atol=1e-9 * (1 + np.abs(kept[1][name]).max()))


def test_closures_at_rest_carry_what_they_carry_in_a_run_from_there():
    linkage = dataclasses.replace(four_bar(), twists={name: np.zeros(6) for name in ("world", "crank", "coupler", "rocker")})
    hold = ForceElement("joint-spring", coordinate="O.angle", stiffness=1e4)
    machine = dataclasses.replace(linkage.cut("B"), forces=[*linkage.cut("B").forces, hold])
    found = equilibrium(machine, plugins=PLUGINS)
    run = simulate(machine, 0.01, loads=["B"], start="equilibrium", step=0.005, backend="vm", plugins=PLUGINS)
    expected = [run[f"B.{name}"][0] for name in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
    np.testing.assert_allclose(found.closures["B"], expected, atol=1e-8)
    assert abs(expected[0]) > 0.1


def test_a_point_of_a_body_that_stands_still_up_to_rounding_is_no_noise():
    """Cut at O, the crank hangs on the coupler, and its frame at O moves by rounding errors alone."""
    linkage = four_bar()
    _, history = linkage.loads(linkage.cut("O"), t_end=0.5)
    assert 0 < np.abs(history["crank.motion.ax"]).max() < 1e-12
    assert assess_loads(history).warnings


def test_fatigue_names_every_joint_whose_load_is_open_unless_stiffnesses_decide():
    for linkage, open_ in ((four_bar(), True), (four_bar(**STIFF), False)):
        _, history = linkage.loads(linkage.cut("B"), t_end=0.1)
        warnings = [text for text in assess_loads(history).warnings if "leave the loads" in text]
        assert len(warnings) == open_
        if open_:
            assert (
                "rigid bodies leave the loads of joint O, A, C, B open in 3 ways; those of minimum norm over all" in warnings[0]
            )
            assert not history.loads("A").unique
        else:
            assert history.loads("A").unique
