"""modelDescription.xml, for FMI 2.0 and FMI 3.0: the same interface in two dialects."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

from kingpost.base.version import __version__
from kingpost.fmu.interface.interface import SOLVER_TOLERANCE, Interface, Variable

Version = Literal[2, 3]
Kind = Literal["cs", "me"]
TOKEN = "{TOKEN}"


@dataclass(frozen=True)
class Capabilities:
    """What an FMU can do, as the description states it."""

    needs_execution_tool: bool
    directional_derivatives: bool
    input_interpolation: bool
    #: In FMI 3.
    adjoint_derivatives: bool = False
    source_files: tuple[str, ...] = ()
    generation_tool: str = f"Kingpost {__version__}"


def model_identifier(name: str) -> str:
    """Return a name that can be a C identifier and a file name."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def describe_model(
    interface: Interface, version: Version, kind: Kind, capabilities: Capabilities, salt: str = ""
) -> tuple[str, str]:
    """Return modelDescription.xml and its GUID or instantiation token.

    The token is a hash of the description and of ``salt``, which stands for everything else that the FMU holds, so that it is
    the same for the same FMU and different for any other.
    """
    text = "\n".join(_describe(interface, version, kind, capabilities)) + "\n"
    digest = hashlib.sha256(f"{text}{salt}".encode()).hexdigest()
    token = f"{{{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}}}"
    return text.replace(TOKEN, token), token


def _describe(interface: Interface, version: Version, kind: Kind, capabilities: Capabilities) -> Iterable[str]:
    mechanism = interface.model.mechanism
    header = {
        "fmiVersion": f"{version}.0",
        "modelName": mechanism.name,
        "guid" if version == 2 else "instantiationToken": TOKEN,
        "description": mechanism.description or None,
        "generationTool": capabilities.generation_tool,
        "variableNamingConvention": interface.naming,
        "numberOfEventIndicators": "0" if (version, kind) == (2, "me") else None,
    }
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield _opened("fmiModelDescription", **header)
    yield from _kind_element(interface, version, kind, capabilities)
    yield from _units(interface)
    yield "  <LogCategories>"
    yield from (f"    {_tag('Category', name=name, description=text)}" for name, text in LOG_CATEGORIES.items())
    yield "  </LogCategories>"
    yield f"  {_tag('DefaultExperiment', **_experiment(interface, kind))}"
    # How variables are named in the rest: FMI 2 counts them, FMI 3 uses their references.
    shown = _shown(interface, version)
    names = {variable.reference: str(variable.reference if version == 3 else i) for i, variable in enumerate(shown, start=1)}
    yield from _variables(shown, version, kind, names)
    yield from _structure(interface, version, kind, names)
    yield "</fmiModelDescription>"


def _kind_element(interface: Interface, version: Version, kind: Kind, capabilities: Capabilities) -> Iterable[str]:
    """Yield the element for co-simulation or model exchange, which says what the FMU can do."""
    state = "FMUstate" if version == 2 else "FMUState"
    derivatives = "providesDirectionalDerivative" if version == 2 else "providesDirectionalDerivatives"
    model = interface.model
    attributes: dict[str, str | None] = {
        "modelIdentifier": model_identifier(model.mechanism.name),
        "needsExecutionTool": _true(capabilities.needs_execution_tool),
        "canNotUseMemoryManagementFunctions": "true" if version == 2 else None,
        f"canGetAndSet{state}": "true",
        f"canSerialize{state}": "true",
        derivatives: _true(capabilities.directional_derivatives),
    }
    if version == 3 and capabilities.adjoint_derivatives:
        attributes["providesAdjointDerivatives"] = "true"
    if kind == "cs":
        attributes["canHandleVariableCommunicationStepSize"] = "true"
        if version == 2:
            attributes["canInterpolateInputs"] = _true(capabilities.input_interpolation)
            attributes["maxOutputDerivativeOrder"] = "0"
        else:
            attributes["fixedInternalStepSize"] = _number(model.step)
            attributes["providesIntermediateUpdate"] = "true"
            attributes["canReturnEarlyAfterIntermediateUpdate"] = "true"
    else:
        watches = interface.projection is not None or model.equations.guard is not None
        if version == 2:
            attributes["completedIntegratorStepNotNeeded"] = _true(not watches)
        else:
            attributes["needsCompletedIntegratorStep"] = _true(watches)
    element = "CoSimulation" if kind == "cs" else "ModelExchange"
    # FMI 3 lists them in a file of their own.
    if version == 3 or not capabilities.source_files:
        yield f"  {_tag(element, **attributes)}"
        return
    yield f"  {_opened(element, **attributes)}"
    yield "    <SourceFiles>"
    yield from (f"      {_tag('File', name=name)}" for name in capabilities.source_files)
    yield "    </SourceFiles>"
    yield f"  </{element}>"


def _shown(interface: Interface, version: Version) -> tuple[Variable, ...]:
    """Return the variables that are listed: all, but the time in FMI 2, which may be left out there and upsets libcosim."""
    return tuple(variable for variable in interface.variables if version == 3 or variable.causality != "independent")


