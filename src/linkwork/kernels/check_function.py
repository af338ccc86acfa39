"""`check_function`: a function of a robot against the contract of `FunctionSpec`.

Compiled values are compared with the algorithm on floats at random states, and compiled derivatives with finite
differences of the compiled function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.contract_report import ContractReport, Requirement, central_differences, check_requirements
from linkwork.kernels.function_request import read_request
from linkwork.model.function_spec import Quantity

__all__ = ["check_function"]

_SAMPLES = 7
_FLOAT32 = 1e-2
_DIFFERENCES = 1e-4


def check_function(robot: Any, name: str, *options: Any, tolerance: float = 1e-9, seed: int = 0) -> ContractReport:
    """Check a robot's function, for example one that you added, against the contract of functions of a robot.

    ``options`` are the function's frame and options, as `Robot.compile` takes them, and ``seed`` selects the random
    states at which it is checked.  Compiled code may differ from the algorithm on floats by ``tolerance``, relative to
    the largest element of a result and at least to 1.  The report prints as a table; ``check_function(robot,
    name).raise_if_failed()`` is a test.
    """
    trial, kind = _Trial(robot, name, options, np.random.default_rng(seed)), type(robot)
    return check_requirements(f"function {name} of {robot.name}", _requirements(tolerance), trial, kind, None)


class _Trial:
    """A function of a robot, the random states at which it is checked, and its compiled results at these states."""

    def __init__(self, robot: Any, name: str, options: tuple[Any, ...], rng: np.random.Generator) -> None:
        self.robot, self.name, self.options = robot, name, options
        self.request = read_request(robot._subject, (name, *options))
        self.kernel = robot.compile((name, *options))
        self.quantities: list[Quantity] = [*self.request.spec.quantities]
        self.arrays = [self._states(quantity, rng) for quantity in self.quantities]
        self.tangents = [
            rng.normal(size=(_SAMPLES, robot.nv) if quantity.configuration else array.shape)
            for quantity, array in zip(self.quantities, self.arrays, strict=True)
        ]
        self.outputs = [output.name or name for output in self.request.outputs]

    def _states(self, quantity: Quantity, rng: np.random.Generator) -> np.ndarray:
        if quantity.configuration:
            return np.asarray(self.robot.random_configuration(rng, size=_SAMPLES))
        sizes = {"nq": self.robot.nq, "nv": self.robot.nv}
        return rng.normal(size=(_SAMPLES, *(x if isinstance(x, int) else sizes[x] for x in quantity.shape)))

    @cached_property
    def batch(self) -> tuple[np.ndarray, ...]:
        return self.results(*self.arrays)

    def results(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return _tuple(self.kernel(*arrays))

    def sample(self, k: int) -> list[np.ndarray]:
        return [x[k] for x in self.arrays]

    def compare(self, label: str, result: np.ndarray, expected: np.ndarray, tolerance: float) -> float:
        """Return the largest error of a result, relative to the largest expected element and at least to 1.

        Raises ValueError, which begins with ``label``, for an error beyond the tolerance.
        """
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        error = float(np.abs(result - expected).max(initial=0.0))
        if not error <= tolerance * scale:
            raise ValueError(f"{label} is off by {error:.3g}; the largest element is {scale:.3g}")
        return error / scale

    def moved(self, state: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the states (n, size) that tangent vectors ``steps`` (n, tangent size) reach from one state (size,).

        A state has the elements of all inputs of the function in sequence.
        """
        result, start, used = [], 0, 0
        for quantity, array, tangent in zip(self.quantities, self.arrays, self.tangents, strict=True):
            size, width = array[0].size, tangent[0].size
            x, dx = state[start : start + size], steps[:, used : used + width]
            result.append(self.robot.integrate(x, dx) if quantity.configuration else x + dx)
            start, used = start + size, used + width
        return np.concatenate(result, axis=1)

    def split(self, state: np.ndarray) -> list[np.ndarray]:
        """Return the function's inputs, each an array of its shape, from a state that has all elements in sequence."""
        ends = np.cumsum([x[0].size for x in self.arrays])[:-1]
        return [x.reshape(array.shape[1:]) for x, array in zip(np.split(state, ends), self.arrays, strict=True)]


