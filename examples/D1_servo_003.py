"""Figures 5, 8 and 10 of the paper on servo-constraints (document 003), each with its characteristic numbers.

Writes PNG files (needs the 'viz' extra) and prints what was found beside what SciPy or a closed form gives:

    python D1_servo_003.py              # all of them
    python D1_servo_003.py fig8

Nothing of the reference solutions below is Kingpost's; they are the document's equations with its misprints put right.
"""

import dataclasses
import sys

import casadi as ca
import numpy as np
from gallery import Panel, Table, draw, run
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp, trapezoid

from kingpost import inverse, open_model

#: The step of the document; inputs by `bdf2` err with its square.
STEP = 0.001


def rest_to_rest(start, end, duration):
    """Return eq. (26) and its derivatives up to the fourth, as functions of a time that may be after the end."""
    path = Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])(Polynomial([0, 1 / duration])) * (end - start) + start
    at = [path.deriv(k) if k else path for k in range(5)]
    return [lambda t, p=p: p(np.minimum(t, duration)) * 1.0 for p in at]


def follow(model, t_end, method="minimal-extension", **settings):
    """Return the inverse dynamics of the task '003' up to a time after the manoeuvre."""
    machine = open_model(model)
    task = dataclasses.replace(machine.task("003"), t_end=t_end)
    return inverse(machine.mechanism, task, method=method, stepper=f"bdf2:step={STEP}", settings=settings)


def arm_reference(times, damping, kappa=1 / 3):
    """Return theta1, theta2 and the torque from eqs. (22), (23) and (12), by an integrator of order eight.

    (24) mixes the form for general links with that for equal ones, and (25) prints l^3 for l^2; neither is used here.
    """
    gamma = rest_to_rest(0.0, np.pi, 6.0)
    m, l, s, J, c = 2.0, 1.0, 0.5, 2.0 / 12, 1.0

    def solved(t, theta2, rate2):
        theta1, rate1 = (gamma[0](t) - kappa * theta2) / (1 - kappa), (gamma[1](t) - kappa * rate2) / (1 - kappa)
        bend, coupling = theta2 - theta1, m * s * l
        pull = c * bend + damping * (rate2 - rate1)
        # Second row of (22), with theta1'' = (gamma'' - kappa theta2'') / (1 - kappa); then the torque from the first.
        off = coupling * np.cos(bend)
        a2 = (-coupling * rate1**2 * np.sin(bend) - pull - off * gamma[2](t) / (1 - kappa)) / (
            J + m * s**2 - off * kappa / (1 - kappa)
        )
        a1 = (gamma[2](t) - kappa * a2) / (1 - kappa)
        torque = (J + m * s**2 + m * l**2) * a1 + off * a2 - coupling * rate2**2 * np.sin(bend) - pull
        return theta1, a2, torque

    found = solve_ivp(
        lambda t, x: [x[1], solved(t, *x)[1]], (0, times[-1]), [0, 0], "DOP853", times, rtol=1e-12, atol=1e-13, max_step=0.05
    )
    theta1, _, torque = solved(times, *found.y)
    return theta1, found.y[0], torque


def figure_5(table: Table) -> None:
    """Fig. 5: the arm with a passive joint, kappa = 1/3, damping 0 (left) and 0.2 N m s/rad (right); half a turn in 6 s."""
    panels = []
    for damping in (0.0, 0.2):
        history = follow("passive-joint-arm", 10.0, damping=damping)
        t = history.time
        theta1, theta2 = history["shoulder.angle"], history["shoulder.angle"] + history["elbow.angle"]
        wanted = arm_reference(t, damping)
        for name, found, other, unit, scale in zip(
            ("theta1", "theta2", "T"), (theta1, theta2, history["torque"]), wanted, ("rad", "rad", "N m"), (1, 2, 10),
            strict=True,
        ):  # fmt: skip
            # Order two: the internal motion, 3 rad/s, of 1 rad, errs by (3 dt)^2 for each radian of its phase.
            table.below(f"d = {damping}: {name}, largest difference to (12)", np.abs(found - other).max(), 3e-4 * scale, unit)
        if not damping:
            at = int(np.argmin(history["torque"]))
            # The numbers of an independent computation.
            table.row("d = 0: theta1(2 s)", theta1[2000], 0.84052539, 1e-5, "rad")
            table.row("d = 0: theta2(2 s)", theta2[2000], -0.31591123, 1e-5, "rad")
            table.row("d = 0: T(2 s)", history["torque"][2000], 2.8220034, 1e-4, "N m")
            table.row("d = 0: lowest torque", history["torque"][at], -3.966253, 1e-4, "N m")
            table.row("d = 0: its time", t[at], 4.423, 0.002, "s")
            # The document takes the bend for small, so that gamma is the azimuth of P; it is far from that.
            table.row("d = 0: largest bend", np.degrees(history["elbow.angle"]).min(), -66.7, 0.1, "deg")
        else:
            # After the manoeuvre what is left decays with exp(-0.9 t): the problem is not flat.
            after = np.abs(history["elbow.angle"])
            part = after[t > 8].max() / after[(t >= 6) & (t <= 8)].max()
            table.row("d = 0.2: decay in 2 s, exp(-1.8)", part, np.exp(-1.8), 0.05)
        panels.append(
            [
                Panel(f"d = {damping}: angles [deg]", [("theta1", t, np.degrees(theta1)), ("theta2", t, np.degrees(theta2)),
                      ("gamma", t, np.degrees(history["desired.azimuth"]), {"ls": ":"})]),
                Panel("rates [1/s]", [("theta1'", t, history["shoulder.angle.rate"]),
                      ("theta2'", t, history["shoulder.angle.rate"] + history["elbow.angle.rate"])]),
                Panel("torque [N m]", [("T", t, history["torque"]), ("(12) by SciPy", t, wanted[2], {"ls": "--"})]),
            ]
        )  # fmt: skip
    draw(
        "003-fig5.png",
        "Document 003, Fig. 5: arm with a passive joint",
        [p for both in zip(*panels, strict=True) for p in both],
    )


