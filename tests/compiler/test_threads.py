"""Batches shared by threads: equal bits for all thread counts and splits, from any thread."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import LEVELS, every_level, num_threads, sizes
from compiler.support import bits_equal
from linkwork.compiler import kernel_code
from linkwork.compiler.codegen import jit
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import SINGLE
from linkwork.compiler.codegen.target import host
from linkwork.compiler.kernel import Kernel, call_state
from linkwork.compiler.runtime import threads
from linkwork.compiler.runtime.interrupts import SYMBOL
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar import functions as f

COUNTS = [1, 2, 3, 4, 7, 8, 64, 256]


def wave(x: Any) -> Any:
    return np.array([f.sin(x[0]) * x[1] + x[2], f.exp(-x[1] * x[1]), f.sqrt(x[2] * x[2] + x[0]), x[1] / x[2]])


def splitting(level: str, *, cut: bool = False) -> Kernel:
    """A kernel for which every tile of samples is worth a thread."""
    with sizes(worth=0.0, whole=3 if cut else 2000, most=8 if cut else 600):
        kernel = Kernel(trace(wave, "wave", {"x": 3}), backend=CPUBackend(LEVELS[level]))
        kernel(np.ones((3, 3), np.float32))
    return kernel


@pytest.mark.costly
@every_level
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "segments"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_have_equal_bits_for_all_thread_counts_and_splits(level: str, cut: bool, dtype: type) -> None:
    kernel = splitting(level, cut=cut)
    x = np.random.default_rng(3).normal(size=(1003, 3)).astype(dtype)
    x[::97, 1], x[::31, 0] = np.inf, -0.0
    with num_threads(1):
        expected = kernel(x)
        alone = np.array([kernel(row) for row in x])
    assert bits_equal(alone, expected) and expected.dtype == dtype
    lanes = LEVELS[level].lanes
    for count in COUNTS:
        with num_threads(count):
            assert bits_equal(kernel(x), expected)
            for n in (2, 3, lanes, 2 * lanes - 1, 2 * lanes + 1, 8 * lanes + 1, 129, 1001):
                assert bits_equal(kernel(x[1 : n + 1]), expected[1 : n + 1])
            assert bits_equal(kernel(x[::-1])[::-1], expected)
            assert bits_equal(kernel(x[:1000].reshape(10, 4, 25, 3)).reshape(1000, 4), expected[:1000])
            over = np.zeros((1003, 4), dtype)
            kernel(x, out=over[::-1])
            assert bits_equal(over[::-1], expected)


STARTED = """
import ctypes, sys
import numpy as np
import linkwork as lw
from compiler.knobs import sizes
from linkwork.compiler.codegen import jit
from linkwork.compiler.trace.trace import compile

pointer, is_windows = ctypes.c_void_p, sys.platform == "win32"
if is_windows:
    name, result = "CreateThread", ctypes.c_size_t
    arguments = [pointer, ctypes.c_size_t, pointer, pointer, ctypes.c_uint32, pointer]
else:
    name, result, arguments = "pthread_create", ctypes.c_int, [pointer] * 4
real = ctypes.CDLL("kernel32" if is_windows else None)[name]
real.argtypes, real.restype = arguments, result
kind = ctypes.CFUNCTYPE(result, *arguments)
asked, refused = 0, lambda asked: False

@kind
def create(*arguments):
    global asked
    asked += 1
    if refused(asked):
        return 0 if is_windows else 11  # EAGAIN
    return real(*arguments)

jit._registered[name] = ctypes.cast(create, ctypes.c_void_p).value
x = np.random.default_rng(0).normal(size=(100_000, 2))
expected = x[:, 0] * 2.0 + x[:, 1] * 4.0

def started(kernel, samples, threads):
    global asked
    asked = 0
    lw.set_num_threads(threads)
    assert np.allclose(kernel(x[:samples]), expected[:samples], rtol=1e-14, atol=1e-14)
    return asked

def made(**chosen):
    with sizes(**chosen):
        return compile(lambda x: x[0] * 2.0 + x[1] * 4.0, x=2)
