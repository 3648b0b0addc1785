"""The page of model files, from their JSON Schema."""

from __future__ import annotations

from typing import Any

from docsite.text import cell, plain, table
from kingpost import PluginSet
from kingpost.modelfiles.schema import model_schema

PLACE = "reference/model-file.md"
#: The classes whose documentation says what the keys of a table mean.
CLASSES = {
    "parameters": ("Parameter",),
    "inputs": ("Input",),
    "bodies": ("Body", "Shape"),
    "joints": ("Joint",),
    "closures": ("Closure",),
    "outputs": ("Output",),
    "measures": ("Measure",),
    "ports": ("Port",),
    "subsystems": ("Group",),
    "run": ("RunSettings",),
    "task": ("ServoTask",),
    "optimal_task": ("OptimalTask", "Phase", "CostPart", "Limits"),
}


def pages() -> dict[str, str]:
    """Return the page."""
    schema = model_schema(PluginSet(entry_points=False))
    parts = [
        "# Model file, key by key",
        "Every table and key that a model file may have, from the JSON Schema that `kingpost models --schema` prints (editors "
        "complete and check by it). How to write one is in [Model files](../model-files.md).",
        table(
            ("key", "holds", "meaning"),
            [
                (f"[`{key}`](#key-{key.replace('_', '-')})", _type(entry), plain(entry.get("description", "")))
                for key, entry in _properties(schema).items()
            ],
        ),
    ]
    for key, entry in _properties(schema).items():
        parts += _section(key, entry)
    for key, entry in schema["$defs"].items():
        parts += _section(key, entry, shared=True)
    return {PLACE: "\n\n".join(part for part in parts if part) + "\n"}


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    return dict(schema.get("properties", {}))


def _section(key: str, entry: dict[str, Any], shared: bool = False) -> list[str]:
    inner = entry.get("items", entry)
    heading = f"`[[{key}]]`" if "items" in entry else f"`[{key}]`" if _is_table(entry) else f"`{key}`"
    if shared:
        heading = f"What is a {key.replace('_', ' ')}"
    parts = [f"(key-{key.replace('_', '-')})=\n## {heading}", plain(entry.get("description", inner.get("description", "")))]
    if key in CLASSES:
        parts.append(
            "What the keys mean, and their units: " + ", ".join(f"{{py:class}}`kingpost.{name}`" for name in CLASSES[key]) + "."
        )
    if key == "forces":
        parts.append("What the keys mean: [forces](plugins/forces.md).")
    each = inner.get("additionalProperties")
    if isinstance(each, dict) and not _properties(inner):
        parts.append(f"Entries by name, each {_type(each)}.")
        inner = each
    forms = [form for form in inner.get("anyOf", inner.get("oneOf", ())) if _properties(form)] or [inner]
    common = _properties(inner) if forms != [inner] else {}
    for form in forms:
        name = next((str(value["const"]) for value in _properties(form).values() if "const" in value), form.get("title", ""))
        if len(forms) > 1 and name:
            parts.append(f"### {plain(name)}")
        rows = _rows({**form, "properties": {**common, **_properties(form)}})
        if rows:
            parts.append(table(("key", "takes", "default"), rows))
    return parts


def _is_table(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "object" or "properties" in entry or "additionalProperties" in entry


def _rows(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    required = schema.get("required", ())
    return [
        (
            cell(key),
            _type(entry) + (f": {plain(entry['description'])}" if entry.get("description") else ""),
            "required" if key in required else cell(str(entry["default"])) if "default" in entry else "",
        )
        for key, entry in _properties(schema).items()
    ]


def _type(entry: Any) -> str:
    """Return what a value may be, in words."""
    if not isinstance(entry, dict) or not entry:
        return "anything"
    if "const" in entry:
        return cell(repr(entry["const"]))
    if "enum" in entry:
        return ", ".join(cell(str(value)) for value in entry["enum"])
    if "$ref" in entry:
        name = entry["$ref"].rsplit("/", 1)[1]
        return "number or formula" if name == "scalar" else f"[{name.replace('_', ' ')}](#key-{name.replace('_', '-')})"
    for word in ("anyOf", "oneOf"):
        if word in entry:
            return " or ".join(dict.fromkeys(_type(form) for form in entry[word]))
    kinds = entry.get("type", "table" if _is_table(entry) else "anything")
    if isinstance(kinds, list):
        return " or ".join(_type({**entry, "type": kind}) for kind in kinds)
    if kinds == "array":
        count = f"{entry['minItems']} " if entry.get("minItems") and entry.get("minItems") == entry.get("maxItems") else ""
        return f"list of {count}{_type(entry.get('items', {}))}"
    if kinds == "object" and _properties(entry):
        return f"table with {', '.join(cell(key) for key in _properties(entry))}"
    words = {"number": "number", "integer": "whole number", "string": "text", "boolean": "true or false", "object": "table"}
    return words.get(kinds, str(kinds))
