"""Options of the test run, a cache of machine code for tests, and the compiler's verifier between all passes.

Most tests are about what is computed, and compile functions to call them once: all their code is quick code, which is
made in little time and gives the same bits.  Those about compiled code have code for vectors of samples (`VECTORS`),
among them one of each function of a robot, and those marked so LLVM's best.  Others have quick code, then the best, as
users do (`AS_SHIPPED`).

No test may fail because a machine is slow: what is asserted counts steps, and figures of time belong to `benchmarks`.
"""

import gc
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from helpers import examples, rotation
from helpers.browser import browser, browser_process, is_browser_test  # noqa: F401 - fixtures of all tests
from helpers.clusters import cluster  # noqa: F401 - a fixture
from helpers.object_files import ObjectFiles

AS_SHIPPED = ("tests/benchmarks/test_fuzz.py", "tests/benchmarks/test_soak.py", "tests/test_dependability.py")
VECTORS = ("tests/compiler/", "tests/joints/test_compiled_joints.py")
_STORED = "build introspection key_lock result_digest side_effects stored_traces user_state variable_watch workers"
VECTORS_BUT = (  # about programs, and about when code is made and where it is stored
    *(f"tests/compiler/{name}/" for name in ("derivatives", "outlining", "passes", "pickling")),
    *(f"tests/compiler/test_{name}.py" for name in ("cache_directory", "cache_processes", *_STORED.split())),
)
VERIFIED = "tests/compiler/"
EFFORT, DEBUG, CACHE = "LINKWORK_EFFORT", "LINKWORK_DEBUG", "LINKWORK_CACHE"
USERS = pytest.StashKey[dict[str, str | None]]()  # the environment before the run
FOLDER = pytest.StashKey[str]()
OBJECTS = pytest.StashKey[ObjectFiles]()
SEED = pytest.StashKey[int]()
ROUNDS = pytest.StashKey[dict[str, int]]()  # in how many consecutive seeds each test runs once
IS_SHIFTED = pytest.StashKey[bool]()  # True if this process collects folders in an order of its own
NO_BYTECODE, BYTECODE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
PLOTS = "MPLBACKEND"
TESTS = Path(__file__).parent
REFUSALS = re.compile(r"refused|refuses_(wrong|invalid)|invalid|broken|infeasible|are_errors|test_errors_of")
"""Names of tests whose cases are invalid inputs, each of them refused by another line: all cases run each day."""


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files in tests/golden anew")
    parser.addoption("--all", action="store_true", help="run all cases of all tests, and those marked slow")
    seed = "draw cases by this seed, as an earlier run did (default: the number of the day)"
    parser.addoption("--rotate", type=int, metavar="N", help=seed)


def pytest_report_header(config):
    return None if _runs_all(config) else f"cases of each test: as drawn with --rotate={config.stash[SEED]}"


def pytest_terminal_summary(terminalreporter, config):
    """Repeat the seed below failures, where a report without its head shows it."""
    if terminalreporter.stats.get("failed") and not _runs_all(config):
        terminalreporter.write_line(f"cases were drawn with --rotate={config.stash[SEED]}")


def pytest_itemcollected(item):
    """Mark tests in a browser: ``pytest -m browser`` runs these alone, ``-m "not browser"`` the others."""
    if is_browser_test(item):
        item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without collections of garbage: what is created stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


class _ShiftedFolder(pytest.Dir):
    """The folder of all tests, of which each process that tests beside others collects another part first.

    Collecting a file rewrites its assertions, which takes longer than all else.  The result is written as bytecode, so
    that each process rewrites a share of the files and reads the others.
    """

    def collect(self):
        entries = [*super().collect()]
        worker, workers = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        start = len(entries) * worker // workers
        self.config.stash[IS_SHIFTED] = True
        return [*entries[start:], *entries[:start]]


