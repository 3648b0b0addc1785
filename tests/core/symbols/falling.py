"""Bodies on joints."""

from kingpost import Body, Joint, Mechanism


def falling(kind, **fields):
    """A body that tumbles without any load on one joint."""
    return Mechanism(
        "tumbling",
        bodies=[Body("body", mass=2.0, inertia=(1.0, 2.0, 2.5))],
        joints=[Joint("joint", kind, "world", "body", **fields)],
    )
