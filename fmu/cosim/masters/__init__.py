"""The masters that come with Kingpost."""

from kingpost.fmu.cosim.masters.ecco import Ecco
from kingpost.fmu.cosim.masters.gauss_seidel import GaussSeidel
from kingpost.fmu.cosim.masters.interface_inertia import InterfaceInertia
from kingpost.fmu.cosim.masters.iterated import Iterated
from kingpost.fmu.cosim.masters.jacobi import Jacobi

__all__ = ["Ecco", "GaussSeidel", "InterfaceInertia", "Iterated", "Jacobi"]
