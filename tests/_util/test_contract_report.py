"""Contract requirements, and the report of each outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from linkwork._util.contract_report import (
    Requirement,
    check_requirements,
    misspelt_names,
    relative_error,
    vanishing_point,
)
from linkwork.errors import ContractError


class Base:
    def value(self) -> float:
        raise NotImplementedError


class Raises(Base):
    def value(self) -> float:
        raise TypeError("no such value")


def _states_a_problem(trial: Base) -> Iterable[float]:
    raise ValueError("size: expected 2, got 3")


def _calls_the_class(trial: Base) -> Iterable[float]:
    yield trial.value()


REQUIREMENTS: tuple[Requirement[Base], ...] = (
    Requirement("exact", "errors below the tolerance pass", 1e-8, lambda trial: [1e-9, 0.0]),
    Requirement("none", "nothing to compare", 0.0, lambda trial: []),
    Requirement("large", "the largest error decides", 1e-8, lambda trial: [0.0, 1e-7]),
    Requirement("not a number", "NaN never passes", 1e-8, lambda trial: [math.nan]),
    Requirement("stated", "a problem in words", 0.0, _states_a_problem),
    Requirement("raised", "an exception of the class", 0.0, _calls_the_class),
)


def test_contract_report_has_one_line_for_each_requirement() -> None:
    report = check_requirements("thing Raises", REQUIREMENTS, Raises(), Raises, Base)
    assert [line.success for line in report.lines] == [True, True, False, False, False, False, True]
    assert not report.success and report.failures == report.lines[2:6]
    assert report.lines[4].problem == "ValueError: size: expected 2, got 3"
    assert report.lines[5].problem.startswith("TypeError: no such value in Raises.value, line ")
    assert report.lines[5].problem.endswith(': raise TypeError("no such value")')
    text = str(report).splitlines()
    assert text[0] == "thing Raises breaks the contract: 4 of 7 requirements fail"
    assert [line[:4] for line in text[1:5]] == ["ok  ", "ok  ", "FAIL", "FAIL"]
    with pytest.raises(
        ContractError, match=r"^thing Raises breaks the contract: 4 of 7 requirements fail\nFAIL  large"
    ):
        report.raise_if_failed()


def test_raise_if_failed_raises_no_error_for_a_contract_report_without_failures() -> None:
    report = check_requirements("thing Base", REQUIREMENTS[:2], Base(), Base, Base)
    report.raise_if_failed()
    assert report.success and str(report).startswith("thing Base keeps the contract\nok ")


def test_relative_error_divides_by_the_largest_entry_of_the_reference() -> None:
    assert relative_error([1.5, 0.0], [1.0, 0.0]) == 0.5
    assert relative_error([200.0], [100.0]) == 1.0
    assert relative_error([], []) == 0.0
    with pytest.raises(ValueError, match="expected 2 values, got 1"):
        relative_error([1.0], [1.0, 2.0])


class Contract:
    time_dependent: bool = False

    @property
    def row_units(self) -> tuple[str, ...]:
        return ()

    def rates(self, state: object) -> object:
        return None

    def error(self, state: object) -> object:
        return None


@dataclass(frozen=True)
class Misspelt(Contract):
    timed: bool = True

    @property
    def row_unit(self) -> tuple[str, ...]:
        return ("m",)

    def rate(self, state: object) -> object:
        return None


class Helpers(Contract):
    """Close names that are the class's own: used by it, of another kind or call, or beside the contract's name."""

    rate = 0.5
    timely = True
    _error = None

    def errors(self, state: object) -> object:
        return [self.rate, self.timely]

    def error(self, state: object) -> object:
        return None

    def row_unit(self) -> str:
        return "m"

    def rates_of(self, state: object, joint: str) -> object:
        return None

    def geometry(self, state: object) -> object:
        return None


def test_misspelt_attribute_names_of_an_extension_class_are_reported() -> None:
    expected = {"timed": "time_dependent", "row_unit": "row_units", "rate": "rates"}
    assert misspelt_names(Misspelt, Contract) == expected
    line = check_requirements("thing Misspelt", (), Misspelt(), Misspelt, Contract).lines[-1]
    assert line.name == "attributes" and not line.success
    assert "timed: not a name of Contract: did you mean 'time_dependent'?" in line.problem


def test_extension_class_may_define_helper_methods_of_any_name() -> None:
    assert misspelt_names(Helpers, Contract) == {}


def test_search_for_a_state_without_error_computes_each_derivative_once() -> None:
    """A root is found; beside a minimum above zero, steps are tried with one Jacobian until one reduces the error."""
    visited: list[tuple[float, ...]] = []

    def error(x: np.ndarray) -> np.ndarray:
        visited.append(tuple(x))
        return np.array([x[0] ** 2 - 2.0, x[0] * x[1] - 3.0])

    def offset_error(x: np.ndarray) -> np.ndarray:
        visited.append(tuple(x))
        return np.array([x @ x + 1.0, x[0] - x[1]])

    def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return q + step

    root = vanishing_point(error, move, np.array([0.3, 0.7]), 2)
    assert root is not None and np.allclose(root, [np.sqrt(2.0), 1.5 * np.sqrt(2.0)], rtol=0.0, atol=1e-8)
    assert len(visited) == len({*visited})
    visited.clear()
    assert vanishing_point(offset_error, move, np.array([0.3, 0.7]), 2) is None
    assert len(visited) < 200  # 360 with a Jacobian for each step that is tried
    visited.clear()
    assert vanishing_point(lambda x: error(np.append(x, 1.0))[:1] ** 2 + 1.0, move, np.zeros(1), 1) is None
    assert len(visited) < 30  # no step from a stationary point is longer than 1e-12


@pytest.mark.light
@pytest.mark.parametrize(("least", "vanishes"), [(0.9e-9, True), (1.1e-9, False)])
def test_search_for_a_state_without_error_accepts_errors_below_a_billionth(least: float, vanishes: bool) -> None:
    def errors(x: np.ndarray) -> np.ndarray:
        return np.array([x[0] - 0.3 * x[1] - 0.2, least])

    root = vanishing_point(errors, lambda q, step: q + step, np.array([0.7, -0.4]), 2)
    assert (root is not None) == vanishes and (root is None or abs(errors(root)[0]) < 1e-9)
