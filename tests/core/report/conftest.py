"""One browser for each module of tests that need one."""

from tests.core.report.browsers import browser

__all__ = ["browser"]
