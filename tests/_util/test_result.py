"""Base class of results: status, message and advice of single results and batches."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from linkwork._util.result import Result, ReturnedValue
from linkwork._util.status import statuses
from linkwork.errors import Status


@dataclass(frozen=True, init=False)
class Sample(Result):
    """A result of numbers of iterations, solved by fewer than three."""

    iterations: Any
    names: list[str] = field(default_factory=list)
    scale: float = 1.0

    @property
    def success(self):
        return np.asarray(self.iterations) < 3 if np.ndim(self.iterations) else self.iterations < 3

    @property
    def status(self):
        return statuses(np.where(self.success, 0, 1), (Status.SOLVED, Status.MAX_ITERATIONS))

    def _sentence(self, position):
        return f"{np.asarray(self.iterations)[position]} steps"


def test_result_of_one_problem_has_a_status_a_message_and_advice():
    solved, bad = Sample._make(2), Sample._make(5)
    assert solved.status is Status.SOLVED and solved.message == "2 steps" and solved.explain() == "solved: 2 steps"
    assert bad.status is Status.MAX_ITERATIONS and bad.message == "5 steps"
    assert bad.explain() == f"max_iterations: 5 steps. {Status.MAX_ITERATIONS.advice}"
    with pytest.raises(ValueError, match=r"explain: index: expected 0 integers, for a batch of \(\), got 0"):
        solved.explain(0)


def test_result_of_a_batch_has_arrays_of_statuses_and_messages():
    result = Sample._make(np.array([[1, 5, 7], [2, 2, 9]]))
    assert result.status.tolist() == [
        ["solved", "max_iterations", "max_iterations"],
        ["solved"] * 2 + ["max_iterations"],
    ]
    assert result.message == "3 of 6 max_iterations, 3 solved"
    assert (
        result.explain()
        == f"{result.message}\nmax_iterations at (0, 1), (0, 2), (1, 2): {Status.MAX_ITERATIONS.advice}"
    )
    assert result.explain((0, 0)) == "solved: 1 steps" == result.explain((-2, -3))
    assert result.explain((1, 2)).startswith("max_iterations: 9 steps. ")
    assert Sample._make(np.zeros((0, 2), int)).message == "an empty batch"
    for index, error in ((0, ValueError), ((0, 0, 0), ValueError), ((0, True), ValueError), ((0, 1.0), ValueError)):
        with pytest.raises(error, match="expected 2 integers"):
            result.explain(index)
    with pytest.raises(IndexError, match="within the batch"):
        result.explain((0, 3))


@dataclass(frozen=True, init=False)
class Tolerant(Sample):
    """The result of a search with soft tasks: each is a success, also a local minimum."""

    @property
    def success(self):
        return np.full(np.shape(self.iterations), True) if np.ndim(self.iterations) else True

    @property
    def status(self):
        return statuses(np.where(np.asarray(self.iterations) < 3, 0, 1), (Status.SOLVED, Status.LOCAL_MINIMUM))


def test_success_with_a_status_that_has_advice_is_explained_as_a_success():
    assert Tolerant._make(2).explain() == "solved: 2 steps"
    assert Tolerant._make(5).explain() == "success, local_minimum: 5 steps"
    batch = Tolerant._make(np.array([5, 1, 6]))
    assert batch.explain() == "2 of 3 local_minimum, 1 solved\nsuccess: 3 of 3"
    assert batch.explain(0) == "success, local_minimum: 5 steps" and batch.explain(1) == "solved: 1 steps"


def test_truth_value_of_a_result_raises_an_error():
    for result in (Sample._make(2), Sample._make(np.array([1, 5]))):
        with pytest.raises(
            TypeError, match=re.escape("Sample: a result has no truth value; use .success, and .success.all()")
        ):
            bool(result)


def test_constructing_a_result_directly_raises_an_error():
    for kind in (Sample, ReturnedValue, Result):
        for arguments in ((), (3,)):
            with pytest.raises(TypeError, match=r"has no constructor|takes 1 positional argument"):
                kind(*arguments)
    with pytest.raises(TypeError, match="Sample: has no constructor"):
        Sample()
    for wrong in (((), {}), ((1, [], 2.0, 4), {}), ((1,), {"other": 2})):
        with pytest.raises(TypeError, match="Sample: expected the fields"):
            Sample._make(*wrong[0], **wrong[1])


def test_results_can_be_copied_and_pickled():
    result, twin = Sample._make(2), Sample._make(2)
    assert result.names == [] and result.names is not twin.names and result.scale == 1.0 and result == twin
    changed = result._replaced(scale=3.0)
    assert (changed.iterations, changed.scale, result.scale) == (2, 3.0, 1.0)
    full = Sample._make(7, ["a"], 2.0)
    for again in (pickle.loads(pickle.dumps(full)), copy.copy(full), copy.deepcopy(full)):
        assert again == full and again.status is Status.MAX_ITERATIONS


def test_all_statuses_are_lower_case_strings_and_have_advice():
    words = [status.value for status in Status]
    assert len({*words}) == len(words) and all(re.fullmatch(r"[a-z]+(_[a-z]+)*", word) for word in words)
    for status in Status:
        assert status.name == status.upper() and status == str(status) == f"{status}" == json.loads(json.dumps(status))
        assert status.meaning.endswith(".") and (not status.advice or status.advice.endswith("."))
        assert Status(np.array([status])[0]) is status is pickle.loads(pickle.dumps(status))
    assert not Status.SOLVED.advice and Status.INFEASIBLE.advice


def test_numeric_status_codes_are_converted_to_enum_members():
    table = {0: Status.FREE, 7: Status.START_VIOLATES_CONSTRAINTS}
    assert statuses(7.0, table) is Status.START_VIOLATES_CONSTRAINTS is statuses(np.array(7), table)
    result = statuses(np.array([[0.0, 7.0]]), table)
    assert result.tolist() == [["free", "start_violates_constraints"]]
    assert (result == Status.FREE).tolist() == [[True, False]] and statuses(np.zeros((0, 3)), table).shape == (0, 3)
    with pytest.raises(KeyError, match=r"^1$"):
        statuses(np.array([0.0, 1.0]), table)
