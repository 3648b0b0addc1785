"""Exporter ``native-fmu``: an FMU of plain C, with no Python in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kingpost.base.errors import ExportError
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.export.native.building import build_binary, platforms_named
from kingpost.fmu.export.native.sources import NativeSources, marked, native_sources
from kingpost.fmu.interface.arrays import members_of_arrays, with_arrays
from kingpost.fmu.interface.description import Capabilities, describe_model, model_identifier
from kingpost.fmu.interface.documentation import documentation_files, record
from kingpost.fmu.interface.interface import Interface, build_interface
from kingpost.fmu.interface.naming import with_structured_names
from kingpost.fmu.interface.ports import port_members, terminals
from kingpost.simulation.export_model import ExportModel
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection


@dataclass(frozen=True)
class NativeOptions:
    """FMI version, kind of FMU, and platforms joined by ``+`` (default: this machine's)."""

    fmi: Literal[2, 3] = 2
    fmu: Literal["cs", "me"] = "cs"
    platforms: str | None = None
    #: Vectors and matrices as arrays, which FMI 3 has.
    arrays: bool = False
    #: ``structured``: letters, digits, underscores and dots, and still different with underscores instead of dots.
    names: Literal["flat", "structured"] = "flat"


class NativeFmu(Exporter):
    """FMU in plain C, for FMI 2.0 and 3.0, co-simulation and model exchange; needs no Python where it runs."""

    name = "native-fmu"
    suffix = ".fmu"
    Options = NativeOptions

    def export(self, model: ExportModel, selection: ExportSelection, path: Path) -> Exported:
        culprits = model.culprits()
        if culprits:
            raise ExportError(
                f"'{model.mechanism.name}' cannot become plain C: {'; '.join(culprits)}. Write them with CasADi operations, or "
                "use the exporter 'fmu', which carries Python"
            )
        options = self.options
        if options.arrays and options.fmi != 3:
            raise ExportError("FMI 2 has no arrays; export to FMI 3 (fmi=3), or without arrays")
        if model.samples is not None and options.fmu == "me":
            raise ExportError(
                f"'{model.mechanism.name}' works at sample times, {model.step:g} s apart, and has no rates for a solver of the "
                "importer; export it for co-simulation (fmu=cs)"
            )
        interface = build_interface(model, selection, options.fmu)
        interface = with_arrays(interface) if options.arrays else interface
        interface = with_structured_names(interface) if options.names == "structured" else interface
        unmarked = native_sources(interface, "", options.fmi)
        capabilities = Capabilities(
            needs_execution_tool=False,
            directional_derivatives=model.samples is None,
            input_interpolation=True,
            adjoint_derivatives=model.samples is None,
            source_files=unmarked.compiled,
        )
        description, token = describe_model(interface, options.fmi, options.fmu, capabilities, salt=_digest(unmarked))
        sources = marked(unmarked, interface, token, options.fmi)
        identifier = model_identifier(model.mechanism.name)
        files = {
            "modelDescription.xml": description.encode(),
            **documentation_files(interface, options.fmi, self.name),
            "resources/kingpost.json": (json.dumps(record(interface, self.name), indent=1, sort_keys=True) + "\n").encode(),
            **{f"sources/{name}": text.encode() for name, text in sources.texts.items()},
        }
        labels = {label for variable in interface.variables for label in variable.labels}
        ports = port_members(model.mechanism.to_dict(), labels, interface.shown_names)
        if options.fmi == 3 and ports:
            gathered = {name: members_of_arrays(members, interface.arrays) for name, members in ports.items()}
            files["terminalsAndIcons/terminalsAndIcons.xml"] = terminals(gathered).encode()
        if options.fmi == 3:
            files["sources/buildDescription.xml"] = _build_description(identifier, sources).encode()
        for target in platforms_named(options.platforms):
            binary = build_binary(sources, target, identifier)
            files[f"binaries/{target.folders[options.fmi]}/{identifier}{target.suffix}"] = binary
        size = write_archive(path, files)
        counts = interface.counts
        shown = len(interface.variables) - 1
        return Exported(
            path,
            (
                ("model", model.mechanism.name),
                ("kind", f"FMI {options.fmi}.0 {'co-simulation' if options.fmu == 'cs' else 'model exchange'}, plain C"),
                ("variables", f"{shown}: {len(interface.outputs)} outputs, {_count(interface, 'input')} inputs, "
                 f"{_count(interface, 'parameter')} parameters; {counts['x']} states"),
                ("step", f"{model.integrator.name} with {model.step:g} s{'' if model.samples else ' or less'}"),
                ("binaries", ", ".join(target.name for target in platforms_named(options.platforms))),
                ("size", f"{size / 1000:.0f} kB"),
            ),
        )  # fmt: skip


def _count(interface: Interface, causality: str) -> int:
    return sum(variable.causality == causality for variable in interface.variables)


def _digest(sources: NativeSources) -> str:
    return hashlib.sha256("".join(f"{name}{text}" for name, text in sorted(sources.texts.items())).encode()).hexdigest()


def _build_description(identifier: str, sources: NativeSources) -> str:
    names = "\n".join(f'      <SourceFile name="{name}"/>' for name in sources.compiled)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{identifier}">
    <SourceFileSet language="C99">
{names}
    </SourceFileSet>
    <Library name="m" external="true"/>
  </BuildConfiguration>
</fmiBuildDescription>
"""
