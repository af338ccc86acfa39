"""Options of the test run."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files in tests/golden anew")


@pytest.fixture
def update_golden(request) -> bool:
    """Whether golden files are to be written, instead of compared with."""
    return request.config.getoption("--update-golden")
