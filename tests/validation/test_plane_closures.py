"""Wheels on and in wheels, and pins in slots, against kinematics and motions that are written down without them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, MechanismError, simulate
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import ClosurePlace, tree_constraints
from kingpost.multibody.tree import TreeKinematics

Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
G = 9.81
#: A wheel on a wheel, a wheel in a ring, a ring around a wheel.
RADII = [(0.5, 0.2), (-1.0, 0.3), (0.3, -1.0)]
PHASED = {"coordinates": ("two.angle", "one.angle"), "axis2": X, "offset": 0.4}


def pair(R1, R2, **fields):
    """Return two wheels that move freely in a plane, and roll on each other."""
    wheels = [Body(name, mass=2.0, inertia=(0.1, 0.1, 0.2)) for name in ("first", "second")]
    closure = Closure("contact", "rolling-wheels", "first", "second", axis=Z, radius=R1, child_radius=R2, **fields)
    joints = [Joint(name, "planar", "world", body, axis=Z, axis2=X) for name, body in (("one", "first"), ("two", "second"))]
    return Mechanism("pair", bodies=wheels, joints=joints, closures=[closure])


def rolled(R1, R2, t):
    """Return x, y and angle of both wheels at a time: the first moves as it likes, the second rolls.

    What touches is found from arcs alone: the point of contact moves along both rims by the same length.
    """
    x, y, turn = 0.3 * t + 0.1 * t**2, -0.2 * np.sin(t), 1.7 * t - 0.4 * t**2
    on_first = 0.4 + 2.3 * t + 0.5 * t**2  # where the centre of the second is, seen from the first
    far = abs(R1 + R2)
    direction = turn + on_first
    # The arc R1 (d on_first) of the one is the arc of the other, R2 (d turn2 - d on_first).
    turn2 = turn + (R1 + R2) / R2 * (on_first - 0.4)
    return np.array([x, y, turn, x + far * np.cos(direction), y + far * np.sin(direction), turn2])


@pytest.mark.parametrize("fields", [{}, PHASED], ids=["speeds", "phase"])
@pytest.mark.parametrize(("R1", "R2"), RADII)
def test_wheels_that_roll_by_arcs_are_closed_and_do_not_slip(R1, R2, fields):
    machine = pair(R1, R2, **fields)
    tree = TreeKinematics(assemble(machine, None))
    held = tree_constraints(tree, machine.closures)
    assert (held.phi.numel(), held.count) == ((2, 2) if fields else (1, 2))
    function = ca.Function("f", [tree.q, tree.v], [held.phi, held.A @ tree.v + held.b])
    for t in (-2.0, 0.0, 0.7, 4.0):  # some of them full turns away
        h = 1e-5
        q = rolled(R1, R2, t)
        # Central differences of motions with rates up to 60: h^2 / 6 of their third derivatives, 60^3, times a radius.
        v = (rolled(R1, R2, t + h) - rolled(R1, R2, t - h)) / (2 * h)
        phi, rate = (np.asarray(part).ravel() for part in function(q, v))
        assert np.abs(phi).max() < 1e-13 * 100
        assert np.abs(rate).max() < h**2 / 6 * 60**3
        slipping = v + np.array([0, 0, 0, 0, 0, 0.1])
        assert np.abs(np.asarray(function(q, slipping)[1])).max() > 0.01


@pytest.mark.parametrize(("R1", "R2"), RADII)
def test_the_point_of_contact_of_the_second_wheel_moves_with_the_first(R1, R2):
    """The material points of both rims that touch at a time have the same velocity, by differences of where they are."""
    for t in (0.2, 1.5):
        q = rolled(R1, R2, t)
        contact = q[:2] + R1 / (R1 + R2) * (q[3:5] - q[:2])

        def carried(own, at, q=q, contact=contact):
            """Return where the point of a wheel that touches at the time t is at another."""
            turn = at[own + 2] - q[own + 2]
            R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            return at[own : own + 2] + R @ (contact - q[own : own + 2])

        h = 1e-5
        rates = [(carried(k, rolled(R1, R2, t + h)) - carried(k, rolled(R1, R2, t - h))) / (2 * h) for k in (0, 3)]
        np.testing.assert_allclose(rates[0], rates[1], atol=h**2 / 6 * 60**3)


def test_what_acts_in_the_contact_acts_there():
    """With and without a phase the wrench on the second wheel is a force through the point of contact."""
    for fields in ({}, PHASED):
        machine = pair(-1.0, 0.3, **fields)
        tree = TreeKinematics(assemble(machine, None))
        held = tree_constraints(tree, machine.closures)
        place = ClosurePlace(tree, machine.closures[0])
        arm = place.X_FM.R.T @ (-0.3 / -0.7 * place.X_FM.p)
        wrench = held.reactions["contact"]
        about_contact = wrench[:3] - ca.cross(arm, wrench[3:])
        efforts = held.reactions.get("contact.efforts", ca.SX.zeros(2))
        found = ca.Function("f", [tree.q, held.lam], [about_contact, wrench, efforts])
        moment, whole, along = (np.asarray(part).ravel() for part in found(rolled(-1.0, 0.3, 0.8), [3.0, 5.0]))
        assert np.abs(moment).max() < 1e-12
        assert np.abs(along).max() == 0.0
        assert np.abs(whole[2]) > 0.1


def in_a_ring(R1, r, **fields):
    """Return a disc on, or in, a wheel that stands still; x is to the right, y up."""
    m = 2.0
    below = R1 < 0
    return Mechanism(
        "rolling",
        bodies=[Body("disc", mass=m, inertia=(m * r**2 / 4, m * r**2 / 4, m * r**2 / 2))],
        joints=[
            Joint(
                "disc", "planar", "world", "disc", axis=Z, axis2=X,
                start=(abs(R1 + r) * np.sin(0.5), (-1 if below else 1) * abs(R1 + r) * np.cos(0.5), 0.0),
            )
        ],
        closures=[Closure("contact", "rolling-wheels", "world", "disc", axis=Z, radius=R1, child_radius=r, **fields)],
        forces=[ForceElement("gravity", acceleration=(0, -G, 0))],
    )  # fmt: skip


@pytest.mark.parametrize("formulation", ["kane", "recursive", "nullspace", "directors"])
@pytest.mark.parametrize("phased", [False, True], ids=["speeds", "phase"])
def test_a_disc_in_a_ring_swings_like_a_pendulum(formulation, phased, plugins):
    """3/2 (R - r) a'' = -g sin(a); its friction is m g sin(a) / 3, and what presses it m g cos(a) + m (R - r) a'^2."""
    R, r, m = 1.0, 0.3, 2.0
    phase = {"coordinates": ("disc.angle",), "axis2": (0.0, -1.0, 0.0), "offset": 0.5} if phased else {}
    pendulum = Mechanism(
        "pendulum",
        bodies=[Body("bob", mass=1.0, com=(0, -1.5 * (R - r), 0))],
        joints=[Joint("pivot", "revolute", "world", "bob", axis=Z, start=0.5)],
        forces=[ForceElement("gravity", acceleration=(0, -G, 0))],
    )
    how = {"step": 0.002, "output_step": 0.1, "backend": "vm", "plugins": plugins}
    swing = simulate(pendulum, 1.5, **how)
    disc = simulate(in_a_ring(-R, r, **phase), 1.5, formulation=formulation, loads="all", **how)
    a, rate = swing["pivot.angle"], swing["pivot.angle.rate"]
    # Both runs have errors of h^5 / 120 times fifth derivatives of some 3^5 per step, which add up over 750 steps.
    near = {"atol": 1e-8 if formulation != "directors" else 2e-6}
    np.testing.assert_allclose(disc["disc.x"], (R - r) * np.sin(a), **near)
    np.testing.assert_allclose(disc["disc.y"], -(R - r) * np.cos(a), **near)
    np.testing.assert_allclose(disc["disc.angle"], -(R - r) / r * (a - 0.5), **near)
    force = disc.loads("contact", frame="world").total[:, 3:]
    along, inwards = np.array([np.cos(a), np.sin(a)]), np.array([-np.sin(a), np.cos(a)])
    loads = {"atol": 100 * near["atol"]}
    np.testing.assert_allclose((force[:, :2] * along.T).sum(axis=1), m * G * np.sin(a) / 3, **loads)
    np.testing.assert_allclose((force[:, :2] * inwards.T).sum(axis=1), m * G * np.cos(a) + m * (R - r) * rate**2, **loads)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "nullspace", "directors"])
