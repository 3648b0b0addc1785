"""A base that moves by motion RAOs: against sums and derivatives written out, in both formulations, with loads and ports."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import Body, Closure, ForceElement, Joint, KingpostError, Mechanism, Output, Port, simulate
from kingpost.marine.seas import read_sea
from kingpost.marine.wave_tables import WaveTable
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics, small_quaternion
from kingpost.simulation.at_sea import at_sea
from kingpost.symbols.externals import with_externals
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS

SEA = "jonswap:Hs=2,Tp=6,heading=150,seed=3,components=16"
POINT = (0.4, -0.3, 1.1)


def motions():
    """Motions per metre of some hull, with all six coupled."""
    w, b = np.linspace(0.3, 4.5, 30), np.radians(np.arange(0, 360, 30))
    rng = np.random.default_rng(5)
    size = np.array([1.0, 1.0, 1.0, 0.2, 0.15, 0.1]) * (rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6)))
    values = np.exp(-w[:, None, None] / 2) * (size[0] * np.cos(b)[:, None] + size[1] * np.sin(b)[:, None])
    return WaveTable(w, b, values, "motion")


def crane(*forces, pose=(0, 0, 0, 0, 0, 0), ramp=0.0, **more):
    wave = ForceElement("wave-motion", name="raos", joint="mount", table=motions(), at=POINT, ramp=ramp, outside=0.2)
    return Mechanism(
        "crane",
        [Body("base", mass=0), Body("boom", mass=30.0, com=(0.5, 0.1, 0.2), inertia=(3, 4, 5))],
        [
            Joint("mount", "given", "world", "base", pose=pose),
            Joint("luff", "revolute", "base", "boom", axis=(0.1, 1, 0.2), position=(0.3, 0.2, 0.5)),
        ],
        [ForceElement("gravity"), wave, *forces],
        outputs=[Output("tip", "boom", at=(1, 0, 0)), Output("foot", "base", at=POINT)],
        **more,
    )


def given(mechanism):
    """The function (t, p) -> position, rotation matrix, twist and rate of the mount."""
    assembly = assemble(mechanism, BUILT_IN)
    tree = TreeKinematics(assembly)
    motion = tree.geometry(mechanism.joint("mount")).given
    results = [motion.pose.p, ca.vec(motion.pose.R), motion.twist, motion.rate, motion.quaternion]
    return with_externals("given", [assembly.t, assembly.p], results, tree.externals)


@pytest.mark.parametrize("pose", [(0, 0, 0, 0, 0, 0), (1, "0.5 * t", 2, 0.3, "0.2 * sin(t)", 0.7)], ids=["still", "moving"])
def test_twists_and_their_rates_are_the_derivatives_of_the_pose(pose):
    mechanism = at_sea(crane(pose=pose, ramp=6.0), SEA, BUILT_IN)
    function, p, h = given(mechanism), [entry.default for entry in mechanism.parameters], 1e-4

    def at(t):
        place, R, twist, rate, e = (np.asarray(part) for part in function(t, p))
        return place.ravel(), R.reshape(3, 3, order="F"), twist.ravel(), rate.ravel(), e.ravel()

    assert np.isfinite(np.concatenate([part.ravel() for part in at(0.0)])).all()
    # At its begin the ramp has a third derivative that jumps, which differences over it would show.
    for t in (0.01, 1.7, 5.9, 20.0):
        _, R, twist, rate, e = at(t)
        assert np.abs(R.T @ R - np.eye(3)).max() < 1e-14
        assert Rotation.from_quat(e[[1, 2, 3, 0]]).as_matrix() == pytest.approx(R, abs=1e-13)
        before, after = at(t - h), at(t + h)
        dR, dp = (after[1] - before[1]) / (2 * h), (after[0] - before[0]) / (2 * h)
        spin = R.T @ dR
        exact = np.concatenate([[spin[2, 1], spin[0, 2], spin[1, 0]], R.T @ dp])
        # Central differences miss by h^2 / 6 times the third derivative, some 30 here, and by rounding over h.
        assert twist == pytest.approx(exact, abs=5e-7)
        assert rate == pytest.approx((after[2] - before[2]) / (2 * h), abs=5e-7)


def test_the_point_moves_as_the_raos_say_and_angles_are_a_rotation_vector():
    mechanism = at_sea(crane(), SEA, BUILT_IN)
    function, p = given(mechanism), [entry.default for entry in mechanism.parameters]
    waves = read_sea(SEA).components()
    rao = motions().at(waves.frequency, waves.direction)
    for t in (0.0, 3.3, 100.0):
        place, R, *_ = (np.asarray(part) for part in function(t, p))
        R = R.reshape(3, 3, order="F")
        xi = np.real(waves.amplitude @ (rao * np.exp(1j * (waves.frequency * t + waves.phase))[:, None]))
        assert place.ravel() + R @ POINT - POINT == pytest.approx(xi[:3], abs=1e-12)
        assert Rotation.from_matrix(R).as_rotvec() == pytest.approx(xi[3:], abs=1e-12)


def test_series_of_a_rotation_vector_hold_to_a_half_turn():
    r = ca.SX.sym("r", 3)
    e = small_quaternion(r)
    function = ca.Function("e", [r], [e, ca.jacobian(e, r)])
    for vector in ([0, 0, 0], [1e-9, 0, 0], [0.3, -0.4, 0.2], [2.0, 1.5, -1.6]):
        exact = Rotation.from_rotvec(vector).as_quat()[[3, 0, 1, 2]]
        found, slope = (np.asarray(part) for part in function(vector))
        # Powers of up to 2.5 are summed with alternating signs.
        assert found.ravel() == pytest.approx(exact, abs=2e-15)
        assert np.isfinite(slope).all()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_formulations_agree_on_a_crane_on_a_base_that_waves_move(formulation):
    afloat = crane(ports=[Port("foot_port", joint="mount")], ramp=2.0)
    choices = {"step": 0.02, "output_step": 0.1, "backend": "vm", "plugins": BUILT_IN, "loads": "all"}
    history = simulate(afloat, 2.0, sea=SEA, formulation=formulation, **choices)
    other = simulate(afloat, 2.0, sea=SEA, formulation="recursive" if formulation == "kane" else "kane", **choices)
    for name in ("luff.angle", "tip.x", "luff.Fz", "luff.Mx", "mount.Fz", "foot_port.Fz", "foot_port.Mx", "raos.heave"):
        scale = max(1.0, np.abs(history[name]).max())
        assert np.abs(history[name] - other[name]).max() < 1e-9 * scale
    waves = read_sea(SEA).components()
    rao = motions().at(waves.frequency, waves.direction)
    heave = np.real(np.exp(1j * (np.outer(history.time, waves.frequency) + waves.phase)) @ (waves.amplitude * rao[:, 2]))
    s = np.minimum(history.time / 2.0, 1.0)
    assert history["foot.z"] - POINT[2] == pytest.approx(heave * s**3 * (10 - 15 * s + 6 * s**2), abs=1e-12)


def test_loads_balance_the_acceleration_of_what_is_carried():
    welded = crane(ramp=0.0)
    joints = [welded.joints[0], Joint("luff", "weld", "base", "boom", position=(0.3, 0.2, 0.5))]
    welded = Mechanism("crane", welded.bodies, joints, welded.forces, outputs=[Output("com", "boom", at=(0.5, 0.1, 0.2))])
    h = 0.01
    history = simulate(welded, 2.0, sea=SEA, step=h, output_step=h, backend="vm", plugins=BUILT_IN, loads=["luff:frame=world"])
    for axis, force in zip("xyz", ("Fx", "Fy", "Fz"), strict=True):
        place = history[f"com.{axis}"]
        acceleration = (place[2:] - 2 * place[1:-1] + place[:-2]) / h**2
        weight = 30.0 * 9.81 if axis == "z" else 0.0
        # Second differences miss by h^2 / 12 times the fourth derivative, 30 kg * 1e-4 / 12 * some 500.
        assert history[f"luff.{force}"][1:-1] == pytest.approx(30.0 * acceleration + weight, abs=0.2)


def test_without_a_sea_the_base_stands_still():
    history = simulate(crane(), 0.2, step=0.1, backend="vm", plugins=BUILT_IN)
    assert np.ptp(history["foot.z"]) == 0.0


def test_what_waves_cannot_move_is_refused():
    base = crane()
    free = Mechanism("crane", base.bodies, [Joint("mount", "free", "world", "base"), base.joints[1]], base.forces)
    with pytest.raises(KingpostError, match="wave-motion: joint 'mount' is free; waves move given joints"):
        simulate(free, 0.1, sea=SEA, plugins=BUILT_IN)
    tied = crane(closures=[Closure("tie", "distance", "world", "boom", length=math.sqrt(1.5))])
    with pytest.raises(KingpostError, match="waves move joint mount, and a closure ties what it carries"):
        simulate(tied, 0.1, sea=SEA, plugins=BUILT_IN)
    with pytest.raises(KingpostError, match="it needs a 'table' of motions"):
        simulate(
            Mechanism("crane", base.bodies, base.joints, [ForceElement("wave-motion", joint="mount")]), 0.1, plugins=BUILT_IN
        )
