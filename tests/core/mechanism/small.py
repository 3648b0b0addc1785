"""A pendulum whose parts can be changed."""

from kingpost import Body, Joint, Mechanism

BOB = Body("bob", mass=1.0, com=(0, 0, -1))
PIVOT = Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0))


def machine(**changes):
    return Mechanism(**{"name": "machine", "bodies": [BOB], "joints": [PIVOT], **changes})


def body(name, **values):
    return Body(name, **{"mass": 1.0, **values})
