"""A model as plain C: the functions that CasADi generates, the tables of one model, and the sources that all models share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import casadi as ca

from kingpost.equations import FUSED, fused
from kingpost.errors import ExportError
from kingpost.fmu.interface import Interface, start_function
from kingpost.interfaces.integrator import StepMap
from kingpost.simulate import step_function

#: The functions that native/core.c calls.
FUNCTIONS = ("kp_step", "kp_outputs", "kp_rhs", "kp_start", "kp_tangent", "kp_guard")


@dataclass(frozen=True)
class NativeSources:
    """C sources by file name; ``compiled`` are those that a compiler is given."""

    texts: dict[str, str]
    compiled: tuple[str, ...]


def native_functions(interface: Interface) -> list[ca.Function]:
    """Return the functions of a model, by the names that native/core.c knows."""
    model = interface.model
    equations = model.equations
    assert isinstance(model.integrator, StepMap)
    guard = equations.guard
    if guard is None:
        x = ca.SX.sym("x", len(model.x0))
        guard = ca.Function("kp_guard", [x], [ca.SX(0, 1)])
    return [
        step_function(equations, model.integrator),
        interface.outputs_function,
        equations.rhs,
        start_function(model),
        tangent_function(interface),
        guard,
    ]


def tangent_function(interface: Interface) -> ca.Function:
    """Return (t, x, u, p, seed) -> derivatives of [xdot; y] along a change ``seed`` of [x; u; p]."""
    equations = interface.model.equations
    nx, nu, np_ = len(interface.model.x0), equations.nu, equations.np
    t, x, u, p = ca.MX.sym("t"), ca.MX.sym("x", nx), ca.MX.sym("u", nu), ca.MX.sym("p", np_)
    seed = ca.MX.sym("seed", nx + nu + np_)
    values = ca.vertcat(equations.rhs(t, x, u, p), interface.outputs_function(t, x, u, p))
    function = ca.Function("kp_tangent", [t, x, u, p, seed], [ca.densify(_along(values, [x, u, p], seed))])
    return function if equations.all_externals or equations.nv > FUSED else fused(function)


def _along(values: ca.MX, symbols: list[ca.MX], seed: ca.MX) -> ca.MX:
    total, row = ca.MX(values.numel(), 1), 0
    for symbol in symbols:
        size = symbol.numel()
        if size and values.numel():
            total += ca.jtimes(values, symbol, seed[row : row + size])
        row += size
    return total


def native_sources(interface: Interface, token: str, version: Literal[2, 3]) -> NativeSources:
    """Return the C sources of an FMU."""
    generator = ca.CodeGenerator("functions", {"casadi_int": "long long int"})
    for function in native_functions(interface):
        generator.add(function)
    shared = files("kingpost.fmu").joinpath("native")
    texts = {name: shared.joinpath(name).read_text(encoding="utf-8") for name in ("core.h", "core.c", f"fmi{version}.c")}
    texts["model.h"] = _header(interface, token)
    texts["model.c"] = _tables(interface)
    texts["functions.c"] = f"{_HIDDEN}\n{generator.dump()}"
    return NativeSources(texts, ("core.c", "functions.c", f"fmi{version}.c", "model.c"))


#: Two FMUs in one process must not see each other's functions.
_HIDDEN = """#if defined(__GNUC__) && !defined(_WIN32)
#define CASADI_SYMBOL_EXPORT __attribute__((visibility("hidden")))
#else
#define CASADI_SYMBOL_EXPORT
#endif"""


def _header(interface: Interface, token: str) -> str:
    model, counts = interface.model, interface.counts
    guarded = len(model.equations.guarded_joints) if model.equations.guard is not None else 0
    declarations = "\n".join(
        f"KP_HIDDEN int {name}(const double **arg, double **res, kp_int *iw, double *w, int mem);\n"
        f"KP_HIDDEN int {name}_work(kp_int *arg, kp_int *res, kp_int *iw, kp_int *w);"
        for name in FUNCTIONS
    )
    return f"""/* Numbers and names of one model, written by Kingpost. */

#ifndef KP_MODEL_H
#define KP_MODEL_H

#if defined(__GNUC__) && !defined(_WIN32)
#define KP_HIDDEN __attribute__((visibility("hidden")))
#else
#define KP_HIDDEN
#endif

#define KP_MODEL {_literal(model.mechanism.name)}
#define KP_TOKEN {_literal(token)}
#define KP_STEP {_double(model.step)}
#define KP_NP {counts["p"]}
#define KP_NU {counts["u"]}
#define KP_NX {counts["x"]}
#define KP_NY {counts["y"]}
#define KP_NG {guarded}

typedef long long int kp_int;

{declarations}

KP_HIDDEN extern const char *const kp_names[];
KP_HIDDEN extern const char *const kp_guarded[];
KP_HIDDEN extern const double kp_start_p[];
KP_HIDDEN extern const double kp_start_u[];
KP_HIDDEN extern const double kp_start_x[];
KP_HIDDEN extern const double kp_nominal_x[];
KP_HIDDEN extern const unsigned char kp_calculated[];

#endif
"""


def _tables(interface: Interface) -> str:
    model, first = interface.model, interface.first
    by_reference = {variable.reference: variable for variable in interface.variables}
    states = range(first["x"], first["dx"])
    nominal = [by_reference[r].nominal or 1.0 if r in by_reference else 1.0 for r in states]
    calculated = [r in by_reference and by_reference[r].initial == "calculated" for r in states]
    guarded = model.equations.guarded_joints if model.equations.guard is not None else ()
    return "\n".join(
        [
            "/* Names and start values of one model, written by Kingpost. */",
            '#include "model.h"',
            _array("const char *const kp_names[]", [_literal(name) for name in interface.names]),
            _array("const char *const kp_guarded[]", [_literal(name) for name in guarded] or ['""']),
            _array("const double kp_start_p[]", [_double(value) for value in model.p0] or ["0"]),
            _array("const double kp_start_u[]", [_double(value) for value in model.u0] or ["0"]),
            _array("const double kp_start_x[]", [_double(value) for value in model.x0] or ["0"]),
            _array("const double kp_nominal_x[]", [_double(value) for value in nominal] or ["1"]),
            _array("const unsigned char kp_calculated[]", [str(int(flag)) for flag in calculated] or ["0"]),
            "",
        ]
    )


def _array(declaration: str, entries: list[str]) -> str:
    return f"{declaration} = {{\n  " + ",\n  ".join(entries) + "};"


def _double(value: float) -> str:
    """Return a number as C text that reads back to the same bits."""
    if not math.isfinite(value):
        raise ExportError(f"a start value is {value}; it must be finite")
    return repr(float(value))


def _literal(text: str) -> str:
    """Return a C string literal."""
    escaped = "".join(
        letter if 32 <= ord(letter) < 127 and letter not in '"\\?' else "".join(f"\\{byte:03o}" for byte in letter.encode())
        for letter in text
    )
    return f'"{escaped}"'
