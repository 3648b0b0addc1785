"""Datasets of capytaine as users make them: several bodies, other orders, limits among the frequencies, failed solutions."""

import numpy as np
import pytest

from kingpost.base.errors import FileError, PluginError
from kingpost.marine.hydro.reading import read_hydro
from tests.core.marine.hydro.files import FOLDER, barge

h5py = pytest.importorskip("h5py")


@pytest.fixture
def changed(tmp_path):
    """Return what copies a file with other variables: values and names of dimensions, or None to leave one out."""

    def change(variables=None, name="barge_deep.nc", attributes=()):
        path = tmp_path / "new.nc"
        with h5py.File(FOLDER / name, "r") as old, h5py.File(path, "w") as new:
            new.attrs.update({key: value for key, value in old.attrs.items() if not key.startswith("_")})
            found = {}
            for key, item in old.items():
                dims = [dim[0].name.rpartition("/")[2] if len(dim) else "" for dim in item.dims]
                found[key] = (item[()], [key] if item.is_scale and item.ndim == 1 else dims)
            found.update(variables or {})
            found = {key: value for key, value in found.items() if value is not None}
            for key, (values, dims) in found.items():
                item = new.create_dataset(key, data=values)
                if dims == [key]:
                    item.make_scale(key)
            for key, (_, dims) in found.items():
                for i, dim in enumerate(dims):
                    if dim in new and dims != [key] and new[dim].is_scale:
                        new[key].dims[i].attach_scale(new[dim])
                    elif dims != [key]:
                        new[key].dims[i].label = dim
        return path

    return change


def test_a_copy_is_the_same(changed):
    assert_same(read_hydro(changed()), barge())


def assert_same(found, expected):
    for name in (
        "frequencies",
        "headings",
        "added_mass",
        "damping",
        "excitation",
        "motions",
        "restoring",
        "inertia",
        "reference",
    ):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_limits_may_stand_among_the_frequencies(changed):
    data = barge()

    def raw(matrices):
        return np.swapaxes(matrices, 1, 2)

    names = [b"Surge", b"Sway", b"Heave", b"Roll", b"Pitch", b"Yaw"]
    omega = np.concatenate([[np.inf], data.frequencies, [0.0]])
    added = np.concatenate([[data.added_mass_inf], data.added_mass, [data.added_mass_zero]])
    zero = np.zeros((1, 6, 6))
    path = changed(
        {
            "omega": (omega, ["omega"]),
            "influenced_dof": (np.array(names), ["influenced_dof"]),
            "radiating_dof": (np.array(names), ["radiating_dof"]),
            "added_mass": (raw(added), ["omega", "radiating_dof", "influenced_dof"]),
            "radiation_damping": (
                raw(np.concatenate([zero, data.damping, zero])),
                ["omega", "radiating_dof", "influenced_dof"],
            ),
            **dict.fromkeys(
                ("added_mass_inf", "added_mass_zero", "excitation_force", "diffraction_force", "Froude_Krylov_force", "rao")
            ),
            **dict.fromkeys(("drift_force_surge", "drift_force_sway", "drift_force_yaw", "freq", "period", "wavenumber")),
            **dict.fromkeys(("wavelength", "hydrostatic_stiffness", "inertia_matrix")),
        }
    )
    found = read_hydro(path)
    np.testing.assert_array_equal(found.frequencies, data.frequencies)
    np.testing.assert_array_equal(found.added_mass, data.added_mass)
    np.testing.assert_array_equal(found.added_mass_inf, data.added_mass_inf)
    np.testing.assert_array_equal(found.added_mass_zero, data.added_mass_zero)
    assert found.excitation is None and len(found.headings) == 0


def test_failed_solutions_are_dropped_by_name(changed):
    with h5py.File(FOLDER / "barge_deep.nc", "r") as file:
        added = file["added_mass"][()]
        dims = [dim[0].name.rpartition("/")[2] for dim in file["added_mass"].dims]
    added[np.arange(len(added)) < 2] = np.nan
    found = read_hydro(changed({"added_mass": (added, dims)}))
    assert len(found.frequencies) == 39
    assert "dropped 2 of 41 frequencies with values that are not numbers: 0.1, 0.16 rad/s" in found.notes


