"""A program that writes runs where no file can become longer than some bytes, as on a disk that is full, and then ends."""

import resource
import sys
from pathlib import Path

from kingpost import FileError, PluginSet, read_history, write_run
from tests.core.results.synthetic import make_history

LONGEST = 16384

plugins = PluginSet(entry_points=False)
folder = Path(sys.argv[1])
small, large = make_history(3), make_history(20000)
write_run(small, folder, plugins=plugins)
resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST, LONGEST))
for name in plugins.writers:
    try:
        write_run(large, folder, writers=["csv", name] if name == "png" else [name], plugins=plugins)
        print(f"{name} was written")
    except FileError as error:
        print(f"{name}: {error}")
    assert read_history(folder, plugins) == small
assert {path.name for path in folder.iterdir()} == {"history.csv", "run.json"}
