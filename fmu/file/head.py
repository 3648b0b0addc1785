"""What a model description says beside its variables, of which there may be hundreds of thousands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat

#: How deep the elements lie that are looked at, the root being 0.
DEEPEST = 3
VARIABLES = "ModelVariables"
TRUE = ("true", "1")


@dataclass(frozen=True)
class Head:
    """Attributes of the root, and of the elements that are not variables by their path: the first of each."""

    root: Mapping[str, str]
    found: Mapping[str, Mapping[str, str]]
    #: Variables of FMI 1.0 whose value is the negative of the one whose reference they share.
    negated: frozenset[str]
    #: Variables of FMI 3 that take part in intermediate updates, where it has them.
    intermediate: frozenset[str] = frozenset()

    @property
    def version(self) -> str:
        """The version of FMI, as it is written."""
        return self.root.get("fmiVersion", "")


def read_head(description: bytes) -> Head:
    """Go through a model description once; :class:`ValueError` if it is not XML."""
    found: dict[str, dict[str, str]] = {}
    negated: list[str] = []
    intermediate: list[str] = []
    path: list[str] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        old = found.get("", {}).get("fmiVersion", "").startswith("1")
        between = found.get("CoSimulation", {}).get("providesIntermediateUpdate") in TRUE
        if len(path) == 1 and name == VARIABLES and not old and not between:
            # What follows is only looked at for whether it is XML.
            parser.StartElementHandler = parser.EndElementHandler = None
        if len(path) > 1 and path[1] == VARIABLES:
            if attributes.get("alias") == "negatedAlias":
                negated.append(attributes.get("name", ""))
            if attributes.get("intermediateUpdate") in TRUE:
                intermediate.append(attributes.get("name", ""))
        elif len(path) <= DEEPEST:
            found.setdefault("/".join([*path[1:], name]) if path else "", attributes)
        path.append(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda name: path.pop()
    try:
        parser.Parse(description, True)
    except (expat.ExpatError, LookupError) as error:  # the latter for an encoding that nobody knows
        raise ValueError(str(error)) from None
    return Head(found.pop(""), found, frozenset(negated), frozenset(intermediate))
