"""A model as plain C: the functions that CasADi generates, the tables of one model, and the sources that all models share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Literal

import casadi as ca

from kingpost.base.errors import ExportError
from kingpost.equations.guard import guarded_joints
from kingpost.fmu.export.native.tape import Tape, recorded, tape_source
from kingpost.fmu.interface.interface import INPUT_ORDER, SOLVER_TOLERANCE, Interface, start_function
from kingpost.kernel.codegen import generated
from kingpost.kernel.compiler import CompilerError
from kingpost.mechanism.given import given_quaternions
from kingpost.simulation.export_model import ExportModel, SampleRows
from kingpost.symbols.straightline import fused

#: The functions that the sources in native/ call.
FUNCTIONS = (
    "kp_step", "kp_ramp_step", "kp_outputs", "kp_rhs", "kp_start", "kp_memory", "kp_guard", "kp_projected", "kp_tangent",
    "kp_start_tangent", "kp_cotangent", "kp_start_cotangent",
)  # fmt: skip
SHARED = ("core.c", "motion.c", "sampling.c", "snapshot.c")


@dataclass(frozen=True)
class NativeSources:
    """C sources by file name; ``compiled`` are those that a compiler is given."""

    texts: dict[str, str]
    compiled: tuple[str, ...]


def motion_functions(interface: Interface, ramps: bool = False) -> list[ca.Function]:
    """Return the functions of a model that its steps and outputs need, by the names that c/core.c knows.

    ``ramps`` adds a step with inputs that change during it, for importers that give rates.
    """
    model = interface.model
    stepper, guard = model.problem.stepper, model.equations.guard
    if guard is None:
        x = ca.SX.sym("x", len(model.x0))
        guard = ca.Function("kp_guard", [x], [ca.SX(0, 1)])
    found = [stepper.step, interface.outputs_function, stepper.rhs, start_function(model), stepper.memory, guard]
    if ramps and interface.ramps is not None:
        step = interface.ramps[1].step
        symbols = step.mx_in()
        found.append(ca.Function("kp_ramp_step", symbols, step.call(symbols)))
    return found if interface.projection is None else [*found, interface.projection]


def values_function(interface: Interface) -> ca.Function:
    """Return (t, x, u, p) -> [xdot; y], of which derivatives are taken; zeros for a model of sample times, which has none."""
    model = interface.model
    equations = model.equations
    sizes = [1, len(model.x0), equations.nu, equations.np]
    symbols = [ca.MX.sym(name, size) for name, size in zip("txup", sizes, strict=True)]
    if model.samples is not None:
        return ca.Function("values", symbols, [ca.MX.zeros(sizes[1] + len(interface.channels))])
    values = ca.vertcat(equations.rhs(*symbols), interface.outputs_function(*symbols))
    return ca.Function("values", symbols, [ca.densify(values)])


def derivative_sources(interface: Interface, back: bool) -> dict[str, str]:
    """Return the C sources of derivatives along a direction, and with ``back`` of adjoint ones: as tapes where that can be."""
    values, start = values_function(interface), start_function(interface.model)
    external = interface.model.equations.all_externals
    tapes = {"values": None if external else _tape(values), "start": _tape(start)}
    made = {name: tape for name, tape in tapes.items() if tape is not None}
    if len(made) == len(tapes):
        functions = {"kp_tangent": ("values", "kp_along"), "kp_start_tangent": ("start", "kp_along")}
        if back:
            functions |= {"kp_cotangent": ("values", "kp_back"), "kp_start_cotangent": ("start", "kp_back")}
        return {"sweeps.h": _shared("sweeps.h"), "tape.c": tape_source(made, functions)}
    along = [_along("kp_tangent", values), _along("kp_start_tangent", start)]
    texts = {"derivatives.c": _generated("derivatives", along)}
    if back:
        texts["adjoints.c"] = _generated("adjoints", [_back("kp_cotangent", values), _back("kp_start_cotangent", start)])
    return texts


def _tape(function: ca.Function) -> Tape | None:
    straight = fused(function)
    return recorded(straight) if straight.is_a("SXFunction") else None


def _back(name: str, function: ca.Function) -> ca.Function:
    """Return (arguments of ``function``, weights) -> derivatives of weights' result with respect to all arguments, stacked."""
    symbols = function.mx_in()
    weights = ca.MX.sym("weights", function.numel_out(0))
    parts = function.reverse(1).call([*symbols, ca.MX(*function.size_out(0)), weights])
    return ca.Function(name, [*symbols, weights], [ca.densify(ca.vertcat(*(ca.densify(part) for part in parts)))])


