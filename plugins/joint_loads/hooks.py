"""The joint-load methods of Kingpost."""

from __future__ import annotations

from kingpost.loads.method import JointLoads
from kingpost.plugins.joint_loads.auxiliary_speeds import AuxiliarySpeeds
from kingpost.plugins.joint_loads.fictitious_variables import FictitiousVariables
from kingpost.plugins.joint_loads.multipliers import MultiplierLoads
from kingpost.plugins.joint_loads.recursive import RecursiveLoads
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_joint_loads() -> list[type[JointLoads]]:
    return [AuxiliarySpeeds, RecursiveLoads, MultiplierLoads, FictitiousVariables]
