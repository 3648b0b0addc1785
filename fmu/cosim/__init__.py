"""Co-simulation: FMUs and Kingpost models side by side, advanced by a master."""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names

if TYPE_CHECKING:
    from kingpost.fmu.cosim.description.osp import read_osp
    from kingpost.fmu.cosim.description.ssp.reading import open_ssp, read_ssd, read_ssp
    from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, PowerBond, System
    from kingpost.fmu.cosim.description.system_file import read_system
    from kingpost.fmu.cosim.run import Cosimulation, cosimulate, prepare_cosimulation

    __all__ = [
        "Component",
        "Connection",
        "CosimError",
        "Cosimulation",
        "PowerBond",
        "System",
        "cosimulate",
        "open_ssp",
        "prepare_cosimulation",
        "read_osp",
        "read_ssd",
        "read_ssp",
        "read_system",
    ]
else:
    PLACES = {
        "description.osp": ("read_osp",),
        "description.ssp.reading": ("open_ssp", "read_ssd", "read_ssp"),
        "description.system": ("Component", "Connection", "CosimError", "PowerBond", "System"),
        "description.system_file": ("read_system",),
        "run": ("Cosimulation", "cosimulate", "prepare_cosimulation"),
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, PLACES)
