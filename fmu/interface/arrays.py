"""Vectors and matrices of an interface as arrays of FMI 3, instead of one variable for each component."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kingpost.fmu.interface.interface import Interface, Variable
from kingpost.mechanism.port_names import TRIANGLE

#: What the components of a quaternion and of a vector are called, at the end of their names or before ``rate``.
AXES = (("w", "x", "y", "z"), ("x", "y", "z"))
_COMPONENT = re.compile(r"(?P<stem>.*)(?P<axis>[wx])(?P<end>([._]rate)?)")
#: A symmetric matrix is written down as its upper triangle.
_SIDE = max(j for _, j in TRIANGLE)
_FIRST_OF_TRIANGLE = re.compile(r"(?P<stem>.*A)11(?P<end>([._]rate)?)")


def with_arrays(interface: Interface) -> Interface:
    """Return the same interface with vectors, quaternions and symmetric matrices as arrays, where all of them is shown.

    Arrays get references beyond those of the components, which stay what they are for the model.
    """
    groups = list(_groups(interface.variables))
    taken = {variable.name for group in groups if len(group[1]) == 1 for variable in group[1]}
    reference = len(interface.names)
    variables: list[Variable] = []
    of_state: dict[int, Variable] = {}
    for name, members, shape, places in groups:
        chosen = _free_name(name, members, taken)
        first = members[0]
        if len(members) == 1 or chosen is None:
            # Derivatives of states in an array follow with the first of them.
            variables += [variable for variable in members if variable.derivative_of not in of_state]
            if first.derivative_of in of_state:
                state = of_state[first.derivative_of]
                if first.derivative_of == state.elements[0]:
                    elements = tuple(r - interface.first["x"] + interface.first["dx"] for r in state.elements)
                    variables.append(
                        replace(
                            first, name=f"der({state.name})", reference=reference, shape=state.shape, elements=elements,
                            description=f"derivative of {state.name}", derivative_of=state.reference,
                        )
                    )  # fmt: skip
                    reference += 1
            continue
        taken.add(chosen)
        array = _array(chosen, members, shape, places, reference)
        variables.append(array)
        reference += 1
        of_state |= {element: array for element in array.elements if interface.first["x"] <= element < interface.first["dx"]}
    return replace(interface, variables=tuple(variables))


def array_name(names: Sequence[str]) -> str:
    """Return what components that are called like this are called together: ``slew.M`` for ``slew.Mx`` and so on."""
    for pattern in (_FIRST_OF_TRIANGLE, _COMPONENT):
        match = pattern.fullmatch(names[0])
        if match:
            return f"{match['stem'].rstrip('._')}{match['end']}" or "".join(names)
    raise ValueError(names)


def _groups(variables: Sequence[Variable]) -> Iterator[tuple[str, Sequence[Variable], tuple[int, ...], tuple[int, ...]]]:
    """Yield name, components, shape, and which component is at each place of an array; single variables as they are."""
    i = 0
    while i < len(variables):
        for expected, shape, places in _continuations(variables[i].name):
            members = variables[i : i + len(expected)]
            if [variable.name for variable in members] == expected and _alike(members):
                yield array_name(expected), members, shape, places
                i += len(members)
                break
        else:
            yield variables[i].name, variables[i : i + 1], (), (0,)
            i += 1


def _continuations(name: str) -> Iterator[tuple[list[str], tuple[int, ...], tuple[int, ...]]]:
    """Yield the names that must follow from ``name`` on for a matrix, a quaternion, or a vector."""
    if name.startswith("der("):
        return
    match = _FIRST_OF_TRIANGLE.fullmatch(name)
    if match:
        rows = range(1, _SIDE + 1)
        places = tuple(TRIANGLE.index((min(i, j), max(i, j))) for i in rows for j in rows)
        yield [f"{match['stem']}{i}{j}{match['end']}" for i, j in TRIANGLE], (_SIDE, _SIDE), places
    match = _COMPONENT.fullmatch(name)
    if match and match["stem"].strip("._"):
        for axes in AXES:
            if axes[0] == match["axis"]:
                yield [f"{match['stem']}{axis}{match['end']}" for axis in axes], (len(axes),), tuple(range(len(axes)))


def _alike(members: Sequence[Variable]) -> bool:
    """Say whether one variable can stand for all: what FMI says of an array, it says of each of its elements."""
    told = {
        (item.causality, item.variability, item.initial, item.minimum, item.maximum, item.start is None) for item in members
    }
    return len(told) == 1 and all(item.derivative_of is None for item in members)


def _free_name(name: str, members: Sequence[Variable], taken: set[str]) -> str | None:
    if len(members) == 1 or name not in taken:
        return name
    other = f"{name}_{''.join(AXES[0] if len(members) == 4 else AXES[1])}"
    return None if other in taken else other


def _array(name: str, members: Sequence[Variable], shape: tuple[int, ...], places: tuple[int, ...], reference: int) -> Variable:
    units = list(dict.fromkeys(item.unit for item in members if item.unit is not None))
    given = [item.start for item in members if isinstance(item.start, float)]
    nominals = [item.nominal for item in members if item.nominal is not None]
    components = ", ".join(item.name for item in members)
    mixed = f" (in {', '.join(units)})" if len(units) > 1 else ""
    return replace(
        members[0],
        name=name,
        reference=reference,
        shape=shape,
        elements=tuple(members[place].reference for place in places),
        unit=units[0] if len(units) == 1 else None,
        description=f"{components}{mixed}; the first is: {members[0].description}",
        start=tuple(given[place] for place in places) if given else None,
        nominal=max(nominals) if nominals else None,
    )


def members_of_arrays(members: Mapping[str, str], arrays: Sequence[Variable]) -> dict[str, str]:
    """Return the members of a terminal with those that are elements of an array as one, called like the array."""
    by_label = {label: array for array in arrays for label in array.labels}
    found: dict[str, str] = {}
    done: set[str] = set()
    for member, label in members.items():
        array = by_label.get(label)
        if array is None:
            found[member] = label
        elif array.name not in done:
            done.add(array.name)
            together = [other for other, shown in members.items() if by_label.get(shown) is array]
            found[array_name(together)] = array.name
    return found
