"""Descriptions of exported models."""

from kingpost import PluginSet
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.interface.description import Capabilities, describe_model
from kingpost.fmu.interface.interface import build_interface
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection

CAPABILITIES = Capabilities(needs_execution_tool=False, directional_derivatives=True, input_interpolation=True)


def described(mechanism, fmi=2, kind="cs", selection=None, **options):
    """Return the text of a model description."""
    return shown(prepare_export(mechanism, plugins=PluginSet(entry_points=False), **options), fmi, kind, selection)


def shown(model, fmi=2, kind="cs", selection=None):
    return describe_model(build_interface(model, selection or ExportSelection(), kind), fmi, kind, CAPABILITIES)[0]


def written(folder, text):
    path = folder / "described.fmu"
    write_archive(path, {"modelDescription.xml": text.encode()})
    return path
