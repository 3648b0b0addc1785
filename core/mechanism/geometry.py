"""Where joints, closures and masses are in the bodies, as numbers, so that loads in a result can be turned and drawn later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingpost.base.formulas import Scalar, evaluate
from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.screws import numeric, rotation_rpy


def geometry_record(mechanism: Mechanism, parameters: Mapping[str, float]) -> dict[str, Any]:
    """Return bodies, joints, closures between bodies and outputs with their places at the given parameters, as plain data."""

    def numbers(vector: tuple[Scalar, ...] | None) -> list[float] | None:
        return None if vector is None else [float(evaluate(component, parameters)) for component in vector]

    def frame(position: tuple[Scalar, ...], rotation: tuple[Scalar, ...]) -> dict[str, Any]:
        angles = numbers(rotation) or []
        return {"position": numbers(position), "rotation": numeric(rotation_rpy(*angles)).tolist()}

    return {
        "bodies": {
            body.name: {"mass": float(evaluate(body.mass, parameters)), "com": numbers(body.com)} for body in mechanism.bodies
        },
        "joints": {
            joint.name: {
                "kind": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "parent_frame": frame(joint.position, joint.rotation),
                "child_frame": frame(joint.child_position, joint.child_rotation),
                "axis": numbers(joint.axis),
            }
            for joint in mechanism.joints
        },
        "closures": {
            closure.name: {
                "kind": closure.kind,
                "parent": closure.parent,
                "child": closure.child,
                "parent_frame": frame(closure.position, closure.rotation),
                "child_frame": frame(closure.child_position, closure.child_rotation),
                "axis": numbers(closure.axis),
            }
            for closure in mechanism.closures
            if closure.child
        },
        "outputs": [{"name": output.name, "body": output.body, "at": numbers(output.at)} for output in mechanism.outputs],
    }
