"""What a reduced scheme in redundant coordinates needs: a null space that holds between two places, and a way to move."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca

if TYPE_CHECKING:
    from kingpost.equations.equations import Equations


class DiscreteNullSpace(ABC):
    """The discrete null-space method of documents 000 (eqs. 2.22-2.32) and 001 (eqs. 3.24-3.34): P' in place of multipliers.

    The speeds of a scheme that holds constraints between places do not satisfy them at nodes, so they are all of the natural
    coordinates' rates, not the few generalized speeds of the equations.
    """

    @property
    @abstractmethod
    def natural(self) -> Equations:
        """The equations in natural coordinates and their rates, with multipliers of those rows alone that P does not keep.

        First the rows of the reduced equations' phi, then rows that :attr:`moved` keeps, then their other rows.
        """

    @property
    @abstractmethod
    def kept(self) -> int:
        """The number of rows that have a multiplier although :attr:`moved` keeps them."""

    @property
    @abstractmethod
    def motions(self) -> ca.Function:
        """The function (q, p) -> P with G(q) P = 0 for the rows that have no multiplier, at q and at the mean of two places."""

    @property
    @abstractmethod
    def joints(self) -> ca.Function:
        """The function (q, p) -> joint coordinates."""

    @property
    @abstractmethod
    def moved(self) -> ca.Function:
        """The function (joint coordinates, increments, p) -> q."""

    @property
    @abstractmethod
    def rates(self) -> ca.Function:
        """The function (q, generalized speeds, p) -> rates of the natural coordinates."""

    @property
    @abstractmethod
    def speeds(self) -> ca.Function:
        """The function (q, rates of the natural coordinates, p) -> generalized speeds."""

    @abstractmethod
    def with_rows(self, rows: Sequence[int]) -> DiscreteNullSpace:
        """Return the same with only some rows of the reduced equations' A."""
