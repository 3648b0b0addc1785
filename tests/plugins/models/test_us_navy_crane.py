"""The US Navy cranes against the equations of document 000, appendix A, and against flat solutions, written out by hand."""

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, jets, model, worst

M, J, R, G = 100.0, 0.1, 0.1, 9.81
FORMULATIONS = ("kane", "recursive", "directors", "nullspace")
ALPHA = np.pi / 3
DOWN = -np.array([np.sin(ALPHA), 0.0, np.cos(ALPHA)])


def table(columns, text):
    """Return numbers in rows, of which each may go over several lines."""
    return np.array(text.split(), dtype=float).reshape(-1, columns).tolist()


def unit(vector):
    return vector / ca.norm_2(vector)


def hanging(path):
    """Return the place of the load, what its rope must give it per mass, and the height of the pulley if it has a path."""
    side = [ca.SX(0)] * 9
    x, y, z = path["load.x"], path.get("load.y", side), path["load.z"]
    C, d = ca.vertcat(x[0], y[0], z[0]), ca.vertcat(x[2], y[2], z[2] + G)
    return C, d, path.get("pulley-centre.z", [None])[0]


def drum(time, length, start, tension):
    """Return the angle of a drum and its torque: J angle'' = torque + radius tension."""
    angle = (length - start) / R
    return angle, J * time.rate(angle, 2) - R * tension


def planar(pulley):
    """Return the flat solution of section 6.1: of the pulley by the bisector of its ropes, or by the direction of the load."""
    crane = model(f"us-navy-crane-2d:pulley={pulley}")
    (task,) = crane.tasks().values()
    time = Time(1 if pulley == "massless" else 0)
    C, d, height = hanging(jets(task, time.t))
    hoist = M * ca.norm_2(d)
    if pulley == "massless":
        P, A, S, m0 = np.zeros(3), 10 * DOWN, None, 0.0
        B = C + time.w[0] * d
        e_P, e_C = unit(P - B), unit(C - B)
        time.fix(ca.dot(A - B, e_P - e_C))
    else:
        P, A, S, m0 = 5 * DOWN, 15 * DOWN, np.zeros(3), 150.0
        B = C + d * (height - C[2]) / d[2]
        e_P, e_C = unit(P - B), unit(C - B)
    needed = m0 * (time.rate(B, 2) + ca.vertcat(0, 0, G)) - hoist * (e_P + e_C)
    L1, L0 = ca.norm_2(B - A), ca.norm_2(B - P)
    if pulley == "massless":
        tensions = [ca.dot(needed, unit(A - B))]
        start = {"L1": 5 * np.sqrt(3), "L0": 5.0, "L2": 15.0}
    else:
        rows = ca.horzcat(unit(A - B), unit(S - B))[[0, 2], :]
        tensions = ca.vertsplit(ca.solve(rows, needed[[0, 2]]))
        start = {"L1": 10.0, "L0": 10.0, "L2": 20.0, "L3": np.sqrt(175)}
    L2 = L0 + ca.norm_2(C - B)
    angle1, u1 = drum(time, L1, start["L1"], tensions[0])
    angle2, u2 = drum(time, L2, start["L2"], hoist)
    coordinates = {
        **{"guide.angle": angle1, "hoist.angle": angle2, "share.growth": L0 - start["L0"]},
        **{"block.x": B[0], "block.z": B[2], "hook.x": C[0], "hook.z": C[2]},
    }
    inputs = {"guide_torque": u1, "hoist_torque": u2}
    known = {"L1": L1, "L2": L2, "L0": L0, "x0": B[0], "z0": B[2], "T1": tensions[0], "T": hoist}
    if S is not None:
        L3 = ca.norm_2(B - S)
        coordinates["suspension.angle"], inputs["suspension_torque"] = drum(time, L3, start["L3"], tensions[1])
        known |= {"L3": L3, "T3": tensions[1]}
    # B from the load to 10 m above it at the start, and 5.7 m at the end: sigma = height / g.
    return crane, task, Flat(time, coordinates, inputs, known, lambda t: [(10.0 - 1.45 * t) / G])


