"""The systems of document 002 by every formalism and formulation that takes them, and their loads by every method.

At the start and along the way, in interpreted functions. Inputs, and currents of motors, are 0.7 away from what the models
have, so that nothing rests.
"""

import json
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import pytest

from kingpost import LoadRequest, MechanismError, simulate
from kingpost.equations.consistency import consistent_start
from kingpost.equations.machine import Machine
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.joint_loads import derive_loads
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, draft, started
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.verification import free_accelerations
from tests.plugins.formalisms.machines import EXACT, PLUGINS, equations_by, numbers

#: Rounding of 1e-16 in some 1e4 operations, which add up like the root of their number; times the condition number of the
#: equations, scaled such that every speed and every row has the size one. Up to a condition of 1e3 that is 1e-11.
ROUNDING = 1e-14
LEAST_CONDITION = 1e3
FORMULATIONS = ("recursive", "modular:mode=symbolic", "modular:mode=numeric", "directors")
METHODS = {"kane": "auxiliary-speeds", "recursive": "recursive", "directors": "multipliers"}

QUICK = (
    "four-bar",
    "spherical-pendulum",
    "ring-and-disc",
    "two-rod-slider",
    "knife-edge-disc",
)
LONG = (
    "whitworth",
    "spherical-pendulum:joint=body",
    "spherical-pendulum:joint=universal",
    "spherical-pendulum:joint=point",
    "five-bar",
    "rolling-sphere",
    "knife-edge-disc:contact=surface",
    "spatial-slider-crank:friction=none",
    "rrr-parallel",
    "whipple-bicycle",
    "delta",
    "tadpole-tricycle",
)
SYSTEMS = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)]
#: Formalisms that invert the mass matrix do not take contacts whose coordinates have no inertia.
SINGULAR = ("rolling-sphere", "knife-edge-disc:contact=surface")
#: Of each machine in a plane: the joints and closures whose loads are not unique.
OPEN = {
    "four-bar": [],
    "ring-and-disc": ["centre", "ring", "ground"],
    "whitworth": [],
    "five-bar": [],
    "rrr-parallel": [],
}


@dataclass
class Travelled:
    """A machine at its start and a tenth of a second later, where its closures hold, with what `kane` says there."""

    name: str

    @cached_property
    def problem(self):
        mechanism = select(PLUGINS.models, self.name).build()
        return started(draft(mechanism, RunSettings(formulation="kane"), plugins=PLUGINS))

    @cached_property
    def machine(self):
        """What formalisms share, derived once."""
        return Machine(self.problem.assembly)

    def cleaned(self, equations):
        """Return equations without redundant rows."""
        x = self.start
        if equations.coordinates.initial is not None:
            x = numbers(equations.coordinates.initial(*self.kane.split(x), self.problem.p))
        return without_redundant_rows(equations, 0.0, x, self.problem.p)

    @property
    def start(self):
        """Coordinates and speeds at the start."""
        count = self.problem.equations.nq + self.problem.equations.nv
        return self.problem.x0[:count]

    @cached_property
    def kane(self):
        return without_redundant_rows(equations_by("kane", self.machine), 0.0, self.start, self.problem.p)

    @cached_property
    def rows(self):
        """The arguments t, q, v, u, p of accelerations, at both places; twenty steps of the mid-point rule are between them."""
        p, e = self.problem.p, self.kane
        u = np.concatenate([self.problem.u0, self.problem.equations.states_of(self.problem.x0)]) + 0.7
        q, v = e.split(self.start)
        found, h = [(0.0, q, v, u, p)], 0.005
        for k in range(20):
            half_q = q + h / 2 * numbers(e.kinematics(q, v, p))
            half_v = v + h / 2 * numbers(e.accelerations(k * h, q, v, u, p))
            q, v = (
                q + h * numbers(e.kinematics(half_q, half_v, p)),
                v + h * numbers(e.accelerations((k + 0.5) * h, half_q, half_v, u, p)),
            )
        x = consistent_start(e, 0.1, np.concatenate([q, v]), p, far=True).x
        return [*found, (0.1, *e.split(x), u, p)]

    @cached_property
    def references(self):
        """Accelerations of `kane`, and the size that rounding is a part of: the largest, with or without constraints."""
        free = self.kane.function("free", [free_accelerations(self.kane)])
        accelerations = [numbers(self.kane.accelerations(*row)) for row in self.rows]
        sizes = [
            max(np.abs(vdot).max(), np.abs(numbers(free(*row))).max())
            for vdot, row in zip(accelerations, self.rows, strict=True)
        ]
        return list(zip(accelerations, sizes, strict=True))

    @cached_property
    def conditions(self):
        return [condition(self.kane, row) for row in self.rows]

    def apart(self, equations):
        """Return by how much accelerations differ from those of `kane`, in parts of what is allowed."""
        worst = 0.0
        for row, (expected, size), condition_here in zip(self.rows, self.references, self.conditions, strict=True):
            found, own = self.accelerations(equations, row)
            allowed = ROUNDING * max(LEAST_CONDITION, condition_here, own) * size
            worst = max(worst, float(np.nan_to_num(np.abs(found - expected), nan=np.inf).max()) / allowed)
        return worst

    def accelerations(self, equations, row):
        """Return accelerations in joint coordinates, and the condition of equations that have others."""
        t, q, v, u, p = row
        if equations.coordinates.initial is None:
            return numbers(equations.accelerations(*row)), 0.0
        Q, V = equations.split(numbers(equations.coordinates.initial(q, v, p)))
        own = equations.accelerations(t, Q, V, u, p)
        found = numbers(equations.coordinates.joint_state(Q, V, own, p)[2])
        return found, condition(equations, (t, Q, V, u, p))


