"""Natural coordinates (directors): constant mass matrix, quadratic constraints."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "formulation": ("DirectorModel", "DirectorOptions", "Directors"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
