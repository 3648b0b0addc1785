"""Vessels from data as parts of a mechanism, and in model files."""

import dataclasses
import functools

import numpy as np
import pytest

from kingpost import FileError, Mechanism, MechanismError, linearize, read_model
from kingpost.marine.hydro.fitting.files import read_memory, write_memory
from kingpost.marine.hydro.response import motion_response
from kingpost.vessels.options import VesselOptions
from kingpost.vessels.parts import make_vessel
from tests.core.marine.hydro.fitting.hulls import FILES, hull, shipped
from tests.plugins.forces.deriving import BUILT_IN, derive

MOORING = (3e4, 5e4, 9e6)


@functools.cache
def vessel(**options):
    return make_vessel(hull("barge_deep"), fitted=(shipped(), "fitted in a test"), **options)


def mechanism(own):
    return Mechanism("floating", own.bodies, own.joints, (*own.forces, own.gravity))


def transfer(equations, frequencies, data):
    """Motions of the reference point per unit wrench there, from the linearised machine (n, 6, 6)."""
    system = linearize(equations, plugins=BUILT_IN)
    # Displacements are a turn about body axes, then a shift along them; the wrench acts on their rates.
    n = len(system.A)
    M = np.asarray(derive(equations).descriptor(0, [0, 0, 0, 1, 0, 0, 0], np.zeros(6), np.zeros(n - 12), [])[0])
    r = np.asarray(data.reference)
    S = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    J = np.block([[-S, np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    B = np.zeros((n, 6))
    B[6:12] = np.linalg.solve(M, J.T)
    return np.array([J @ np.linalg.solve(1j * w * np.eye(n) - system.A, B)[:6] for w in frequencies])


def test_linearised_the_machine_has_the_motions_of_the_frequency_domain():
    data, own = hull("barge_deep"), vessel(waves=False, mooring=MOORING, damping=(0, 0, 1e5, 2e5, 0, 0))
    springs = np.zeros((6, 6))
    springs[(0, 1, 5), (0, 1, 5)] = MOORING
    # The springs act at the origin, a metre below the reference point: they turn it, too.
    lever = np.eye(6)
    lever[0, 4], lever[1, 3] = -1.0, 1.0
    exact = motion_response(
        data,
        radiation=own.memory.radiation(data.frequencies),
        stiffness=lever.T @ springs @ lever,
        damping=np.diag([0, 0, 1e5, 2e5, 0, 0]),
    )
    H = transfer(mechanism(own), data.frequencies, data)
    found = np.einsum("nij,nhj->nhi", H, data.excitation)
    largest = np.abs(exact).max(axis=(0, 1))
    # Both are the same linear system, solved in two ways, with condition numbers of some 1e4.
    assert (np.abs(found - exact).max(axis=(0, 1)) < 1e-8 * largest).all()


def test_with_the_mass_of_the_data_the_vessel_is_at_rest_where_it_starts():
    own = vessel(waves=False)
    equations = derive(mechanism(own))
    z = np.zeros(len(equations.states.quantities))
    accelerations = np.asarray(equations.accelerations(0, [0, 0, 0, 1, 0, 0, 0], np.zeros(6), z, [])).ravel()
    assert np.abs(accelerations).max() < 1e-9 * 9.81


def test_springs_of_a_period_have_it():
    own = vessel(mooring_period=90.0)
    stiffness, mass = own.mooring_stiffness(), np.diag(own.moved())[[0, 1, 5]]
    assert 2 * np.pi * np.sqrt(mass / stiffness) == pytest.approx([90.0] * 3)


def test_damping_ratios_are_parts_of_the_critical_damping():
    own = vessel(damping_ratio=(0, 0, 0.1, 0.05, 0, 0))
    (force,) = [each for each in own.forces if each.name == "vessel-damping"]
    C, M = np.diag(hull("barge_deep").restoring), np.diag(own.moved())
    exact = [0, 0, 0.2 * np.sqrt(C[2] * M[2]), 0.1 * np.sqrt(C[3] * M[3]), 0, 0]
    assert np.diag(np.array(force.options["matrix"])) == pytest.approx(exact, rel=1e-9)


def test_a_vessel_without_memory_has_the_numbers_of_one_frequency():
    data = hull("barge_deep")
    own = make_vessel(data, memory=False, constant_frequency=float(data.frequencies[7]))
    added, damped = own.forces[1:3]
    assert np.array(added.options["added_mass"]) == pytest.approx((data.added_mass[7] + data.added_mass[7].T) / 2)
    assert np.array(damped.options["matrix"]) == pytest.approx((data.damping[7] + data.damping[7].T) / 2)
    with pytest.raises(MechanismError, match="constant_frequency is 9 rad/s, and the data go from 0.1 to 2.5 rad/s"):
        make_vessel(data, memory=False, constant_frequency=9.0).forces  # noqa: B018


def test_a_hull_may_have_another_mass():
    data = hull("barge_deep")
    own = vessel(mass=6e5, centre_of_gravity=(1.0, 0.0, 2.0))
    assert own.bodies[0].mass == 6e5 and own.bodies[0].com == (1.0, 0.0, 2.0)
    assert own.bodies[0].inertia[0] == pytest.approx(6e5 * 4.5**2, rel=1e-6)
    assert vessel(mass=1e5, centre_of_gravity=(0, 0, 0), radii_of_gyration=(1, 2, 3)).bodies[0].inertia[2] == 9e5
    assert own.data is data


def test_data_without_mass_take_that_of_the_hull_as_given():
    """As WAMIT's files are: no mass, no volume, no centre of buoyancy; the vessel is the same."""
    data = hull("barge_deep")
    bare = dataclasses.replace(data, inertia=None, volume=None, centre_of_buoyancy=None)
    given = {"mass": 1.23e6, "centre_of_gravity": (0, 0, 1.0), "radii_of_gyration": (4.5, 11.0, 11.5)}
    own = make_vessel(bare, fitted=(shipped(), "before"), **given)
    assert own.restoring() == pytest.approx(vessel().restoring(), rel=1e-9, abs=1.0)
    assert own.bodies[0].inertia == pytest.approx(vessel().bodies[0].inertia, rel=1e-6, abs=1.0)
    (radiation,) = [force for force in own.forces if force.kind == "radiation"]
    assert "the mass matrix is not in the data" in radiation.options["source"]
    with pytest.raises(MechanismError, match="hold no mass matrix; give mass, centre_of_gravity and radii_of_gyration"):
        make_vessel(bare, fitted=(shipped(), "before"), mass=1.23e6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": -1.0}, "the vessel's mass is -1; it must be positive"),
        ({"damping": (0, 0, 0, -1.0, 0, 0)}, "the vessel's damping is -1; it must be not negative"),
        ({"mooring": MOORING, "mooring_period": 60.0}, "both mooring and mooring_period"),
        ({"memory": False}, "needs constant_frequency"),
        ({"constant_frequency": 1.0}, "belongs to a vessel without memory"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(MechanismError, match=message):
        VesselOptions(**options)


# Files


def test_a_memory_is_the_same_after_a_file(tmp_path):
    memory = shipped()
    write_memory(memory, tmp_path / "memory.npz", "from somewhere")
    again, source = read_memory(tmp_path / "memory.npz")
    s = 1j * np.linspace(0.1, 3, 7)
    assert source == "from somewhere" and (again.transfer(s) == memory.transfer(s)).all()
    (tmp_path / "memory.npz").write_text("no memory")
    with pytest.raises(FileError, match="cannot be read as a radiation memory"):
        read_memory(tmp_path / "memory.npz")
    moved = hull("barge_deep").about((1.0, 0, 0))
    with pytest.raises(
        MechanismError, match=r"fitted about the point \(0, 0, 1\) m, and the data of '.*' are about \(1, 0, 0\) m"
    ):
        make_vessel(moved, fitted=(memory, ""))


def file(folder, text):
    write_memory(shipped(), folder / "memory.npz")
    (folder / "barge.toml").write_text(f'name = "barge"\n\n[vessel]\n{text}')
    return folder / "barge.toml"


def test_a_model_file_names_its_data(tmp_path):
    path = file(tmp_path, f'hydro = "{FILES / "barge_deep.nc"}"\nmemory_file = "memory.npz"\nmooring_period = 80\n')
    found = read_model(path, BUILT_IN)
    assert [body.name for body in found.bodies] == ["vessel"]
    assert [force.kind for force in found.forces] == ["gravity", "hydrostatic", "radiation", "hydrostatic", "wave-excitation"]
    with_own = path.read_text() + '\n[[forces]]\nkind = "gravity"\nacceleration = [0, 0, -1.62]\n'
    path.write_text(with_own)
    assert sum(force.kind == "gravity" for force in read_model(path, BUILT_IN).forces) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('hydro = "bargo.nc"', "barge.toml:4: [vessel] hydro: there is no file or folder"),
        ("mooring_period = 80", "barge.toml:3: the vessel lacks 'hydro'"),
        ('hydro = "x.nc"\nmoring = [1, 2, 3]', "barge.toml:5: [vessel] has no 'moring'; did you mean 'mooring'?"),
        (f'hydro = "{FILES / "barge_deep.nc"}"\nmemory_file = "none.npz"', "barge.toml:5: [vessel] memory_file: "),
        (f'hydro = "{FILES / "barge_deep.nc"}"\nread = {{ rho = 3 }}', "takes no 'rho'"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(tmp_path, text, message):
    with pytest.raises((MechanismError, FileError)) as error:
        read_model(file(tmp_path, text), BUILT_IN)
    assert message in str(error.value)