def spatial(pulley, name=None):
    """Return the flat solution of section 6.2, which the document does not have."""
    crane = model(f"us-navy-crane-3d:pulley={pulley}")
    task = crane.tasks()[name or next(iter(crane.tasks()))]
    time = Time(2 if pulley == "massless" else 1)
    C, d, height = hanging(jets(task, time.t))
    hoist = M * ca.norm_2(d)
    phi = time.w[0]
    pole = ca.vertcat(np.sin(ALPHA) * ca.cos(phi), np.sin(ALPHA) * ca.sin(phi), np.cos(ALPHA))
    A, P, S = 5 * pole, 10 * pole, 15 * pole
    g = ca.vertcat(0, 0, G)
    if pulley == "massless":
        # Load, pulley and pole are in one plane, and the guide rope halves the angle of the hoisting rope.
        B = C + time.w[1] * d
        m0 = 0.0
        time.fix(ca.vertcat(ca.dot(d, ca.cross(P, C)), ca.dot(A - B, unit(P - B) - unit(C - B))))
        needed = -hoist * (unit(P - B) + unit(C - B))
        tensions = [ca.dot(needed, unit(A - B)), ca.SX(0)]
    else:
        B = C + d * (height - C[2]) / d[2]
        m0 = 5.0
        # Given by the path alone, so its derivatives are those by the time.
        jerk = ca.jacobian(ca.jacobian(B, time.t), time.t)
        needed = m0 * (jerk + g) - hoist * (unit(P - B) + unit(C - B))
        time.fix(ca.dot(needed, ca.cross(B, P)))
        across = unit(ca.cross(B, P))
        tensions = ca.vertsplit(ca.solve(ca.horzcat(unit(A - B), unit(S - B), across), needed))
    L1, L0, L2 = ca.norm_2(B - A), ca.norm_2(B - P), ca.norm_2(B - S)
    L3 = L0 + ca.norm_2(C - B)
    angle1, u1 = drum(time, L1, 2.5 * np.sqrt(3), tensions[0])
    angle3, u3 = drum(time, L3, 20.0, hoist)
    # Moments of the ropes at their winches about the slewing axis, on the platform.
    pulls = [(A, unit(B - A), tensions[0]), (P, unit(B - P), hoist), (S, unit(B - S), tensions[1])]
    moment = sum(tension * ca.cross(point, direction)[2] for point, direction, tension in pulls)
    u4 = 480.0 * time.rate(phi, 2) - moment
    coordinates = {
        **{"slew.angle": phi, "guide.angle": angle1, "hoist.angle": angle3, "share.growth": L0 - 2.5},
        **{"block.x": B[0], "block.y": B[1], "block.z": B[2], "hook.x": C[0], "hook.y": C[1], "hook.z": C[2]},
    }
    inputs = {"slew_torque": u4, "guide_torque": u1, "hoist_torque": u3}
    known = {"phi": phi, "L1": L1, "L3": L3, "L0": L0, "x0": B[0], "y0": B[1], "z0": B[2], "T1": tensions[0], "T": hoist}
    if pulley == "mass":
        coordinates["suspension.angle"], inputs["suspension_torque"] = drum(time, L2, np.sqrt(43.75), tensions[1])
        known |= {"L2": L2, "T2": tensions[1]}
    angles = {0: 0.0, 2.5: 0.0712, 7.5: 0.4247, 10: 0.8051, 12.5: 1.2464, 17.5: 1.7587, 20: 1.8518}

    def guess(t):
        first = np.interp(t, list(angles), list(angles.values()))
        # From the load up to the pulley: sigma = height / g.
        return [first, np.interp(t, [0, 20], [17.5, 14.87]) / G] if pulley == "massless" else [first]

    return crane, task, Flat(time, coordinates, inputs, known, guess)


def test_the_planar_crane_without_pulley_mass_has_the_values_of_the_notes():
    _, _, flat = planar("massless")
    rows = table(
        11,
        """
        0.5 6.5404740 15.6031305 5.9019856 -2.1389770 -5.5007464 -102.7193209 -196.2639049 -119.4030957 -63.929257
            -108.078930
        1.0 4.4152890 16.6989154 7.0556353 -4.2865100 -5.6042681 -309.6552038 -196.4851490 -143.7609954 -119.531360
            -160.134936
        1.5 6.2752721 13.9853516 6.6813072 -2.5 -6.1959556 -59.5866475 -146.8275544 -134.3091514 -31.245231 -76.362055
        2.0 8.2766054 13.6013156 8.1748767 -0.9919886 -8.1144666 53.3921761 -103.5210271 -155.9534071 23.619502
            -95.065090
        2.5 5.5914406 13.0496208 7.8458885 -3.4557467 -7.0438471 -25.3927773 -110.6024509 -166.7600222 -8.711572
            -72.643232
        3.0 3.8773685 13.7475126 8.0267806 -5 -6.2792680 -166.9499878 -122.2158734 -171.4815517 -64.732662 -98.1
        """,
    )
    for time, *row in rows:
        found = flat.at(time)
        # Document 000, chapter 6: a rope of length L has the tension -lam L.
        lam = [-found["T1"] / found["L1"], -found["T"] / found["L0"], -found["T"] / (found["L2"] - found["L0"])]
        values = [*(found[name] for name in ("L1", "L2", "L0", "x0", "z0")), *lam, found["guide_torque"], found["hoist_torque"]]
        assert values == pytest.approx(row, abs=1.2e-6)


