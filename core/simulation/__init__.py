"""Problems posed, steppers, runs and what they leave."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "run": ("Progress", "Simulation"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
