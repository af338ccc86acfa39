"""`check_feature` checks that a user's feature meets the requirements of `Feature`, on a robot.

Each requirement is checked in random windows of steps, on floats and in machine code.  Jacobians are compared with
central differences, machine code with values on floats, and batches with the same windows one by one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import ContractReport, Requirement, check_requirements, relative_error
from linkwork._util.validation import integer
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.optimal.algorithms.jacobian_check import ROUNDING, WindowSample, finite_values, jacobian_errors
from linkwork.optimal.arguments import read_robot
from linkwork.optimal.features import ConstraintForce, Feature, PathContact
from linkwork.optimal.features.feature import DEEPEST, FeatureJacobian, with_fields
from linkwork.optimal.problem_data import bind_feature
from linkwork.optimal.problem_terms import default_target, read_target, target_shape

__all__ = ["REQUIREMENTS", "check_feature"]

_TRACED = 1e-9  # relative error of machine code, which rounds some products and sums once


@dataclass
class _Trial:
    """A feature, the robot, random samples of path steps, and the target with which the feature is checked."""

    feature: Feature
    robot: Any
    samples: int
    rng: np.random.Generator
    user_target: Any
    variables: Mapping[str, int]
    parameters: Mapping[str, int]
    contacts: Sequence[PathContact | ConstraintForce]

    @cached_property
    def bound(self) -> Feature:
        """The feature, bound to the robot."""
        more = self.variables, self.parameters, self.contacts
        return bind_feature("check_feature", self.robot, self.feature, *more)

    @cached_property
    def windows(self) -> list[WindowSample]:
        """Random samples of as many successive path steps as the feature reads."""
        more = self.variables, self.parameters, self.contacts
        depth = self.bound.depth
        return [
            WindowSample.random(self.robot.tree, self.rng, depth, *more, free_duration=True)
            for _ in range(self.samples)
        ]

    @cached_property
    def target(self) -> list[float]:
        """The flat target: the caller's, else the feature's default, else zeros."""
        if target_shape(self.robot.tree, self.bound) is None:
            return []
        value = self.bound.target if self.user_target is None else self.user_target
        value = default_target(self.robot, self.bound) if value is None else value
        target = read_target(self.robot.tree, "check_feature", self.bound, value)
        return [float(x) for x in np.ravel(target)]

    def values(self, sample: WindowSample) -> np.ndarray:
        """Return the feature's values at a sample of path steps.  Raises ValueError if they are not finite."""
        return finite_values(self.bound, self.bound.values(sample.window(), self.target))

    @cached_property
    def kernel(self) -> Kernel:
        """Kernel of values and exact Jacobian."""
        first = self.windows[0]
        shapes: dict[str, tuple[int, ...]] = {"path": (len(first.path), self.robot.tree.nq)}
        if self.target:
            shapes["target"] = (len(self.target),)
        shapes |= {f"variable_{name}": (len(first.path), n) for name, n in self.variables.items()}
        shapes |= {f"parameter_{name}": (len(x),) for name, x in first.parameters.items()}

        def run(**inputs: Any) -> Any:
            window = first.window(
                [list(q) for q in inputs["path"]],
                [
                    {name: list(inputs[f"variable_{name}"][k]) for name in self.variables}
                    for k in range(len(first.path))
                ],
                {name: list(inputs[f"parameter_{name}"]) for name in first.parameters},
            )
            target = list(inputs["target"]) if self.target else []
            jacobian = self.bound.exact_jacobian(window, target)
            values = self.bound.values(window, target)
            return array([*values, *_flat(jacobian)])

        return compile(run, name="check_feature", **shapes)

    def inputs(self, samples: Sequence[WindowSample]) -> dict[str, np.ndarray]:
        """Return several samples of path steps as arguments of `kernel`, a batch."""
        arrays = {"path": np.array([sample.path for sample in samples])}
        if self.target:
            arrays["target"] = np.array(self.target)
        for name in self.variables:
            arrays[f"variable_{name}"] = np.array([[step[name] for step in sample.variables] for sample in samples])
        for name in samples[0].parameters:
            arrays[f"parameter_{name}"] = np.array([sample.parameters[name] for sample in samples])
        return arrays


