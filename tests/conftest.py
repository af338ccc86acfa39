"""Options of the test run, a cache of machine code of its own, and the compiler's verifier between all passes.

Most tests are about what is computed, and compile functions to call them once: there LLVM does the least, which takes a
third of the time and gives the same bits.  Those about compiled code have it as it is shipped (`AS_SHIPPED`, and tests
marked so), among them one of each function of a robot.

No test may fail because a machine is slow: what is asserted counts steps, and figures of time belong to `benchmarks`.
"""

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("linkwork", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("linkwork")

AS_SHIPPED = (
    "tests/compiler/",
    "tests/joints/test_compiled.py",
    "tests/benchmarks/test_fuzz.py",
    "tests/benchmarks/test_soak.py",
    "tests/test_dependability.py",
)
EFFORT = "LINKWORK_EFFORT"
BEFORE = pytest.StashKey[dict[str, str | None]]()
FOLDER = pytest.StashKey[str]()


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files in tests/golden anew")
    fast = "leave out tests marked slow, and all but the first case of each parametrised test"
    parser.addoption("--fast", action="store_true", help=fast)


def pytest_collection_modifyitems(config, items):
    """What is run with --fast: every test that is not slow, for one robot, joint type, function ... each."""
    if not config.getoption("--fast"):
        return
    kept, left, seen = [], [], set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        (left if item.get_closest_marker("slow") or test in seen else kept).append(item)
        seen.add(test)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_configure(config):
    """The tests, those modules that compile when they are imported and all processes started keep off the user's.

    Processes that test side by side share one: what one has compiled, the others find.  Tests that look at the cache
    have one of their own.
    """
    if hasattr(config, "workerinput"):
        return  # the process that started this one has made it, and removes it
    config.stash[FOLDER] = tempfile.mkdtemp(prefix="linkwork-tests-")
    here = {"LINKWORK_CACHE": config.stash[FOLDER], "LINKWORK_DEBUG": "1"}
    config.stash[BEFORE] = {name: os.environ.get(name) for name in here}
    os.environ.update(here)


def pytest_unconfigure(config):
    if FOLDER not in config.stash:
        return
    for name, value in config.stash[BEFORE].items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    shutil.rmtree(config.stash[FOLDER], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """How much LLVM does for a test's functions, unless the user has said so."""
    if EFFORT in os.environ or item.nodeid.startswith(AS_SHIPPED) or item.get_closest_marker("as_shipped"):
        return (yield)
    os.environ[EFFORT] = "0"
    try:
        return (yield)
    finally:
        os.environ.pop(EFFORT, None)


def pytest_collection_finish():
    """Collections of garbage need not walk what has been imported and collected: it stays.

    They come seldom, too: a trace of a hundred thousand nodes goes with its last reference.
    """
    gc.set_threshold(500_000, 10, 10)
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Nor what a file's tests leave behind: robots and kernels that caches hold.

    Tests that count what is left collect garbage often, in a process that has run thousands of others.
    """
    try:
        return (yield)
    finally:
        if nextitem is not None and nextitem.path != item.path:
            gc.collect()
            gc.freeze()


@pytest.fixture
def update_golden(request) -> bool:
    """Whether golden files are to be written, instead of compared with."""
    return request.config.getoption("--update-golden")
