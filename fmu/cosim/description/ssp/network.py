"""Who feeds whom: connections with a direction, found from the kinds of what they connect, and what happens on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kingpost.base.errors import closest
from kingpost.base.units import Unit
from kingpost.fmu.cosim.description.ssp.notes import Notes
from kingpost.fmu.cosim.description.ssp.structure import FmuPart, Link, Place, Structure
from kingpost.fmu.cosim.description.ssp.transformations import Change
from kingpost.fmu.cosim.description.system import CosimError

#: Which connectors give values to what is outside of their owner, and which take them from there.
GIVING = ("output", "calculatedParameter", "constant", "local", "independent", "internal", "none")
TAKING = ("input", "parameter", "structuralParameter")

Role = Literal["giver", "taker", ""]


@dataclass(frozen=True)
class Way:
    """A way from a place to another, and what becomes of a value on it."""

    source: Place
    target: Place
    change: Change
    hold: bool = False


class Network:
    """The connections of a structure with their directions."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        #: Connectors of systems whose kind follows from what they are connected with.
        self._inferred: dict[Place, Literal["input", "output"]] = {}
        #: What feeds a place: seen from within a system, so that a connector of a system is fed once from each of its sides.
        self._feeds: dict[tuple[Place, bool], tuple[Place, Link]] = {}
        self._following: dict[Place, list[tuple[Place, Link]]] = {}
        #: The connections of a connector of a system with what is in it.
        self._inside: dict[Place, list[Link]] = {}
        for link in structure.links:
            for place in (link.start, link.end):
                if place.path == link.within:
                    self._inside.setdefault(place, []).append(link)
        self._direct(list(structure.links))

    def _direct(self, links: list[Link]) -> None:
        while links:
            left = [link for link in links if not self._directed(link)]
            if len(left) == len(links):
                raise CosimError(
                    f"{links[0].name}: neither says whether it gives or takes values; give the connectors of systems a kind, "
                    "input or output"
                )
            links = left

    def _directed(self, link: Link) -> bool:
        """Note the direction of a connection, if it can be told yet."""
        one, other = (self._role(place, link) for place in (link.start, link.end))
        if not one and not other:
            return False
        if one == other:
            both = "give values" if one == "giver" else "take values"
            raise CosimError(f"{link.name}: both {both} there, so nothing can pass between them")
        ends = (link.start, link.end) if one == "giver" or other == "taker" else (link.end, link.start)
        for place, role in zip(ends, ("giver", "taker"), strict=True):
            if not self._role(place, link):
                inside = place.path == link.within
                self._inferred[place] = "input" if (role == "giver") == inside else "output"
        source, target = ends
        key = (target, target.path == link.within)
        if key in self._feeds:
            raise CosimError(f"'{target}' is fed by '{self._feeds[key][0]}' and by '{source}'; it can have one source")
        self._feeds[key] = (source, link)
        self._following.setdefault(source, []).append((target, link))
        return True

    def _role(self, place: Place, link: Link) -> Role:
        """Say whether a place gives or takes values, as a connection sees it."""
        component = self.structure.components.get(place.path)
        if component is not None:
            kind = component.variable(place.connector, link.name).causality
        else:
            connectors = self.structure.systems[place.path].connectors
            # A system that declares none leaves it to the connections.
            if connectors and place.connector not in connectors:
                owner = self.structure.systems[place.path].name
                raise CosimError(
                    f"{link.name}: {owner} has no connector '{place.connector}'{closest(place.connector, connectors)}"
                )
            declared = connectors.get(place.connector)
            kind = declared.kind if declared is not None else ""
            kind = kind if kind in (*GIVING, *TAKING) else self._inferred.get(place, "")
        if kind not in (*GIVING, *TAKING):
            return ""
        gives = kind in GIVING
        # What a system takes from outside it gives to what is in it.
        if component is None and place.path == link.within:
            gives = not gives
        return "giver" if gives else "taker"

    def unit(self, place: Place, seen: frozenset[Place] = frozenset()) -> Unit | None:
        """Return the unit of a place: of a variable that of its FMU, of a connector its own or that of what is inside."""
        part = self.structure.part(place.path)
        if isinstance(part, FmuPart):
            return part.unit(place.connector)
        declared = part.connectors.get(place.connector)
        if declared is not None and declared.unit is not None:
            return declared.unit
        if place in seen:
            return None
        units: list[Unit] = []
        for link in self._inside.get(place, []):
            if not link.change and not link.raw:
                unit = self.unit(link.end if place == link.start else link.start, seen | {place})
                units += [unit] if unit is not None and unit not in units else []
        return units[0] if len(units) == 1 else None

    def step(self, source: Place, target: Place, link: Link, unit: Unit | None) -> tuple[Change, Unit | None]:
        """Return what becomes of a value in a unit on one connection, and its unit then."""
        wanted = self.unit(target)
        if link.raw:
            return link.change, wanted
        return converted(unit, wanted, link.name, self.structure.notes).then(link.change, link.name), wanted or unit

    def ways(self) -> Iterator[Way]:
        """Yield the way to each variable of a component that another one feeds, whatever systems lie between them."""
        for target, inside in list(self._feeds):
            if target.path not in self.structure.components or inside:
                continue
            chain: list[tuple[Place, Place, Link]] = []
            place, within = target, False
            while (place, within) in self._feeds:
                source, link = self._feeds[place, within]
                if any(source == entry[0] and link is entry[2] for entry in chain):
                    raise CosimError(f"{link.name}: the connectors of systems feed each other in a circle")
                chain.append((source, place, link))
                if source.path in self.structure.components:
                    break
                # A connector of a system that gives to what is inside is fed from outside, and the other way round.
                place, within = source, source.path != link.within
            if chain[-1][0].path not in self.structure.components:
                continue  # an input of the whole system, which nobody feeds
            change, unit = Change(), self.unit(chain[-1][0])
            for source, following, link in reversed(chain):
                further, unit = self.step(source, following, link, unit)
                change = change.then(further, link.name)
            yield Way(chain[-1][0], target, change, any(link.hold for _, _, link in chain))

    def reached(self, place: Place, seen: tuple[Place, ...] = ()) -> Iterator[Way]:
        """Yield the ways from a connector of a system to the variables of components that it feeds."""
        if place in seen:
            raise CosimError(f"'{place}': the connectors of systems feed each other in a circle")
        for target, link in self._following.get(place, []):
            change, _ = self.step(place, target, link, self.unit(place))
            if target.path in self.structure.components:
                yield Way(place, target, change)
                continue
            for way in self.reached(target, (*seen, place)):
                yield Way(place, way.target, change.then(way.change, link.name))

    def fed_from(self, place: Place) -> Place | None:
        """Return the variable of a component whose value a connector of a system shows as it is, if there is one."""
        found = self._feeds.get((place, True))
        while found is not None:
            source, link = found
            if link.change or link.raw or converted(self.unit(source), self.unit(place), link.name, self.structure.notes):
                return None
            if source.path in self.structure.components:
                return source
            found = self._feeds.get((source, True))
        return None


def converted(unit: Unit | None, wanted: Unit | None, where: str, notes: Notes) -> Change:
    """Return the change from a unit to another; numbers pass as they are where one is not told, or nobody knows it."""
    if unit is None or wanted is None:
        return Change()
    change = unit.to(wanted)
    if change is not None:
        return Change(*change)
    if unit.name == wanted.name:
        notes.say(
            ("twice", unit.name), f"{where}: '{unit.name}' is defined in two ways that do not fit; numbers pass as they are"
        )
    elif not unit.known or not wanted.known:
        strange = unit if not unit.known else wanted
        notes.say(
            ("unknown", unit.name, wanted.name),
            f"{where}: numbers in {unit.name} are taken for {wanted.name} as they are, since nothing defines '{strange.name}'",
        )
    else:
        raise CosimError(
            f"{where}: from {unit.name} to {wanted.name} nothing can be converted; suppress it (suppressUnitConversion), or "
            "connect what has one dimension"
        )
    return Change()
