"""What a machine is: bodies, joints, closures, forces, inputs, outputs, parameters. No equations, no numerics."""

from kingpost.base.lazy import lazy_names

#: Names of the module that had this name in version 0.1.0.
EARLIER = {
    "mechanism": ("Mechanism", "quaternion_rows"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, EARLIER)