def _flat(jacobian: FeatureJacobian) -> list[Any]:
    rows = [x for step in jacobian.rows for row in step for x in row]
    return [*jacobian.values, *rows, *(x for row in jacobian.parameters for x in row)]


def _value(trial: _Trial) -> Iterable[float]:
    feature = trial.feature
    if not isinstance(feature.name, str) or not feature.name:
        raise ValueError(f"name: expected a string, got {feature.name!r}")
    twin = with_fields(feature) if dataclasses.is_dataclass(feature) else feature
    if feature != twin or hash(feature) != hash(twin):
        raise ValueError("a copy is not equal or has another hash: use a frozen dataclass")
    return ()


def _binding(trial: _Trial) -> Iterable[float]:
    bound = trial.bound
    if not isinstance(bound, Feature):
        raise ValueError(f"bind: expected a Feature, got {bound!r}")
    if bound.depth not in range(DEEPEST + 1):
        raise ValueError(f"depth: expected an integer from 0 to {DEEPEST}, got {bound.depth!r}")
    return ()


def _names(trial: _Trial) -> Iterable[float]:
    names, units = trial.bound.component_names, trial.bound.row_units
    if not names:
        raise ValueError(f"component_names: expected at least one for robot {trial.robot.name!r}, got none")
    if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"component_names: expected distinct strings, got {names!r}")
    if len(units) != len(names) or not all(isinstance(unit, str) for unit in units):
        raise ValueError(f"row_units: expected {len(names)} strings, got {units!r}")
    return ()


def _target(trial: _Trial) -> Iterable[float]:
    _ = trial.target
    return ()


def _values(trial: _Trial) -> Iterable[float]:
    count = len(trial.bound.component_names)
    for sample in trial.windows:
        got = len(trial.values(sample))
        if got != count:
            raise ValueError(f"values: expected {count}, one for each of component_names, got {got}")
    return ()


def _rows_without_past(trial: _Trial) -> Iterable[float]:
    count, bound = trial.bound.rows_without_past, trial.bound
    if count not in range(len(bound.component_names) + 1):
        raise ValueError(
            f"rows_without_past: expected an integer from 0 to {len(bound.component_names)}, got {count!r}"
        )
    if bound.depth == 0 or count == 0:
        return
    for sample, following in zip(trial.windows, [*trial.windows[1:], trial.windows[0]], strict=True):
        path = (sample.path[0], *following.path[1:])
        changed = finite_values(bound, bound.values(sample.window(path), trial.target))
        yield relative_error(changed[:count], trial.values(sample)[:count])


def _shapes(trial: _Trial) -> Iterable[float]:
    for sample in trial.windows:
        window = sample.window()
        count = len(trial.bound.component_names)
        for method in ("jacobian", "exact_jacobian"):
            jacobian = getattr(trial.bound, method)(window, trial.target)
            expected = (count, trial.bound.depth + 1, {(count, window.width)}, (count, window.parameter_count))
            got = (
                len(jacobian.values),
                len(jacobian.rows),
                {(len(step), len(row)) for step in jacobian.rows for row in step},
                (len(jacobian.parameters), *{len(row) for row in jacobian.parameters}),
            )
            if got != expected:
                raise ValueError(
                    f"{method}: expected (values, steps, {{(rows, columns)}}, (rows, parameters)) {expected}, got {got}"
                )
            if not np.isfinite(np.array(_flat(jacobian), dtype=float)).all():
                raise ValueError(f"{method}: expected finite values, got NaN or infinity")
            yield relative_error(jacobian.values, trial.values(sample))


