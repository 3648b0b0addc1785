"""The masters that come with Kingpost."""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names

if TYPE_CHECKING:
    from kingpost.fmu.cosim.masters.ecco import Ecco
    from kingpost.fmu.cosim.masters.gauss_seidel import GaussSeidel
    from kingpost.fmu.cosim.masters.interface_inertia import InterfaceInertia
    from kingpost.fmu.cosim.masters.iterated import Iterated
    from kingpost.fmu.cosim.masters.jacobi import Jacobi

    __all__ = ["Ecco", "GaussSeidel", "InterfaceInertia", "Iterated", "Jacobi"]
else:
    PLACES = {
        "ecco": ("Ecco",),
        "gauss_seidel": ("GaussSeidel",),
        "interface_inertia": ("InterfaceInertia",),
        "iterated": ("Iterated",),
        "jacobi": ("Jacobi",),
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, PLACES)
