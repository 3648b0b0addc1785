"""Fitted memories: exact where the truth is rational, within limits on hulls from panel codes, and passive always."""

import dataclasses

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.marine.hydro.cleaning import clean
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.fitting.closed_loop import ClosedLoop, held
from kingpost.marine.hydro.fitting.fit import fit_memory
from kingpost.marine.hydro.fitting.report import report_fit, smallest_eigenvalue
from kingpost.marine.hydro.fitting.rows import motions_of
from kingpost.marine.hydro.reading import read_hydro
from kingpost.marine.hydro.response import motion_response
from tests.core.marine.hydro.fitting.hulls import (
    COARSE,
    FILES,
    HULLS,
    RINGING,
    fitted,
    hull,
    ringing_hull,
    ringing_memory,
    ringing_poles,
)

#: Largest errors of motions, relative to the largest motion: surge, sway, heave, roll, pitch, yaw.
LIMITS = np.array([0.02, 0.01, 0.01, 0.01, 0.02, 0.02])


@pytest.mark.parametrize("limit_known", [True, False])
def test_a_rational_memory_is_found_again(limit_known):
    data = ringing_hull(limit_known=limit_known)
    fit = fit_memory(data, orders=(6,))
    (block,) = fit.memory.blocks
    assert block.names == ("sway", "roll")
    # Exact data, so that what is left is rounding through a basis and an inverse of size 1e3 each. The correction of the added
    # mass is held near zero with a weight of 3e-3 (1e-6 without a limit), which the data overrule where they know better.
    assert np.sort_complex(block.poles) == pytest.approx(np.sort_complex(ringing_poles()), rel=1e-6)
    s = 1j * np.geomspace(0.01, 30.0, 50)
    truth = ringing_memory(s)
    assert np.abs(fit.memory.transfer(s) - truth).max() < 1e-5 * np.abs(truth).max()
    assert fit.memory.added_mass_inf == pytest.approx(ringing_hull().added_mass_inf, rel=1e-5, abs=1e-5)


def against_file(data, fit):
    found = motion_response(data, radiation=fit.memory.radiation(data.frequencies))
    largest = np.abs(data.motions).max(axis=(0, 1))
    return np.abs(found - data.motions).max(axis=(0, 1)) / np.where(largest > 1e-9, largest, np.inf)


@pytest.mark.parametrize("name", HULLS)
def test_motions_are_those_that_the_panel_code_stored(name):
    assert (against_file(hull(name), fitted(name)) < LIMITS).all()


def test_motions_are_right_between_the_frequencies_of_the_fit():
    data = hull("barge_deep")
    kept = {
        field: getattr(data, field)[::2] for field in ("frequencies", "added_mass", "damping", "excitation", "motions", "drift")
    }
    fit = fit_memory(dataclasses.replace(data, **kept))
    # Half of the frequencies were never seen: errors may double where 0.12 rad/s is coarse against a peak of roll that is
    # 0.006 rad/s wide, but not more.
    assert (against_file(data, fit) < 2 * LIMITS).all()


@pytest.mark.parametrize("name", [*HULLS, *COARSE])
def test_no_frequency_gives_energy_away(name):
    assert smallest_eigenvalue(fitted(name))[0] > -1e-12


def crossings(fit, lifted=1e-6):
    """Frequencies at which the real part of the scaled K, lifted a little, loses its rank: imaginary eigenvalues.

    S. Boyd, V. Balakrishnan, P. Kabamba, Math. Control Signals Systems 2 (1989) 207-219. Whatever lies between the frequencies
    of any grid is seen. An eigenvalue is on the axis if its real part is rounding, 1e-9 of the largest.
    """
    A, B, C = fit.memory.state_space()
    radiates = fit.target.size > 0
    T = np.diag(1 / np.sqrt(fit.target.size[radiates]))
    B, C = B[:, radiates] @ T, T @ C[radiates]
    # States are scaled so that both maps have the same size.
    size = np.sqrt(np.linalg.norm(C) / np.linalg.norm(B))
    B, C = B * size, C / size
    inverse = np.eye(len(T)) / (2 * lifted)
    H = np.block([[A - B @ inverse @ C, -B @ inverse @ B.T], [C.T @ inverse @ C, -A.T + C.T @ inverse @ B.T]])
    values = np.linalg.eigvals(H)
    return np.abs(values.imag[np.abs(values.real) < 1e-9 * np.abs(values).max()])


