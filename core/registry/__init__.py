"""Plugins: what they look like, where they come from, how they are named."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "registry": ("Broken", "Registry", "find_fault"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
