"""A JSON Schema for model files, made from the same dataclasses that read them."""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kingpost.base.fields import Table, default, required
from kingpost.base.formulas import Scalar, Scalars, Vector3
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, Input, Joint, Output, Parameter, Port
from kingpost.mechanism.measures import MEASURE_DEFAULTS, MEASURE_KINDS, Measure
from kingpost.mechanism.optimal_parts import Phase
from kingpost.mechanism.orientations import FORMS
from kingpost.mechanism.paths import Line, Turn
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.subsystems import Group
from kingpost.mechanism.trajectories import TRAJECTORY_KINDS, Trajectory
from kingpost.modelfiles.optimal_task_file import OptimalTaskTable
from kingpost.modelfiles.subsystem_tables import USE, USE_KEYS
from kingpost.modelfiles.task_file import TaskTable
from kingpost.modelfiles.toml_model import MOVES
from kingpost.modular.subsystem import Subsystem
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Between
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.vessels.options import VesselTable

NUMBER_OR_FORMULA = {"$ref": "#/$defs/scalar"}
#: A file of tasks alone.
_ONLY_TASKS = {
    "anyOf": [{"required": [key]} for key in ("servo", "tasks", "optimal", "optimal_tasks")],
    "not": {"anyOf": [{"required": [key]} for key in ("model", "bodies", "joints", "subsystems", "vessel")]},
}


def model_schema(plugins: PluginSet) -> dict[str, Any]:
    """Return the schema of model files as the given plugins allow them."""
    joint = _table(Joint)
    joint["properties"]["kind"] = {"enum": sorted(JOINT_KINDS)}
    closure = _table(Closure)
    closure["properties"]["kind"] = {"enum": sorted(CLOSURE_KINDS)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Kingpost model file",
        "type": "object",
        "additionalProperties": False,
        "oneOf": [
            {"required": ["model"]},
            {
                "required": ["name"],
                "anyOf": [{"required": ["bodies", "joints"]}, {"required": ["subsystems"]}, {"required": ["vessel"]}],
            },
            _ONLY_TASKS,
        ],
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "parameters": _named(Parameter),
            "inputs": _inputs(),
            "bodies": {"type": "array", "items": _body()},
            "joints": {"type": "array", "items": joint},
            "closures": {"type": "array", "items": closure},
            "forces": {"type": "array", "items": {"oneOf": _forces(plugins)}},
            "outputs": {"type": "array", "items": _table(Output)},
            "measures": {"type": "array", "items": {"oneOf": _measures()}},
            "ports": {"type": "array", "items": _table(Port)},
            "subsystems": {"type": "array", "items": _subsystems()},
            "vessel": _vessel(),
            "model": {"type": "string", "description": "name of a model, or path of a model file"},
            "plugins": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "object", "additionalProperties": {"type": "number"}},
            "run": _table(RunSettings),
            "servo": {"$ref": "#/$defs/task"},
            "tasks": {"type": "object", "additionalProperties": {"$ref": "#/$defs/task"}},
            "optimal": {"$ref": "#/$defs/optimal_task"},
            "optimal_tasks": {"type": "object", "additionalProperties": {"$ref": "#/$defs/optimal_task"}},
        },
        "$defs": {
            "scalar": {
                "description": "a number, or a formula in the parameters",
                "type": ["number", "string"],
            },
            "task": _task(),
            "optimal_task": _optimal_task(),
            "signal": _signal(),
            "system": _system(),
            "use": _use(),
        },
    }


def _vessel() -> dict[str, Any]:
    table = _table(VesselTable)
    table["properties"]["hydro"] = {"type": "string", "description": "file or folder with hydrodynamic data"}
    return {**table, "required": ["hydro"]}


def _subsystems() -> dict[str, Any]:
    """Return groups of bodies, systems in variables of their own, and parts that are used again."""
    within = {"within": {"type": "string"}}
    system = _system()
    system["properties"] |= within | {"pull": {"type": "number", "default": 0.0}}
    use = _use()
    use["properties"] |= within
    use["required"] = [USE, "name"]
    group = _table(Group)
    group["title"] = "group of bodies"
    return {"anyOf": [group, system, use]}