def pytest_collect_directory(path, parent):
    is_whole = path == TESTS and "PYTEST_XDIST_WORKER" in os.environ and not sys.dont_write_bytecode
    return _ShiftedFolder.from_parent(parent, path=path) if is_whole else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out cases that the seed does not draw: most of those marked slow, and some of each test's others.

    What node ids on the command line name runs whole, and so does what --last-failed repeats.
    """
    if config.stash.get(IS_SHIFTED, False):
        items.sort(key=lambda item: item.path.parts)  # the order of all processes
    if _runs_all(config):
        return
    slow_too = "slow" in config.getoption("markexpr")
    marks = {} if slow_too else {item.nodeid: item.get_closest_marker("slow") for item in items}
    slow = {test: mark.kwargs.get("every", rotation.ROUNDS) for test, mark in marks.items() if mark is not None}
    fast = [item.nodeid for item in items if item.nodeid not in slow]
    costly = {rotation.test_of(item.nodeid) for item in items if item.get_closest_marker("costly")}
    selected = rotation.selected(fast, slow, config.stash[SEED], _named(config), costly)
    light = [x.nodeid for x in items if x.get_closest_marker("light") or REFUSALS.search(rotation.test_of(x.name))]
    selected |= {test: 1 for test in light if test not in slow and rotation.test_of(test) not in costly}
    config.stash[ROUNDS] = selected
    selected_items, left = [], []
    for item in items:
        (selected_items if item.nodeid in selected else left).append(item)
    items[:] = selected_items
    config.hook.pytest_deselected(items=left)


def _runs_all(config) -> bool:
    return config.getoption("all") or config.getoption("update_golden")


def _run_number(config, test: str) -> int:
    """Return a number that is one more at the next run of a test by consecutive seeds."""
    return config.stash[SEED] // config.stash.get(ROUNDS, {}).get(test, 1)


def _named(config) -> list[str]:
    """Return the node ids on the command line and, with --last-failed, those of the tests that failed."""
    result = []
    for argument in map(str, config.invocation_params.args):
        path, separator, remainder = argument.partition("::")
        if separator:
            file = os.path.relpath(config.invocation_params.dir / path, config.rootpath)
            result.append(f"{Path(file).as_posix()}::{remainder}")
    if config.getoption("lf", False):
        result += config.cache.get("cache/lastfailed", {})
    return result


def pytest_configure(config):
    """The tests, those modules that compile when they are imported and all processes started keep off the user's.

    Processes that test side by side share one: what one has compiled, the others find.  Tests that look at the cache
    have one of their own.
    """
    examples.load_profile(whole=_runs_all(config))
    config.stash[USERS] = {name: os.environ.get(name) for name in (EFFORT, DEBUG, CACHE, PLOTS, NO_BYTECODE, BYTECODE)}
    if hasattr(config, "workerinput"):
        config.stash[SEED] = config.workerinput["rotation"]
        return  # the process that started this one has made the cache, and removes it
    seed = config.getoption("rotate")
    config.stash[SEED] = rotation.todays_seed() if seed is None else seed
    config.stash[FOLDER] = tempfile.mkdtemp(prefix="linkwork-tests-")
    os.environ[CACHE] = config.stash[FOLDER]
    os.environ[PLOTS] = "agg"  # figures need no display
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads wait busily, where tests run beside each other
    _write_bytecode_elsewhere(config)


def _write_bytecode_elsewhere(config) -> None:
    """Write bytecode to pytest's own folder where the user wants none beside the source.

    Without it every process that a test starts compiles the source of all that it imports.
    """
    if not sys.dont_write_bytecode or getattr(config, "cache", None) is None:
        return
    try:
        folder = str(config.cache.mkdir("bytecode"))
    except OSError:  # a folder that may not be written to
        return
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    _set({NO_BYTECODE: None, BYTECODE: folder})


def pytest_configure_node(node):
    """Give the seed to a process that tests beside others: all must collect the same tests."""
    node.workerinput["rotation"] = node.config.stash[SEED]


def pytest_unconfigure(config):
    if FOLDER not in config.stash:
        return
    objects = _object_files(config)
    if objects is not None:
        objects.trim()
    _set(config.stash[USERS])
    shutil.rmtree(config.stash[FOLDER], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Set LLVM's effort and the verifier for a test, unless the user has set them.

    Kernels of the compiler's tests are verified, and those of one other test in ten, which the seed draws.  Tests of
    compiled code have code for vectors of samples, by LLVM at effort 1 or, one in ten, at effort 2.  Of the others, one
    in 120 has it, at effort 1, instead of quick code.
    """
    config = item.config
    test = item.nodeid
    number = _run_number(config, test)
    verified = test.startswith(VERIFIED) or rotation.is_drawn(test, number, 10)
    has_vectors = test.startswith(VECTORS) and not test.startswith(VECTORS_BUT)
    if item.get_closest_marker("best_code") or (has_vectors and rotation.is_drawn(test, number, 10)):
        effort = "2"
    elif test.startswith(AS_SHIPPED):
        effort = None
    else:
        effort = "1" if has_vectors or rotation.is_drawn(test, number, 120) else "0"
    environment = {EFFORT: effort, DEBUG: "1" if verified else None}
    previous = {name: config.stash[USERS][name] or value for name, value in environment.items()}
    before = {name: os.environ.get(name) for name in previous}
    if OBJECTS in config.stash:
        config.stash[OBJECTS].is_used = previous[EFFORT] == "0"
    _set(previous)
    try:
        return (yield)
    finally:
        _set(before)


def pytest_collection_finish(session):
    """Use object files of earlier runs, and keep collections of garbage from what has been imported: it stays.

    They come seldom, too: a trace of a hundred thousand nodes goes with its last reference.
    """
    objects = _object_files(session.config)
    if objects is not None and "linkwork" in sys.modules:
        objects.install()
        session.config.stash[OBJECTS] = objects
    gc.set_threshold(500_000, 10, 10)
    gc.freeze()


def _object_files(config) -> ObjectFiles | None:
    cache = getattr(config, "cache", None)  # missing with -p no:cacheprovider
    if cache is None:
        return None
    try:
        return ObjectFiles(Path(cache.mkdir("linkwork")))
    except OSError:  # a folder that may not be written to
        return None


def _set(environment) -> None:
    """Set variables of the environment; None removes one."""
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Close the test's figures, and keep collections of garbage from robots and kernels in caches.

    A visit to each took a twentieth of a run.  Garbage in cycles stays, a tenth of the memory.
    """
    try:
        return (yield)
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
        gc.freeze()


@pytest.fixture
def update_golden(request) -> bool:
    """True if golden files are written instead of compared."""
    return request.config.getoption("--update-golden")


@pytest.fixture
def drawn(request):
    """Return a function that selects some values of a list, as the run selects cases of tests: all with --all."""
    config, test = request.config, request.node.nodeid
    if _runs_all(config) or rotation.is_below(test, _named(config)):
        return list
    return lambda values: rotation.drawn(values, _run_number(config, test), test)
