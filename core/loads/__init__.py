"""Loads in joints, and ports where machines are coupled."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "joint_loads": ("derive_loads",),
    "sharing": ("closure_reactions",),
    ".mechanism.load_request": ("LoadRequest", "LoadsWanted", "load_requests"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