def _along(name: str, function: ca.Function) -> ca.Function:
    """Return (arguments of ``function``, seed) -> change of its result along a change ``seed`` of all arguments, stacked."""
    symbols = function.mx_in()
    sizes = [symbol.numel() for symbol in symbols]
    seed = ca.MX.sym("seed", sum(sizes))
    rows = [0, *accumulate(sizes)]
    parts = [seed[first:last, :] for first, last in pairwise(rows)]
    change = function.forward(1)(*symbols, ca.MX(*function.size_out(0)), *parts)
    return ca.Function(name, [*symbols, seed], [ca.densify(change)])


def native_sources(interface: Interface, token: str, version: Literal[2, 3], ramps: bool = True) -> NativeSources:
    """Return the C sources of an FMU; ``ramps``: whether importers can say how inputs change during a step.

    In FMI 2 they give derivatives, in FMI 3 values at the times within a step at which they are asked.
    """
    texts = {name: _shared(name) for name in ("core.h", *SHARED, f"fmi{version}.c")}
    texts["model.h"] = _header(interface, token, version, ramps)
    texts["model.c"] = _tables(interface, ramps)
    texts["functions.c"] = _generated("functions", motion_functions(interface, ramps))
    texts |= derivative_sources(interface, back=version == 3)
    return NativeSources(texts, tuple(sorted(name for name in texts if name.endswith(".c"))))


def marked(sources: NativeSources, interface: Interface, token: str, version: Literal[2, 3]) -> NativeSources:
    """Return the same sources with another token."""
    return NativeSources({**sources.texts, "model.h": _header(interface, token, version, ramps=True)}, sources.compiled)


def _shared(name: str) -> str:
    return files("kingpost.fmu.export.native").joinpath("c", name).read_text(encoding="utf-8")


def _generated(name: str, functions: list[ca.Function]) -> str:
    try:
        return f"{_HIDDEN}\n{generated(name, functions)}"
    except CompilerError as error:
        raise ExportError(f"{error}; export an explicit integrator such as rk4") from None


#: Two FMUs in one process must not see each other's functions.
_HIDDEN = """#include <math.h>
#define CASADI_SYMBOL_EXPORT
#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility push(hidden)
#endif"""


def _header(interface: Interface, token: str, version: Literal[2, 3], ramps: bool) -> str:
    model, counts = interface.model, interface.counts
    guarded = len(guarded_joints(model.mechanism)) if model.equations.guard is not None else 0
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
/* What a step with inputs that change during it takes for them: values, the time of these, coefficients; 0: there is none. */
#define KP_NR {interface.ramps[0].size if ramps and interface.ramps is not None else 0}
/* The highest derivative of inputs that counts. */
#define KP_ORDERS {INPUT_ORDER}
#define KP_NM {model.problem.stepper.remembered}
#define KP_NG {guarded}
#define KP_NE {len(model.equations.quaternions)}
/* Quaternions that inputs give. */
#define KP_NQ {len(given_quaternions(model.mechanism))}
#define KP_NA {len(interface.arrays)}
#define KP_FMI {version}
#define KP_MODEL_EXCHANGE {int(interface.kind == "me")}
#define KP_PROJECTS {int(interface.projection is not None)}
{_sample_rows(model)}
/* The relative tolerance of an importer's solver that does not tell it. */
#define KP_TOLERANCE {_double(SOLVER_TOLERANCE)}

