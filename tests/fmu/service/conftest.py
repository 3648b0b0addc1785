"""A project in a folder: as an application in this process without executors, and as a real server."""

import importlib.util
import os

import pytest

pytest.importorskip("fastapi")

from tests.core.report.browsers import browser
from tests.fmu.service.serving import browser_of, make_context, running
from tests.plugins.executors.clusters import clusters

__all__ = ["browser", "client", "clusters", "context", "http", "server"]
if importlib.util.find_spec("websockets"):
    from tests.fmu.service.browsing import served, visit

    __all__ += ["served", "visit"]


@pytest.fixture
def context(tmp_path):
    made = make_context(tmp_path / "project")
    yield made
    made.describer.close()
    made.store.close()


@pytest.fixture
def http(context):
    """Talks to the application in this process; nobody runs the jobs."""
    return browser_of(context)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One real server for all tests that need no other."""
    if os.name != "posix":
        pytest.skip("signals and process groups are those of POSIX")
    with running(tmp_path_factory.mktemp("service") / "project") as found:
        yield found


@pytest.fixture
def client(server):
    return server.client