def crane_reference(times, damping):
    """Return s, l, theta, F, M and the tension from the closed form (z down), with friction on s and l.

    (27) prints -mL l^2 phi'^2 for -mL l theta'^2 in two places, and friction and gravity on the side of the forces; the load's
    own balance, from which this is, needs none of it. Eq. (29) has all signs reversed.
    """
    t = ca.SX.sym("t")
    c = sum(k * (t / 3) ** n for k, n in ((126, 5), (-420, 6), (540, 7), (-315, 8), (70, 9)))
    x, z = 5 * c, 4 - 2.5 * c
    rate = lambda y, n=1: y if n == 0 else rate(ca.jacobian(y, t), n - 1)  # noqa: E731
    up, along = 9.81 - rate(z, 2), rate(x, 2)
    s, l = x + z * along / up, z * ca.sqrt(along**2 + up**2) / up
    tension = 100 * ca.sqrt(along**2 + up**2)
    theta = ca.asin((x - s) / l)
    F = 10 * rate(s, 2) + damping * rate(s) - tension * (x - s) / l
    M = 0.1 * (10 * rate(l, 2) + damping * rate(l) - tension)
    every = ca.vertcat(s, l, theta, F, M, tension)
    return np.asarray(ca.Function("crane", [t], [every]).map(len(times))(np.minimum(times, 3.0)))


def figure_8(table: Table) -> None:
    """Fig. 8: the overhead crane, damping 0 and 50 N s/m; the load from (0, 4) to (5, 1.5) m in 3 s."""
    histories = {damping: follow("overhead-crane", 4.0, trolley_damping=damping, winch_damping=damping) for damping in (0, 50)}
    names = ("travel.displacement", "reel.length", "swing.angle", "trolley_force", "winch_torque")
    # Positions are exact whatever the step. The trolley's acceleration begins with a slope of 4 x^(5) / g = 126.85 m/s^3, so
    # that its force, of 10 kg, has order one at both ends; the winch has order two.
    bounds = (1e-8, 1e-8, 1e-8, 1.3, 1e-3)
    for damping, history in histories.items():
        wanted = crane_reference(history.time, damping)
        for name, other, bound in zip(names, wanted, bounds, strict=False):
            error = np.abs(history[name] - other).max()
            table.below(f"damping {damping}: {name}, to the closed form", error, bound, history.unit(name))
    free, damped = histories[0], histories[50]
    for k, values in ((1000, (2.23023959, 3.93729331, -0.39249941, 466.12438, -139.89379)),
                      (2000, (2.96032602, 2.27988287, 0.61502530, -438.81648, -93.61925))):  # fmt: skip
        for name, value, within in zip(names, values, (1e-7, 1e-7, 1e-7, 2e-2, 2e-3), strict=True):
            table.row(f"damping 0: {name}({k / 1000:g} s)", free[name][k], value, within, free.unit(name))
    angle = np.degrees(free["swing.angle"])
    table.row("swing, lowest", angle.min(), -22.7552, 1e-3, "deg")
    table.row("swing, highest", angle.max(), 35.8472, 1e-3, "deg")
    same = max(np.abs(free[name] - damped[name]).max() for name in names[:3])
    table.below("change of s, l, theta by the damping", same, 1e-8)
    lost = 50 * trapezoid(damped["travel.displacement.rate"] ** 2 + damped["reel.length.rate"] ** 2, damped.time)
    table.row("work without friction, damping 0", free["servo.work"][-1], 2452.5, 0.5, "J")
    table.row("work less friction, damping 50", damped["servo.work"][-1] - lost, 2452.5, 0.5, "J")
    # The document gives m_L g as the torque at the end; that is the tension, and the torque is - m_L g r_W.
    table.row("winch torque at the end", free["winch_torque"][-1], -98.1, 1e-6, "N m")

    def both(title, name, ticks, scale=1.0):
        style = {50: {"ls": "-"}, 0: {"ls": "--"}}
        label = {50: "with damping", 0: "no damping"}
        return Panel(title, [(label[d], histories[d].time, scale * histories[d][name], style[d]) for d in (50, 0)], ticks=ticks)

    panels = [
        both("s [m]", "travel.displacement", (0, 2.5, 5)),
        both("s' [m/s]", "travel.displacement.rate", (0, 2, 4)),
        both("l [m]", "reel.length", (1, 2, 3, 4, 5)),
        both("l' [m/s]", "reel.length.rate", (-3, -2, -1, 0, 1)),
        both("theta [deg]", "swing.angle", (-20, 0, 20, 40), 180 / np.pi),
        both("theta' [1/s]", "swing.angle.rate", (-1, 0, 1, 2)),
        both("F [N]", "trolley_force", (-400, 0, 400, 800)),
        both("M_W [N m]", "winch_torque", (-160, -120, -80)),
    ]
    for panel in panels:
        table.axis(panel)
    draw("003-fig8.png", "Document 003, Fig. 8: overhead crane", panels)