def _compiled(t: _Trial, tolerance: float) -> list[float]:
    errors = []
    for k in range(_SAMPLES):
        plain = t.request.spec.compute(t.robot.tree, *(x.tolist() for x in t.sample(k)), **dict(t.request.options))
        expected = plain if len(t.outputs) > 1 else (plain,)
        for name, result, expected_value in zip(t.outputs, t.results(*t.sample(k)), expected, strict=True):
            reference = np.array(_flat(expected_value)).reshape(result.shape)
            errors.append(t.compare(f"{name} of sample {k}, compiled,", result, reference, tolerance))
    return errors


def _batches(t: _Trial) -> list[float]:
    for k in range(_SAMPLES):
        for name, batch, alone in zip(t.outputs, t.batch, t.results(*t.sample(k)), strict=True):
            if not np.array_equal(batch[k], alone):
                raise ValueError(f"{name}: sample {k} of a batch differs from a single call")
    return []


def _float32(t: _Trial) -> list[float]:
    rough = t.results(*(x.astype(np.float32) for x in t.arrays))
    return [
        t.compare(f"{name} in float32", result, exact, _FLOAT32)
        for name, result, exact in zip(t.outputs, rough, t.batch, strict=True)
    ]


def _derivative(t: _Trial) -> list[float]:
    """Return the differences between a function's directional derivatives and finite differences of its results.

    Results in a manifold are left out, as their derivatives have another shape.
    """
    if not t.quantities:
        return []
    derivatives = _tuple(t.kernel.jvp(space="tangent")(*t.arrays, *t.tangents))[-len(t.outputs) :]
    flat = [j for j, (d, x) in enumerate(zip(derivatives, t.batch, strict=True)) if d.shape == x.shape]
    errors = []
    for k in range(_SAMPLES):
        tangent = np.concatenate([x[k].ravel() for x in t.tangents])

        def values(state: np.ndarray) -> np.ndarray:
            results = t.results(*t.split(state))
            return np.concatenate([np.empty(0), *(results[j].ravel() for j in flat)])

        def moved(state: np.ndarray, steps: np.ndarray, tangent: np.ndarray = tangent) -> np.ndarray:
            return t.moved(state, steps * tangent)

        state = np.concatenate([x.ravel() for x in t.sample(k)])
        numeric, start = central_differences(values, moved, state, 1)[:, 0], 0
        for j in flat:
            result = derivatives[j][k]
            expected = numeric[start : start + result.size].reshape(result.shape)
            errors.append(t.compare(f"{t.outputs[j]} of sample {k}: the derivative", result, expected, _DIFFERENCES))
            start += result.size
    return errors


def _method(t: _Trial) -> list[float]:
    options = t.options
    if hasattr(t.robot, t.name) and len(options) <= 1 and all(isinstance(x, str) for x in options):
        method = _tuple(getattr(t.robot, t.name)(*t.arrays, *options))
        for name, result, batch_result in zip(t.outputs, method, t.batch, strict=True):
            if not np.array_equal(result, batch_result):
                raise ValueError(f"{name}: the method and the kernel differ")
    return []


def _tuple(results: Any) -> tuple[np.ndarray, ...]:
    return tuple(results) if isinstance(results, tuple) else (results,)


def _flat(result: Any) -> list[float]:
    """Return the floats of an algorithm's result: nested lists, and values that list their ``elements``."""
    if hasattr(result, "elements"):
        return _flat(result.elements())
    return [x for entry in result for x in _flat(entry)] if isinstance(result, (list, tuple)) else [float(result)]


def _requirements(tolerance: float) -> Sequence[Requirement[_Trial]]:
    return (
        Requirement(
            "compiled",
            "compiled code equals the algorithm on floats",
            tolerance,
            lambda t: _compiled(t, tolerance),
        ),
        Requirement("batches", "a state has the same result alone and in a batch", 0.0, _batches),
        Requirement("float32", "float32 results agree with float64 results", _FLOAT32, _float32),
        Requirement("derivative", "the directional derivative equals finite differences", _DIFFERENCES, _derivative),
        Requirement("method", "the robot's method of this name, if any, equals the kernel", 0.0, _method),
    )