def test_frequencies_in_any_order(changed):
    with h5py.File(FOLDER / "barge_deep.nc", "r") as file:
        tables = {}
        order = np.random.default_rng(1).permutation(41)
        for key, item in file.items():
            dims = [dim[0].name.rpartition("/")[2] if len(dim) else "" for dim in item.dims]
            dims = [key] if item.is_scale and item.ndim == 1 else dims
            if "omega" in dims:
                tables[key] = (np.take(item[()], order, axis=dims.index("omega")), dims)
    found = read_hydro(changed(tables))
    assert_same(found, barge())
    assert "sorted the frequencies, which were neither rising nor falling" in found.notes


def test_one_of_several_bodies(changed):
    with h5py.File(FOLDER / "barge_deep.nc", "r") as file:
        names = [name.decode() if isinstance(name, bytes) else name for name in file["influenced_dof"][()]]
    both = {dim: (np.array([f"ship__{name}".encode() for name in names]), [dim]) for dim in ("influenced_dof", "radiating_dof")}
    assert_same(read_hydro(changed(both)), barge())
    mixed = [f"ship__{name}" if i else f"crane__{name}" for i, name in enumerate(names)]
    several = {dim: (np.array([name.encode() for name in mixed]), [dim]) for dim in ("influenced_dof", "radiating_dof")}
    with pytest.raises(FileError, match="holds 2 bodies; say which one is meant by 'body': .*ship"):
        read_hydro(changed(several))
    found = read_hydro(changed(several), body="ship")
    assert any("the file has no" in note for note in found.notes)
    with pytest.raises(FileError, match="has no body 'boat'"):
        read_hydro(changed(several), body="boat")


def test_diffraction_and_froude_krylov_make_the_whole(changed):
    found = read_hydro(changed({"excitation_force": None}))
    np.testing.assert_allclose(found.excitation, barge().excitation, atol=1e-9 * np.abs(barge().excitation).max())
    assert "wave forces are the sum of diffraction and Froude-Krylov forces" in found.notes


def test_what_cannot_be_understood_is_named(changed):
    with pytest.raises(FileError, match="forward speed of 2 m/s"):
        read_hydro(changed({"forward_speed": (np.array(2.0), [])}))
    with pytest.raises(FileError, match="has no 'radiation_damping'"):
        read_hydro(changed({"radiation_damping": None}))
    with pytest.raises(FileError, match="has no number rho"):
        read_hydro(changed({"rho": None}))


def test_the_classic_form(tmp_path):
    from scipy.io import netcdf_file

    data = barge()
    names = ["Surge", "Sway", "Heave", "Roll", "Pitch", "Yaw"]
    with netcdf_file(tmp_path / "old.nc", "w") as file:
        for dim, size in (("omega", 41), ("radiating_dof", 6), ("influenced_dof", 6), ("string5", 5), ("complex", 2)):
            file.createDimension(dim, size)
        file.createDimension("wave_direction", 5)
        file.createDimension("xyz", 3)
        for dim in ("radiating_dof", "influenced_dof"):
            letters = file.createVariable(dim, "c", (dim, "string5"))
            letters[:] = np.array([list(name.ljust(5, "\0")) for name in names], dtype="S1")
        for key, values, dims in (
            ("omega", data.frequencies, ("omega",)),
            ("wave_direction", data.headings, ("wave_direction",)),
            ("added_mass", data.added_mass.transpose(0, 2, 1), ("omega", "radiating_dof", "influenced_dof")),
            ("radiation_damping", data.damping.transpose(0, 2, 1), ("omega", "radiating_dof", "influenced_dof")),
            (
                "excitation_force",
                np.stack([data.excitation.real, -data.excitation.imag]),
                ("complex", "omega", "wave_direction", "influenced_dof"),
            ),
            ("rotation_center", data.reference, ("xyz",)),
            ("rho", 1025.0, ()),
            ("g", 9.81, ()),
            ("water_depth", np.inf, ()),
        ):
            variable = file.createVariable(key, "d", dims)
            variable[...] = values
    found = read_hydro(tmp_path / "old.nc")
    np.testing.assert_array_equal(found.added_mass, data.added_mass)
    np.testing.assert_array_equal(found.excitation, data.excitation)
    assert found.depth == np.inf


def test_without_h5py_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(PluginError, match=r"pip install 'kingpost\[io\]'"):
        read_hydro(FOLDER / "barge_deep.nc")
