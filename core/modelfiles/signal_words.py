"""How a command line says what an input follows: a file, or a formula."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from kingpost.base.errors import FileError, MechanismError, closest, listed
from kingpost.base.text_files import is_dir, is_file
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.mechanism import expressions_in
from kingpost.mechanism.trajectories import Constant
from kingpost.modelfiles.opened import OpenedModel
from kingpost.simulation.signals import Between, Moving, Signal


def with_inputs(opened: OpenedModel, words: Iterable[str]) -> OpenedModel:
    """Return a machine whose inputs follow what ``[NAME=]FILE[:COLUMN][:linear|cubic|hold]`` or ``NAME=FORMULA`` say."""
    names = [signal.name for signal in opened.mechanism.inputs]
    parameters = [parameter.name for parameter in opened.mechanism.parameters]
    for word in words:
        name, equals, text = word.partition("=")
        if equals and not _file(word):
            if name not in names:
                raise MechanismError(
                    f"input {word}: '{opened.mechanism.name}' has no input '{name}'{closest(name, names)} "
                    f"Inputs: {listed(names)}."
                )
            opened = opened.driven(inputs={name: _signal(word, text, parameters)})
        else:
            signal = _file(word)
            if signal is None:
                raise FileError(
                    f"input {word}: there is no such file or folder; write [NAME=]FILE[:COLUMN][:linear|cubic|hold]"
                )
            opened = opened.driven(inputs=signal)
    return opened


def _signal(word: str, text: str, parameters: Iterable[str]) -> Signal:
    """Return a file, or a formula where there is no such file."""
    signal = _file(text)
    if signal is not None:
        return signal
    try:
        formula = Constant(text)
        unknown = [name for item in expressions_in(formula) for name in sorted(item.names - {TIME, *parameters})]
    except MechanismError:
        unknown = [text]
    if unknown:
        raise FileError(
            f"input {word}: '{text}' is neither a file or folder that is there nor a formula of parameters and the time "
            f"{TIME}; write [NAME=]FILE[:COLUMN][:linear|cubic|hold] or NAME=FORMULA"
        )
    return formula


def _file(text: str) -> Moving | None:
    """Return what a text says about a file that is there: FILE[:COLUMN][:INTERPOLATION]."""
    if _there(text):
        return Moving(Path(text))
    front, colon, last = text.rpartition(":")
    if not colon:
        return None
    if last in get_args(Between):
        inner = _file(front)
        return None if inner is None else Moving(inner.source, last, inner.column)  # type: ignore[arg-type]  # looked at
    return Moving(Path(front), column=last) if _there(front) else None


def _there(text: str) -> bool:
    return bool(text) and (is_file(Path(text)) or is_dir(Path(text)))
