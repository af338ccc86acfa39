"""Quick code of first calls, the best code that replaces it, and the processes that compile it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import code_parts
from linkwork.compiler.build import Source
from linkwork.compiler.cache import disk_cache
from linkwork.compiler.codegen import background_emit, target
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.kernel import source_and_code
from linkwork.compiler.kernel_code import compilations
from linkwork.compiler.prepared_code import make_ready_later
from linkwork.kernels import compiler_api

LENGTH = 24  # of the vectors: long enough that the first call uses quick code


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(target.EFFORT, raising=False)
    return tmp_path / "cache"


def chain(x: Any, y: Any) -> Any:
    for k in range(LENGTH):
        x = lw.expr.sin(x * y) + lw.expr.exp(-x * x) * (1.0 + 0.1 * k)
    return x, x @ y


def kernel(name: str = "chain") -> lw.Kernel:
    return lw.compile(chain, name=name, x=(LENGTH,), y=(LENGTH,))


def compile_later(name: str) -> lw.Kernel:
    return compiler_api.compile(chain, name=name, x=(LENGTH,), y=(LENGTH,))


def arguments(seed: int = 0, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).uniform(-1.0, 1.0, (2, *batch, LENGTH)))


def is_quick(kernel: lw.Kernel) -> bool:
    return bool(source_and_code(kernel)[1]._improve)


def tiers(folder: Path) -> list[str]:
    """Return the tier of each entry of the cache."""
    cache = disk_cache.Cache(folder, 1 << 30)
    facts = [cache.facts(path) for path, _ in cache.entries()]
    return sorted(fact.get("tier", "best") for fact in facts if fact is not None)


def same(left: Any, right: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(left, right, strict=True))


@pytest.fixture(params=["written at once", "written later"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The source of the best code is written at once, or in the background as for long programs."""
    monkeypatch.setattr(code_parts, "_LONG", 0 if request.param == "written later" else 1e9)
    return str(request.param)


@pytest.mark.slow(every=5)
def test_quick_code_gives_the_same_results_as_optimized_code(cache_folder: Path, source: str) -> None:
    quick, (x, y), (xs, ys) = kernel(), arguments(), arguments(1, (64,))
    single_result, many, single = quick(x, y), quick(xs, ys), quick(xs.astype(np.float32), ys.astype(np.float32))
    call = quick.__call__
    assert is_quick(quick)
    assert lw.wait_for_compiler(timeout=60.0) and not is_quick(quick)
    assert tiers(cache_folder) == ["best"] * len(tiers(cache_folder)) and tiers(cache_folder)
    for again in (quick, call, kernel()):  # the function that was taken before runs the best code, too
        assert same(again(x, y), single_result) and same(again(xs, ys), many)
    assert same(quick(xs.astype(np.float32), ys.astype(np.float32)), single)


