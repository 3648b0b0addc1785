"""The masters of Kingpost."""

from __future__ import annotations

from kingpost.fmu.cosim.masters.ecco import Ecco
from kingpost.fmu.cosim.masters.gauss_seidel import GaussSeidel
from kingpost.fmu.cosim.masters.interface import Master
from kingpost.fmu.cosim.masters.interface_inertia import InterfaceInertia
from kingpost.fmu.cosim.masters.iterated import Iterated
from kingpost.fmu.cosim.masters.jacobi import Jacobi
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_masters() -> list[type[Master]]:
    return [Jacobi, GaussSeidel, InterfaceInertia, Iterated, Ecco]
