"""`check_feature`: features of the library fulfil the contract, and each breach fails its own line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork.errors import ContractError
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal import Feature, PathContact, check_feature

ARM = lw.load("double_pendulum")


@dataclass(frozen=True)
class Spin(Feature):
    """Speed of one joint beside that of the step before."""

    joint: int = 0
    name: str = "spin"
    depth = 2
    component_names = ("speed", "before")
    row_units = ("rad/s", "rad/s")

    def values(self, w: Any, target: Any) -> list[Any]:
        return [w.velocity()[self.joint], w.velocity(1)[self.joint] * w.time]


class Slight(Spin):
    """A spin with a deviation by a factor, or by a part of a unit."""

    by = 0.0


class SlowRow(Slight):
    def jacobian(self, w: Any, target: Any) -> Any:
        block = super().jacobian(w, target)
        block.rows[1][0][self.joint] = block.rows[1][0][self.joint] * (1.0 + self.by)
        return block


class OtherValues(Slight):
    def jacobian(self, w: Any, target: Any) -> Any:
        block = super().jacobian(w, target)
        values = [block.values[0], block.values[1] * (1.0 + self.by)]
        return lw.optimal.FeatureJacobian(values, block.rows, block.parameters)


class WithPast(Slight):
    rows_without_past = 1
    row_units = ("rad", "rad/s")

    def values(self, w: Any, target: Any) -> list[Any]:
        return [w.configuration()[self.joint] + self.by * w.velocity()[self.joint], w.velocity(1)[self.joint]]


class OtherTraced(Slight):
    def values(self, w: Any, target: Any) -> list[Any]:
        return [x if isinstance(x, float) else x * (1.0 + self.by) for x in super().values(w, target)]

    def jacobian(self, w: Any, target: Any) -> Any:
        return w.derived(lambda window: Spin.values(self, window, target), 2)


class NoDuration(Spin):
    """Rows by parameters, among them the duration, that are zero."""

    def jacobian(self, w: Any, target: Any) -> Any:
        block = super().jacobian(w, target)
        zeros = [[0.0] * w.parameter_count for _ in block.values]
        return lw.optimal.FeatureJacobian(block.values, block.rows, zeros)


class ShortRows(Spin):
    def jacobian(self, w: Any, target: Any) -> Any:
        block = super().jacobian(w, target)
        return lw.optimal.FeatureJacobian(block.values, block.rows[:-1], block.parameters)


class LooksFurther(Spin):
    depth = 1


class NoName(Spin):
    component_names = ("speed",)


class NoUnit(Spin):
    row_units = ("rad/s",)


class TwoAlike(Spin):
    component_names = ("speed", "speed")


class TooDeep(Spin):
    depth = 4


class Infinite(Spin):
    def values(self, w: Any, target: Any) -> list[Any]:
        return [np.inf, w.velocity()[0]]


class WrongTarget(Spin):
    target_of = TaskTarget((3,), "numbers", "three numbers")
    target = (1.0, 2.0)


class Raises(Spin):
    def bind(self, robot: Any, w: Any) -> Any:
        raise ArithmeticError("the sum of it")


@dataclass
class Changes(Feature):
    """Not frozen, so without a hash."""

    name: str = "changes"
    depth = 0
    component_names = ("first",)

    def values(self, w: Any, target: Any) -> list[Any]:
        return w.configuration()[:1]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (SlowRow, "exact_jacobian", 3e-5, 3e-6),
        (OtherValues, "jacobian", 3e-9, 3e-10),
        (WithPast, "rows_without_past", 1e-13, 1e-14),
        (OtherTraced, "traced", 1e-7, 1e-9),
    ],
)
def test_check_feature_reports_small_errors_of_features(
    kind: type[Slight], line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda variant: check_feature(variant(), ARM), kind, line, noticed, allowed)


@pytest.mark.parametrize(
    ("kind", "line", "said"),
    [
        (NoDuration, "exact_jacobian", r"by 'duration\[0\]' of the path"),
        (ShortRows, "jacobian", "expected .values, steps"),
        (LooksFurther, "values", "IndexError: .* in LooksFurther.values"),
        (NoName, "values", "expected 1, one for each of component_names, got 2"),
        (NoUnit, "component_names, row_units", "row_units: expected 2 strings"),
        (TwoAlike, "component_names, row_units", "distinct strings"),
        (TooDeep, "bind", "from 0 to 3, got 4"),
        (Infinite, "values", "component 'speed': expected a finite value, got inf"),
        (WrongTarget, "target", r"numbers of shape \(3\)"),
        (Raises, "bind", "ArithmeticError: the sum of it in Raises.bind"),
        (Changes, "value", "unhashable"),
    ],
)
def test_check_feature_names_the_fault_of_broken_features(kind: Callable[[], Feature], line: str, said: str) -> None:
    report = check_feature(kind(), ARM)
    failed = {failure.name: failure.problem for failure in report.failures}
    assert line in failed
    with pytest.raises(ContractError, match=f"(?s){kind.__name__} breaks.*FAIL  {line}.*{said}"):
        report.raise_if_failed()


@pytest.mark.slow(every=5)
def test_features_of_the_library_fulfil_the_feature_contract() -> None:
    foot = PathContact("foot", ARM.frames[-1])
    scene = lw.Scene().with_box("box", (0.2, 0.2, 0.2), (0.5, 0.4, 0.2))
    arm = lw.load("arm7")
    features: list[tuple[Feature, Any, dict[str, Any]]] = [
        (Spin(), ARM, {}),
        (lw.optimal.AccelerationFeature(), ARM, {"target": [0.1, 0.2]}),
        (lw.optimal.TaskFeature(lw.ik.PoseTask(ARM.frames[-1]), 1), ARM, {}),
        (lw.optimal.ConfigurationFeature(), lw.load("double_pendulum", floating_base=True), {}),
        (lw.optimal.StickingContact(foot), ARM, {"variables": {"foot": 3}, "contacts": [foot]}),
        (lw.optimal.TorqueFeature(), ARM, {"variables": {"foot": 3}, "contacts": [foot]}),
        (lw.optimal.ParameterFeature("length"), ARM, {"parameters": {"length": 2}}),
        (lw.optimal.Clearance(scene=scene, pairs=[("wrist", "box")], per="robot", between=1), arm, {"samples": 2}),
        (lw.optimal.FunctionFeature("late", lambda w, x: w.q() * w.time - x, shape=(2,)), ARM, {"target": [1, 2]}),
    ]
    for feature, robot, options in features:
        report = check_feature(feature, robot, **options)
        assert report.success, str(report)
        assert str(report).startswith(f"feature {type(feature).__name__} keeps the contract\nok    value")


def test_objects_that_are_not_features_are_refused_by_check_feature() -> None:
    with pytest.raises(
        TypeError, match=r"check_feature: feature: expected a linkwork\.optimal\.Feature, got 'velocity'"
    ):
        check_feature("velocity", ARM)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="check_feature: robot: expected a robot"):
        check_feature(Spin(), "arm7")
    report = check_feature(lw.optimal.TaskFeature(lw.ik.PositionTask("nose")), ARM)
    assert [line.name for line in report.lines] == ["value", "bind", "attributes"] and "'nose'" in report.failures[
        0
    ].problem
