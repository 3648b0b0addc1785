"""Options of forces that do not fit the machine."""

import numpy as np
import pytest

from kingpost import (
    ForceElement,
    KingpostError,
    simulate,
)
from tests.plugins.forces.deriving import BUILT_IN
from tests.plugins.forces.machines import crane, crooked

MOTOR = {"voltage": 1.0, "inductance": 0.1, "resistance": 1.0, "torque_constant": 0.1}


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (
            ForceElement("point-spring", body="bage", other="world"),
            "force 'point-spring' (point-spring): body: 'bage' is not a body; did you mean 'barge'? Known: barge, tower, boom,",
        ),
        (
            ForceElement("point-spring", body="barge", other="wurld"),
            "other: 'wurld' is not a body, nor the world; did you mean 'world'? Known: world, barge,",
        ),
        (ForceElement("point-spring", body="world", other="barge"), "body: 'world' is not a body"),
        (ForceElement("point-spring", body="barge"), "lacks 'other'. It takes: body (required), other (required), at ="),
        (
            ForceElement("joint-friction", coordinate="slew.angel"),
            "coordinate: 'slew.angel' is not a joint coordinate; did you mean 'slew.angle'? Known: slew.angle, luff.angle,",
        ),
        (ForceElement("joint-spring", coordinate="ball.qx", stiffness=1.0), "coordinate: 'ball.qx' is not a joint coordinate"),
        (ForceElement("joint-spring", coordinate="ball.wx", stiffness=1.0), "coordinate: 'ball.wx' is not a joint coordinate"),
        (
            ForceElement("joint-spring", coordinate="slew.angle", other="luff.angel"),
            "joint-spring on 'slew.angle': other: 'luff.angel' is not a joint coordinate; did you mean 'luff.angle'?",
        ),
        (ForceElement("joint-spring", coordinate="slew.angle", other="slew.angle"), "'slew.angle' is the coordinate itself"),
        (
            ForceElement("joint-inertia", coordinates=("slew.angle", "luff.angle"), inertia=1.0),
            "2 coordinate(s) but 0 ratio(s); give one ratio for each",
        ),
        (
            ForceElement("joint-inertia", coordinates=("ball.wx",), inertia=1.0),
            "coordinates: 'ball.wx' is not a joint coordinate",
        ),
        (ForceElement("joint-inertia", coordinates=("slew.angle",), inertia=-1.0), "inertia is -1; it must not be negative"),
        (
            ForceElement("joint-inertia", coordinates=("slew.angle",), inertia="1 + t"),
            "inertia and ratios of a rotor use 't', which changes during a run; numbers and parameters alone may be in them",
        ),
        (
            ForceElement("dc-motor", coordinate="slew.angle", **(MOTOR | {"inductance": 0.0})),
            "dc-motor on 'slew.angle': inductance is 0 H; it must be positive, since the current is a state",
        ),
        (
            ForceElement("dc-motor", coordinate="slew.angle", **(MOTOR | {"resistance": -1.0})),
            "dc-motor on 'slew.angle': resistance is -1; it must not be negative",
        ),
        (
            ForceElement("dc-motor", coordinate="slew.angle", gear_ratio=0.0, **MOTOR),
            "dc-motor on 'slew.angle': gear_ratio is 0; the rotor must turn with the coordinate",
        ),
        (
            ForceElement("joint-friction", coordinate="slew.angle", transition=0),
            "joint-friction on 'slew.angle': transition is 0; it must be positive",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target={"kind": "sequenc"}),
            "target: there is no trajectory of kind 'sequenc'; did you mean 'sequence'? Kinds: constant, rest-to-rest,",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target={"times": [0, 1]}),
            "target: the trajectory lacks 'kind'. Kinds: constant,",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target="goal"),
            "target = 'goal' uses 'goal', which is not declared. Known here: t.",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0),
            "force 'joint-actuator' (joint-actuator) lacks 'damping'. It takes: coordinate (required), stiffness (required)",
        ),
        (
            ForceElement("body-wrench", body="load", force=(1, 2)),
            "force 'body-wrench' (body-wrench): force: expected 3 entries, got 2: (1, 2)",
        ),
        (ForceElement("body-wrench", body="load", frame="earth"), "frame: expected one of 'body', 'world', got 'earth'"),
        (
            ForceElement("hydrostatic", body="barge", matrix=crooked()),
            "hydrostatic on 'barge': the matrix is not symmetric: "
            f"entry (5, 2) is {crooked()[4][1]}, entry (2, 5) is {crooked()[1][4]}",
        ),
        (ForceElement("hydrostatic", body="barge", matrix=np.eye(3).tolist()), "matrix: expected 6 entries, got 3"),
    ],
)
def test_options_that_do_not_fit_are_refused(force, message):
    with pytest.raises(KingpostError) as error:
        simulate(crane(force), 1.0, plugins=BUILT_IN)
    assert message in str(error.value)
