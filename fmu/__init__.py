"""FMUs: packaging of mechanisms, checks and runs of any FMU."""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names

if TYPE_CHECKING:
    from kingpost.fmu.running import run_fmu

    __all__ = ["run_fmu"]
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, {"running": ("run_fmu",)})