def test_a_phase_holds_through_full_turns(formulation, plugins):
    """Without gravity a disc goes evenly round in its ring, and turns R / r - 1 times as often; here three times and more."""
    R, r, rate = 1.0, 0.3, 6.0
    phase = {"coordinates": ("disc.angle",), "axis2": (0.0, -1.0, 0.0), "offset": 0.5}
    machine = replace(in_a_ring(-R, r, **phase), forces=())
    start = {
        "disc.x.rate": rate * (R - r) * np.cos(0.5), "disc.y.rate": rate * (R - r) * np.sin(0.5),
        "disc.angle.rate": -rate * (R - r) / r,
    }  # fmt: skip
    how = {"step": 0.002, "output_step": 0.1, "backend": "vm", "plugins": plugins}
    history = simulate(machine, 1.5, settings=start, formulation=formulation, **how)
    t = history.time
    # The disc turns fastest, with w = 14 rad/s. rk4 loses less than (w h)^5 / 120 in each step. Those that step with directors
    # have the mid-point rule, which turns by 2 atan(w h / 2) instead of w h: w^3 h^2 / 12 less in a second. What rolls keeps
    # orbit and disc together, so that the centre is off by r times that at most.
    w, h = rate * (R - r) / r, how["step"]
    off = t[-1] * ((w * h) ** 5 / 120 / h if formulation in ("kane", "recursive") else w**3 * h**2 / 12)
    np.testing.assert_allclose(history["disc.x"], (R - r) * np.sin(0.5 + rate * t), atol=r * off)
    np.testing.assert_allclose(history["disc.angle"], -(R - r) / r * rate * t, atol=off)
    assert abs(history["disc.angle"][-1]) > 3 * 2 * np.pi