def test_the_planar_crane_with_pulley_mass_has_the_values_of_the_notes():
    _, _, flat = planar("mass")
    rows = table(
        13,
        """
        0.0 10 20 13.228757 10 -4.330127 -49.05 -98.1 -98.1 -98.1 -49.05 -98.1 -129.7741
        0.5 11.207521 20.140908 12.826215 10.076906 -2.951098 -57.735090 -123.279068 -106.902325 -123.437147 -68.36071
            -124.55358 -135.81641
        1.5 11.073039 17.652728 11.804769 9.152728 -2.665064 -283.374420 -107.181155 -30.814950 -115.411765 -332.54476
            -90.37453 -28.87104
        2.0 6.930399 17.869598 12.802212 8.676092 -6.890515 1232.205487 -66.829386 -475.703472 -63.068207 921.31095
            -118.80908 -647.17323
        3.0 12.359985 15.665434 10.547512 8.665434 -1 18.709612 -113.208410 -152.663006 -140.142857 23.12505 -98.1
            -161.02148
        """,
    )
    for time, *row in rows:
        found = flat.at(time)
        hoist = found["T"]
        lam = [
            -found["T1"] / found["L1"],
            -hoist / found["L0"],
            -found["T3"] / found["L3"],
            -hoist / (found["L2"] - found["L0"]),
        ]
        inputs = [found[f"{name}_torque"] for name in ("guide", "hoist", "suspension")]
        values = [*(found[name] for name in ("L1", "L2", "L3", "L0", "x0")), *lam, *inputs]
        assert values == pytest.approx(row, abs=3e-5, rel=1e-7)


def test_the_crane_in_space_without_pulley_mass_has_the_values_of_the_notes():
    _, _, flat = spatial("massless")
    rows = table(
        14,
        """
        2.5 0.071201 3.589575 20.065716 3.004905 7.880184 0.506975 2.094352 -78.69712 -328.639276 -57.882932 -28.05181
            -98.85577 164.30906
        7.5 0.424697 1.380787 20.606191 4.303833 5.106836 2.309401 1.969025 -546.411341 -227.936372 -60.175342
            -75.37074 -98.11836 9.97249
        10 0.805114 0.534472 20.987541 4.732461 3.330127 3.464102 2.255080 -1682.184255 -207.291713 -60.350365
            -89.75256 -98.23751 5.52204
        17.5 1.758659 2.347773 18.678632 3.766145 -1.281961 6.461543 1.856143 -249.342240 -259.116792 -65.439889
            -58.40562 -97.60973 -164.2204
        20 1.851831 2.949882 18.318837 3.452699 -2 6.928203 1.866138 -142.917202 -284.125549 -65.988893 -42.15888
            -98.1 0
        """,
    )
    for time, *row in rows:
        found = flat.at(time)
        lam = [-found["T1"] / found["L1"], -found["T"] / found["L0"], -found["T"] / (found["L3"] - found["L0"])]
        inputs = [found[f"{name}_torque"] for name in ("guide", "hoist", "slew")]
        values = [*(found[name] for name in ("phi", "L1", "L3", "L0", "x0", "y0", "z0")), *lam, *inputs]
        assert values == pytest.approx(row, abs=6e-5, rel=1e-8)