@pytest.mark.slow(every=5)
def test_long_batches_and_precompilation_wait_for_optimized_code(
    monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    """Calls with an effort in the environment wait, too."""
    many, (xs, ys) = kernel("many"), arguments(2, (2048,))
    many(xs, ys)
    assert not any(name == "loop" for name, _ in source_and_code(many)[1]._improve)
    monkeypatch.setenv(target.EFFORT, "2")
    best = kernel("best")
    best(*arguments())
    assert not is_quick(best)


@pytest.mark.slow(every=5)
def test_effort_0_compiles_only_quick_code(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), (xs, ys) = arguments(), arguments(1, (64,))
    monkeypatch.setenv(target.EFFORT, "2")
    best = kernel()
    expected, many = best(x, y), best(xs, ys)
    monkeypatch.setenv(target.EFFORT, "0")
    monkeypatch.setattr(Source, "texts", None)  # of the best code
    quick = kernel()
    assert same(quick(x, y), expected) and same(quick(xs, ys), many)
    assert not is_quick(quick)  # nothing is to replace it


@pytest.mark.costly
def test_process_that_ends_early_leaves_quick_code_for_the_next_process(
    monkeypatch: pytest.MonkeyPatch, cache_folder: Path, source: str
) -> None:
    """The next process does not wait for the best code."""
    waiting: list[Any] = []
    monkeypatch.setattr(background_emit._background, "submit", waiting.append)
    quick, (x, y) = kernel(), arguments()
    expected = quick(x, y)
    assert waiting and "quick" in tiers(cache_folder)
    assert ("source of the best code" in tiers(cache_folder)) == (source == "written at once")
    monkeypatch.undo()
    monkeypatch.setenv("LINKWORK_CACHE", str(cache_folder))
    monkeypatch.delenv(target.EFFORT, raising=False)
    later = kernel()
    assert is_quick(later) and source_and_code(later)[1].cached and same(later(x, y), expected)
    assert lw.wait_for_compiler(timeout=60.0) and not is_quick(later) and same(later(x, y), expected)
    assert set(tiers(cache_folder)) == {"best"}


@pytest.mark.slow(every=5)
def test_results_stay_equal_while_quick_code_is_replaced_by_optimized_code() -> None:
    """Threads that call without end see the same results from both kinds of code."""
    quick, (x, y), (xs, ys) = kernel(), arguments(), arguments(1, (40,))
    expected, many = quick(x, y), quick(xs, ys)
    done, wrong = threading.Event(), []

    def work() -> None:
        while not done.is_set():
            if not (same(quick(x, y), expected) and same(quick(xs, ys), many)):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert lw.wait_for_compiler(timeout=60.0) and not is_quick(quick)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow(every=9)
def test_code_compiled_in_the_background_is_optimized_code_and_is_cached(cache_folder: Path) -> None:
    """The best code is made without quick code; a second kernel loads it from the cache, and calls raise its errors."""
    (x, y), expected = arguments(), kernel("first")(*arguments())
    assert lw.wait_for_compiler(timeout=60.0)
    before = len(tiers(cache_folder))
    for name, added in (("new", 3), ("new", 0), ("first", 1)):  # of the parts fast, few and sample
        later = kernel(name) if name == "first" else compile_later(name)
        make_ready_later(lambda later=later: later, samples=1)  # type: ignore[misc]
        assert lw.wait_for_compiler(timeout=60.0)
        assert len(tiers(cache_folder)) == before + added and set(tiers(cache_folder)) == {"best"}
        code = source_and_code(later)[1]
        compiled = compilations()
        assert (
            not code._improve
            and same(later(x, y), expected)
            and same(later(x[None], y[None]), [z[None] for z in expected])
        )
        assert compilations() == compiled, name
        before += added
    make_ready_later(_refused)
    assert lw.wait_for_compiler(timeout=60.0)


@pytest.mark.slow(every=3)
def test_kernel_call_does_not_wait_for_background_compilation(
    monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    waiting: list[Any] = []
    monkeypatch.setattr(background_emit._background, "submit", waiting.append)
    later, (x, y) = compile_later("urgent"), arguments()
    make_ready_later(lambda: later, samples=1)
    result = later(x, y)
    assert [job.urgent for job in waiting] == [True, False] and is_quick(later)
    monkeypatch.undo()
    for job in waiting:
        background_emit.submit(job)
    assert lw.wait_for_compiler(timeout=60.0) and not is_quick(later) and same(later(x, y), result)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("trouble", ["dies", "cannot start", "other versions", "error of LLVM"])
def test_failures_of_the_compiling_child_process_leave_kernels_usable(
    monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """A child that cannot be started is replaced by this process; one that fails leaves the quick code in use."""
    monkeypatch.setattr(background_emit, "_background", background_emit._Background())
    if trouble == "dies":
        monkeypatch.setattr(background_emit._Child, "compile", lambda child, job: child._read(1 << 20))
        original = background_emit._Child.__init__

        def killed(child: Any) -> None:
            original(child)
            child.process.kill()

        monkeypatch.setattr(background_emit._Child, "__init__", killed)
    elif trouble == "cannot start":
        monkeypatch.setattr("subprocess.Popen", _refused)
    elif trouble == "other versions":
        monkeypatch.setattr(background_emit, "processor", lambda: SimpleNamespace(llvmlite="0", llvm="0"))
    else:
        monkeypatch.setattr(background_emit._Child, "compile", _failed)
    quick, (x, y) = kernel(), arguments()
    expected = quick(x, y)
    assert lw.wait_for_compiler(timeout=60.0)
    assert is_quick(quick) == (trouble in ("dies", "error of LLVM"))
    assert same(quick(x, y), expected)
    background_emit._background.stop()


def _refused(*_: Any, **__: Any) -> Any:
    raise OSError("no process")


def _failed(*_: Any) -> Any:
    raise RuntimeError("LLVM could not")


def test_optimized_code_is_loaded_from_the_cache_once_all_parts_are_there(cache_folder: Path) -> None:
    source, code = source_and_code(kernel())
    (name, *_), cache = source.backend.entries, disk_cache.Cache(cache_folder, 1 << 30)
    parts = source.backend.parts(name, DOUBLE)
    work = code_parts.SharedWork(source, parts, DOUBLE)
    assert len(parts) > 1 and work.done_by_others() == {}
    code.make([name], best=True)
    done = work.done_by_others()
    assert [*done] == [*parts] and all(x.cached and not x.is_quick and x.objects for x in done.values())
    assert {part: x.objects for part, x in done.items()} == {
        part: x.objects for part, x in code_parts.compiled(source, parts, DOUBLE).items()
    }
    cache.remove(source.keys(parts, DOUBLE)[parts[0]])
    assert work.done_by_others() == {}


def test_wait_for_compiler_refuses_a_negative_or_nan_timeout() -> None:
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="timeout: expected a number >= 0"):
            lw.wait_for_compiler(wrong)
    with pytest.raises(TypeError, match="timeout: expected a number"):
        lw.wait_for_compiler("soon")  # type: ignore[arg-type]
    assert lw.wait_for_compiler(0.0) in (True, False)


PROGRAM = """
    import os, sys, threading, time
    import numpy as np
    import linkwork as lw
    from linkwork.compiler.codegen import background_emit

    robot = lw.load("arm7")
    x = np.linspace(0.1, 0.7, 7)
    first = robot.forward_dynamics_derivatives(x, x, x)

    def after():
        assert lw.wait_for_compiler(60.0)
        again = robot.forward_dynamics_derivatives(x, x, x)
        assert all(np.array_equal(a, b) for a, b in zip(first, again))
"""


def ended(more: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program and more in a fresh process."""
    environment = {key: value for key, value in os.environ.items() if key != target.EFFORT}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM) + textwrap.dedent(more)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**environment, "LINKWORK_CACHE": str(folder)},
    )


@pytest.mark.slow(every=9)
def test_exiting_process_does_not_wait_for_the_writer_of_optimized_code(cache_folder: Path) -> None:
    """The next process writes it."""
    slow = """
    from linkwork.compiler import code_parts, kernel_code
    code_parts._LONG = 0
    original = kernel_code.best_modules
    writing = threading.Event()

    def slowly(*arguments):
        writing.set()
        time.sleep(slowness)
        return original(*arguments)

    kernel_code.best_modules = slowly
    second = robot.forward_dynamics_hessian(x, x, x, x)
    """
    done = ended("slowness = 60\n" + textwrap.dedent(slow) + "assert writing.wait(60.0)\n", cache_folder)
    assert done.returncode == 0, done.stderr
    assert "quick" in tiers(cache_folder)
    done = ended("slowness = 0\n" + textwrap.dedent(slow) + "after()\n", cache_folder)
    assert done.returncode == 0, done.stderr
    assert set(tiers(cache_folder)) == {"best"}


@pytest.mark.slow(every=9)
def test_ending_process_leaves_no_compiling_child_process(cache_folder: Path) -> None:
    """A process that exits or is interrupted while code is compiled keeps its own exit code."""
    tail = """
    pids = [child.process.pid for child in background_emit._background.children]
    print(*pids, flush=True)
    """
    waits = "while not background_emit._background.children: time.sleep(0.001)\n"
    ends = {"": 0, "sys.exit(3)\n": 3, "raise KeyboardInterrupt\n": 1, "os._exit(5)\n": 5}
    for k, (end, code) in enumerate(ends.items()):
        done = ended(waits + textwrap.dedent(tail) + end, cache_folder / str(k))
        interrupted = done.returncode in (1, 130, -2) and "KeyboardInterrupt" in done.stderr
        assert done.returncode == code or ("Interrupt" in end and interrupted), done.stderr
        for pid in map(int, done.stdout.split()):
            assert _is_gone(pid), end


def _is_gone(pid: int) -> bool:
    """Return True as soon as the process has ended: a child whose parent is gone ends with its standard input."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.is_file() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        threading.Event().wait(0.1)
    return False


@pytest.mark.slow(every=5)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_process_gets_optimized_code_too(cache_folder: Path) -> None:
    """Both processes get it, each from its own children."""
    done = ended(
        """
        pid = os.fork()
        after()
        assert not [k for k in background_emit._background.children if k.process.poll() is not None]
        if pid == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        print("both")
        """,
        cache_folder,
    )
    assert done.returncode == 0 and done.stdout.strip() == "both", done.stderr


@pytest.mark.slow(every=9)
def test_disabled_and_damaged_caches_do_not_prevent_optimized_code(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off, too small, damaged: the best code comes all the same."""
    (x, y), results = arguments(), []
    for setting in ("off", "tiny", "damaged"):
        monkeypatch.setenv("LINKWORK_CACHE", "off" if setting == "off" else str(cache_folder / setting))
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0" if setting == "tiny" else "64")
        quick = kernel()
        results.append(quick(x, y))
        assert lw.wait_for_compiler(60.0) and not is_quick(quick), setting
        results.append(quick(x, y))
        if setting == "damaged":
            for path in (cache_folder / setting).iterdir():
                path.write_bytes(path.read_bytes()[:-7])
            with pytest.warns(lw.errors.CacheWarning, match="damaged"):
                results.append(kernel()(x, y))
            assert lw.wait_for_compiler(60.0)
    assert all(same(result, results[0]) for result in results)


FAR = """
import ctypes, os
import numpy as np
import linkwork as lw

robot, zero = lw.load("arm7"), np.zeros(7)
robot.pose(zero, "hand")
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [
    ctypes.c_long
]
libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t

def reserved(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # private, anonymous, without memory

small = [reserved(1 << 15) for _ in range(400)]
large, size = reserved(5 << 30), 1 << 32
while size >= 4096:  # what is free above the large region
    found = reserved(size)
    if found < large:
        libc.munmap(found, size)
        size //= 2
for address in small[::2]:  # the only gaps: other code is 5 GB away
    libc.munmap(address, 1 << 14)
quick = robot.forward_dynamics_derivatives(zero, zero, zero)
lw.wait_for_compiler()
best = robot.forward_dynamics_derivatives(zero, zero, zero)
print(all(np.array_equal(one, other) for one, other in zip(quick, best)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mmap of Linux")
@pytest.mark.slow(every=5)
def test_machine_code_loaded_far_from_other_code_can_call_it(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "LINKWORK_EFFORT"}
    done = subprocess.run(
        [sys.executable, "-c", FAR],
        capture_output=True,
        text=True,
        env={**environment, "LINKWORK_CACHE": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_compiled_blocks_that_copy_loop_values_need_little_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that only copy a loop's inputs and results, however many, take no memory on the stack."""
    sizes = []

    def stack_memory(f: Any, size: int, align: int) -> str:
        sizes.append(size)
        return taken(f, size, align)

    taken = IrFunction.stack_memory
    monkeypatch.setattr(IrFunction, "stack_memory", stack_memory)
    swept = lw.compile(lambda x: lw.scan(lambda y, row: (y * row[0], y + row), x[:3], x.reshape(-1, 3))[1], x=(6_000,))
    assert swept(np.ones(6_000)).shape == (2_000, 3)
    assert max(sizes, default=0) < 4096