def test_a_disc_runs_off_the_top_of_a_wheel(plugins):
    """3/2 (R + r) a'' = g sin(a), so a'^2 = 4 g (cos(a0) - cos(a)) / (3 (R + r)); it turns by R / r more than it goes round."""
    R, r = 0.8, 0.2
    history = simulate(in_a_ring(R, r), 0.6, step=0.001, output_step=0.05, backend="vm", plugins=plugins)
    a = np.arctan2(history["disc.x"], history["disc.y"])
    speed = np.hypot(history["disc.x.rate"], history["disc.y.rate"]) / (R + r)
    # Steps of 1 ms on motions of some 10 rad/s: 600 times (0.01)^5 / 120.
    np.testing.assert_allclose(speed**2, 4 * G * (np.cos(0.5) - np.cos(a)) / (3 * (R + r)), atol=1e-9)
    np.testing.assert_allclose(history["disc.angle"], -(R + r) / r * (a - 0.5), atol=1e-9)
    assert a[-1] > 1.0


def test_a_formulation_without_closures_refuses_wheels_and_slots(plugins):
    with pytest.raises(MechanismError, match=r"'quaternions' takes no .*rolling-wheels closure \('contact'\)"):
        simulate(in_a_ring(-1.0, 0.3), 0.1, formulation="quaternions", plugins=plugins)


CRANK, PIVOT = 0.4, 0.9


