"""The check of tables of tests can fail."""

from tests.validation.named_tests import missing

HERE = "validation/test_named_tests.py::"


def test_tests_that_are_not_there_are_named():
    there, gone = HERE + "test_tests_that_are_not_there_are_named", HERE + "test_of_nothing"
    assert missing([there, gone, HERE + "missing"]) == [gone, HERE + "missing"]
