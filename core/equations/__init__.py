"""The equations of motion in one descriptor form, and what is derived from them without more mechanics."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "equations": ("Equations", "output_channels"),
    "parts": ("LoadExpressions",),
    ".base.arrays": ("FloatArray",),
    ".base.channels": ("Channel",),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