def test_the_crane_in_space_with_pulley_mass_has_the_values_of_the_notes():
    """The notes took backward Euler with 6.25 ms to them; the limit is here. Coordinates to their accuracy, inputs near it."""
    _, _, flat = spatial("mass")
    rows = table(
        11,
        """
        2.5 3.555032 7.162181 20.083554 2.639610 7.868121 0.514815 -40.7310 -12.8585 -98.8624 158.66
        10 0.689692 9.861416 20.884834 4.884834 3.330127 3.464102 -79.6570 26.9378 -98.2133 5.57
        17.5 2.468365 8.753138 18.623036 4.044147 -1.292590 6.468451 -53.6707 3.9359 -97.5921 -161.00
        """,
    )
    for time, *row in rows:
        found = flat.at(time)
        assert [found[name] for name in ("L1", "L2", "L3", "L0", "x0", "y0")] == pytest.approx(row[:6], abs=3e-5)
        inputs = [found[f"{name}_torque"] for name in ("guide", "suspension", "hoist", "slew")]
        assert inputs == pytest.approx(row[6:], abs=0.1)
    assert flat.at(2.5)["phi"] == pytest.approx(0.0707341, abs=3e-6)
    start = flat.at(0.0)
    lam = [-start["T1"] / start["L1"], -start["T2"] / start["L2"], -start["T"] / start["L0"]]
    assert lam == pytest.approx([-9.81, -9.81, -392.4], rel=1e-12)


CASES = [
    *(("2d", pulley, formulation) for pulley in ("massless", "mass") for formulation in FORMULATIONS),
    *(("3d", pulley, formulation) for pulley in ("massless", "mass") for formulation in ("kane", "recursive", "directors")),
]
TIMES = {"2d": (0.3, 0.8, 1.2, 2.0, 2.7), "3d": (1.0, 2.5, 4.0, 8.0, 13.0, 17.5, 19.0)}


@pytest.mark.parametrize(("crane", "pulley", "formulation"), CASES)
def test_the_flat_solution_solves_the_equations_of_motion(crane, pulley, formulation):
    machine, task, flat = (planar if crane == "2d" else spatial)(pulley)
    followed = Followed(machine.build(), formulation, flat, task.settings)
    residual, open_by = worst(followed, TIMES[crane])
    assert residual < 2e-8  # forces of up to 1e4 N, from fourth and sixth derivatives
    assert open_by < 1e-11


@pytest.mark.quick("2d-*", "3d-mass")
@pytest.mark.parametrize(("crane", "pulley"), [(crane, pulley) for crane in ("2d", "3d") for pulley in ("massless", "mass")])
def test_tensions_are_positive_where_ropes_pull(crane, pulley):
    machine, _, flat = (planar if crane == "2d" else spatial)(pulley)
    followed = Followed(machine.build(), "kane", flat)
    other = {"2d": "T3", "3d": "T2"}[crane]
    for time in TIMES[crane]:
        found, tensions = flat.at(time), followed.tensions(time)
        assert tensions["upper-rope.tension"] == pytest.approx(found["T"], rel=1e-9)
        assert tensions["lower-rope.tension"] == pytest.approx(found["T"], rel=1e-9)
        assert tensions["guide-rope.tension"] == pytest.approx(found["T1"], rel=1e-8, abs=1e-7)
        if pulley == "mass":
            assert tensions["suspension-rope.tension"] == pytest.approx(found[other], rel=1e-8, abs=1e-7)


def test_the_guide_rope_of_the_planar_crane_would_have_to_push():
    """Between 1.641 and 2.424 s, by up to 442 N; the document does not say so."""
    _, _, flat = planar("massless")
    assert [flat.at(time)["T1"] < 0 for time in (1.640, 1.642, 2.0, 2.423, 2.425)] == [False, True, True, True, False]
    assert flat.at(2.009)["T1"] == pytest.approx(-442, abs=0.5)


@pytest.mark.parametrize(
    ("name", "coordinates", "closures", "inputs"),
    [
        ("us-navy-crane-2d:pulley=massless", 7, 3, 2),
        ("us-navy-crane-2d:pulley=mass", 8, 4, 3),
        # The document has two coordinates and a circle in the place of the slewing angle: 11 - 4, and 12 - 5.
        ("us-navy-crane-3d:pulley=massless", 10, 3, 3),
        ("us-navy-crane-3d:pulley=mass", 11, 4, 4),
    ],
)
def test_the_cranes_have_the_freedoms_of_the_document(name, coordinates, closures, inputs):
    mechanism = model(name).build()
    assert (len(mechanism.coordinates), len(mechanism.closures), len(mechanism.inputs)) == (coordinates, closures, inputs)


