"""Study files: TOML, read strictly, and refused with file, line and the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError, MechanismError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.numbers import finite, shown
from kingpost.fatigue.assessment import curve_of
from kingpost.fatigue.equivalent import check_slopes
from kingpost.fatigue.hotspots import read_hot_spots
from kingpost.fatigue.sn import curve_set
from kingpost.fatigue.tables import TableFile, as_number, as_table, read_table
from kingpost.fatigue.trust import checked_words
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.registry import Registry
from kingpost.simulation.settings import RunSettings
from kingpost.studies.limits import Limit
from kingpost.studies.reducer import Reducer
from kingpost.studies.sampler import Sampler
from kingpost.studies.study import Histories, Keep, StepCheck, Study, plain

KEYS = (
    *("name", "model", "plugins", "t_end", "skip", "step", "output_step"),
    *("settings", "run", "sea", "vary", "keep", "limits", "check"),
)
KEEP_KEYS = (
    *("loads", "channels", "statistics", "f_ref", "hotspots", "curves", "accept"),
    *("rainflow", "blocks", "histories", "worst_by", "reducers"),
)
#: Words of [run] that stand at the top of a study file.
AT_THE_TOP = ("t_end", "step", "output_step")
#: Words of [run] that mean nothing to a study, and what does instead.
ELSEWHERE = {
    "loads": "[keep] loads",
    "check_step": "[check] step_halving",
    "write": "[keep] histories",
    "verify": "a run of its own",
    "monitors": "a run of its own",
}
SAMPLER = "sampler"
#: More runs than this are a slip of the pen: a fifth of a second each, they take three weeks.
MOST_CASES = 10_000_000
#: How a damage-equivalent range is asked for among the statistics.
DEL = "del"


def read_study(path: str | Path, plugins: PluginSet | None = None) -> Study:
    """Return the study in a TOML file; docs/studies.md has the grammar."""
    file = read_table(path, "study")
    file.check_keys(KEYS, "a study")
    for key in ("model", "t_end"):
        if key not in file.data:
            raise_in(file, f"the study lacks '{key}'. It takes: {listed(KEYS)}.")
    files = _plugin_files(file)
    plugins = (plugins or PluginSet()).with_files(files, named_by=file.path)
    t_end, skip = _positive(file, "t_end"), _number(file, "skip", 0.0)
    with file.refusing("skip"):
        if not 0.0 <= skip < t_end:
            raise KingpostError(f"skip = {skip:g} s leaves nothing of runs of t_end = {t_end:g} s; give 0 or more, below t_end")
    samplers = _samplers(file, plugins)
    keep = _keep(file, plugins)
    limits = _limits(file)
    if not (keep.watched or keep.spots or limits or keep.reducers):
        raise_in(file, "the study keeps nothing of its runs; name loads or hot spots under [keep], or [limits]")
    with file.refusing("model"):
        if not isinstance(file.data["model"], str):
            raise KingpostError(f"model = {shown(file.data['model'])} is not a text")
    study = Study(
        name=str(file.data.get("name", file.path.stem)),
        model=_model(file),
        samplers=samplers,
        t_end=t_end,
        skip=skip,
        settings=_settings(file),
        run=_run(file, t_end),
        keep=keep,
        limits=limits,
        check=_check(file),
        plugin_files=files,
        path=file.path,
        spec=_spec(file, samplers, keep),
    )
    with file.refusing("vary"):
        if study.count > MOST_CASES:
            raise KingpostError(
                f"the study has {shown(study.count)} cases; at most {MOST_CASES} are run. Vary less, or fewer numbers"
            )
        _check_names(study)
    return study


def raise_in(file: TableFile, sentence: str) -> None:
    """Refuse a study file as a whole."""
    with file.refusing():
        raise KingpostError(sentence)


def _number(file: TableFile, key: str, default: float) -> float:
    with file.refusing(key):
        return as_number(file.data.get(key, default), key)


def _positive(file: TableFile, key: str) -> float:
    number = _number(file, key, math.nan)
    with file.refusing(key):
        if not number > 0.0:
            raise KingpostError(f"{key} = {number:g} s must be above 0")
    return number


def _plugin_files(file: TableFile) -> tuple[Path, ...]:
    with file.refusing("plugins"):
        return tuple(file.path.parent / name for name in _texts(file.data.get("plugins", []), "plugins"))


def _texts(value: Any, what: str) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise KingpostError(f"'{what}' must be a list of texts; got {shown(value)}")
    return tuple(words)


def _model(file: TableFile) -> str:
    model = str(file.data["model"])
    return str(file.path.parent / model) if model.endswith((".toml", ".urdf")) else model


def _settings(file: TableFile) -> dict[str, float]:
    with file.refusing("settings"):
        table = as_table(file.data.get("settings", {}), "'settings'", "[settings]")
    found = {}
    for name, value in table.items():
        with file.refusing("settings", name):
            found[name] = as_number(value, f"'{name}'")
    return found


def _run(file: TableFile, t_end: float) -> RunSettings:
    with file.refusing("run"):
        table = dict(as_table(file.data.get("run", {}), "'run'", "[run]"))
    for key in table:
        with file.refusing("run", key):
            if key in ELSEWHERE or key in AT_THE_TOP:
                raise KingpostError(
                    f"[run] {key} is not for studies; see {ELSEWHERE.get(key, f'{key} at the top of the file')}"
                )
    for key in ("loads", "cut"):
        if key in table:
            with file.refusing("run", key):
                table[key] = _texts(table[key], key)
    for key in ("step", "output_step"):
        if key in file.data:
            table[key] = _positive(file, key)
    with file.refusing("run"):
        return fill(RunSettings, {**table, "t_end": t_end}, "[run]")


def _samplers(file: TableFile, plugins: PluginSet) -> tuple[Sampler, ...]:
    found: list[Sampler] = []
    if "sea" in file.data:
        with file.refusing("sea"):
            table = dict(as_table(file.data["sea"], "'sea'", "[sea]"))
            if isinstance(table.get("scatter"), str):
                table["scatter"] = str(file.path.parent / table["scatter"])
            found.append(_sampler(plugins, "scatter", table))
    entries = file.data.get("vary", [])
    several = isinstance(entries, list)
    for i, entry in enumerate(entries if several else [entries]):
        where = ("vary", i) if several else ("vary",)
        with file.refusing(*where):
            table = dict(as_table(entry, "'vary'", "[vary]"))
            if not table:
                raise KingpostError("[vary] is empty; give values by name, or a sampler")
            if SAMPLER in table:
                found.append(_sampler(plugins, str(table.pop(SAMPLER)), table))
            else:
                found.append(_grid(plugins, table))
    if not found:
        raise_in(file, "the study varies nothing: give a scatter table under [sea], or values under [vary]")
    return tuple(found)


def _sampler(plugins: PluginSet, name: str, options: Mapping[str, Any]) -> Sampler:
    registry: Registry[Sampler] = plugins.of("samplers")
    cls = registry.get(name)
    return cls(fill(cls.Options, options, f"sampler '{name}'"))


def _grid(plugins: PluginSet, table: Mapping[str, Any]) -> Sampler:
    try:
        return _sampler(plugins, "grid", {"values": table})
    except MechanismError as error:
        raise MechanismError(str(error), path=error.path[1:]) from None


def _keep(file: TableFile, plugins: PluginSet) -> Keep:
    with file.refusing("keep"):
        table = as_table(file.data.get("keep", {}), "'keep'", "[keep]")
    for key in table:
        with file.refusing("keep", key):
            if key not in KEEP_KEYS:
                raise KingpostError(f"[keep] has no '{key}'{closest(key, KEEP_KEYS)} It takes: {listed(KEEP_KEYS)}.")
    texts = {}
    for key in ("loads", "channels", "accept"):
        with file.refusing("keep", key):
            texts[key] = _texts(table.get(key, []), key)
    with file.refusing("keep", "accept"):
        checked_words(texts["accept"])
    with file.refusing("keep", "statistics"):
        statistics, slopes = _statistics(table.get("statistics"))
        for name, options in (("statistics", {"channels": ("x",), "of": statistics}),):
            fill(plugins.of("reducers").get(name).Options, options, "[keep] statistics")
    spots, curves = _hot_spots(file, table)
    with file.refusing("keep", "rainflow"):
        classes = as_table(table.get("rainflow", {}), "'rainflow'", "[keep.rainflow]")
        rainflow = {name: as_number(value, f"rainflow of '{name}'") for name, value in classes.items()}
    with file.refusing("keep", "blocks"):
        blocks = table.get("blocks", 1)
        if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1:
            raise KingpostError(f"blocks = {shown(blocks)}: give a whole number, 1 or more")
    with file.refusing("keep", "histories"):
        histories = Histories.parse(table.get("histories", "none"))
    with file.refusing("keep", "f_ref"):
        f_ref = as_number(table.get("f_ref", Keep.f_ref), "f_ref")
    with file.refusing("keep", "worst_by"):
        (worst_by,) = _texts([table.get("worst_by", "")], "worst_by")
    reducers = _reducers(file, table, plugins)
    return Keep(
        *(texts["loads"], texts["channels"], statistics, slopes, f_ref, spots, curves, texts["accept"]),
        *(rainflow, blocks, histories, worst_by, reducers),
    )


def _statistics(given: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the statistics, and the slopes of damage-equivalent ranges that stand among them as ``del:3,4,5``."""
    if given is None:
        return Keep.statistics, ()
    words, slopes = [], []
    for word in _texts(given, "statistics"):
        name, _, rest = word.partition(":")
        if name != DEL:
            words.append(word)
            continue
        numbers = [finite(_float(part)) for part in rest.split(",")]
        if None in numbers:
            raise KingpostError(f"'{word}' has no slopes; write for example \"{DEL}:3,4,5\"")
        slopes += [number for number in numbers if number is not None]
    check_slopes(slopes)
    return tuple(words), tuple(dict.fromkeys(slopes))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _hot_spots(file: TableFile, table: Mapping[str, Any]) -> tuple[Any, Any]:
    if "hotspots" not in table:
        with file.refusing("keep", "curves"):
            if "curves" in table:
                raise KingpostError("curves are of use with hotspots only")
        return (), {}
    with file.refusing("keep", "hotspots"):
        (name,) = _texts([table["hotspots"]], "hotspots")
        spots = read_hot_spots(file.path.parent / name)
    with file.refusing("keep", "curves"):
        own = table.get("curves")
        curves = curve_set(None if own is None else file.path.parent / _texts([own], "curves")[0])
    with file.refusing("keep", "hotspots"):
        return spots, {spot.curve: curve_of(spot, curves) for spot in spots}


