"""Tests of the example plugin, run in an environment where it is installed."""

import json

import numpy as np
from kingpost_shu_osher.ssprk3 import SSPRK3

from kingpost import Body, ForceElement, Joint, Mechanism, simulate
from kingpost.testing import check_integrator

pytest_plugins = ["kingpost.testing.fixtures"]


def test_the_integrator_passes_the_conformance_kit():
    check_integrator(SSPRK3)


def test_both_plugins_are_listed_from_their_entry_point(kingpost_cli):
    rows = json.loads(kingpost_cli("plugins", "--json").out)["plugins"]
    own = {(row["kind"], row["name"], row["version"]) for row in rows if row["distribution"] == "kingpost-shu-osher"}
    assert own == {("integrator", "ssprk3", "0.3.0"), ("force", "air-drag", "0.3.0")}


def test_a_falling_body_approaches_its_terminal_speed():
    ball = Mechanism(
        "falling-ball",
        bodies=[Body("ball", mass=2.0)],
        joints=[Joint("fall", "prismatic", "world", "ball", axis=(0, 0, -1))],
        forces=[ForceElement("gravity"), ForceElement("air-drag", body="ball", area=0.5, density=1.2)],
    )
    history = simulate(ball, 3.0, integrator="ssprk3")
    # m vdot = m g - c v^2 from rest: v = vt tanh(g t / vt) with vt = sqrt(m g / c), c = density * area / 2.
    terminal = np.sqrt(2.0 * 9.81 / (1.2 * 0.5 / 2))
    exact = terminal * np.tanh(9.81 * history.time / terminal)
    # The regularisation 1e-12 under the root shifts the drag by less than 1e-6 N; the step error is of order 1e-9.
    assert np.abs(history["fall.displacement.rate"] - exact).max() < 1e-6
