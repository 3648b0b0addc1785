"""Mass, buoyancy and waterplane of hulls: a box has them in closed form."""

import dataclasses

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.vessels.hull import floating, rigid_hull
from tests.core.marine.hydro.fitting.hulls import hull

LENGTH, BEAM, DRAUGHT, RHO, G = 40.0, 12.0, 2.5, 1025.0, 9.81


def test_the_mass_matrix_about_any_point_is_the_same_hull():
    data = hull("barge_deep")
    found = [rigid_hull(each) for each in (data, data.about((3.0, -2.0, 0.5)))]
    for own in found:
        assert own.mass == pytest.approx(1.23e6, rel=1e-9)
        assert own.centre_of_gravity == pytest.approx([0, 0, 1.0], abs=1e-9)
        assert np.sqrt(np.diag(own.inertia) / own.mass) == pytest.approx([4.5, 11.0, 11.5], rel=1e-6)
    assert found[1].matrix(np.array([3.0, -2.0, 0.5])) == pytest.approx(data.about((3.0, -2.0, 0.5)).inertia, rel=1e-9, abs=1.0)


@pytest.mark.parametrize("point", [None, (3.0, -2.0, 0.5)])
def test_a_box_has_the_waterplane_of_a_rectangle(point):
    data = hull("barge_deep")
    found = floating(data if point is None else data.about(point))
    area = LENGTH * BEAM
    exact = RHO * G * np.diag([0, 0, area, LENGTH * BEAM**3 / 12, BEAM * LENGTH**3 / 12, 0])
    # The file's stiffness is by midpoints of panels of 0.75 m: too small by (0.75 / side)^2, 0.4 % across and 0.04 % along.
    assert found.waterplane == pytest.approx(exact, rel=5e-3, abs=1e-6 * exact.max())
    assert found.displaced == pytest.approx(RHO * area * DRAUGHT, rel=1e-9)
    assert found.centre_of_buoyancy == pytest.approx([0, 0, -DRAUGHT / 2], abs=1e-9)


def test_stiffness_without_weight_gives_the_same_waterplane():
    data = hull("barge_deep")
    lever = 1.23e6 * G * (data.centre_of_gravity - data.reference)[2]
    bare = data.restoring + np.diag([0, 0, 0, lever, lever, 0])
    other = dataclasses.replace(data, restoring=bare, restoring_has_weight=False)
    assert floating(other).waterplane == pytest.approx(floating(data).waterplane, rel=1e-9, abs=1.0)


def test_without_volume_and_centre_of_buoyancy_small_motions_are_the_same():
    data = hull("barge_deep")
    full, assumed = floating(data), floating(dataclasses.replace(data, volume=None, centre_of_buoyancy=None))
    assert len(assumed.assumed) == 2 and full.assumed == ()
    for each in (full, assumed):
        # The waterplane's part and the lever of buoyancy together are what the data have, wherever the centre is.
        lever = each.displaced * G * each.centre_of_buoyancy[2] - 1.23e6 * G * 1.0
        about_origin = np.diag(each.waterplane)[3:5] + lever
        assert about_origin == pytest.approx(np.diag(data.about((0, 0, 0)).restoring)[3:5], rel=1e-9)
    assert assumed.displaced == pytest.approx(full.displaced, rel=1e-9)


def test_what_is_missing_is_named():
    data = hull("barge_deep")
    with pytest.raises(MechanismError, match="lack 'restoring', without which a hull does not float"):
        floating(dataclasses.replace(data, restoring=None))
    bare = dataclasses.replace(data, inertia=None, restoring_has_weight=False)
    with pytest.raises(MechanismError, match="lack 'volume', and hold no mass from which it follows"):
        floating(dataclasses.replace(bare, volume=None))
    with pytest.raises(MechanismError, match="hold no mass matrix; give mass, centre_of_gravity and radii_of_gyration"):
        rigid_hull(dataclasses.replace(data, inertia=None))
    twisted = data.inertia.copy()
    twisted[1, 1] *= 1.1
    with pytest.raises(
        MechanismError, match=r"none of a rigid body: masses in surge, sway and heave are 1.23e\+06, 1.353e\+06"
    ):
        rigid_hull(dataclasses.replace(data, inertia=twisted))
