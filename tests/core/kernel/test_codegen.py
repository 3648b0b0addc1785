"""Generated sources."""

import subprocess
import sys


def test_the_source_is_the_same_in_every_process():
    code = (
        "from kingpost.testing.problems import pendulum; from kingpost import prepare;"
        "print(prepare(pendulum(), 1.0, backend='c').kernel.key)"
    )
    keys = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(keys) == 1
