"""How a machine is to be solved: one answer for every verb, from a file, the command line, keyword arguments or an FMU."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from kingpost.base.errors import KingpostError, MechanismError, PluginError, closest, listed
from kingpost.base.fields import Table
from kingpost.base.load_frames import FEW_JOINTS
from kingpost.equations.formulation import Formulation
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.kernel.kernel import Backend
from kingpost.loads.method import JointLoads
from kingpost.loads.metric import LoadMetric, checked_metric
from kingpost.mechanism.load_request import LoadRequest, LoadsWanted
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.sections import cut
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.registry import Registry
from kingpost.registry.selection import select

if TYPE_CHECKING:
    from kingpost.marine.sea import Sea

Start: TypeAlias = Literal["start", "equilibrium"]
#: The settings that name plugins, and of which kind.
SELECTED = {
    "formulation": "formulations",
    "verify": "formulations",
    "integrator": "integrators",
    "load_method": "joint_loads",
}
#: Step of a fixed-step integrator (s) where nobody says.
DEFAULT_STEP = 0.001


class RunChoices(TypedDict, total=False):
    """The fields of :class:`RunSettings` but ``t_end``, as keyword arguments."""

    t_start: float | None
    step: float | None
    output_step: float | None
    formulation: str | Formulation | type[Formulation] | Table | None
    integrator: str | Integrator | type[Integrator] | Table | None
    backend: Backend | None
    start: Start | None
    close_loops: bool | None
    loads: LoadsWanted | None
    load_method: str | JointLoads | type[JointLoads] | Table | None
    load_metric: LoadMetric | None
    cut: Sequence[str] | None
    monitors: bool | None
    verify: str | Formulation | type[Formulation] | Table | None
    check_step: float | None
    tilt_limit: float | None
    write: Sequence[str] | None
    sea: str | Sea | None


@dataclass(frozen=True)
class RunSettings:
    """How a machine is solved; what is None is left to the model, or to the verb.

    Parameters
    ----------
    t_start, t_end
        Start and end of a run in s; of an FMU, what it suggests.
    step
        Step of a fixed-step integrator in s (default 0.001); solvers choose their own.
    output_step
        Time between samples in s (default: about 0.01, at least one step); of an FMU, the communication step it suggests.
    formulation, integrator, load_method
        A name, a name with options (``"radau:rtol=1e-8"``), a table with ``name`` and options, a plugin class or an instance.
        By default ``kane``, or ``recursive`` where that has fewer operations, in chains of more than ten links; ``rk4``;
        ``auxiliary-speeds`` with ``kane``, else ``recursive``.
    backend
        ``"c"``, ``"vm"`` or ``"auto"``.
    start
        ``"equilibrium"`` starts at rest in a stable equilibrium near the start values instead.
    close_loops
        Whether start values that leave loops open may be changed by more than 0.01 rad or m to close them.
    loads
        Joints whose loads are wanted: ``"all"``, ``"none"``, or names, ``"slew:frame=parent,side=parent"``,
        :class:`kingpost.LoadRequest`.
    load_metric
        By which measure loads that rigid bodies leave open, in loops that hold themselves more than once, are smallest:
        ``"size"``, ``"stiffness"``, a length in m, or ``"auto"``: stiffness where joints have any, else size.
    cut
        Sections: ``"BODY=DISTANCE"`` cuts a body by a weld, so many m from its joint.
    monitors
        Whether energy balance, momentum, constraint errors, rank and condition are added to the channels of a run.
    verify
        A formalism, or another formulation in joint coordinates, by which the accelerations of every sample are found once
        more; the largest difference is told. Named like a formulation.
    check_step
        Whether a run is compared with one of half its step, and from which change of a peak load on that is told, as a part of
        the largest load of the joint: 0.01 for one per cent.
    tilt_limit
        Tilt of floating bodies in degrees beyond which a run is told to be outside linear theory (default 20).
    write
        File formats of the results of a run.
    sea
        The waves around the machine: ``"jonswap:Hs=2.5,Tp=8,heading=150,seed=3"``, or a :class:`kingpost.marine.seas.Sea`.

    """

    t_start: float | None = None
    t_end: float | None = None
    step: float | None = None
    output_step: float | None = None
    formulation: str | Table | Formulation | type[Formulation] | None = None
    integrator: str | Table | Integrator | type[Integrator] | None = None
    backend: Backend | None = None
    start: Literal["start", "equilibrium"] | None = None
    close_loops: bool | None = None
    loads: tuple[str | LoadRequest, ...] | None = None
    load_method: str | Table | JointLoads | type[JointLoads] | None = None
    load_metric: str | float | None = None
    cut: tuple[str, ...] | None = None
    monitors: bool | None = None
    verify: str | Table | Formulation | type[Formulation] | None = None
    check_step: float | None = None
    tilt_limit: float | None = None
    write: tuple[str, ...] | None = None
    sea: Any = None

    def __post_init__(self) -> None:
        for item in self.loads or ():
            if not isinstance(item, str | LoadRequest):
                raise MechanismError(f"loads: expected a text, got {item!r}", path=("loads",))
        if self.check_step is not None and not 0.0 < self.check_step < 1.0:
            raise MechanismError(
                f"check_step is {self.check_step!r}; give the part by which peak loads may change, between 0 and 1, e.g. 0.01",
                path=("check_step",),
            )
        if self.tilt_limit is not None and not 0.0 < self.tilt_limit <= 180.0:
            raise MechanismError(
                f"tilt_limit is {self.tilt_limit!r}; give the tilt in degrees up to which linear theory holds, above 0 and at "
                "most 180, e.g. 20",
                path=("tilt_limit",),
            )
        if self.load_metric is not None:
            object.__setattr__(self, "load_metric", checked_metric(self.load_metric))
        if self.sea is not None:
            from kingpost.marine.seas import sea_of

            object.__setattr__(self, "sea", sea_of(self.sea))

    @staticmethod
    def of(choices: Mapping[str, Any]) -> RunSettings:
        """Return the settings that some keyword arguments make; lists of texts may be a single text."""
        known = [field.name for field in dataclasses.fields(RunSettings)]
        for name in choices:
            if name not in known:
                raise TypeError(f"there is no setting '{name}'{closest(name, known)} Settings: {listed(known)}.")
        given = dict(choices)
        for name in ("loads", "cut", "write"):
            value = given.get(name)
            if value is not None:
                given[name] = (value,) if isinstance(value, str | LoadRequest) else tuple(value)
        return RunSettings(**given)

    @property
    def given(self) -> dict[str, Any]:
        """What is not left open."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in every.items() if value is not None}

    def over(self, earlier: RunSettings) -> RunSettings:
        """Return these settings, with what they leave open taken from ``earlier`` ones."""
        return RunSettings(**{**earlier.given, **self.given})

    def selected(self, plugins: PluginSet) -> RunSettings:
        """Return the same with plugins in the place of their names and tables."""
        chosen = {
            name: _selected(plugins.of(kind), value)
            for name, kind in SELECTED.items()
            if (value := getattr(self, name)) is not None
        }
        return dataclasses.replace(self, **chosen)

    def wanted_loads(self) -> LoadsWanted | None:
        """Return the loads that are asked for; None for none."""
        if self.loads is None:
            return None
        words = [
            word
            for item in self.loads
            for word in ([item] if isinstance(item, LoadRequest) or ":" in item else item.split(","))
        ]
        if "all" in words or "none" in words:
            if len(words) > 1:
                shown = listed(word if isinstance(word, str) else word.joint for word in words)
                raise KingpostError(f"loads {shown}: 'all' and 'none' stand alone; name the joints instead")
            return "all" if words == ["all"] else None
        return words

    def with_usual_loads(self, mechanism: Mechanism) -> RunSettings:
        """Return settings that ask for the loads of all joints, if nothing is said and there are not too many."""
        if self.loads is not None:
            return self
        return dataclasses.replace(self, loads=("all",) if len(mechanism.joints) <= FEW_JOINTS else ("none",))

    def with_cuts(self, mechanism: Mechanism, plugins: PluginSet) -> Mechanism:
        """Return a mechanism with the sections that are asked for."""
        for text in self.cut or ():
            body, equals, distance = text.partition("=")
            try:
                at = float(distance)
            except ValueError:
                equals = ""
            if not equals:
                raise MechanismError(f"cut {text}: write BODY=DISTANCE with the distance in m, e.g. inner-boom=0.8")
            mechanism = cut(mechanism, body.strip(), at, plugins=plugins)
        return mechanism

    def with_sea(self, mechanism: Mechanism, plugins: PluginSet, given: Collection[str] = ()) -> Mechanism:
        """Return a mechanism in the sea that is asked for, if any; refuse ``given`` numbers that mean nothing in it."""
        if self.sea is None:
            return mechanism
        from kingpost.simulation.at_sea import at_sea, check_given

        check_given(mechanism, given, plugins)
        return at_sea(mechanism, self.sea, plugins)


def merged(layers: Sequence[RunSettings], plugins: PluginSet) -> RunSettings:
    """Return what several layers say together, the later before the earlier, with their plugins selected.

    A step that was said before a solver took the integrator's place was meant for a fixed-step one, and is forgotten.
    """
    result = RunSettings()
    for layer in layers:
        result = layer.over(result)
    result = result.selected(plugins)
    said = {name: [i for i, layer in enumerate(layers) if name in layer.given] for name in ("step", "integrator")}
    if said["step"] and said["integrator"] and said["step"][-1] < said["integrator"][-1] and not fixed_step(result.integrator):
        result = dataclasses.replace(result, step=None)
    return result


def fixed_step(integrator: Any) -> bool:
    """Say whether an integrator takes steps of a length that it is given."""
    return isinstance(integrator, StepMap)


def _selected(registry: Registry[Any], chosen: Any) -> Any:
    """Return the plugin chosen by a text, a class, an instance, or a table ``{name = "...", option = value}``."""
    if not isinstance(chosen, Mapping):
        return select(registry, chosen)
    options = dict(chosen)
    if "name" not in options:
        raise PluginError(f"[run] {registry.kind} = {options!r} lacks 'name', which {registry.kind} to take")
    return select(registry, options.pop("name"), options)
