"""Motions in the frequency domain: against what a panel code stored, and closed forms."""

import dataclasses

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.marine.hydro.response import free_motions, impedance, known_motions, motion_response, restoring_with_weight
from tests.core.marine.hydro.fitting.hulls import HULLS, hull, ringing_hull


@pytest.mark.parametrize("name", HULLS)
def test_motions_are_those_that_the_panel_code_stored(name):
    data = hull(name)
    found = motion_response(data)
    # The same linear systems, solved by another program.
    assert np.abs(found - data.motions).max() < 1e-12 * np.abs(data.motions).max()


def test_further_damping_and_stiffness_act_as_in_one_equation():
    data = ringing_hull()
    w, X, stiffness, damping = data.frequencies, 3.0, 7.0, 4.0
    found = motion_response(data, stiffness=np.diag([0, 0, stiffness, 0, 0, 0]), damping=np.diag([0, 0, damping, 0, 0, 0]))
    exact = X / (30.0 + stiffness - w**2 * (10.0 + 5.0) + 1j * w * damping)  # heave radiates nothing in this hull
    assert found[:, 0, 2] == pytest.approx(exact, rel=1e-12)


def test_another_mass_and_radiation_take_the_place_of_those_of_the_data():
    data = ringing_hull()
    Z = impedance(data, inertia=np.eye(6), radiation=np.zeros((len(data.frequencies), 6, 6), complex))
    assert Z[3] == pytest.approx(data.restoring - data.frequencies[3] ** 2 * np.eye(6))


def test_the_moment_of_the_weight_is_added_where_the_data_leave_it_out():
    data = dataclasses.replace(ringing_hull(), restoring_has_weight=False, centre_of_gravity=np.array([0.1, 0.2, 0.5]))
    C = restoring_with_weight(data)
    assert np.diag(C)[3:5] == pytest.approx(np.diag(data.restoring)[3:5] - 10.0 * 9.81 * 0.5)
    assert C[3, 5] == pytest.approx(10.0 * 9.81 * 0.1) and C[4, 5] == pytest.approx(10.0 * 9.81 * 0.2)


@pytest.mark.parametrize(
    ("name", "words"), [("inertia", "the mass matrix of the hull"), ("excitation", "wave forces"), ("restoring", "stiffness")]
)
def test_what_is_missing_is_named(name, words):
    with pytest.raises(MechanismError, match=f"'ringing'.* lack .*{words}.* give '{name}'"):
        motion_response(dataclasses.replace(ringing_hull(), **{name: None}))


@pytest.mark.parametrize("name", ["inertia", "excitation", "restoring"])
def test_no_motions_are_known_where_something_lacks(name):
    data = dataclasses.replace(ringing_hull(), motions=None)
    assert np.array_equal(known_motions(data), motion_response(data))
    assert known_motions(dataclasses.replace(data, **{name: None})) is None


def test_no_motion_answers_forces_on_a_hull_without_mass_and_stiffness():
    data = ringing_hull()
    nothing = np.zeros((6, 6))
    still = {"inertia": nothing, "restoring": nothing, "added_mass": 0 * data.added_mass, "damping": 0 * data.damping}
    assert free_motions(dataclasses.replace(data, **still)) is None


def test_the_weight_counts_in_motions_whichever_way_the_data_have_it():
    data = dataclasses.replace(ringing_hull(), motions=None, restoring_has_weight=False)
    assert free_motions(dataclasses.replace(data, centre_of_gravity=None)) is None
    found = free_motions(dataclasses.replace(data, centre_of_gravity=np.array([0.0, 0.0, 0.5])))
    with_weight = dataclasses.replace(data, restoring_has_weight=True)
    lower = data.restoring - np.diag([0, 0, 0, 1.0, 1.0, 0]) * data.inertia[0, 0] * data.gravity * (0.5 - data.reference[2])
    assert found == pytest.approx(free_motions(dataclasses.replace(with_weight, restoring=lower)), rel=1e-12)
