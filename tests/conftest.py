"""Options of the test run, and a cache of machine code of its own."""

import os
import shutil
import tempfile

import pytest

CACHE = pytest.StashKey[tuple[str, str | None]]()


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files in tests/golden anew")


def pytest_configure(config):
    """The tests, those modules that compile when they are imported and all processes started keep off the user's."""
    folder = tempfile.mkdtemp(prefix="linkwork-tests-")
    config.stash[CACHE] = folder, os.environ.get("LINKWORK_CACHE")
    os.environ["LINKWORK_CACHE"] = folder


def pytest_unconfigure(config):
    folder, before = config.stash[CACHE]
    if before is None:
        del os.environ["LINKWORK_CACHE"]
    else:
        os.environ["LINKWORK_CACHE"] = before
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def update_golden(request) -> bool:
    """Whether golden files are to be written, instead of compared with."""
    return request.config.getoption("--update-golden")
