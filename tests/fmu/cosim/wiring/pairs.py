"""Two blocks that hand numbers on at once."""

from kingpost import Input
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block
from kingpost.fmu.cosim import (
    Component,
    System,
)


def gain(name, unit="1", inside=None, factor=1.0, count=1):
    """A block whose outputs y1 ... are its inputs u1 ... times a factor, at once."""
    inputs = tuple(Input(f"u{i + 1}", inside or unit, 0.5) for i in range(count))
    outputs = tuple(Channel(f"y{i + 1}", unit) for i in range(count))
    return Block(name, inputs, outputs, values=lambda s: [factor * s[f"u{i + 1}"] for i in range(count)])


def pair(*connections, a=None, b=None, **options):
    components = (Component("one", model=a or gain("one")), Component("two", model=b or gain("two")))
    return System("pair", components, tuple(connections), **options)