typedef long long int kp_int;

{declarations}

KP_HIDDEN extern const char *const kp_names[];
KP_HIDDEN extern const char *const kp_guarded[];
KP_HIDDEN extern const double kp_start_p[];
KP_HIDDEN extern const double kp_start_u[];
KP_HIDDEN extern const double kp_start_x[];
KP_HIDDEN extern const int kp_rate_places[];
KP_HIDDEN extern const double kp_nominal_x[];
KP_HIDDEN extern const unsigned char kp_calculated[];
KP_HIDDEN extern const int kp_quaternions[];
KP_HIDDEN extern const int kp_given_quaternions[];
KP_HIDDEN extern const unsigned kp_array_ends[];
KP_HIDDEN extern const unsigned kp_elements[];

#endif
"""


def _sample_rows(model: ExportModel) -> str:
    """Return whether a model works at sample times, and the rows of its state that c/sampling.c looks at."""
    rows = model.samples
    if rows is None:
        return "#define KP_SAMPLED 0"
    places = {"REFUSED": rows.refused, "BAD": rows.bad, "ORIGIN": rows.origin}
    words = f"#define KP_OTHERWISE {_literal(rows.otherwise)}\n#define KP_FOLLOWS {int(rows.otherwise != SampleRows.otherwise)}"
    return "\n".join(["#define KP_SAMPLED 1", words, *(f"#define KP_ROW_{name} {row}" for name, row in places.items())])


def _tables(interface: Interface, ramps: bool) -> str:
    model, first = interface.model, interface.first
    by_reference = {part: variable for variable in interface.variables for part in variable.components}
    states = range(first["x"], first["dx"])
    nominal = [by_reference[r].nominal or 1.0 if r in by_reference else 1.0 for r in states]
    calculated = [r in interface.start_dependencies for r in states]
    guarded = guarded_joints(model.mechanism) if model.equations.guard is not None else ()
    shown, arrays = interface.shown_names, interface.arrays
    ends = accumulate((len(variable.elements) for variable in arrays), initial=0)
    return "\n".join(
        [
            "/* Names and start values of one model, written by Kingpost. */",
            '#include "model.h"',
            _array("const char *const kp_names[]", [_literal(shown.get(name, name)) for name in interface.names]),
            _array("const char *const kp_guarded[]", [_literal(name) for name in guarded] or ['""']),
            _array("const double kp_start_p[]", [_double(value) for value in model.p0] or ["0"]),
            _array("const double kp_start_u[]", [_double(value) for value in model.u0] or ["0"]),
            _array("const int kp_rate_places[]", _rate_places(interface, ramps) or ["0"]),
            _array("const double kp_start_x[]", [_double(value) for value in model.x0] or ["0"]),
            _array("const double kp_nominal_x[]", [_double(value) for value in nominal] or ["1"]),
            _array("const unsigned char kp_calculated[]", [str(int(flag)) for flag in calculated] or ["0"]),
            _array("const int kp_quaternions[]", [str(row) for row in model.equations.quaternions] or ["0"]),
            _array(
                "const int kp_given_quaternions[]",
                [str(i) for places in given_quaternions(model.mechanism) for i in places] or ["0"],
            ),
            _array("const unsigned kp_array_ends[]", [str(end) for end in ends]),
            _array("const unsigned kp_elements[]", [str(item) for array in arrays for item in array.elements] or ["0"]),
            "",
        ]
    )


def _rate_places(interface: Interface, ramps: bool) -> list[str]:
    """Return where the rate of each input is in a row; -1 for one that has none."""
    names = [signal.name for signal in interface.model.mechanism.inputs]
    if not ramps or interface.ramps is None:
        return ["-1"] * len(names)
    places = [interface.ramps[0].rate_place(name) for name in names]
    return [str(-1 if place is None else place) for place in places]


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