"""


def printed(code: str) -> str:
    folder = os.path.dirname(os.path.dirname(__file__))
    text = STARTED + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_count_of_started_threads_is_limited_by_the_setting_and_the_work() -> None:
    lanes = host().lanes
    code = f"""
    kernel = made(worth=0.0)
    print([started(kernel, 100_000, threads) for threads in (1, 2, 5, 256)])
    counts = (1, 2, 3, {lanes}, {2 * lanes - 1}, {2 * lanes}, {5 * lanes + 1})
    print([started(kernel, samples, 8) for samples in counts])
    usual = made()
    print([started(usual, samples, 8) for samples in (3, 100, 1000)], started(made(worth=1000.0), 100_000, 4))
    """
    assert printed(code) == "[0, 1, 4, 255]\n[0, 0, 0, 0, 0, 1, 4]\n[0, 0, 0] 3\n"


@pytest.mark.slow
def test_batches_finish_if_threads_cannot_be_started() -> None:
    code = """
    kernel = made(worth=0.0)
    refused = lambda asked: asked % 2 == 1
    print(started(kernel, 100_000, 8), started(kernel, 99, 8))
    refused = lambda asked: True
    print(started(kernel, 100_000, 8), started(kernel, 99, 8))
    """
    assert printed(code) == "7 7\n7 7\n"


# -- NaN, infinities and warnings


@every_level
def test_batch_with_nan_in_several_threads_is_counted_once(level: str) -> None:
    kernel = splitting(level)
    x = np.ones((515, 3))
    for dtype in (np.float64, np.float32):
        with num_threads(5):
            count_before = call_state(kernel).not_finite_calls
            kernel(x.astype(dtype))
            assert call_state(kernel).not_finite_calls == count_before
            for indices in ([0], [514], [256], [0, 100, 200, 300, 400, 514], range(515)):
                spoilt = x.astype(dtype)
                spoilt[list(indices), 1] = np.nan
                count_before = call_state(kernel).not_finite_calls
                result = kernel(spoilt)
                assert call_state(kernel).not_finite_calls == count_before + 1
                assert np.isnan(result).any(axis=1).nonzero()[0].tolist() == list(indices)


def test_robot_function_raises_an_error_for_nan_in_another_threads_share_of_a_batch() -> None:
    with sizes(worth=0.0):
        robot = lw.load("arm7")
        q = np.zeros((600, 7))
        with num_threads(4):
            expected = robot.gravity_force(q)
            q[437, 3] = np.nan
            with pytest.raises(ValueError, match=r"gravity_force: q\[437, 3\] is NaN"):
                robot.gravity_force(q)
            q[437, 3] = 0.0
            assert bits_equal(robot.gravity_force(q), expected)


def test_worker_threads_cause_no_floating_point_warnings() -> None:
    kernel = splitting(next(reversed(LEVELS)))
    x = np.zeros((999, 3))
    with num_threads(4), np.errstate(all="raise"):
        assert np.isnan(kernel(x)[:, 3]).all()


# -- many of Python's threads


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_python_threads_can_call_one_kernel_simultaneously(dtype: type) -> None:
    """The first calls compile float32's loop, and the number of threads changes meanwhile."""
    with sizes(worth=0.0):
        kernel = Kernel(trace(wave, "wave", {"x": 3}))
        rng = np.random.default_rng(5)
        inputs = [rng.normal(size=(n, 3)).astype(dtype) for n in (1, 2, 7, 64, 200, 515, 700, 999)]
        outputs: list[list[np.ndarray]] = [[] for _ in inputs]
        together, errors = threading.Barrier(len(inputs)), []

        def work(k: int) -> None:
            try:
                together.wait()
                for turn in range(30):
                    if k == 0:
                        lw.set_num_threads(1 + turn % 4)
                    outputs[k].append(kernel(inputs[k]))
            except BaseException as error:
                errors.append(error)

        with num_threads(4):
            workers = [threading.Thread(target=work, args=(k,)) for k in range(len(inputs))]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        assert not errors
        with num_threads(1):
            for x, results in zip(inputs, outputs, strict=True):
                assert len(results) == 30
                assert all(bits_equal(result, kernel(x)) and result.dtype == dtype for result in results)


def without_float32(source: Any, parts: Any, real: Any, best: bool, compiled: Any = kernel_code.compiled) -> Any:
    """Compile float64, and raise an error for float32."""
    if real is SINGLE:
        raise OSError("no room")
    return compiled(source, parts, real, best)


def test_loop_over_float32_samples_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    original = kernel_code.compiled

    def counted(source: Any, parts: Any, real: Any, best: bool) -> Any:
        compiled.append(real.name)
        return original(source, parts, real, best)

    kernel = Kernel(trace(wave, "wave", {"x": 3}))
    monkeypatch.setattr(kernel_code, "compiled", counted)
    together = threading.Barrier(6)

    def work() -> None:
        together.wait()
        kernel(np.ones((5, 3), np.float32))

    assert compiled == []
    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert compiled == ["float"]


def test_failed_float32_compilation_raises_an_error_and_is_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel, original = Kernel(trace(wave, "wave", {"x": 3})), kernel_code.compiled
    monkeypatch.setattr(kernel_code, "compiled", without_float32)
    x = np.ones((5, 3), np.float32)
    for _ in range(2):
        with pytest.raises(OSError, match="no room"):
            kernel(x)
    assert kernel(x.astype(np.float64)).shape == (5, 4)
    monkeypatch.setattr(kernel_code, "compiled", original)
    assert kernel(x).dtype == np.float32


