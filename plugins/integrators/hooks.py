"""The integrators of Kingpost."""

from __future__ import annotations

from kingpost.equations.integrator import Integrator
from kingpost.plugins.integrators.backward_euler import BackwardEuler
from kingpost.plugins.integrators.bdf2 import BDF2
from kingpost.plugins.integrators.energy_momentum import EnergyMomentum
from kingpost.plugins.integrators.euler_symplectic import EulerSymplectic
from kingpost.plugins.integrators.generalized_alpha import GeneralizedAlpha
from kingpost.plugins.integrators.lie_midpoint import LieMidpoint
from kingpost.plugins.integrators.lie_rk4 import LieRK4
from kingpost.plugins.integrators.midpoint import Midpoint
from kingpost.plugins.integrators.quaternion_energy_momentum import QuaternionEnergyMomentum
from kingpost.plugins.integrators.radau2 import Radau2
from kingpost.plugins.integrators.rk4 import RK4
from kingpost.plugins.integrators.scipy_solvers import BDF, DOP853, LSODA, Radau
from kingpost.plugins.integrators.variational import Variational
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_integrators() -> list[type[Integrator]]:
    return [
        RK4,
        LieRK4,
        EulerSymplectic,
        BackwardEuler,
        Midpoint,
        LieMidpoint,
        EnergyMomentum,
        QuaternionEnergyMomentum,
        Variational,
        GeneralizedAlpha,
        BDF2,
        Radau2,
        DOP853,
        LSODA,
        Radau,
        BDF,
    ]
