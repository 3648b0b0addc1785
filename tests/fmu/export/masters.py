"""Other people's masters, each in a process of its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).with_name("master_scripts.py")


def in_master(name, module, task):
    """Run a task in a master; skip if it is not there."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"needs {module}: {error}")
    except OSError as error:  # its library lacks a library of the system
        pytest.skip(f"{module} does not load: {error}" + ("; install libtbb12 (Debian)" if "tbb" in str(error) else ""))
    done = subprocess.run(
        [sys.executable, SCRIPTS, name], input=json.dumps(task), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{name} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return json.loads(done.stdout.rpartition("\nanswer ")[2])
