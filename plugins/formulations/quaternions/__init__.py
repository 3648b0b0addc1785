"""Single bodies with unit quaternions as coordinates."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "formulation": ("QuaternionEquations", "QuaternionModel", "QuaternionOptions", "Quaternions"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
