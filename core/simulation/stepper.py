"""The functions that advance a problem, by name: what a kernel compiles, an FMU carries and a master calls."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import PluginError, SolverError
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import Integrator, Solver, StepMap
from kingpost.equations.newton import ImplicitStepMap


class Stepper:
    """The functions of some equations under an integrator; each is derived when it is first asked for.

    States are [q; v; z], followed by what the integrator remembers; the functions that have no use for that take it all the
    same where they are called in one loop with the step.
    """

    def __init__(self, equations: Equations, integrator: Integrator) -> None:
        self.equations, self.integrator = equations, integrator

    @property
    def fixed(self) -> bool:
        """Whether the integrator is a step map, so that there is a :attr:`step`."""
        return isinstance(self.integrator, StepMap)

    @cached_property
    def remembered(self) -> int:
        """How many numbers the integrator carries from step to step beside the state."""
        return self.integrator.memory(self.equations) if isinstance(self.integrator, StepMap) else 0

    @cached_property
    def step(self) -> ca.Function:
        """The function (t, x, u, p, h) -> x of one step, what is remembered included."""
        return self._step(telling=False)

    @cached_property
    def telling_step(self) -> ca.Function:
        """The same with a second result, if steps can be solved otherwise: in how many parts of the step, halves, they were."""
        integrator = self.integrator
        tells = isinstance(integrator, ImplicitStepMap) and integrator.tells(self.equations)
        return self._step(telling=True) if tells else self.step

    def _step(self, *, telling: bool) -> ca.Function:
        equations, integrator = self.equations, self.integrator
        if not isinstance(integrator, StepMap):
            raise SolverError(f"integrator '{integrator.name}' chooses its own steps; there is no step map of it")
        sizes = {"t": 1, "x": equations.nx + self.remembered, "u": equations.nu, "p": equations.np, "h": 1}
        t, x, u, p, h = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
        try:
            told: list[ca.MX] = []
            if telling and isinstance(integrator, ImplicitStepMap):
                following, count = ca.vertsplit(integrator.told_step(equations, t, x, u, p, h), [0, x.numel(), x.numel() + 1])
                told = [count]
            else:
                following = integrator.step(equations, t, x, u, p, h)
            shape = ca.MX(following).shape
            if shape != x.shape:
                raise PluginError(
                    f"integrator '{integrator.name}': step returned a {shape[0]} x {shape[1]} state, expected {x.shape[0]} x 1"
                    f"{self._further_states()}"
                )
            state, kept = following[: equations.nx, :], following[equations.nx :, :]
            if "index-3 dae" not in integrator.problems:
                state = equations.projected(t + h, state, u, p)
            else:
                state = equations.with_mended_states(t + h, state, u, p)
            return ca.Function("kp_step", symbols, [ca.densify(ca.vertcat(equations.normalised(state), kept)), *told])
        except (TypeError, NotImplementedError, RuntimeError) as error:
            raise PluginError(
                f"integrator '{integrator.name}': step cannot be traced ({type(error).__name__}: {str(error).strip()}). A step "
                f"map may only use CasADi operations; write a Solver if it needs numbers{self._further_states()}"
            ) from error

    def _further_states(self) -> str:
        """Return what an integrator that advances coordinates and speeds itself may have forgotten."""
        states = self.equations.states.quantities
        if not states:
            return ""
        return (
            f". The machine has states beside its coordinates and speeds ({states[0].name}, ...): a step that does not go "
            "through equations.rhs must advance them, too (equations.acting, equations.state_rates)"
        )

    @cached_property
    def memory(self) -> ca.Function:
        """The function (t, x, u, p, h) -> what the integrator remembers when it begins at a state [q; v; z]."""
        equations, integrator = self.equations, self.integrator
        sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np, "h": 1}
        symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
        found = ca.MX(0, 1)
        if self.remembered and isinstance(integrator, StepMap):
            found = integrator.start_memory(equations, *symbols)
        return ca.Function("kp_memory", symbols, [ca.densify(found)])

    def begin(self, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float) -> FloatArray:
        """Return a state followed by what the integrator remembers when it begins there."""
        if not self.remembered:
            return x
        return np.concatenate([x, np.asarray(self.memory(t, x, u, p, h)).ravel()])

    @cached_property
    def observe(self) -> ca.Function:
        """The function (t, x, u, p) -> values of the channels; x with what is remembered."""
        if not isinstance(self.integrator, StepMap):
            return self.equations.observe
        observe = self.integrator.observe(self.equations)
        return observe if observe.numel_in(1) > self.equations.nx else self._beside_memory(observe, 1)

    @cached_property
    def guard(self) -> ca.Function | None:
        """The function x -> regularity of each joint that can be singular, if there are any; x with what is remembered."""
        guard = self.equations.guard
        return None if guard is None else self._beside_memory(guard, 0)

    def _beside_memory(self, function: ca.Function, place: int) -> ca.Function:
        """Return a function of the state, its argument number ``place``, as one of the state with what is remembered."""
        if not self.remembered:
            return function
        extra = [self.remembered if k == place else 0 for k in range(function.n_in())]
        arguments = [ca.MX.sym(f"i{k}", function.numel_in(k) + extra[k]) for k in range(function.n_in())]
        given = [item[: function.numel_in(k)] if k == place else item for k, item in enumerate(arguments)]
        return ca.Function(function.name(), arguments, function.call(given))

    @cached_property
    def _projection(self) -> tuple[list[ca.MX], ca.MX] | None:
        """The symbols t, x, u, p and the state without errors of the constraints, if the equations have any to take away."""
        t, x, u, p = symbols = self._state_symbols
        state = self.equations.projected(t, x, u, p)
        return None if state is x else (symbols, state)

    @property
    def _state_symbols(self) -> list[ca.MX]:
        equations = self.equations
        sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np}
        return [ca.MX.sym(name, size) for name, size in sizes.items()]

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot.

        For a solver the rates are those at the projected state, F(P(x)), so that accelerations never see an error of the
        constraints. This is as smooth as F: a solver keeps its order.
        """
        if self.fixed or self._projection is None:
            return self.equations.rhs
        symbols, state = self._projection
        t, x, u, p = symbols
        # A treatment that solves takes them there by itself.
        rates = self.equations.rhs(t, x if self.equations.treatment.solves else state, u, p)
        return ca.Function("kp_rhs", symbols, [rates])

    @cached_property
    def jacobian(self) -> ca.Function:
        """The function (t, x, u, p) -> derivative of :attr:`rhs` with respect to x."""
        if self.fixed or self._projection is None:
            return self.equations.rhs_jacobian
        t, x, u, p = symbols = self._projection[0]
        return ca.Function("kp_jacobian", symbols, [ca.densify(ca.jacobian(self.rhs(t, x, u, p), x))])

    @property
    def projected(self) -> ca.Function | None:
        """The function (t, x, u, p) -> x without errors of the constraints, for solvers, where there are any to take away."""
        return None if self.fixed or self._projection is None else self.mended

    @cached_property
    def mended(self) -> ca.Function | None:
        """The function (t, x, u, p) -> x without errors of constraints and of quaternions' lengths, where there can be any."""
        equations = self.equations
        if self._projection is not None:
            symbols, state = self._projection
        elif equations.quaternions:
            symbols = self._state_symbols
            state = symbols[1]
        else:
            return None
        return ca.Function("kp_projected", symbols, [ca.densify(equations.normalised(state))])

    @property
    def solving(self) -> list[ca.Function]:
        """What a solver evaluates: rates, their Jacobian if it asks for it, and the projection."""
        wanted = isinstance(self.integrator, Solver) and self.integrator.needs_jacobian
        return [self.rhs, *([self.jacobian] if wanted else []), *([] if self.projected is None else [self.projected])]

    @property
    def running(self) -> list[ca.Function]:
        """What a run compiles: the step, or what a solver evaluates; outputs; and the guard."""
        if not self.fixed:
            return [*self.solving, self.observe]
        return [self.telling_step, self.observe, *([] if self.guard is None else [self.guard])]
