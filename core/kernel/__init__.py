"""Functions as machine code or in the interpreter, with a cache on disk."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "kernel": ("Evaluator", "Kernel", "Stop"),
    "backends": ("BACKENDS", "Backend"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
