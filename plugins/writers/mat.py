"""MATLAB's format, level 5."""

from __future__ import annotations

import re
from pathlib import Path

from kingpost.plugins.writers.mat_elements import read_variables
from kingpost.plugins.writers.precision import Precision, in_precision
from kingpost.results.history import History
from kingpost.results.metadata import ENTRY, from_text, to_text, unique_names
from kingpost.results.writer import Writer

#: namelengthmax of MATLAB.
LONGEST_NAME = 63
_KEYWORDS = frozenset(
    [
        "break",
        "case",
        "catch",
        "classdef",
        "continue",
        "else",
        "elseif",
        "end",
        "for",
        "function",
        "global",
        "if",
        "otherwise",
        "parfor",
        "persistent",
        "return",
        "spmd",
        "switch",
        "try",
        "while",
    ]
)


class MatWriter(Writer):
    """MATLAB file: variables time and one for each channel, dots as underscores, and the rest as JSON text in 'kingpost'."""

    name = "mat"
    suffix = ".mat"
    embeds = True
    Options = Precision

    def write(self, history: History, path: Path) -> None:
        import scipy.io  # slow to import

        history, dtype = in_precision(history, self.options)
        variables = unique_names(history.names, matlab_name, taken=("time", ENTRY), limit=LONGEST_NAME)
        columns = history.values.astype(dtype)
        content = {
            "time": history.time,
            **{variable: columns[:, j] for j, variable in enumerate(variables)},
            ENTRY: to_text(history, variables),
        }
        with path.open("wb") as file:
            scipy.io.savemat(file, content, do_compression=True, oned_as="column")

    def read(self, path: Path) -> History:
        content = read_variables(path.read_bytes())
        if not isinstance(content.get(ENTRY), str):
            raise ValueError(f"it has no variable '{ENTRY}'")
        metadata = from_text(content[ENTRY])
        names = ("time", *metadata.stored_as)
        missing = [name for name in names if name not in content]
        if missing:
            raise ValueError(f"it lacks the variable '{missing[0]}'")
        texts = [name for name in names if isinstance(content[name], str)]
        if texts:
            raise ValueError(f"its variable '{texts[0]}' is a text, expected numbers")
        time, *columns = (content[name] for name in names)
        return metadata.columns(time, columns)


def matlab_name(name: str) -> str:
    """Return a name that MATLAB accepts for a variable, were it not for its length."""
    variable = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not variable[:1].isalpha():
        variable = f"x{variable}"
    return f"{variable}_" if variable in _KEYWORDS else variable