def quick_return(closures, further=(), forces=(), **changes):
    """Return a crank about the origin, and a lever about (0, -PIVOT) whose slot its pin slides in."""
    axis = {"axis": Z}
    lever = np.arctan2(PIVOT + CRANK * np.sin(0.3), CRANK * np.cos(0.3))
    bodies = [
        Body("crank", mass=1.5, com=(0.1, 0.05, 0), inertia=(0.1, 0.1, 0.2)),
        Body("lever", mass=2.0, com=(0.5, -0.1, 0), inertia=(0.2, 0.2, 0.3)),
    ]
    joints = [
        Joint("crank", "revolute", "world", "crank", **axis, start=0.3, start_rate=3.0),
        Joint("lever", "revolute", "world", "lever", **axis, position=(0, -PIVOT, 0), start=lever),
    ]
    return Mechanism(
        "quick-return",
        bodies=[*bodies, *(Body(f"{joint.child}", mass=0.0) for joint in further)],
        joints=[*joints, *further],
        closures=closures,
        forces=[ForceElement("gravity", acceleration=(0, -G, 0)), *forces],
        **changes,
    )


def slot(**fields):
    return Closure("slot", "slot", "lever", "crank", axis=X, axis2=Z, child_position=(CRANK, 0, 0), **fields)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "nullspace", "directors"])
def test_a_lever_follows_the_pin_in_its_slot(formulation, plugins):
    history = simulate(
        quick_return([slot()]), 0.4, formulation=formulation, step=0.001, output_step=0.001, backend="vm", loads="all",
        plugins=plugins,
    )  # fmt: skip
    a = history["crank.angle"]
    where = np.array([CRANK * np.cos(a), PIVOT + CRANK * np.sin(a)])
    np.testing.assert_allclose(history["lever.angle"], np.arctan2(where[1], where[0]), atol=1e-9)
    # Without friction the slot presses across itself: no force along the lever, no moment about the pin.
    load = history.loads("slot", frame="parent").total
    assert np.abs(load[:, 3]).max() < 1e-9
    assert np.abs(load[:, :3]).max() < 1e-9
    # And by as much as turns the crank: its moment about the pivot is J a'' and that of its weight, by differences.
    rate = history["crank.angle.rate"]
    turning = (rate[2:] - rate[:-2]) / 0.002
    world = history.loads("slot", frame="world").total[1:-1, 3:]
    a = a[1:-1]
    moment = CRANK * (np.cos(a) * world[:, 1] - np.sin(a) * world[:, 0])
    weight = -1.5 * G * (0.1 * np.cos(a) - 0.05 * np.sin(a))
    inertia = 0.2 + 1.5 * (0.1**2 + 0.05**2)
    # Central differences over 1 ms of a motion whose third derivatives are some 1e3: h^2 / 6 of them, 2e-4, and as much again.
    np.testing.assert_allclose(inertia * turning, moment + weight, atol=1e-3)
    assert np.abs(moment).max() > 1.0


@pytest.mark.parametrize("formulation", ["kane", "recursive", "nullspace"])
def test_a_spring_along_the_slot_is_one_between_a_block_and_the_lever(formulation, plugins):
    """With a coordinate of its own, a slot is a block without mass that slides on the lever and is pinned to the crank."""
    spring = {"stiffness": 60.0, "damping": 4.0, "rest": 1.0}
    reach = float(np.hypot(CRANK * np.cos(0.3), PIVOT + CRANK * np.sin(0.3)))
    block = Joint("block", "prismatic", "lever", "piece", axis=X, start=reach)
    pin = Closure("pin", "point-on-line", "piece", "crank", axis=Z, child_position=(CRANK, 0, 0))
    along = Joint("along", "prismatic", "world", "counter", axis=X, start=reach)
    how = {"step": 0.001, "output_step": 0.05, "backend": "vm", "loads": "all", "plugins": plugins}
    one = simulate(
        quick_return(
            [slot(coordinates=("along.displacement",))], (along,),
            [ForceElement("joint-spring", coordinate="along.displacement", **spring)],
        ), 1.0, formulation=formulation, **how,
    )  # fmt: skip
    other = simulate(
        quick_return([pin], (block,), [ForceElement("joint-spring", coordinate="block.displacement", **spring)]), 1.0, **how
    )
    for name in ("crank.angle", "lever.angle"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-10)
    np.testing.assert_allclose(one["along.displacement"], other["block.displacement"], atol=1e-10)
    ours, theirs = (history.loads(name, frame="world").total[:, 3:] for history, name in ((one, "slot"), (other, "pin")))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert np.ptp(one["along.displacement"]) > 0.3