@pytest.mark.parametrize("pulley", ["massless", "mass"])
def test_the_planar_crane_has_the_matrices_of_the_document(pulley):
    """M, Phi and G of eqs. (6.3)-(6.12) and (6.15)-(6.21) at random places, in the lengths and places of the document."""
    mechanism = model(f"us-navy-crane-2d:pulley={pulley}").build()
    equations = derive(assemble(mechanism, PLUGINS), "kane", PLUGINS)
    held = equations.constraints
    parts = ca.Function("parts", [equations.t, equations.q, equations.p], [equations.M, held.phi, held.A])
    p = [parameter.default for parameter in mechanism.parameters]
    names = [coordinate.name for coordinate in mechanism.coordinates]
    heavy = pulley == "mass"
    s, l = (5.0, 10.0) if heavy else (0.0, 10.0)
    sin, cos = np.sin(ALPHA), np.cos(ALPHA)
    start = {"L1": 10.0, "L2": 20.0, "L3": np.sqrt(175), "L0": 10.0} if heavy else {"L1": 5 * np.sqrt(3), "L2": 15.0, "L0": 5.0}
    rng = np.random.default_rng(5)
    for _ in range(5):
        L = {name: length + rng.uniform(-1, 1) for name, length in start.items()}
        x0, z0, x, z = rng.uniform(-10, -1, 4)
        state = {"guide.angle": (L["L1"] - start["L1"]) / R, "hoist.angle": (L["L2"] - start["L2"]) / R}
        state |= {"share.growth": L["L0"] - start["L0"], "block.x": x0, "block.z": z0, "hook.x": x, "hook.z": z}
        if heavy:
            state["suspension.angle"] = (L["L3"] - start["L3"]) / R
        mass, phi, A = (np.asarray(part) for part in parts(0, [state[name] for name in names], p))
        masses = {"guide.angle": J, "hoist.angle": J, "suspension.angle": J, "share.growth": 0.0, "hook.x": M, "hook.z": M}
        m0 = 150.0 if heavy else 0.0
        assert mass == pytest.approx(np.diag([masses.get(name, m0) for name in names]), abs=1e-12)
        a, b = x0 + (l + s) * sin, z0 + (l + s) * cos
        c, d = x0 + s * sin, z0 + s * cos
        # By owner: Phi of the document, the length that scales our row, and the gradient by length and place.
        rest = start["L2"] - start["L0"]
        below = L["L2"] - L["L0"]
        expected = {
            "guide-rope": (a**2 + b**2 - L["L1"] ** 2, start["L1"], {"guide.angle": -R * L["L1"], "block.x": a, "block.z": b}),
            "upper-rope": (c**2 + d**2 - L["L0"] ** 2, start["L0"], {"share.growth": -L["L0"], "block.x": c, "block.z": d}),
            "lower-rope": (
                (x - x0) ** 2 + (z - z0) ** 2 - below**2,
                rest,
                {
                    **{"hoist.angle": -R * below, "share.growth": below, "block.x": x0 - x, "block.z": z0 - z},
                    **{"hook.x": x - x0, "hook.z": z - z0},
                },
            ),
        }
        if heavy:
            gradient = {"suspension.angle": -R * L["L3"], "block.x": x0, "block.z": z0}
            expected["suspension-rope"] = (x0**2 + z0**2 - L["L3"] ** 2, start["L3"], gradient)
        for row, owner in enumerate(held.owners):
            value, length, gradient = expected[owner]
            assert phi[row, 0] == pytest.approx(value / (2 * length), abs=1e-12)
            assert A[row] == pytest.approx([gradient.get(name, 0.0) / length for name in names], abs=1e-13)


@pytest.mark.parametrize("crane", ["2d", "3d"])
def test_a_crane_with_pulley_mass_hangs_at_rest(crane):
    mechanism = model(f"us-navy-crane-{crane}:pulley=mass").build()
    history = simulate(mechanism, 0.1, step=0.002, backend="vm", plugins=PLUGINS)
    places = [f"{what}.{axis}" for what in ("load", "pulley-centre") for axis in "xyz"]
    assert max(np.ptp(history[name]) for name in places) < 1e-11
    assert history["upper-rope.tension"][0] == pytest.approx(981.0, rel=1e-12)


@pytest.mark.parametrize("crane", ["2d", "3d"])
def test_forward_simulation_refuses_a_pulley_that_nothing_holds(crane):
    """Up and down with the part of the rope before it, and in space also across; which of them is named is arbitrary."""
    mechanism = model(f"us-navy-crane-{crane}:pulley=massless").build()
    with pytest.raises(MechanismError, match=r"nothing resists an acceleration of '(share.growth|block.[yz])' at the start"):
        simulate(mechanism, 0.1, backend="vm", plugins=PLUGINS)
