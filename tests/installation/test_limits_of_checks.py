"""Checks of an installation on both sides of their limits, with results that are stated and not computed."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork._util import own_code
from linkwork.installation import number_checks, system_checks
from linkwork.installation.report import Verdict

Patch = pytest.MonkeyPatch
VALUES = np.linspace(0.3, 2.7, 35).reshape(5, 7)


class Stated:
    """A kernel whose results differ from the right ones by a relative error, and whose precision is stated."""

    def __init__(self, error: float = 0.0, dtype: Any = np.float64) -> None:
        self.error, self.dtype = error, dtype

    def __call__(self, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        result = np.array(q, dtype=float)
        if q.dtype == np.float32:
            result = np.array(VALUES)
            result[-1, -1] *= 1.0 + self.error
            return result.astype(self.dtype)
        result[..., -1] *= 1.0 + self.error
        return result

    def interpret(self, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        return np.array(q)

    def jacobian(self, argument: str) -> Any:
        assert argument == "a"
        return self


@pytest.fixture(autouse=True)
def stated_states(monkeypatch: Patch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    for module in (number_checks, system_checks):
        monkeypatch.setattr(module, "states", lambda: (VALUES, VALUES, VALUES))


def test_results_are_checked_to_the_stated_accuracy(monkeypatch: Patch) -> None:
    class Exact(Stated):
        def __call__(self, q: np.ndarray, *_: np.ndarray) -> np.ndarray:
            return super().__call__(q) if q.dtype == np.float32 else np.array(VALUES)

    arm = SimpleNamespace(mass_matrix=lambda q: np.array(q))
    monkeypatch.setattr(number_checks, "load", lambda name: arm)
    for check, kernel, right in (
        (number_checks._single_call, Stated(5e-13), True),
        (number_checks._single_call, Stated(3e-12), False),
        (number_checks._float32, Exact(5e-6, np.float32), True),
        (number_checks._float32, Exact(3e-5, np.float32), False),
        (number_checks._float32, Exact(0.0, np.float64), False),
        (number_checks._derivative, Stated(6e-14), True),
        (number_checks._derivative, Stated(4e-13), False),
    ):
        monkeypatch.setattr(number_checks, "dynamics_kernel", lambda kernel=kernel: kernel)
        assert (check().verdict is Verdict.OK) is right, (check.__name__, kernel.error)


def test_inverse_kinematics_is_checked_by_the_number_of_poses_and_their_error(monkeypatch: Patch) -> None:
    q = np.linspace(-1.0, 1.0, 140).reshape(20, 7)
    monkeypatch.setattr(number_checks, "states", lambda: (q, q, q))
    for count, error, right in ((20, 5e-6, True), (19, 5e-6, True), (18, 5e-6, False), (20, 3e-5, False)):
        success = np.arange(20) < count
        answer = SimpleNamespace(q=q + error, success=success)
        arm = SimpleNamespace(pose=lambda x, frame: x[:, :4], inverse_kinematics=lambda X, frame, answer=answer: answer)
        monkeypatch.setattr(number_checks, "load", lambda name, arm=arm: arm)
        outcome = number_checks._inverse_kinematics()
        assert (outcome.verdict is Verdict.OK) is right and outcome.measured.startswith(f"{count} of 20 poses")


def test_elementary_functions_are_checked_in_units_of_the_last_place(monkeypatch: Patch) -> None:
    for error, right in ((0.89, True), (0.95, False)):
        monkeypatch.setattr(number_checks, "largest_errors", lambda error=error: {"sin": 0.5, "exp": error})
        outcome = number_checks._elementary_functions()
        assert (outcome.verdict is Verdict.OK) is right and "(exp), 2 functions" in outcome.measured
    third = Fraction(1, 3)
    assert number_checks._ulps(1.0 / 3.0, third) == float(abs(Fraction(1.0 / 3.0) - third) * 2**54)
    assert number_checks._ulps(float("nan"), third) == number_checks._ulps(float("inf"), third) == float("inf")


def test_threads_processes_and_speeds_are_checked_by_their_results(monkeypatch: Patch) -> None:
    monkeypatch.setattr(system_checks, "dynamics_kernel", lambda: Stated())
    monkeypatch.setattr(system_checks, "set_num_threads", lambda count: None)
    for threads, processors, verdict in ((1, 1, Verdict.OK), (2, 8, Verdict.OK), (1, 2, Verdict.DIFFERS)):
        monkeypatch.setattr(system_checks, "get_num_threads", lambda threads=threads: threads)
        monkeypatch.setattr(system_checks, "available_processors", lambda processors=processors: processors)
        assert system_checks._threads().verdict is verdict
    calls: list[int] = []

    def differing(q: np.ndarray, *_: np.ndarray) -> np.ndarray:
        calls.append(len(q))
        return q + float(len(calls))

    monkeypatch.setattr(system_checks, "dynamics_kernel", lambda: differing)
    outcome = system_checks._threads()
    assert (outcome.verdict, outcome.measured) == (Verdict.FAILED, "other bits with more threads")
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert system_checks._fork().measured == "this system has no fork"
    monkeypatch.setattr(system_checks, "_addition", lambda: 2e-9)
    for seconds, verdict in ((11.9e-9, Verdict.OK), (12.1e-9, Verdict.DIFFERS)):
        assert system_checks._speed(seconds, 1.5).verdict is verdict


def test_results_of_another_process_are_checked_for_their_bits_and_the_cache(monkeypatch: Patch) -> None:
    monkeypatch.setattr(system_checks, "dynamics_kernel", lambda: Stated())
    monkeypatch.setattr(system_checks, "code_statistics", lambda kernel: None)
    monkeypatch.setattr(system_checks.pickle, "dumps", lambda value: b"")
    digest = system_checks.digest_of(Stated()(VALUES))
    for output, cache, verdict, text in (
        (f"{digest} True", Verdict.OK, Verdict.OK, "equal bits, from the cache"),
        (f"{digest} False", Verdict.DIFFERS, Verdict.OK, "equal bits, without a cache"),
        (f"{digest} False", Verdict.OK, Verdict.DIFFERS, "equal bits, compiled again"),
        ("0123456789abcdef True", Verdict.OK, Verdict.FAILED, "0123456789abcdef"),
    ):
        ended = lambda *_, output=output: _Ended(0, output.encode(), b"")  # noqa: E731
        monkeypatch.setattr(system_checks, "run_program", ended)
        monkeypatch.setattr(system_checks, "_cache", lambda cache=cache: SimpleNamespace(verdict=cache))
        outcome = system_checks._second_process()
        assert (outcome.verdict, outcome.measured) == (verdict, text)


class _Ended(tuple[Any, ...]):
    """The exit code, the output and the errors of a program."""

    def __new__(cls, *values: Any) -> Any:
        return super().__new__(cls, values)

    @property
    def code(self) -> int:
        return int(self[0])