def _system() -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}}

    def named(entry: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": entry}

    formula = dict(NUMBER_OR_FORMULA)
    rows = {"anyOf": [formula, {"type": "array", "items": formula}]}
    text, number = {"type": "string"}, {"type": "number"}
    kinds = {
        **dict.fromkeys(("rates", "maps", "motion", "forces", "start", "guess"), named(formula)),
        **dict.fromkeys(("inputs", "units", "names"), named(text)),
        **dict.fromkeys(("independent", "keep"), texts),
        "name": text,
        "suffix": text,
        "variables": {"type": "object", "patternProperties": {"^[0-9]+$": texts}, "additionalProperties": False},
        "invariants": named(rows),
        "parameters": named(number),
        "children": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/system"}, {"$ref": "#/$defs/use"}]}},
    }
    properties = {field.name: kinds[field.name] for field in dataclasses.fields(Subsystem)}
    return {
        "title": "system in variables of its own",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": ["name"],
    }


def _use() -> dict[str, Any]:
    properties = {key: value for key, value in _system()["properties"].items() if key in ("name", *USE_KEYS)}
    return {
        "title": "part that is described elsewhere",
        "type": "object",
        "additionalProperties": False,
        "properties": {USE: {"type": "string"}, **properties},
        "required": [USE],
    }


def _inputs() -> dict[str, Any]:
    """Return inputs: declared, with how they move if that is said; in a run file, how those of the model move."""
    declared = _named(Input)
    signal = {"$ref": "#/$defs/signal"}
    declared["additionalProperties"]["properties"][MOVES] = signal
    return {"type": "object", "additionalProperties": {"anyOf": [declared["additionalProperties"], signal]}}


def _signal() -> dict[str, Any]:
    file = {
        "file": {"type": "string", "description": "CSV table, or result of a run: file or folder"},
        "column": {"type": "string"},
        "interpolation": {"enum": list(get_args(Between))},
    }
    return {
        "description": "a number, a formula in parameters and the time t, a trajectory, or a file with samples",
        "anyOf": [
            {"type": ["number", "string"]},
            {"type": "object", "properties": {"kind": {"enum": sorted(TRAJECTORY_KINDS)}}, "required": ["kind"]},
            {"type": "object", "properties": file, "required": ["file"], "additionalProperties": False},
        ],
    }


def _body() -> dict[str, Any]:
    """Return a body; a shape may be one or several, and a mesh may come from a file."""
    body, shape = _table(Body), _table(Shape)
    shape["properties"] |= {"file": {"type": "string"}, "scale": {"type": "number", "default": 1.0}}
    del shape["required"]
    shape["anyOf"] = [{"required": ["kind"]}, {"required": ["file"]}]
    body["properties"]["shape"] = {"anyOf": [shape, {"type": "array", "items": shape}]}
    return body


def _measures() -> list[dict[str, Any]]:
    """Return a table for each kind of measure, with the fields that it takes."""
    properties = _table(Measure)["properties"]
    properties["axis"] = {"anyOf": [{"enum": ["x", "y", "z"]}, _type(Vector3)]}
    properties["terms"] = {"type": "object", "additionalProperties": dict(NUMBER_OR_FORMULA), "minProperties": 1}
    variants = []
    for name, kind in MEASURE_KINDS.items():
        own = {field: dict(properties[field]) for field in ("name", *kind.needs, *kind.takes, "description")}
        for field, value in own.items():
            value.pop("default", None)
            if field in MEASURE_DEFAULTS:
                default_value = MEASURE_DEFAULTS[field]
                value["default"] = list(default_value) if isinstance(default_value, tuple) else default_value
        variants.append(
            {
                "title": name,
                "description": kind.summary,
                "type": "object",
                "additionalProperties": False,
                "properties": own | {"kind": {"const": name}},
                "required": ["name", "kind", *kind.needs],
            }
        )
    return variants


def _task() -> dict[str, Any]:
    """Return a servo task; its lines and turns name the measures that follow them."""
    task = _table(TaskTable)
    task["properties"]["path"] = {"type": "object", "additionalProperties": _type(Trajectory)}
    task["properties"]["settings"] = {"type": "object", "additionalProperties": {"type": "number"}}
    for key, cls in (("lines", Line), ("turns", Turn)):
        entry = _table(cls)
        entry["properties"]["measures"] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        entry["required"] = ["measures", *entry["required"]]
        if cls is Turn:
            entry["properties"] |= {"start": _orientation(), "end": _orientation()}
        task["properties"][key] = {"type": "array", "items": entry}
    return task


def _optimal_task() -> dict[str, Any]:
    """Return an optimal task; limits are a number or two, costs have the options of their term."""
    task = _table(OptimalTaskTable)
    pair = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    limits = {"anyOf": [{"type": "number"}, pair]}
    for key in ("end", "bounds", "rates", "free"):
        task["properties"][key] = {"type": "object", "additionalProperties": limits}
    task["properties"]["horizon"] = limits
    values = {"type": "array", "items": {"type": "number"}, "minItems": 1}
    task["properties"]["continuation"] = {"type": "object", "additionalProperties": values}
    task["properties"]["settings"] = {"type": "object", "additionalProperties": {"type": "number"}}
    cost = {"term": {"type": "string"}, "weight": {"type": "number", "minimum": 0}}
    task["properties"]["costs"] = {"type": "array", "items": {"type": "object", "properties": cost, "required": ["term"]}}
    phase = _table(Phase)
    phase["properties"] |= {key: task["properties"][key] for key in ("end", "bounds", "costs", "settings", "horizon")}
    task["properties"]["phases"] = {"type": "array", "items": phase}
    return task


def _orientation() -> dict[str, Any]:
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 4}
    matrix = {"type": "array", "items": {**numbers, "maxItems": 3}, "minItems": 3, "maxItems": 3}
    forms = {form: matrix if form == "matrix" else {**numbers, "minItems": n, "maxItems": n} for form, n in FORMS.items()}
    table = {"type": "object", "additionalProperties": False, "properties": forms, "minProperties": 1, "maxProperties": 1}
    return {"anyOf": [numbers, matrix, table]}


