"""Endless arguments are refused before NumPy converts them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.checked_arguments import is_bottomless, public
from linkwork.errors import ArgumentError
from linkwork.shapes import Box, PointCloud


def nested(depth: int) -> list[Any]:
    result: list[Any] = [1.0]
    for _ in range(depth):
        result = [result]
    return result


def of_itself() -> tuple[list[Any], np.ndarray]:
    values: list[Any] = [1.0, 2.0]
    values.append(values)
    array = np.empty(2, dtype=object)
    array[0], array[1] = 1.0, array
    return values, array


def test_arguments_that_contain_themselves_are_refused() -> None:
    values, array = of_itself()
    mapping: dict[str, Any] = {}
    mapping["own"] = (mapping,)
    shared: list[Any] = [1.0]
    for _ in range(40):
        shared = [shared, shared]  # 2⁴⁰ leaves, 40 lists
    for value in (values, array, [array], mapping, nested(100)):
        assert is_bottomless(value)
    for value in (shared, nested(50), np.ones((2, 3)), np.array([1.0, "a"], dtype=object), 1.0, "text", {}):
        assert not is_bottomless(value)


@pytest.mark.slow(every=3)
def test_infinite_or_deeply_nested_arguments_raise_errors() -> None:
    values, array = of_itself()
    cases: list[tuple[Any, str]] = [(value, "64 nested|contains itself") for value in (nested(2000), values, array)]
    cases += [(value, "an iterator without an end") for value in (itertools.count(), itertools.repeat(0.0))]
    box = Box((1.0, 1.0, 1.0))
    for value, message in cases:
        with pytest.raises(ArgumentError, match=rf"^PointCloud: points: expected .*({message})"):
            PointCloud(value, radius=0.1)
        with pytest.raises(ArgumentError, match=rf"^Box.support: directions: expected .*({message})"):
            box.support(value)
        with pytest.raises(ArgumentError, match=rf"^Actuator: gain: expected .*({message})"):
            lw.Actuator("a", ("j",), gain=value)


def test_arguments_that_are_finite_iterators_are_read_as_lists() -> None:
    @public
    def total(values: list[float], *more: float, scale: float = 1.0) -> float:
        return scale * sum(values) + len(values)

    assert total(iter([1.0, 2.0]), scale=2.0) == total([1.0, 2.0], scale=2.0) == 8.0
    assert total(values=(float(k) for k in range(3))) == 6.0