def _derivative(trial: _Trial) -> Iterable[float]:
    for sample in trial.windows:
        jacobian = trial.bound.exact_jacobian(sample.window(), trial.target)
        columns = list(jacobian_errors(trial.bound, sample, trial.target, jacobian))
        scale = 1.0 + max((column.scale for column in columns), default=0.0)
        for column in columns:
            if column.error > ROUNDING * scale:
                raise ValueError(str(column))
            yield column.error / scale


def _traced(trial: _Trial) -> Iterable[float]:
    for sample in trial.windows:
        machine = np.asarray(trial.kernel(**trial.inputs([sample])))[0]
        jacobian = trial.bound.exact_jacobian(sample.window(), trial.target)
        yield relative_error(machine, [*trial.values(sample), *_flat(jacobian)])


def _batch(trial: _Trial) -> Iterable[float]:
    together = np.asarray(trial.kernel(**trial.inputs(trial.windows)))
    for k, sample in enumerate(trial.windows):
        alone = np.asarray(trial.kernel(**trial.inputs([sample])))[0]
        yield 0.0 if np.array_equal(together[k], alone, equal_nan=True) else math.inf


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "it has a name, and copies are equal with equal hashes", 0.0, _value),
    Requirement("bind", "bind returns a feature whose depth is at most 3", 0.0, _binding),
    Requirement("component_names, row_units", "a distinct name and a unit for each component", 0.0, _names),
    Requirement("target", "it has the shape of target_of and finite values", 0.0, _target),
    Requirement("values", "finite, one for each component, of steps within depth", 0.0, _values),
    Requirement("rows_without_past", "the first components do not depend on earlier steps", 1e-12, _rows_without_past),
    Requirement("jacobian", "its shapes, finite entries, and the same values", _TRACED, _shapes),
    Requirement("exact_jacobian", "its entries are the derivatives of values", ROUNDING, _derivative),
    Requirement("traced", "machine code has the same values and Jacobian", _TRACED, _traced),
    Requirement("batch", "a batch of windows equals single windows, bit for bit", 0.0, _batch),
)


@public
def check_feature(
    feature: Feature,
    robot: Any,
    *,
    target: Any = None,
    variables: Mapping[str, int] | None = None,
    parameters: Mapping[str, int] | None = None,
    contacts: Iterable[PathContact | ConstraintForce] = (),
    samples: int = 4,
    seed: np.random.Generator | int | None = 0,
) -> ContractReport:
    """Return a report on the requirements of `linkwork.optimal.Feature`, checked for a feature on a robot.

    Each requirement is checked in ``samples`` random windows of steps, with the duration of steps as a parameter.
    ``seed`` is a NumPy generator or a seed for one. ``target`` is an array of the shape of ``target_of`` (default: the
    feature's default target, or zeros). ``variables`` of steps and ``parameters`` of the path are dicts of sizes by
    name, and ``contacts`` are contacts whose forces are variables. If a method of the feature raises an exception, the
    requirement fails, and the report names the line of code. If the first two requirements fail, the others are
    skipped. The report prints as a table; ``check_feature(feature, robot).raise_if_failed()`` is a test.

    Raises TypeError for another object as feature or robot.
    """
    if not isinstance(feature, Feature):
        raise TypeError(f"check_feature: feature: expected a linkwork.optimal.Feature, got {feature!r}")
    robot = read_robot("check_feature", robot)
    samples = integer("check_feature", "samples", samples, least=1)
    more = dict(variables or {}), dict(parameters or {}), tuple(contacts)
    trial = _Trial(feature, robot, samples, np.random.default_rng(seed), target, *more)
    subject, kind = f"feature {type(feature).__name__}", type(feature)
    first = check_requirements(subject, REQUIREMENTS[:2], trial, kind, Feature)
    if not all(line.success for line in first.lines[:2]):
        return first
    return check_requirements(subject, REQUIREMENTS, trial, kind, Feature)