def test_failed_kernel_call_raises_its_error_though_another_thread_succeeds_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread's whole call runs before this one reads its status."""
    kernel = Kernel(trace(wave, "wave", {"x": 3}))
    ufunc, results = kernel.ufunc, []

    def interrupted(*arrays: np.ndarray) -> np.ndarray:
        result = ufunc(*arrays)
        if result.dtype == np.float32:
            thread = threading.Thread(target=lambda: results.append(kernel(np.ones((5, 3)))))
            thread.start()
            thread.join()
        return result

    kernel(np.ones((5, 3)))
    monkeypatch.setattr(kernel_code, "compiled", without_float32)
    monkeypatch.setattr(kernel._general, "ufunc", interrupted)
    for k in range(3):
        with pytest.raises(OSError, match="no room"):
            kernel(list(np.ones((5, 3), np.float32)))  # a list: what NumPy makes of it is seen by its loop alone
        assert len(results) == k + 1 and np.array_equal(results[k], ufunc(np.ones((5, 3))))


def test_kernel_call_succeeds_though_another_thread_fails_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(trace(wave, "wave", {"x": 3}))
    ufunc, refused = kernel.ufunc, []

    def fail() -> None:
        try:
            kernel(list(np.ones((5, 3), np.float32)))
        except OSError:
            refused.append(1)

    def interrupted(*arrays: np.ndarray) -> np.ndarray:
        result = ufunc(*arrays)
        if result.dtype == np.float64:
            for _ in range(3):
                thread = threading.Thread(target=fail)
                thread.start()
                thread.join()
        return result

    expected = kernel(np.ones((5, 3)))
    monkeypatch.setattr(kernel_code, "compiled", without_float32)
    monkeypatch.setattr(kernel._general, "ufunc", interrupted)
    assert bits_equal(kernel(np.ones((5, 3))), expected) and len(refused) == 3


# -- processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_process_forked_after_worker_threads_started_can_compute() -> None:
    kernel = splitting(next(reversed(LEVELS)))
    x = np.random.default_rng(6).normal(size=(2000, 3))
    with num_threads(4):
        expected = kernel(x)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                lw.set_num_threads(3)
                again = bits_equal(kernel(x), expected)
                code = 0 if again and kernel(x.astype(np.float32)).shape == expected.shape else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert bits_equal(kernel(x), expected)


# -- the setting


def test_set_num_threads_accepts_integers_from_1_to_256_only() -> None:
    before = threads.get_num_threads()
    for right in (1, 256, np.int64(7), np.uint8(3)):
        with num_threads(right):
            assert threads.get_num_threads() == right
    for wrong in (0, -1, 257, 2**70, True, False):
        with pytest.raises(ValueError, match=r"set_num_threads: .*from 1 to 256"):
            lw.set_num_threads(wrong)
    for wrong in (2.0, "2", None, [2], np.array([1, 2])):
        with pytest.raises(TypeError, match="set_num_threads: count: expected a number of threads from 1 to 256"):
            lw.set_num_threads(wrong)  # type: ignore[arg-type]
    assert threads.get_num_threads() == before


def test_environment_variable_sets_the_initial_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, count in (("1", 1), ("256", 256), (" 3 ", 3)):
        monkeypatch.setenv(threads.VARIABLE, text)
        assert threads._from_environment() == count
    for text in ("0", "257", "-1", "two", "1.5", " "):
        monkeypatch.setenv(threads.VARIABLE, text)
        with pytest.warns(RuntimeWarning, match="LINKWORK_NUM_THREADS: expected an integer from 1 to 256"):
            assert threads._from_environment() is None
    monkeypatch.setenv(threads.VARIABLE, "")
    assert threads._from_environment() is None
    assert threads._default() == min(threads.available_processors(), 256)
    monkeypatch.setenv(threads.VARIABLE, "5")
    code = "from linkwork.compiler.runtime.threads import get_num_threads; print(get_num_threads())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "5\n"


def test_check_for_signals_is_registered_once_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second registration would free the first one's function, to which loaded code refers."""
    registered: list[Any] = []
    two = threading.Event()

    @cache
    def register(target: Any) -> None:
        registered.append(target)
        if len(registered) > 1:
            two.set()
        two.wait(0.2)  # for another thread, which must not come here

    monkeypatch.setattr(jit, "_attention", register)
    monkeypatch.setattr(jit, "_load", lambda *_: None)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: jit.link([SYMBOL.encode()], host(), [("f", "")]), range(2)))
    assert len(registered) == 1
