"""Machines as the text of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kingpost.base.errors import KingpostError, MechanismError, listed
from kingpost.base.toml import parsed_toml
from kingpost.base.toml_text import toml_text
from kingpost.mechanism.model import Model
from kingpost.modelfiles.opened import OpenedModel
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.symbols.joints import JOINT_KINDS


def model_text(opened: OpenedModel, source: str) -> str:
    """Return a machine as a model file that describes the same one; ``source`` is what it is called by.

    The text is read again and held against the machine, so that a file whose numbers would differ is refused, not written.
    """
    mechanism = opened.mechanism
    cannot = f"'{source}' cannot be written as a model file: "
    hidden = [parameter.name for parameter in mechanism.parameters if parameter.hidden]
    if hidden:
        raise MechanismError(
            f"{cannot}it holds {len(hidden)} numbers of the waves of a sea, such as {hidden[0]}, which no file has words for; "
            "write it without its sea, and name the sea where the file is run"
        )
    if opened.run:
        raise MechanismError(f"{cannot}it is one")
    run = {"t_end": opened.t_end, "step": opened.step}
    beside = {} if run == {"t_end": Model.t_end, "step": Model.step} else {"run": run}
    described = mechanism.to_dict()
    differing: list[str] = []
    # A file is read with pleasure if it does not say what goes without saying, where that does go without saying.
    for short in (True, False):
        try:
            text = toml_text({**(_shortened(described) if short else described), **beside}, headings=1)
            again = mechanism_from_dict({key: value for key, value in parsed_toml(text, source).items() if key != "run"})
        except (ValueError, KingpostError) as error:
            if short:
                continue
            raise MechanismError(f"{cannot}{error}") from None
        found = again.to_dict()
        differing = [key for key, value in described.items() if found.get(key) != value]
        if not differing:
            break
    if differing:
        raise MechanismError(f"{cannot}{listed(differing)} would not be read as they are")
    notes = [f"# The machine of 'kingpost models {source}': the same bodies, joints, forces and numbers."]
    tasks = [*opened.tasks, *opened.optimal_tasks]
    if tasks:
        notes.append(f"# Its tasks ({listed(tasks)}) stay with the model: name '{source}' for them.")
    return "\n".join(notes) + "\n\n" + text


def _shortened(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description without entries of joints and outputs that are as they would be anyway."""

    def without(entry: Mapping[str, Any]) -> dict[str, Any]:
        usual = [each.name for each in JOINT_KINDS[entry["kind"]].coordinates] if "parent" in entry else []
        return {name: item for name, item in entry.items() if not _usual(name, item, usual)}

    return {key: [*map(without, value)] if key in ("joints", "outputs") else value for key, value in described.items()}


def _usual(name: str, value: Any, coordinates: Sequence[str]) -> bool:
    if name in ("position", "rotation", "child_position", "child_rotation", "start", "start_rate"):
        return isinstance(value, list) and all(item == 0.0 for item in value)
    return (name == "coordinates" and value == coordinates) or (name, value) == ("quantity", "position")