def _reducers(file: TableFile, table: Mapping[str, Any], plugins: PluginSet) -> tuple[tuple[str, dict[str, Any]], ...]:
    entries = table.get("reducers", [])
    with file.refusing("keep", "reducers"):
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) and "name" in entry for entry in entries):
            raise KingpostError("'reducers' are tables, each written [[keep.reducers]], with a 'name' and options")
    found = []
    for i, entry in enumerate(entries):
        with file.refusing("keep", "reducers", i):
            options = {key: value for key, value in entry.items() if key != "name"}
            registry: Registry[Reducer] = plugins.of("reducers")
            cls = registry.get(str(entry["name"]))
            fill(cls.Options, options, f"reducer '{cls.name}'")
            found.append((cls.name, options))
    return tuple(found)


def _limits(file: TableFile) -> tuple[Limit, ...]:
    with file.refusing("limits"):
        table = as_table(file.data.get("limits", {}), "'limits'", '[limits] with "hook.z" = { range = 1.5 }')
    found = []
    for channel, entry in table.items():
        with file.refusing("limits", channel):
            values = as_table(entry, f"limits of '{channel}'", f'"{channel}" = {{ max = 1e5 }}')
            found.append(fill(Limit, {"channel": channel, **values}, f"limits of '{channel}'"))
    return tuple(found)


