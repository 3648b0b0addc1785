"""C code of CasADi functions, with a failure where Newton's method has not converged."""

from __future__ import annotations

import re
from collections.abc import Iterable

import casadi as ca

from kingpost.kernel.compiler import CompilerError

#: The name of Newton iterations whose caller looks at the result itself; they may end without convergence.
WATCHED = "kp_newton"
#: How names of functions begin in which equations are in the order of their elimination.
ORDERED = "kp_ordered"
#: The names of functions of the matrix and the residual of an iteration, and of the residual alone, of the same arguments. The
#: second must need no more room than the first.
MATRIX, RESIDUAL = "kp_matrix", "kp_equations"
#: What CasADi writes above a function: its name, arguments and results.
_HEADING = re.compile(r"^/\* (\w+):\(.*\)->\(.*\) \*/$", re.MULTILINE)
#: What is no failure of its own: a call of one generated function by another, and how many arguments or results there are.
_NO_FAILURE = re.compile(r"if \(casadi_f\d+\([^()]*\)\) return 1;|_n_(?:in|out)\(void\) \{ return 1;")
#: The loop of CasADi's 'fast_newton'.
_LOOP = re.compile(r"for \(iter=0; iter<(\d+); \+\+iter\) \{.*?if \(casadi_newton\(&m\)\) break;\n *\}\n", re.DOTALL)


def generated(name: str, functions: Iterable[ca.Function]) -> str:
    """Return the C code of some functions."""
    generator = ca.CodeGenerator(name, {"casadi_int": "long long int"})
    for function in functions:
        generator.add(function)
    code = with_newton_failures(generator.dump())
    if ORDERED not in code:
        return code
    from kingpost.kernel.elimination import with_eliminations  # built on this, and seldom needed

    return with_eliminations(code)


def with_newton_failures(code: str) -> str:
    """Return generated code in which a function fails if Newton's method has not converged inside.

    CasADi's C code, unlike its interpreter, goes on with what it has then.
    """
    headings = [(heading.start(), heading[1]) for heading in _HEADING.finditer(code)]

    def mended(loop: re.Match[str]) -> str:
        owner = next((name for place, name in reversed(headings) if place < loop.start()), "")
        return loop[0] if owner == WATCHED or owner.startswith(ORDERED) else f"{loop[0]}  if (iter == {loop[1]}) return 1;\n"

    mended_code, found = _LOOP.subn(mended, code)
    if found != code.count("casadi_newton(&m)"):
        raise CompilerError(
            f"CasADi {ca.CasadiMeta.version()} writes Newton's method in a way in which its failures cannot be seen"
        )
    return mended_code


def can_fail(code: str) -> bool:
    """Say whether generated functions can fail: whether any of them does more than hand on the failures of others."""
    return "return 1;" in _NO_FAILURE.sub("", code)
