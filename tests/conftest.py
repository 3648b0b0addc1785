"""Fixtures for all tests."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import signal
from pathlib import Path

# As on the command line, and before anything imports NumPy: every worker process would start threads of its own.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from kingpost import PluginSet

# A suite that a script starts in the background, or under nohup, ignores signals, and so would every program that a test ends.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest_plugins = ["kingpost.testing.fixtures"]

ROOT = Path(__file__).parent.parent
#: Tests that share something expensive, so that one worker process runs them one after the other: a pattern for the start of
#: their names, of which those with the same groups belong together.
TOGETHER = (
    r"(tests/packaging/test_wheel)\.py",
    r"(tests/core/report/test_browser)\.py",
    r"(tests/fmu/blocks/test_controller)\.py",
    r"(tests/fmu/checks/test_check)\.py",
    r"(tests/fmu/running/test_run)\.py",
    r"(tests/fuzz/test_readers\.py::test_damaged)",
    r"(tests/validation/test_vessel_crane\.py::test_twenty)",
    r"(tests/validation/test_directors\.py)::test_(?:random|the_start|the_null_space_is)\w+\[(\d+)",
    r"(tests/validation/test_joint_loads\.py)::test_(?:loads_|the_residual)",
    r"(tests/validation/test_dae_integrators\.py::test_a_four_bar_moves)",
    r"(tests/validation/test_formulation_matrix\.py)::test_(?:accelerations|every|motion)\w*\[([\w:=-]+?)-(?:\w+)\]",
    r"(tests/core/testing/test_conformance\.py::test_(?:joint_loads|formulation))\[check_\w+-(.+)\]",
    r"(tests/plugins/inverse_dynamics/test_conformance\.py::test_method)\[check_\w+-(.+)\]",
    r"(tests/plugins/optimal_control/test_conformance\.py::test_transcription)\[check_\w+-(.+)\]",
    r"(tests/validation/test_optimal_targets)\.py",
    r"(tests/plugins/models/test_(?:delta|spatial_slider_crank|tadpole_tricycle|whitworth))\.py",
)


@functools.cache
def _shares(path: str) -> bool:
    """Whether tests of a file share what is built once for all of them."""
    return 'scope="module"' in (ROOT / path).read_text(encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked ``quick("this", "*-that")``, mark the variants with other names as slow.

    A test with many variants of one kind keeps some of them in the quick suite; the rest belongs to the long validation.
    """
    kept: dict[tuple[str, str], bool] = {}
    for item in items:
        if (mark := item.get_closest_marker("quick")) is None:
            continue
        test, variant = item.nodeid.split("[", 1)
        fitting = [name for name in mark.args if fnmatch.fnmatchcase(variant[:-1], name)]
        kept |= {(test, name): name in fitting or kept.get((test, name), False) for name in mark.args}
        if not fitting:
            item.add_marker(pytest.mark.slow)
    gone = [f"{test} has no variant {name!r}" for (test, name), found in kept.items() if not found]
    if gone and not any("::" in word for word in config.args):
        raise pytest.UsageError("; ".join(gone))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):  # type: ignore[no-untyped-def]
    """Keep tests that share something in one process.

    The mark ``xdist_group`` is meant for that, but pytest 9.2 and pytest-xdist 3.8 together ignore it.
    """
    from xdist.scheduler import LoadGroupScheduling

    if config.getvalue("dist") != "loadgroup":
        return None

    class ByWhatTheyShare(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            for pattern in TOGETHER:
                if found := re.match(pattern, nodeid):
                    return " ".join(found.groups())
            path = nodeid.partition("::")[0]
            if _shares(path):
                return path
            return super()._split_scope(nodeid)

    return ByWhatTheyShare(config, log)


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    """Say in one line what this machine could not test, and why."""
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    told = "; ".join(f"{reason} ({count} test{'s' if count > 1 else ''})" for reason, count in reasons.items())
    terminalreporter.write_line(f"Not tested here: {told}" if told else "Nothing was left untested.")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def plugins() -> PluginSet:
    """The built-in plugins alone, whatever else is installed."""
    return PluginSet(entry_points=False)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep compiled kernels of the tests out of the user's cache; one cache for all worker processes."""
    shared = tmp_path_factory.getbasetemp().parent / "kernels"
    os.environ["KINGPOST_CACHE_DIR"] = str(shared)


@pytest.fixture(autouse=True, scope="session")
def _unpolished(request: pytest.FixtureRequest) -> None:
    """Compile in a quarter of the time: the bits are the same at every level, as tests of the compiler and of FMUs show.

    Long validation is compiled as users have it.
    """
    if request.config.getoption("markexpr") == "not slow":
        os.environ.setdefault("KINGPOST_OPTIMIZE", "0")
