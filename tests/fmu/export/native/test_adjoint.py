"""FMI 3 adjoint derivatives: the transposed of the directional ones, before and after the initialization."""

import ctypes
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pytest

from kingpost import Body, Expression, ForceElement, Input, Joint, Mechanism, Output, Parameter
from tests.fmu.hosting import Hosted

STATES = ["arm.angle", "arm.angle.rate"]
UNKNOWNS = ["der(arm.angle.rate)", "tip.x", "tip.z", "arm.angle"]
KNOWNS = ["time", "torque", "mass", "reach", "tilt", *STATES]


def arm() -> Mechanism:
    """A driven arm whose start is a formula of a parameter, and whose torque has a part in the time."""
    return Mechanism(
        name="arm",
        parameters=(Parameter("mass", 2.0, "kg"), Parameter("reach", 1.5, "m"), Parameter("tilt", 0.3, "rad")),
        inputs=(Input("torque", "N.m"),),
        bodies=(Body("rod", mass=Expression("mass"), com=(Expression("reach / 2"), 0, 0), inertia=(0.1, 0.2, 0.2)),),
        joints=(Joint("arm", "revolute", "world", "rod", axis=(0, 1, 0), start=(Expression("2 * tilt"),), start_rate=(0.7,)),),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-effort", coordinate="arm.angle", effort="torque * cos(t) - 0.5 * sin(3 * t)"),
        ),
        outputs=(Output("tip", "rod", at=(Expression("reach"), 0, 0)),),
    )


def adjoint(fmu, unknowns, knowns, seed):
    groups = [(ctypes.c_uint * len(names))(*(fmu.references[name] for name in names)) for names in (unknowns, knowns)]
    seeds, found = (ctypes.c_double * len(seed))(*seed), (ctypes.c_double * len(knowns))()
    (unknown, known) = groups
    fmu.raw.fmi3GetAdjointDerivative(
        fmu.raw.component, unknown, len(unknown), known, len(known), seeds, len(seed), found, len(found)
    )
    return list(found)


@pytest.fixture(scope="module")
def archive(native):
    return native(arm(), fmi=3, fmu="me")


def transposed(fmu, unknowns, knowns):
    back = np.array([adjoint(fmu, unknowns, knowns, seed) for seed in np.eye(len(unknowns))])
    along = np.column_stack([fmu.derivative(unknowns, knowns, list(seed)) for seed in np.eye(len(knowns))])
    # Both are exact but for the rounding of other orders of the same sums.
    np.testing.assert_allclose(back, along, rtol=1e-12, atol=1e-14)
    return back


def test_they_are_the_transposed_of_directional_ones(archive):
    with Hosted(archive) as fmu:
        fmu.begin()
        starting = transposed(fmu, UNKNOWNS, ["tilt", "mass", "torque"])
        # The start is a formula of the tilt: d arm.angle / d tilt = 2.
        assert starting[-1].tolist() == [2.0, 0.0, 0.0]
        fmu.raw.exitInitializationMode()
        fmu.raw.enterContinuousTimeMode()
        moving = transposed(fmu, UNKNOWNS, KNOWNS)
        assert moving[-1].tolist() == [0, 0, 0, 0, 0, 1, 0]
        assert np.count_nonzero(moving[0]) >= 5


def test_the_description_says_so_and_wrong_references_are_refused(archive):
    root = ElementTree.fromstring(ZipFile(archive).read("modelDescription.xml"))
    assert root.find("ModelExchange").get("providesAdjointDerivatives") == "true"
    with Hosted(archive) as fmu:
        fmu.initialize()
        for unknowns, knowns, words in (
            (["torque"], ["mass"], "is no output, state or derivative"),
            (["tip.x"], ["tip.z"], "is no state, input or parameter"),
        ):
            with pytest.raises(Exception, match="fmi3GetAdjointDerivative"):
                adjoint(fmu, unknowns, knowns, [1.0])
            assert words in fmu.said