@pytest.mark.parametrize("name", [*HULLS, *COARSE])
def test_passivity_holds_between_all_frequencies_by_the_hamiltonian_test(name):
    assert crossings(fitted(name)).size == 0


#: Hulls that others computed, with irregular frequencies in them, and what their files do not say.
PUBLIC = {
    "wamit_sphere/sphere.1": {"rho": 1000.0, "g": 9.81, "ulen": 1.0, "depth": 50.0, "reference": (0, 0, -2.0)},
    "nemoh2_sphere": {},
    "nemoh3_ellipsoid": {},
    "hams_cylinder": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_hulls_of_others_are_passive_too_once_cleaned(name):
    fit = fit_memory(clean(read_hydro(FILES / "public" / name, **PUBLIC[name])).data)
    report = report_fit(fit, decays=False)
    assert report.passive and report.stable is not False
    assert crossings(fit).size == 0


def test_a_fit_without_conditions_is_not_passive():
    free = fit_memory(hull("barge_deep"), passive=False)
    assert smallest_eigenvalue(free)[0] < -1e-3
    assert crossings(free).size > 0


@pytest.mark.parametrize("name", [*HULLS, *COARSE])
def test_moored_softly_or_stiffly_with_no_other_damping_the_hull_comes_to_rest(name):
    data, memory = hull(name), fitted(name).memory
    for period in (20.0, 60.0, 100.0, 300.0):
        stiffness = held(data.inertia + memory.added_mass_inf, data.restoring, period)
        roots = ClosedLoop(memory, data.inertia, stiffness, np.zeros((6, 6))).roots
        # Yaw of a body of revolution is not damped by waves: its roots are on the axis but for rounding.
        assert roots.real.max() < 1e-10


def test_stronger_limits_take_more_states():
    coarse, fine = (fit_memory(hull("hemisphere_r5"), limit=limit).memory for limit in (0.02, 0.0005))
    assert [block.order for block in coarse.blocks] < [block.order for block in fine.blocks]


def test_without_wave_forces_the_memory_itself_is_the_measure():
    data = dataclasses.replace(hull("hemisphere_r5"), excitation=None, motions=None)
    fit = fit_memory(data)
    assert motions_of(data) is None
    assert all(block.motion_errors is None and block.memory_error < 0.02 for block in fit.blocks)


def test_correcting_the_added_mass_can_be_forbidden():
    data = hull("hemisphere_r5")
    fit = fit_memory(data, correct_added_mass=False)
    assert fit.memory.added_mass_inf == pytest.approx(data.added_mass_inf, rel=1e-2, abs=1e-6 * data.added_mass_inf.max())
    assert all((block.correction == 0).all() for block in fit.blocks)


def test_too_few_frequencies_are_refused():
    data = ringing_hull(w=np.linspace(0.1, 2.0, 5))
    with pytest.raises(MechanismError, match="'ringing' have 5 frequencies; a radiation memory needs at least 8"):
        fit_memory(data)


def test_damping_that_drives_is_refused():
    data = ringing_hull()
    wrong = data.damping.copy()
    wrong[7, 1, 1] = -0.5 * wrong[:, 1, 1].max()
    with pytest.raises(MechanismError, match="negative eigenvalue at 0.6205 rad/s, -0.634"):
        fit_memory(dataclasses.replace(data, damping=wrong))


@pytest.mark.parametrize("orders", [(), (6, 4), (0,)])
def test_orders_that_make_no_sense_are_refused(orders):
    with pytest.raises(MechanismError, match="give rising whole numbers from 2 on"):
        fit_memory(ringing_hull(), orders=orders)


def test_the_data_of_the_tests_are_passive_by_themselves():
    assert isinstance(ringing_hull(), HydroData)
    w = np.geomspace(1e-3, 1e3, 200)
    assert np.linalg.eigvalsh(ringing_memory(1j * w, RINGING).real).min() > -1e-12


def test_the_barge_that_comes_with_the_package_has_this_memory():
    from kingpost.plugins.models.barge import barge

    own, data, memory = barge(), hull("barge_deep"), fitted("barge_deep").memory
    assert (own.data.added_mass == data.added_mass).all() and (own.data.excitation == data.excitation).all()
    found, exact = (each.radiation(data.frequencies) for each in (own.memory, memory))
    # Made on another machine: linear algebra may round otherwise, through problems of condition 1e6 or so.
    assert (np.abs(found - exact) < 1e-6 * np.abs(exact).max()).all()
