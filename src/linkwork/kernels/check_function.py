"""The check of a function of robots: its algorithm, its compiled code and its derivative are of one function."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.function_request import read_request
from linkwork.model.function_spec import Quantity

__all__ = ["check_function"]

_SAMPLES = 7


def check_function(robot: Any, name: str, *asked: Any, tolerance: float = 1e-9, seed: int = 0) -> None:
    """Check a robot's function at random states: ``asked`` are its frame and options, as `Robot.compile` takes them.

    The compiled function is the algorithm on floats, within ``tolerance`` relative to the largest number of a result;
    a batch gives the bits of its samples, one by one; float32 comes close; and its directional derivative agrees with
    differences.  The method of the name, if the robot has one, gives the same.  Raises AssertionError that names the
    result and the sample.
    """
    request = read_request(robot._subject, (name, *asked))
    rng, kernel = np.random.default_rng(seed), robot.compile((name, *asked))
    quantities = [*request.row.quantities]
    arrays = [_states(robot, quantity, rng) for quantity in quantities]
    batch = _several(kernel(*arrays))
    names = [output.name or name for output in request.outputs]
    for k in range(_SAMPLES):
        single = [x[k] for x in arrays]
        plain = request.row.compute(robot.tree, *(x.tolist() for x in single), **dict(request.options))
        expected = plain if len(names) > 1 else (plain,)
        for what, got, own, other in zip(names, batch, _several(kernel(*single)), expected, strict=True):
            assert np.array_equal(got[k], own), f"{name}: {what}: sample {k} differs alone and in a batch"
            _compare(f"{name}: {what}: sample {k}: compiled", own, _numbers(other, own.shape), tolerance)
    rough = _several(kernel(*(x.astype(np.float32) for x in arrays)))
    for what, got, other in zip(names, rough, batch, strict=True):
        _compare(f"{name}: {what}: float32", got, other, 1e-2)
    if hasattr(robot, name) and len(asked) <= 1 and all(isinstance(x, str) for x in asked):
        for what, got, other in zip(names, _several(getattr(robot, name)(*arrays, *asked)), batch, strict=True):
            assert np.array_equal(got, other), f"{name}: {what}: the method and the kernel differ"
    _check_derivative(robot, kernel, quantities, arrays, names, rng)


def _check_derivative(
    robot: Any, kernel: Any, quantities: list[Quantity], arrays: list[np.ndarray], names: list[str], rng: Any
) -> None:
    """The kernel along random tangents beside differences of it, of results that lie in no manifold."""
    if not quantities:
        return
    sizes = [(_SAMPLES, robot.nv) if x.configuration else a.shape for x, a in zip(quantities, arrays, strict=True)]
    tangents = [rng.normal(size=size) for size in sizes]
    result = _several(kernel.jvp(space="tangent")(*arrays, *tangents))
    h = 1e-6
    ends = []
    for step in (h, -h):
        moved = [
            robot.integrate(a, step * d) if x.configuration else a + step * d
            for x, a, d in zip(quantities, arrays, tangents, strict=True)
        ]
        ends.append(_several(kernel(*moved)))
    for what, got, up, down in zip(names, result[-len(names) :], *ends, strict=True):
        if got.shape == up.shape:
            _compare(f"{kernel.name}: {what}: derivative", got, (up - down) / (2.0 * h), 1e-4)


def _states(robot: Any, quantity: Quantity, rng: np.random.Generator) -> np.ndarray:
    if quantity.configuration:
        result: np.ndarray = robot.random_configuration(rng, size=_SAMPLES)
        return result
    sizes = {"nq": robot.nq, "nv": robot.nv}
    return rng.normal(size=(_SAMPLES, *(x if isinstance(x, int) else sizes[x] for x in quantity.shape)))


def _several(results: Any) -> tuple[np.ndarray, ...]:
    return tuple(results) if isinstance(results, tuple) else (results,)


def _numbers(result: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What an algorithm gives, as an array: scalars in nested lists, or values that list their elements."""

    def flat(x: Any) -> list[float]:
        if hasattr(x, "elements"):
            return flat(x.elements())
        return [y for part in x for y in flat(part)] if isinstance(x, (list, tuple)) else [float(x)]

    return np.array(flat(result)).reshape(shape)


def _compare(what: str, got: np.ndarray, other: np.ndarray, tolerance: float) -> None:
    scale = max(1.0, float(np.abs(other).max(initial=0.0)))
    worst = float(np.abs(got - other).max(initial=0.0))
    assert worst <= tolerance * scale, f"{what}: off by {worst:.3g}, where the largest number is {scale:.3g}"
