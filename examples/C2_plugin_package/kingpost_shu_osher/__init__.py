"""A strong-stability-preserving Runge-Kutta method and air drag, as Kingpost plugins."""

from kingpost import hookimpl
from kingpost_shu_osher.drag import AirDrag
from kingpost_shu_osher.ssprk3 import SSPRK3


@hookimpl
def kingpost_register_integrators():
    return [SSPRK3]


@hookimpl
def kingpost_register_forces():
    return [AirDrag]
