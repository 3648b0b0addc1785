"""Small motions of a machine along a parameter, an input or a start value: ``kingpost linearize --sweep``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, MechanismError, SolverError
from kingpost.base.numbers import finite, finite_in, shown
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.problem import input_row, parameter_row, start_state
from kingpost.simulation.settings import RunChoices, RunSettings
from kingpost.simulation.verbs import Situation, situation
from kingpost.statics.equilibrium import find_equilibrium
from kingpost.statics.linearize import Linearizer
from kingpost.statics.loci import Loci, Spectrum, critical_values, followed, spectrum

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Values of a sweep that does not say how many.
USUAL_COUNT = 51
MOST_VALUES = 10000
_WORDS = re.compile(r"(?P<name>[^=]+)=(?P<first>.+?)\.\.(?P<last>[^:]+)(:(?P<count>.+))?")


@dataclass(frozen=True)
class Sweep:
    """A name and equally spaced values for it."""

    name: str
    first: float
    last: float
    count: int = USUAL_COUNT

    def __post_init__(self) -> None:
        what = f"sweep of '{self.name}'"
        for word, value in (("from", self.first), ("to", self.last)):
            if finite(value) is None:
                raise KingpostError(f"{what}: {word} {shown(value)}, which is not a finite number")
        if self.first == self.last:
            raise KingpostError(f"{what}: from {self.first:g} to {self.last:g} there is nothing to sweep; give two values")
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 2 <= self.count <= MOST_VALUES:
            raise KingpostError(f"{what}: {shown(self.count)} values; a sweep takes 2 to {MOST_VALUES}")

    @property
    def values(self) -> FloatArray:
        return np.linspace(self.first, self.last, self.count)

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """Return the sweep that ``NAME=A..B`` or ``NAME=A..B:N`` says."""
        found = _WORDS.fullmatch(text.strip())
        if found is None:
            raise KingpostError(f"'{text}' is no sweep; write NAME=A..B or NAME=A..B:N, such as speed=0..10:101")
        ends = [finite_in(found[key]) for key in ("first", "last")]
        for word, number in zip((found["first"], found["last"]), ends, strict=True):
            if number is None:
                raise KingpostError(f"sweep of '{found['name'].strip()}': {shown(word)} is not a finite number")
        count = found["count"]
        if count is not None and not re.fullmatch(r"-?\d{1,9}", count.strip()):
            raise KingpostError(f"sweep of '{found['name'].strip()}': {shown(count)} is not a whole number of values")
        assert ends[0] is not None
        assert ends[1] is not None
        return cls(found["name"].strip(), ends[0], ends[1], USUAL_COUNT if count is None else int(count))


def sweep_linearisation(
    mechanism: Mechanism,
    sweep: Sweep | str,
    at: Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Loci:
    """Return the eigenvalues of a machine along a parameter, an input or a start value, ``"NAME=A..B:N"``.

    Around the start, or ``at``, which may move; with ``start="equilibrium"`` around rest. There the first value is as in
    :func:`kingpost.linearize`, and the equilibrium is then followed from value to value, through instability, too.
    """
    place = situation(mechanism, at, settings=settings, how=how, plugins=plugins, **choices)
    return swept(place, Sweep.parse(sweep) if isinstance(sweep, str) else sweep)


def swept(place: Situation, sweep: Sweep) -> Loci:
    """Return the eigenvalues along a sweep; values without a linear system are left out, with the reason.

    Raises
    ------
    MechanismError
        When nothing has the name.
    SolverError
        When no value has a linear system.

    """
    line = _Line(place, sweep.name)
    spectra: list[Spectrum | None] = []
    left_out: dict[float, str] = {}
    for value in sweep.values.tolist():
        try:
            spectra.append(line.spectrum(value))
        except (SolverError, MechanismError) as error:
            spectra.append(None)
            left_out[value] = str(error)
    if all(item is None for item in spectra):
        why = next(iter(left_out.values()))
        raise SolverError(
            f"sweep of '{sweep.name}': none of the {sweep.count} values can be linearised. At the first one: {why}"
        )
    eigenvalues, shapes, zeros = followed(spectra)
    return Loci(
        model=place.equations.mechanism.name,
        name=sweep.name,
        unit=line.unit,
        values=sweep.values,
        eigenvalues=eigenvalues,
        shapes=shapes,
        shape_names=line.shape_names,
        criticals=critical_values(sweep.values.tolist(), spectra, line.spectrum),
        left_out=left_out,
        zeros=zeros,
    )


class _Line:
    """A machine at any value of what is swept; equations and their derivatives are made once."""

    def __init__(self, place: Situation, name: str) -> None:
        self.place, self.name = place, name
        mechanism, equations = place.problem.mechanism, place.equations
        self._linear = Linearizer(equations)
        self._further = [state.name for state in place.problem.assembly.states]
        #: Equilibria by value, to go on from the nearest.
        self._rests: dict[float, FloatArray] = {}
        self.shape_names = tuple(speed.name.removesuffix(".rate") for speed in mechanism.speeds)
        # An unknown name is refused here, not value by value.
        known = {parameter.name: parameter.unit for parameter in mechanism.parameters}
        known |= {signal.name: signal.unit for signal in mechanism.inputs}
        known |= {quantity.name: quantity.unit for quantity in equations.state_quantities}
        if name not in known:
            resolve_values(mechanism, {name: 0.0}, self._further)
        self.unit = known.get(name, "")

    def spectrum(self, value: float) -> Spectrum:
        """Return the eigenvalues at a value."""
        place = self._at(value)
        problem = place.problem
        x = self._rest(place, value) if problem.how.start == "equilibrium" else place.closed().x
        system = self._linear(place.t, x, place.u, place.p)
        if not np.isfinite(system.A).all():
            raise SolverError(f"'{problem.mechanism.name}' has no finite linear system at {self.name} = {value:g}")
        return spectrum(system)

    def _rest(self, place: Situation, value: float) -> FloatArray:
        equations, u, p, t = place.equations, place.u, place.p, place.t
        if self._rests:
            nearest = min(self._rests, key=lambda known: abs(known - value))
            x = find_equilibrium(equations, self._rests[nearest], u, p, t, stable=False).x
        else:
            x = find_equilibrium(equations, place.x, u, p, t).x
        self._rests[value] = x
        return x

    def _at(self, value: float) -> Situation:
        """Return the situation with a value in the place of that of the model, or of the state that was given."""
        problem, given = self.place.problem, self.place.given
        equations, mechanism = problem.equations, problem.mechanism
        resolved = resolve_values(mechanism, {**problem.given, self.name: value}, self._further)
        x, u = start_state(problem.assembly, equations, resolved), input_row(mechanism, resolved)
        ends = np.cumsum([0, equations.nq, equations.nv, equations.nz])
        for key, first, last in zip("qvz", ends, ends[1:], strict=False):
            if key in given:
                x[first:last] = problem.x0[first:last]
        if "u" in given:
            u = problem.u0.copy()
        names = [item.name for item in equations.state_quantities]
        inputs = [signal.name for signal in mechanism.inputs]
        if self.name in names:
            x[names.index(self.name)] = value
        elif self.name in inputs:
            u[inputs.index(self.name)] = value
        changed = replace(problem, values=resolved, p=parameter_row(mechanism, resolved), x0=x, u0=u)
        return replace(self.place, problem=changed)
