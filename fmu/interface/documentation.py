"""What an FMU carries beside its code: a page with its variables and conventions, its licence, and a record of its making."""

from __future__ import annotations

from html import escape
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import casadi as ca

from kingpost.base.errors import listed
from kingpost.base.open_loads import DECIDED, measure, open_loops
from kingpost.base.version import __version__
from kingpost.equations.integrator import StepMap
from kingpost.fmu.interface.interface import INPUT_ORDER, Interface, Variable, loads_record
from kingpost.simulation.provenance import problem_record

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.15rem .5rem;text-align:left}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:95%}"
)


def documentation_files(interface: Interface, version: int, exporter: str) -> dict[str, bytes]:
    """Return the files below documentation/ by their places in the archive."""
    licences = "documentation/licenses/license.txt"
    return {"documentation/index.html": _page(interface, version, exporter).encode(), licences: _licence().encode()}


#: The exporter whose FMUs follow inputs during steps.
NATIVE = "native-fmu"


def record(interface: Interface, exporter: str) -> dict[str, Any]:
    """Return what was exported and with what, as plain data; the same for the same model, whenever it is exported."""
    model = interface.model
    posed = problem_record(model.problem)
    shown = interface.shown_names
    return {
        "kingpost": __version__,
        "exporter": exporter,
        "casadi": ca.CasadiMeta.version(),
        **posed,
        "model": {**posed["model"], "definition": model.mechanism.to_dict()},
        "integrator": {**posed["integrator"], "step_s": model.step},
        "plugins": [{key: source[key] for key in ("distribution", "version", "origin")} for source in model.plugins.sources()],
        "geometry": model.geometry,
        "loads": posed.get("loads", {}),
        "channels": {shown.get(channel.name, channel.name): vars(channel) for channel in model.equations.channels},
        "names": shown,
        **({"input_derivatives": INPUT_ORDER} if exporter == NATIVE else {}),
        "references": {variable.name: variable.reference for variable in interface.variables},
    }


def _page(interface: Interface, version: int, exporter: str) -> str:
    model = interface.model
    rows = "\n".join(_row(variable) for variable in interface.variables)
    fixed = isinstance(model.integrator, StepMap)
    steps = f"internal steps of {model.step:g} s or less" if fixed else "internal steps of its own choice"
    if model.samples is not None:
        steps = f"samples {model.step:g} s apart, the first one where the run begins"
    ramps = _within_steps(interface, version) if exporter == NATIVE else ""
    division = "A communication step is divided into equal internal steps. " if fixed else ""
    refusal = "A value that is not finite is refused and named in the log."
    if model.samples is not None:
        division = (
            "Communication steps may have any length: samples are taken at their own times, and outputs hold in between. "
        )
        refusal = (
            "A sample with an input that is not finite is refused: the last good outputs are held, refused_samples counts it, "
            "and the log says when that begins and ends."
        )
    facts = {
        "made by": f"Kingpost {__version__}, exporter {exporter}",
        "standard": f"FMI {version}.0",
        "formulation": model.equations.formulation,
        "integrator": f"{model.integrator.name}, {steps}",
        "model digest": model.mechanism.digest(),
        "plugins": ", ".join(f"{source['distribution']} {source['version']}" for source in model.plugins.sources()),
    }
    table = "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(model.mechanism.name)}</title><style>{STYLE}</style></head>
<body>
<h1>{escape(model.mechanism.name)}</h1>
<p>{escape(model.mechanism.description)}</p>
<table>
{table}
</table>
<h2>Conventions</h2>
<ul>
<li>SI units and radians. Right-handed frames, the world's z axis up unless the model says otherwise.</li>
<li>Inputs are held over a communication step{ramps}.</li>
<li>The load of a joint is the wrench (moments Mx, My, Mz, forces Fx, Fy, Fz) on the side, in the axes and about the point
that its description states; on the child it is exerted by the parent.</li>{_open_loads(interface)}{_fitted(interface)}
<li>Poses: position in m and unit quaternion (ew, ex, ey, ez) of the body frame in the world.</li>
<li>Start values of coordinates and speeds can be set until the end of the initialization; parameters at any time.</li>
<li>{division}{refusal}</li>
</ul>
<h2>Variables</h2>
<table>
<tr><th>name</th><th>causality</th><th>unit</th><th>start</th><th>min</th><th>max</th><th>description</th></tr>
{rows}
</table>
</body></html>
"""


def _within_steps(interface: Interface, version: int) -> str:
    """Return how inputs can change within a communication step of a native FMU, and what error that leaves."""
    if interface.model.samples is not None:
        taken = f"if their derivatives of order 1 to {INPUT_ORDER} are given" if version == 2 else "where they are asked for"
        return f", or have the values at sample times that they are to have there {taken}"
    whole = interface.ramps is not None
    if version == 2:
        error = "without any other error" if whole else "with the value in the middle of each internal step"
        return f", or follow the polynomial of their derivatives of order 1 to {INPUT_ORDER}, where these are given, {error}"
    asked = "in the middle and at the end" if whole else "in the middle"
    error = "as parabolas, which keep the order of the integrator" if whole else "which leaves an error of second order"
    return f", or are what an importer with intermediate update gives when it is asked {asked} of each internal step, {error}"


def _fitted(interface: Interface) -> str:
    """Return which parameters the start was fitted to when the FMU was made."""
    by_owner: dict[str, list[str]] = {}
    for name, owner in interface.model.fitted_to.items():
        by_owner.setdefault(owner, []).append(name)
    return "".join(
        f"\n<li>Start values of {escape(owner)} were fitted to {escape(listed(names))} when this was exported, and are not "
        f"fitted again: with other values of these its invariants are open by {escape(owner)}.open. Export it with the values "
        "that it is to have.</li>"
        for owner, names in by_owner.items()
    )


def _open_loads(interface: Interface) -> str:
    """Return what is said about loads that rigid bodies leave open."""
    return "".join(
        f"\n<li>Loads of {escape(listed(loop['joints']))} are not unique: rigid bodies leave them open in {loop['ways']} ways. "
        f"These are the smallest, {escape(measure(loop))}.</li>"
        for loop in open_loops(loads_record(interface.model))
        if loop["metric"] != DECIDED
    )


def _row(variable: Variable) -> str:
    numbers = "".join(
        f'<td class="n">{_shown_number(value)}</td>' for value in (variable.start, variable.minimum, variable.maximum)
    )
    sizes = f" [{' x '.join(map(str, variable.shape))}]" if variable.shape else ""
    return (
        f"<tr><td><code>{escape(variable.name)}</code>{sizes}</td><td>{variable.causality}</td>"
        f"<td>{escape(variable.unit or '')}</td>{numbers}<td>{escape(variable.description)}</td></tr>"
    )


def _shown_number(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_shown_number(item) for item in value)
    return "" if value is None else f"{value:.10g}"


def _licence() -> str:
    """Return the licence of the parts that Kingpost adds; what CasADi generates is free of its own."""
    try:
        found = [file for file in files("kingpost") or [] if file.name == "LICENSE"]
    except PackageNotFoundError:
        found = []
    text = found[0].read_text(encoding="utf-8") if found else "MIT License, see the Kingpost project."
    return (
        f"The C sources, the Python modules and the model description were written by Kingpost, under this licence:\n\n{text}\n"
    )
