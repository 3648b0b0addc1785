"""The type of symbolic expressions."""

from __future__ import annotations

from typing import TypeAlias

import casadi as ca

#: Scalar expressions for what becomes straight-line code, matrix expressions for what calls functions; never both in one.
Symbolic: TypeAlias = ca.SX | ca.MX
