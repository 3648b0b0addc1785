"""Where everything is in the variables of a program: node after node, interval after interval.

A node holds the state, and behind it what would otherwise couple all intervals with each other: inputs of the interval before,
the horizon where it is free, and free parameters. Rows keep these equal from node to node, so that every interval sees nothing
but its own two nodes, and all matrices are banded. Inputs that are linear within intervals stand in the nodes, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray


@dataclass(frozen=True)
class Layout:
    """Sizes of the parts of a node [state; inputs before; horizon; parameters] and of an interval [node; inner; inputs]."""

    intervals: int
    #: The state, with what the rule remembers.
    state: int
    #: Inputs of the interval before, where somebody asks for them; or inputs at the node, where they are linear.
    before: int
    #: 1 where the horizon is free.
    horizon: int
    parameters: int
    inner: int
    inputs: int
    #: Whether inputs are linear within intervals: their values stand in the nodes, and none in the intervals.
    linear: bool = False
    #: 1 where the time of the start is found, as of a phase behind one of free length; behind the horizon in a node.
    begin: int = 0

    @property
    def node(self) -> int:
        """The size of a node."""
        return self.state + self.before + self.horizon + self.begin + self.parameters

    @property
    def timing(self) -> int:
        """Where the horizon and the time of the start stand in a node."""
        return self.state + self.before

    @property
    def stride(self) -> int:
        """The size of a node and the interval behind it."""
        return self.node + self.inner + self.inputs

    @property
    def local(self) -> int:
        """The size of what an interval sees: its node, its own variables, the next node."""
        return self.stride + self.node

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.intervals * self.stride + self.node

    def nodes(self, w: FloatArray) -> FloatArray:
        """Return all nodes, one in each row."""
        whole = np.concatenate([w, np.zeros(self.stride - self.node)])
        return whole.reshape(self.intervals + 1, self.stride)[:, : self.node]

    def states(self, w: FloatArray) -> FloatArray:
        """Return the states at all nodes."""
        return self.nodes(w)[:, : self.state]

    def inner_of(self, w: FloatArray) -> FloatArray:
        """Return the inner unknowns of all intervals."""
        rows = w[: self.intervals * self.stride].reshape(self.intervals, self.stride)
        return rows[:, self.node : self.node + self.inner]

    def inputs_of(self, w: FloatArray) -> FloatArray:
        """Return the inputs of all intervals; those at all nodes where they are linear."""
        if self.linear:
            return self.nodes(w)[:, self.state : self.state + self.before]
        return w[: self.intervals * self.stride].reshape(self.intervals, self.stride)[:, self.node + self.inner :]

    def locals(self) -> np.ndarray:
        """Return the places of what each interval sees, one interval in each row."""
        return np.arange(self.intervals)[:, None] * self.stride + np.arange(self.local)[None, :]

    def joined(self, nodes: FloatArray, inner: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the variables of which nodes, inner unknowns and inputs are the parts."""
        rows = np.hstack([nodes[:-1], inner, inputs])
        return np.concatenate([rows.ravel(), nodes[-1]])
