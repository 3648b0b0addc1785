"""Systems from OspSystemStructure.xml: simulators, functions between them, and connections of variables and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kingpost.base.errors import FileError, closest, listed
from kingpost.fmu.cosim.description.markup import (
    Element,
    attribute,
    check_known,
    child,
    children,
    number,
    parsed,
    plain,
    truth,
    whole,
)
from kingpost.fmu.cosim.description.steps import fitting_step
from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, PowerBond, System
from kingpost.fmu.file.opened import open_fmu
from kingpost.fmu.file.variables import Variable, variables_of
from kingpost.fmu.osp.groups import VariableGroup, read_groups
from kingpost.fmu.osp.model_description import osp_path
from kingpost.fmu.osp.system_structure import ECCO

FILE = "OspSystemStructure.xml"
VALUES: dict[str, Callable[[str, str], Any]] = {
    "Real": number,
    "Integer": whole,
    "Boolean": truth,
    "String": lambda text, where: text,
}
#: What gives values; what is connected with it takes them.
GIVING = ("output", "calculatedParameter")


@dataclass(frozen=True, eq=False)
class Simulator:
    """A simulator: the variables of its FMU, and the groups of them."""

    name: str
    variables: Mapping[str, Variable]
    groups: tuple[VariableGroup, ...]

    def variable(self, name: str, where: str) -> Variable:
        """Return a variable."""
        if name not in self.variables:
            raise CosimError(f"{where}: simulator '{self.name}' has no variable '{name}'{closest(name, self.variables)}")
        return self.variables[name]

    def group(self, name: str, where: str) -> VariableGroup:
        """Return a group of variables, which may be in another one."""
        every = [inner for group in self.groups for inner in group.all()]
        for group in every:
            if group.name == name:
                return group
        known = [group.name for group in every]
        raise CosimError(
            f"{where}: no OspModelDescription.xml declares a group '{name}' of simulator '{self.name}'{closest(name, known)} "
            f"Groups: {listed(known)}."
        )


@dataclass(frozen=True)
class Function:
    """A function between simulators: a sum of vectors, whose inputs it multiplies by a factor and adds an offset to."""

    name: str
    inputs: tuple[str, ...]
    dimension: int
    factor: float | None = None
    offset: float = 0.0


def read_osp(path: str | Path) -> System:
    """Return the system in an OspSystemStructure.xml, or in a folder that holds one.

    Values pass as they are, as in libcosim: variables whose units differ are refused, unless a function stands between them.
    """
    path = Path(path)
    if path.is_dir():
        path = path / FILE
    root = parsed(path)
    if plain(root) != "OspSystemStructure":
        raise FileError(f"'{path}' holds a <{plain(root)}>, not an <OspSystemStructure>")
    return _Reader(path, root).system()


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path, root: Element) -> None:
        self.path, self.root = path, root
        self.where = f"'{path.name}'"
        self.notes: list[str] = []
        self.simulators: dict[str, Simulator] = {}
        self.functions: dict[str, Function] = {}
        #: What is connected with a signal of a function: simulators and their variables.
        self.signals: dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]] = {}
        self.connections: list[Connection] = []
        #: Outputs that are connected, by the name of a power bond.
        self.bonds: dict[str, list[str]] = {}

    def system(self) -> System:
        known = ("StartTime", "EndTime", "BaseStepSize", "Algorithm", "Simulators", "Functions", "Connections")
        check_known(self.root, self.where, applied=(*known, "EccoConfiguration"), attributes=("version",))
        run = self._run()
        components = [self._component(entry, run["step"]) for entry in children(child(self.root, "Simulators"))]
        if not components:
            raise CosimError(f"{self.where} holds no simulators")
        self.functions = {function.name: function for function in map(self._function, children(child(self.root, "Functions")))}
        for entry in children(child(self.root, "Connections")):
            self._connect(entry)
        for function in self.functions.values():
            self.connections += self._through(function)
        return System(
            self.path.resolve().parent.name or "system",
            tuple(components),
            tuple(self.connections),
            tuple(self._bonds()),
            notes=tuple(self.notes),
            **run,
        )

    def _run(self) -> dict[str, Any]:
        def text(name: str, owner: Element = self.root) -> str | None:
            found = child(owner, name)
            return None if found is None else (found.text or "").strip()

        times = {key: text(name) for key, name in (("t_start", "StartTime"), ("t_end", "EndTime"), ("step", "BaseStepSize"))}
        run: dict[str, Any] = {key: number(given, f"{self.where}: {key}") for key, given in times.items() if given is not None}
        run.setdefault("step", 0.1)  # as in libcosim
        if run["step"] <= 0:
            raise CosimError(f"{self.where}: BaseStepSize is {run['step']:g} s; it must be positive")
        algorithm = (text("Algorithm") or "fixedStep").lower()
        if algorithm not in ("fixedstep", "ecco"):
            raise CosimError(f"{self.where}: the algorithm {text('Algorithm')!r} is not known; fixedStep and ecco are")
        run["master"] = "jacobi"
        if algorithm == "ecco":
            owner = child(self.root, "EccoConfiguration")
            if owner is None:
                raise CosimError(f"{self.where}: the algorithm is ecco, but there is no EccoConfiguration")
            check_known(owner, "EccoConfiguration", applied=(*ECCO, "StepSize"))
            texts = {plain(entry): (entry.text or "").strip() for entry in children(owner)}
            given = {name: number(told, f"EccoConfiguration: {name}") for name, told in texts.items()}
            run["step"] = given.pop("StepSize", run["step"])
            run["master"] = "ecco:" + ",".join(f"{ECCO[name]}={value!r}" for name, value in given.items())
        return run

    def _component(self, element: Element, step: float) -> Component:
        name = attribute(element, "name", self.where)
        where = f"simulator '{name}'"
        check_known(element, where, applied=("InitialValues",), attributes=("name", "source", "stepSize"))
        fmu = open_fmu(self._file(attribute(element, "source", where), where))
        settings = {}
        for entry in children(child(element, "InitialValues"), "InitialValue"):
            variable = attribute(entry, "variable", where)
            what = f"{where}: initial value of '{variable}'"
            check_known(entry, what, applied=tuple(VALUES), attributes=("variable",))
            values = children(entry)
            if len(values) != 1:
                raise CosimError(f"{what}: it has {len(values)} values; it must have one")
            settings[variable] = VALUES[plain(values[0])](attribute(values[0], "value", what), what)
        hint = element.get("stepSize")
        own, note = fitting_step(name, None if hint is None else number(hint, f"{where}: stepSize"), step)
        self.notes += [note] if note else []
        # Beside the FMU by its file or by the name of its model, or beside the system, as libcosim looks for it.
        model = f"{fmu.name}_OspModelDescription.xml"
        places = (osp_path(fmu.path), fmu.path.with_name(model), self.path.with_name(model))
        groups = next((found for place in places if (found := read_groups(place))), [])
        self.simulators[name] = Simulator(name, variables_of(fmu), tuple(groups))
        return Component(name, fmu=fmu.path, settings=settings, step=own)

    def _file(self, source: str, where: str) -> Path:
        parts = urlsplit(source)
        if parts.scheme not in ("", "file") or parts.query or parts.fragment:
            raise CosimError(f"{where}: the source {source!r} is no file on this machine; give the path of an FMU")
        return self.path.parent / unquote(parts.path)

    def _function(self, element: Element) -> Function:
        kind, name = plain(element), attribute(element, "name", self.where)
        where = f"function '{name}'"
        if kind == "LinearTransformation":
            check_known(element, where, attributes=("name", "factor", "offset"))
            factor, offset = (number(element.get(key, default), where) for key, default in (("factor", "1"), ("offset", "0")))
            return Function(name, ("in",), 1, factor, offset)
        if kind not in ("Sum", "VectorSum"):
            raise CosimError(f"{where} is a {kind}; LinearTransformation, Sum and VectorSum are known")
        sizes = ("inputCount", "dimension")[: 1 if kind == "Sum" else 2]
        check_known(element, where, attributes=("name", *sizes))
        count, *dimension = (whole(attribute(element, key, where), where) for key in sizes)
        if not 0 < count <= MOST_INPUTS:
            raise CosimError(f"{where}: inputCount is {count}; it must be 1 to {MOST_INPUTS}")
        return Function(name, tuple(f"in[{i}]" for i in range(count)), dimension[0] if dimension else 1)

    def _connect(self, element: Element) -> None:
        kind = plain(element)
        where = f"{self.where}: a {kind}"
        if kind not in ("VariableConnection", "SignalConnection", "VariableGroupConnection", "SignalGroupConnection"):
            raise CosimError(f"{where} is not understood")
        check_known(element, where, applied=("Variable", "Signal", "VariableGroup", "SignalGroup"), attributes=("powerBond",))
        ends = children(element)
        if len(ends) != 2:
            raise CosimError(f"{where} connects {len(ends)} things; it must be two")
        if kind.startswith("Signal"):
            signal = next((end for end in ends if plain(end).startswith("Signal")), None)
            other = next((end for end in ends if plain(end).startswith("Variable")), None)
            if signal is None or other is None:
                raise CosimError(f"{where} must connect a signal of a function with a variable")
            key = attribute(signal, "function", where), attribute(signal, "name", where)
            if key[0] not in self.functions:
                raise CosimError(f"{where}: there is no function '{key[0]}'{closest(key[0], self.functions)}")
            simulator = self._simulator(other, where)
            name = attribute(other, "name", where)
            grouped = kind == "SignalGroupConnection"
            names = simulator.group(name, where).variables if grouped else (name,)
            self.signals.setdefault(key, []).append((simulator.name, names))
            return
        one, two = ((self._simulator(end, where), attribute(end, "name", where)) for end in ends)
        if kind == "VariableGroupConnection":
            groups = one[0].group(one[1], where), two[0].group(two[1], where)
            pairs = list(_matched(groups[0], groups[1], f"{where} of '{one[1]}' and '{two[1]}'"))
        else:
            pairs = [(one[1], two[1])]
        for a, b in pairs:
            self._join((one[0], a), (two[0], b), where, element.get("powerBond"))

    def _simulator(self, end: Element, where: str) -> Simulator:
        name = attribute(end, "simulator", where)
        if name not in self.simulators:
            raise CosimError(f"{where}: there is no simulator '{name}'{closest(name, self.simulators)}")
        return self.simulators[name]

    def _join(self, one: tuple[Simulator, str], two: tuple[Simulator, str], where: str, bond: str | None) -> None:
        """Connect two variables in the direction in which values can go."""
        first = one[0].variable(one[1], where)
        two[0].variable(two[1], where)
        source, target = (one, two) if first.causality in GIVING else (two, one)
        self.connections.append(Connection(f"{source[0].name}.{source[1]}", f"{target[0].name}.{target[1]}"))
        if bond is not None:
            self.bonds.setdefault(bond, []).append(f"{source[0].name}.{source[1]}")

    def _through(self, function: Function) -> Iterator[Connection]:
        """Yield the connections from what feeds a function to what it feeds."""
        where = f"function '{function.name}'"
        targets = self.signals.pop((function.name, "out"), [])
        inputs = [self.signals.pop((function.name, name), []) for name in function.inputs]
        left = [name for owner, name in self.signals if owner == function.name]
        if left:
            known = ("out", *function.inputs)
            raise CosimError(f"{where} has no signal '{left[0]}'{closest(left[0], known)} Signals: {listed(known, 10)}.")
        for name, sources in zip(function.inputs, inputs, strict=True):
            if len(sources) != 1:
                raise CosimError(f"{where}: {len(sources)} connections feed its '{name}'; it must be one")
        if not targets:
            raise CosimError(f"{where}: nothing is connected with its 'out'")
        for simulator, names in (*targets, *(source[0] for source in inputs)):
            if len(names) != function.dimension:
                raise CosimError(
                    f"{where} has {function.dimension} dimensions, but {len(names)} variables of '{simulator}' are connected"
                )
        for target, entries in targets:
            for i, entry in enumerate(entries):
                for ((simulator, names),) in inputs:
                    yield Connection(
                        f"{simulator}.{names[i]}", f"{target}.{entry}", factor=function.factor, offset=function.offset,
                        add=len(inputs) > 1,
                    )  # fmt: skip

    def _bonds(self) -> Iterator[PowerBond]:
        for name, outputs in self.bonds.items():
            if len(outputs) != 2:
                raise CosimError(f"{self.where}: power bond '{name}' has {len(outputs)} connections; it must have two")
            yield PowerBond(name, effort=outputs[0], flow=outputs[1])


#: More inputs than this nobody sums up; a file could ask for any number.
MOST_INPUTS = 10000


def _matched(one: VariableGroup, two: VariableGroup, where: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of variables: groups match place by place."""
    for what, a, b in (("variables", one.variables, two.variables), ("groups", one.groups, two.groups)):
        if len(a) != len(b):
            raise CosimError(f"{where}: group '{one.name}' has {len(a)} {what}, group '{two.name}' has {len(b)}")
    yield from zip(one.variables, two.variables, strict=True)
    for inner, other in zip(one.groups, two.groups, strict=True):
        yield from _matched(inner, other, where)
