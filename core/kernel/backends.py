"""Where functions run: as machine code, in CasADi's interpreter, or as machine code if it can be had."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Backend: TypeAlias = Literal["auto", "c", "vm"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