def condition(equations, row):
    """Return the condition number of M and A M^-1 A' together, speeds and rows scaled to the size one."""
    parts = [equations.regular_mass]
    if equations.constraints.count:
        parts.append(equations.constraints.A)
    function = equations.function("parts", [ca.densify(part) for part in parts])
    M, *rest = (np.asarray(part) for part in function.call(list(row)))
    scale = np.sqrt(np.diag(M))
    found = np.linalg.cond(M / np.outer(scale, scale))
    for A in rest:
        columns = np.linalg.solve(np.linalg.cholesky(M), A.T)
        found *= np.linalg.cond(columns / np.linalg.norm(columns, axis=0)) ** 2
    return float(found)


@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_are_those_of_kane(name):
    """All formalisms whose accelerations are exact; `recursive`, `modular` both ways and `directors`."""
    here = Travelled(name)
    moved = np.abs(here.rows[1][1] - here.rows[0][1]).max()
    assert moved > 1e-3 and all(size > 0.1 for _, size in here.references)
    off = {}
    for formalism in EXACT:
        if name in SINGULAR and not PLUGINS.formalisms.get(formalism).singular_mass:
            with pytest.raises(MechanismError, match=r"inverts the mass matrix, and in .* that is singular: along touch\.x"):
                equations_by(formalism, here.machine)
            continue
        off[formalism] = here.apart(here.cleaned(equations_by(formalism, here.machine)))
    for formulation in FORMULATIONS:
        if (name, formulation) == ("five-bar", "directors"):
            with pytest.raises(MechanismError, match="'left-motor' .* adds inertia to coordinate 'left-crank.angle'"):
                derive(here.problem.assembly, formulation, PLUGINS)
            formulation = "directors:effort=angle"  # which has coordinates for it
        off[formulation] = here.apart(here.cleaned(derive(here.problem.assembly, formulation, PLUGINS)))
    assert len(off) >= 11
    assert all(part <= 1.0 for part in off.values()), {key: part for key, part in off.items() if not part <= 1.0}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in OPEN], ids=str
)
def test_loads_in_a_plane_are_the_same_by_three_methods(name):
    """Those of systems in space are in tests/plugins/models/test_spatial_systems.py.

    Loads are forces of the size of multipliers: the error of accelerations, times the ratio of the largest to the smallest
    inertia in the scales of `condition`, up to 1e3: 1e-8 of the largest load. What statics leaves open is named by each method.
    """
    here = Travelled(name)
    assembly, p = here.problem.assembly, here.problem.p
    items = (*assembly.mechanism.joints, *assembly.mechanism.closures)
    requests = [LoadRequest(item.name) for item in items]
    found, said = {}, {}
    for formulation, method in METHODS.items():
        way = "directors:effort=angle" if (name, formulation) == ("five-bar", "directors") else formulation
        equations = here.cleaned(derive(assembly, way, PLUGINS))
        loads = derive_loads(assembly, equations, select(PLUGINS.joint_loads, method), requests)
        said[method] = loads.record.get("not_unique", {}).get("joints", [])
        values = []
        for t, q, v, u, _ in here.rows:
            Q, V = q, v
            if equations.coordinates.initial is not None:
                Q, V = equations.split(numbers(equations.coordinates.initial(q, v, p)))
            vdot, lam = equations.accelerations(t, Q, V, u, p), equations.multipliers(t, Q, V, u, p)
            result = numbers(loads.function(t, Q, V, vdot, lam, u, p))
            values.append({c.name: x for c, x in zip(loads.channels, result, strict=True) if ".pose." not in c.name})
        found[method] = values
    assert all(sorted(joints) == sorted(OPEN[name]) for joints in said.values()), said
    for method in ("auxiliary-speeds", "multipliers"):
        for ours, theirs in zip(found[method], found["recursive"], strict=True):
            largest = max(map(abs, theirs.values()))
            assert largest > 0.1
            off = {key: abs(ours[key] - theirs[key]) for key in theirs if not abs(ours[key] - theirs[key]) <= 1e-8 * largest}
            assert not off, (method, off)


@pytest.mark.parametrize(
    "name",
    [
        "two-rod-slider",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("whitworth", "ring-and-disc", "rolling-sphere")),
    ],
)
def test_modular_kane_and_directors_move_alike(name):
    """rk4 with the same step, but projected in other coordinates: errors of (w h)^5 / 120 a step, below 1e-8 of a motion."""
    mechanism = select(PLUGINS.models, name).build()
    options = {"step": 1e-3, "output_step": 0.02, "plugins": PLUGINS, "backend": "vm"}
    kane, *others = (simulate(mechanism, 0.1, formulation=way, **options) for way in ("kane", "modular", "directors"))
    for other in others:
        for quantity in (*mechanism.coordinates, *mechanism.speeds):
            size = max(1.0, np.abs(kane[quantity.name]).max())
            np.testing.assert_allclose(other[quantity.name], kane[quantity.name], atol=1e-8 * size, err_msg=quantity.name)


@pytest.mark.parametrize("name", ["whitworth", pytest.param("knife-edge-disc", marks=pytest.mark.slow)])
def test_the_verb_compares(name, kingpost_cli):
    answer = kingpost_cli("compare", name, "--json", "--t-end", "0.02", "--step", "0.005", "--backend", "vm")
    assert answer.status == 0, answer.err
    rows = json.loads(answer.out)["formalisms"]
    assert set(EXACT) <= rows.keys()
    for formalism in EXACT:
        assert rows[formalism]["difference"] <= 1e-11
        assert rows[formalism]["microseconds"] > 0 and rows[formalism]["operations"] > 0