def masses_reference(times, damping):
    """Return x1, its rate and F: eq. (32) for d = 0, else the internal dynamics of the first mass, by SciPy."""
    s = [order(times) for order in rest_to_rest(0.5, 3.0, 6.0)]
    if not damping:
        return 0.2 * s[2] + s[0] - 0.5, 0.2 * s[3] + s[1], 0.2 * s[4] + 3 * s[2]
    path = rest_to_rest(0.5, 3.0, 6.0)
    # Balance of the second mass: 2 s'' = - c (s - x1 - l0) - d (s' - x1').
    rate = lambda t, x: path[1](t) + (2 * path[2](t) + 10 * (path[0](t) - x - 0.5)) / damping  # noqa: E731
    x1 = solve_ivp(rate, (0, times[-1]), [0.0], "DOP853", times, rtol=1e-12, atol=1e-13, max_step=0.05).y[0]
    v1 = rate(times, x1)
    a1 = s[2] + (2 * s[3] + 10 * (s[1] - v1)) / damping
    return x1, v1, a1 + 2 * s[2]


def figure_10(table: Table) -> None:
    """Fig. 10: two masses, d = 0 and 10 N s/m; the second mass from 0.5 to 3 m in 6 s."""
    histories = {damping: follow("mass-chain:n=2", 8.0, damping=damping) for damping in (0.0, 10.0)}
    for damping, history in histories.items():
        wanted = masses_reference(history.time, damping)
        # x1 is exact for d = 0. Slopes of F jump by 0.2 s^(5) = 0.2 * 2.5 * 15120 / 6^5 at the ends: 1 N/s.
        bounds = (1e-9, 1e-2, 1e-2) if not damping else (1e-5, 1e-4, 1e-3)
        for name, other, bound in zip(("mass1.x", "slide1.x.rate", "force"), wanted, bounds, strict=True):
            error = np.abs(history[name] - other).max()
            table.below(f"d = {damping:g}: {name}, largest difference", error, bound, history.unit(name))
    free, damped = histories[0.0], histories[10.0]
    for sign, time in ((1, 1.8423), (-1, 4.1577)):
        at = int(np.argmax(sign * free["force"]))
        table.row("d = 0: largest force", free["force"][at], sign * 1.71709236, 1e-5, "N")
        table.row("d = 0: its time", free.time[at], time, 0.001, "s")
    table.row("d = 10: x1(4 s)", damped["mass1.x"][4000], 2.10834903, 1e-5, "m")
    # What is left of x1 decays with exp(-t), eigenvalue -1: not at rest when the manoeuvre is over.
    left = np.abs(damped["mass1.x"] - 2.5)
    table.row("d = 10: decay from 6 to 8 s, exp(-2)", left[8000] / left[6000], np.exp(-2), 1e-3)
    style = {10.0: {"ls": "-"}, 0.0: {"ls": "--"}}
    label = {10.0: "with damping", 0.0: "no damping"}

    def both(title, name, ticks):
        return Panel(title, [(label[d], histories[d].time, histories[d][name], style[d]) for d in (10.0, 0.0)], ticks=ticks)

    places = both("x1, x2 [m]", "mass1.x", (0, 1, 2, 3))
    places.curves.append(("x2", free.time, free["mass2.x"], {"color": "k"}))
    # The axis of v1 survives with the marks 0, 0.5 and 1.
    panels = [places, both("v1 [m/s]", "slide1.x.rate", (0, 0.5, 1)), both("F [N]", "force", (-2, -1, 0, 1, 2)),
              Panel("v2 [m/s]", [("", free.time, free["slide2.x.rate"])], ticks=(0, 0.5, 1))]  # fmt: skip
    for panel in panels:
        table.axis(panel)
    draw("003-fig10.png", "Document 003, Fig. 10: two masses", panels)


if __name__ == "__main__":
    run({"fig5": figure_5, "fig8": figure_8, "fig10": figure_10}, sys.argv[1:])
