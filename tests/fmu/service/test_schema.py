"""The API keeps what its OpenAPI says, whatever it is asked: schemathesis makes up the questions."""

import warnings
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fmu.service.serving import TOKEN, make_context

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.specs.openapi.checks import positive_data_acceptance

from kingpost.fmu.service.answers import KindName
from kingpost.fmu.service.app import make_app
from kingpost.fmu.service.kinds import KINDS


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    context = make_context(tmp_path_factory.mktemp("schema") / "project", trust_fmus=True)
    context.stopping.set()  # streams end at once
    context.describer.ask = lambda what, subject, key=None: {"name": subject}  # takes seconds, and is tested elsewhere
    yield make_app(context, TOKEN, ["localhost", "testserver"])
    context.store.close()


HEADERS = {"Authorization": f"Bearer {TOKEN}"}
#: Requests in the right form that are refused for what they say: names of models that there are not, bytes that are no file.
JUDGED = {("post", "/api/v1/jobs"), ("post", "/api/v1/files"), ("get", "/api/v1/jobs/{number}/cases")}


def ask_everything(app, examples: int) -> int:
    """Ask every operation of the API; return how many there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HEADERS)
        operations = [found.ok() for found in schema.get_all_operations()]
        for operation in operations:
            ask(operation, examples)
    return len(operations)


def ask(operation, examples: int) -> None:
    judged = (operation.method.lower(), operation.path) in JUDGED
    left_out = [positive_data_acceptance] if judged else []

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def check(case):
        case.call_and_validate(headers=HEADERS, excluded_checks=left_out)

    check()


def test_a_few_questions_to_every_operation(app):
    assert ask_everything(app, 2) >= 25


@pytest.mark.slow
def test_many_questions_to_every_operation(app):
    assert ask_everything(app, 150) >= 25


def test_kinds_in_the_form_of_requests_are_those_that_there_are():
    assert get_args(KindName) == tuple(KINDS)
