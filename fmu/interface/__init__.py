"""What a model shows to the outside, and how that is described."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "interface": ("Interface", "Variable", "build_interface"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
