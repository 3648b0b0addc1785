"""How a model becomes an FMU."""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names

if TYPE_CHECKING:
    from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
    from kingpost.fmu.export.python.exporter import PythonFmu, PythonOptions

    __all__ = ["NativeFmu", "NativeOptions", "PythonFmu", "PythonOptions"]
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__, {"native.exporter": ("NativeFmu", "NativeOptions"), "python.exporter": ("PythonFmu", "PythonOptions")}
    )
