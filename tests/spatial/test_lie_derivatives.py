"""Derivatives of the exponential and the logarithm: finite and right from the identity to half a turn.

The reference is differences of the closed forms at 120 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers import lie
from helpers.precise import Precise, difference_jacobian, differences, precisely
from helpers.scalars import assert_near, every_jacobian
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.spatial import Quaternion, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

BESIDE = [x + d for x in (0.2, 1.0, 2.0 * math.asin(0.01)) for d in (-1e-9, 1e-9)]
ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, *BESIDE, 1.0, 2.0, 3.0, math.pi - 1e-6, math.pi - 1e-8, math.pi]
AXES = [(0.0, 0.0, 1.0), (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)]
ROTATION_VECTORS = [[a * angle for a in axis] for axis in AXES for angle in ANGLES]
LINEAR = [0.3, -1.2, 0.5]


def exp(x: list[Any]) -> list[Any]:
    return list(Quaternion.exp(Vec3.of(x)).elements())


def log(x: list[Any]) -> list[Any]:
    return list(Quaternion(*x).log())


def translation(x: list[Any]) -> list[Any]:
    return list(translation_of_twist(Vec3.of(x[:3]), Vec3.of(x[3:])))


def twist(x: list[Any]) -> list[Any]:
    return list(twist_of_translation(Vec3.of(x[:3]), Vec3.of(x[3:])))


def quaternions() -> list[list[float]]:
    return [[float(y) for y in precisely(lie.quaternion_exp, phi)] for phi in ROTATION_VECTORS]


MAPS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[list[float]]]] = {
    "exp": (exp, lie.quaternion_exp, ROTATION_VECTORS),
    "log": (log, lie.quaternion_log, quaternions()),
    "log of the opposite": (log, lie.quaternion_log, [[-a for a in q] for q in quaternions() if q[0] > 1e-12]),
    "translation of a twist": (translation, lie.translation_of_twist, [[*phi, *LINEAR] for phi in ROTATION_VECTORS]),
    "twist of a translation": (twist, lie.twist_of_translation, [[*phi, *LINEAR] for phi in ROTATION_VECTORS]),
}

every_map = pytest.mark.parametrize("name", MAPS)


@pytest.mark.costly
@every_map
@every_jacobian
def test_first_derivatives_of_exponential_and_logarithm_maps_equal_finite_differences(
    name: str, differentiate: Any
) -> None:
    function, reference, points = MAPS[name]
    for point in points:
        assert_near(differentiate(function, point), difference_jacobian(reference, point), times=16.0)


@every_map
def test_reverse_derivatives_of_exponential_and_logarithm_maps_equal_finite_differences(name: str) -> None:
    function, reference, points = MAPS[name]
    for point in points[:: max(1, len(points) // 12)]:
        symbols = Graph().inputs("x", (len(point),))
        outputs = function(symbols)
        weights = np.linspace(0.5, -1.5, len(outputs)).tolist()
        gradient = evaluate(adjoint(outputs, symbols, weights), dict(zip(symbols, point, strict=True)))
        exact = difference_jacobian(reference, point)
        assert_near([float(g) for g in gradient], np.array(weights) @ exact, times=16.0, scale=np.linalg.norm(exact))


@pytest.mark.costly
@every_map
def test_second_derivatives_of_exponential_and_logarithm_maps_equal_finite_differences(name: str) -> None:
    """Second derivatives in one direction, by expressions and by nested dual numbers."""
    function, reference, points = MAPS[name]
    symbols = Graph().inputs("x", (len(points[0]),))
    direction = np.linspace(1.0, -0.7, len(symbols)).tolist()
    rows = jacobian(function(symbols), symbols)
    slopes = [sum(a * d for a, d in zip(row, direction, strict=True)) for row in rows]
    second = [sum(a * d for a, d in zip(row, direction, strict=True)) for row in jacobian(slopes, symbols)]
    for point in points:
        exact = differences(lambda x: _slopes(reference, x, direction), point, direction)
        values = evaluate(second, dict(zip(symbols, point, strict=True)))
        inner = seeded(point, direction)
        outer = seeded(inner, direction)
        duals = [parts(parts(y, outer[0].level)[1], inner[0].level)[1] for y in function(outer)]
        for result in (values, duals):
            assert_near([float(y) for y in result], [float(y) for y in exact], times=128.0)


def _slopes(function: Callable[..., Any], x: list[Any], direction: list[float]) -> list[Any]:
    """The derivative along a direction of a function of precise numbers, by differences."""
    step = mpmath.mpf(10) ** -18
    ahead, behind = (
        function([Precise(a.value + sign * step * d) for a, d in zip(x, direction, strict=True)]) for sign in (1, -1)
    )
    return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