def _check(file: TableFile) -> StepCheck:
    with file.refusing("check"):
        return fill(StepCheck, as_table(file.data.get("check", {}), "'check'", "[check]"), "[check]")


def _check_names(study: Study) -> None:
    """Refuse samplers that say something about the same number, or tell cases apart by the same word."""
    seen: dict[str, str] = {}
    for sampler in study.samplers:
        first = next(iter(sampler.cases()))
        for name in dict.fromkeys([*first.settings, *first.labels]):
            if name in seen:
                raise KingpostError(f"samplers '{seen[name]}' and '{sampler.name}' both vary '{name}'; let one of them do it")
            seen[name] = sampler.name


def _spec(file: TableFile, samplers: tuple[Sampler, ...], keep: Keep) -> dict[str, Any]:
    """Return what a file says, with what the files that it names say, as far as results depend on it."""
    spec = plain(dict(file.data))
    for sampler in samplers:
        if sampler.name == "scatter" and isinstance(spec.get("sea"), dict):
            spec["sea"]["scatter"] = plain([[s.hs, s.tp, s.probability] for s in getattr(sampler, "states", ())])
    if keep.spots:
        spec["keep"]["hotspots"] = {spot.name: plain(spot) for spot in keep.spots}
        spec["keep"]["curves"] = plain(keep.curves)
    return dict(spec)


#: All words of [run], for those who list them.
RUN_KEYS = tuple(entry.name for entry in fields(RunSettings) if entry.name not in (*ELSEWHERE, *AT_THE_TOP))