def _forces(plugins: PluginSet) -> list[dict[str, Any]]:
    variants = []
    for cls, _ in plugins.forces.entries():
        variant = _table(cls.Options)
        variant["title"], variant["description"] = cls.name, cls.summary()
        variant["properties"] |= {"kind": {"const": cls.name}, "name": {"type": "string"}}
        variant["required"] = ["kind", *variant.get("required", [])]
        variants.append(variant)
    return variants


def _named(cls: type[Any]) -> dict[str, Any]:
    entry = _table(cls)
    del entry["properties"]["name"]
    entry["required"].remove("name")
    return {"type": "object", "additionalProperties": entry}


def _table(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    fields = [field for field in dataclasses.fields(cls) if field.init]
    properties = {field.name: _type(hints[field.name]) for field in fields}
    for field in fields:
        value = None if required(field) else default(field)
        if isinstance(value, float) and not math.isfinite(value):
            continue  # JSON has no infinity
        if isinstance(value, bool | int | float | str) or (isinstance(value, tuple) and value):
            properties[field.name] |= {"default": list(value) if isinstance(value, tuple) else value}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    needed = [field.name for field in fields if required(field)]
    return schema | ({"required": needed} if needed else {})


def _type(annotation: Any) -> dict[str, Any]:
    if annotation == Scalar:
        return dict(NUMBER_OR_FORMULA)
    if annotation == Scalars:
        return {"anyOf": [{"type": "array", "items": dict(NUMBER_OR_FORMULA)}, dict(NUMBER_OR_FORMULA)]}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {"enum": list(arguments)}
    if annotation == Table:
        return {"type": "object"}
    if origin in (Union, types.UnionType):
        rest = [argument for argument in arguments if argument is not type(None) and not _only_in_python(argument)]
        if Union[tuple(rest)] == Scalar:
            return dict(NUMBER_OR_FORMULA)
        return _type(rest[0]) if len(rest) == 1 else {"anyOf": [_type(argument) for argument in rest]}
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _type(arguments[0])}
        return {"type": "array", "items": _type(arguments[0]), "minItems": len(arguments), "maxItems": len(arguments)}
    if hasattr(annotation, "REQUIRED_KEYS"):
        return {"type": "object", "required": list(annotation.REQUIRED_KEYS)}
    if hasattr(annotation, "from_data"):
        return {"anyOf": [dict(NUMBER_OR_FORMULA), {"type": "object", "required": ["kind"]}]}
    names = {float: "number", int: "integer", bool: "boolean"}
    return {"type": names.get(annotation, "string")}


def _only_in_python(annotation: Any) -> bool:
    """Say whether a type has no form in a file: plugin classes and their instances, requests."""
    if get_origin(annotation) is not None:  # Python 3.10 takes tuple[str, ...] for a type
        return get_origin(annotation) is type
    plain = (str, float, int, bool)
    return isinstance(annotation, type) and annotation not in plain and not hasattr(annotation, "from_data")
