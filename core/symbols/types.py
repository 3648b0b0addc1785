"""The type of symbolic expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca

#: Scalar expressions (SX) for what becomes straight-line code, matrix expressions (MX) for what calls functions; never both in
#: one. CasADi's stubs know no operation on "one or the other", so to type checkers it is anything.
if TYPE_CHECKING:
    Symbolic: TypeAlias = Any
else:
    Symbolic = ca.SX | ca.MX