def _variables(shown: Sequence[Variable], version: Version, kind: Kind, names: Mapping[int, str]) -> Iterable[str]:
    yield "  <ModelVariables>"
    for variable in shown:
        attributes = {
            "name": variable.name,
            "valueReference": str(variable.reference),
            "causality": variable.causality,
            "variability": variable.variability,
            "initial": None if variable.causality == "input" else variable.initial,
            "description": variable.description,
        }
        if (version, kind) == (3, "cs") and variable.causality in ("input", "output"):
            attributes["intermediateUpdate"] = "true"
        numbers = {
            "unit": variable.unit,
            "min": _number(variable.minimum),
            "max": _number(variable.maximum),
            "nominal": _number(variable.nominal),
            "derivative": None if variable.derivative_of is None else names[variable.derivative_of],
            "start": _numbers(variable.start),
        }
        if version == 2:
            yield f"    {_opened('ScalarVariable', **attributes)}{_tag('Real', **numbers)}</ScalarVariable>"
        elif variable.shape:
            dimensions = "".join(_tag("Dimension", start=str(size)) for size in variable.shape)
            yield f"    {_opened('Float64', **attributes, **numbers)}{dimensions}</Float64>"
        else:
            yield f"    {_tag('Float64', **attributes, **numbers)}"
    yield "  </ModelVariables>"


def _structure(interface: Interface, version: Version, kind: Kind, names: Mapping[int, str]) -> Iterable[str]:
    """Yield what depends on what; FMI 2 has a group around each kind of unknown."""
    groups = (
        (interface.outputs, "tux" if kind == "me" else "tu", "Outputs", "Output"),
        (interface.derivatives, "tux", "Derivatives", "ContinuousStateDerivative"),
        (interface.initial_unknowns, "tuxp", "InitialUnknowns", "InitialUnknown"),
    )
    shown = {part: names[item.reference] for item in interface.variables if item.reference in names for part in item.components}
    yield "  <ModelStructure>"
    for variables, sources, group, element in groups:
        lines = []
        for variable in variables:
            parts = [part for component in variable.components for part in _known(interface, component, sources)]
            known = sorted({shown[part] for part in parts if part in shown}, key=int)
            attributes = {
                "index" if version == 2 else "valueReference": names[variable.reference],
                "dependencies": " ".join(known),
                "dependenciesKind": " ".join(["dependent"] * len(known)),
            }
            lines.append(_tag("Unknown" if version == 2 else element, **attributes))
        if version == 3:
            yield from (f"    {line}" for line in lines)
        elif lines:
            yield f"    <{group}>"
            yield from (f"      {line}" for line in lines)
            yield f"    </{group}>"
    yield "  </ModelStructure>"


LOG_CATEGORIES = {
    "logStatusWarning": "samples that were refused, and when they are good again",
    "logStatusDiscard": "steps that could not be taken, and why",
    "logStatusError": "what went wrong, with names and numbers",
    "logAll": "everything",
}


def _known(interface: Interface, component: int, sources: str) -> list[int]:
    """Return the references among time t, parameters p, inputs u and states x on which a variable of the model depends.

    With parameters among the sources the question is that of the initialization, in which a start value that is a formula
    stands for the parameters in it. A state depends on itself alone.
    """
    first, counts = interface.first, interface.counts
    depends = interface.dependencies.get(component, ())
    if first["x"] <= component < first["dx"]:
        depends = (component,)
    if "p" in sources:
        depends = interface.start_dependencies.get(component, depends)
        depends = tuple(known for r in depends for known in interface.start_dependencies.get(r, (r,)))
    ranges = [range(1) if group == "t" else range(first[group], first[group] + counts[group]) for group in sources]
    return sorted({reference for reference in depends if any(reference in group for group in ranges)})


def _units(interface: Interface) -> Iterable[str]:
    yield "  <UnitDefinitions>"
    for unit in interface.units:
        if not unit.known:
            yield f"    {_tag('Unit', name=unit.name)}"
            continue
        exponents = {base: str(exponent) for base, exponent in unit.exponents.items()}
        scale = {} if unit.factor == 1.0 else {"factor": repr(unit.factor)}
        scale |= {"offset": repr(unit.offset)} if unit.offset else {}
        yield f"    {_opened('Unit', name=unit.name)}{_tag('BaseUnit', **exponents, **scale)}</Unit>"
    yield "  </UnitDefinitions>"


def _experiment(interface: Interface, kind: Kind) -> dict[str, str | None]:
    model = interface.model
    step = _number(model.communication_step) if kind == "cs" else None
    return {
        "startTime": _number(model.problem.t_start),
        "stopTime": _number(model.t_end),
        "tolerance": _number(SOLVER_TOLERANCE) if kind == "me" else None,
        "stepSize": step,
    }


def _number(value: float | None) -> str | None:
    return None if value is None else repr(float(value))


def _numbers(value: float | tuple[float, ...] | None) -> str | None:
    """Return one number, or those of an array row by row."""
    return " ".join(repr(float(item)) for item in value) if isinstance(value, tuple) else _number(value)


def _true(value: bool) -> str:
    return "true" if value else "false"


#: What XML cannot hold, however it is written.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _tag(element: str, /, **attributes: str | None) -> str:
    return f"<{element}{_written(attributes)}/>"


def _opened(element: str, /, **attributes: str | None) -> str:
    return f"<{element}{_written(attributes)}>"


def _written(attributes: Mapping[str, str | None]) -> str:
    texts = {name: _NOT_XML.sub("\ufffd", value) for name, value in attributes.items() if value is not None}
    return "".join(f" {name}={quoteattr(text)}" for name, text in texts.items())
