"""Requirements, and what a report says of each outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest

from linkwork._util.contract_report import Requirement, check_requirements, relative_error
from linkwork.errors import ContractError


class Base:
    def value(self) -> float:
        raise NotImplementedError


class Raises(Base):
    def value(self) -> float:
        return 1.0 / 0.0


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


def test_each_requirement_has_a_line_of_its_own() -> None:
    report = check_requirements("thing Raises", REQUIREMENTS, Raises(), Raises, Base)
    assert [line.success for line in report.lines] == [True, True, False, False, False, False]
    assert not report.success and report.failures == report.lines[2:]
    assert report.lines[4].problem == "ValueError: size: expected 2, got 3"
    assert report.lines[5].problem.startswith("ZeroDivisionError: float division by zero in Raises.value, line ")
    assert report.lines[5].problem.endswith(": return 1.0 / 0.0")
    text = str(report).splitlines()
    assert text[0] == "thing Raises breaks the contract: 4 of 6 requirements fail"
    assert [line[:4] for line in text[1:5]] == ["ok  ", "ok  ", "FAIL", "FAIL"]
    with pytest.raises(
        ContractError, match=r"^thing Raises breaks the contract: 4 of 6 requirements fail\nFAIL  large"
    ):
        report.raise_if_failed()


def test_a_report_without_failures_raises_nothing() -> None:
    report = check_requirements("thing Base", REQUIREMENTS[:2], Base(), Base, Base)
    report.raise_if_failed()
    assert report.success and str(report).startswith("thing Base keeps the contract\nok ")


def test_relative_errors_are_relative_to_the_reference() -> None:
    assert relative_error([1.5, 0.0], [1.0, 0.0]) == 0.5
    assert relative_error([200.0], [100.0]) == 1.0
    assert relative_error([], []) == 0.0
    with pytest.raises(ValueError, match="expected 2 values, got 1"):
        relative_error([1.0], [1.0, 2.0])
