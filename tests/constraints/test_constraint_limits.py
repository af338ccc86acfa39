"""Constraints and force elements on both sides of each limit of their parameters."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints, joints
from linkwork.constraints import user_functions
from linkwork.constraints.arguments import check_relative_motion
from linkwork.constraints.loop_joint import _motion_text
from linkwork.constraints.user_functions import _is_importable, outputs_of
from linkwork.dynamics.algorithms.passive_joint_forces import element_wrenches
from linkwork.expr.scalar.symbol import Graph
from linkwork.force_elements import Bushing, SpringDamper
from linkwork.kinematics.algorithms.forward_kinematics import pose
from linkwork.spatial import Force, Pose, Vec3

ROTATION = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


def test_motions_that_a_wrench_prevents_are_named_if_it_is_along_an_axis() -> None:
    for x, expected in ((1.0, "rotation y"), (-1.0, "rotation y"), (1.0 + 0.5e-12, "rotation y")):
        assert _motion_text(Force(Vec3(0.0, x, 0.0), Vec3(0.0, 0.0, 0.0))) == expected
    assert _motion_text(Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0))) == "translation z"
    for x in (1.0 + 5e-12, 0.5, 1.5):
        assert _motion_text(Force(Vec3(0.0, 0.0, 0.0), Vec3(x, 0.0, 0.0))).startswith("wrench (0, 0, 0, ")


def test_rows_of_loop_joints_with_a_force_are_in_metres() -> None:
    class Pressed(joints.Revolute):
        """Revolute joint with a constraint wrench that has a small force."""

        size = 0.0

        def constraint_wrench_subspace(self, q: Any) -> Any:
            return [Force(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, type(self).size))]

    for size, unit in ((0.0, "rad"), (0.5e-12, "rad"), (5e-12, "m"), (-5e-12, "m"), (1.0, "m")):
        Pressed.size = size
        joint = constraints.LoopJoint("loop", Pressed((0.0, 0.0, 1.0)), "a", "b")
        assert joint.row_units == (unit,)


def test_lower_limit_of_a_loop_joint_may_equal_but_not_exceed_the_upper() -> None:
    def problems(lower: float, upper: float) -> list[str]:
        axis = joints.Revolute((0.0, 0.0, 1.0))
        return [*constraints.LoopJoint("loop", axis, "a", "b", (lower,), (upper,)).checked(None)]

    assert problems(0.3, 0.3) == problems(-0.2, 0.3) == problems(-math.inf, math.inf) == []
    assert problems(0.3, 0.29) == ["lower: expected values <= upper, got (0.3,) and (0.29,)"]


def test_constraints_within_one_body_name_the_body_or_the_world() -> None:
    robot = lw.Robot.build(
        "arm",
        lw.Link("upper", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"a": (0.1, 0.2, 0.3), "b": (0.3, 0.1, 0.2)}),
        lw.Link("lower", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"c": (0.1, 0.2, 0.3)}),
        lw.Joint.of(joints.Revolute((0.0, 1.0, 0.0)), name="shoulder", parent="world", child="upper"),
        lw.Joint.of(joints.Revolute((0.0, 1.0, 0.0)), name="elbow", parent="upper", child="lower"),
    )
    for a, b, words in (
        ("a", "a", "it is between 'a' and itself"),
        ("a", "b", "'a' and 'b' are of one body, 'upper', so nothing moves between them"),
        ("c", "lower", "'c' and 'lower' are of one body, 'lower', so nothing"),
        ("world", "world", "it is between 'world' and itself"),
        ("a", "c", None),
        ("world", "a", None),
    ):
        texts = [*check_relative_motion(robot.tree, ("frame", a), ("frame", b))]
        assert len(texts) == (words is not None) and all(text.startswith(str(words)) for text in texts)


def test_geneva_segments_have_the_length_of_their_rise() -> None:
    def of(rise: float, length: float) -> constraints.Curve:
        return constraints.Curve((0.0, length), (0.0, rise), "geneva")

    for rise in (0.5, 2.0, -2.0):
        for length in (math.pi - abs(rise), math.pi + abs(rise), math.pi - abs(rise) + 0.8e-9):
            curve = of(rise, length)
            ends = curve(np.array([0.0, length]))
            assert np.abs(ends - [0.0, rise]).max() < 1e-6
    of(0.0, 0.7)
    for rise, length in ((0.5, math.pi - 0.5 + 3e-9), (2.0, 2.0), (math.pi, 2.0 * math.pi), (4.0, math.pi + 4.0)):
        with pytest.raises(ValueError, match=r'expected a length π ∓ \|Δy\| of a segment of motion "geneva"'):
            of(rise, length)


def test_ends_of_a_period_are_equal_up_to_rounding() -> None:
    for size in (1.0, 300.0):
        for gap, accepted in ((0.6e-9, True), (3e-9, False)):
            x, y, ends = (0.0, 1.0, 2.5), (0.1, 0.4, 0.1), (size, -0.5 * size, size * (1.0 + gap))
            for name in ("slopes", "curvatures"):
                more: dict[str, Any] = {"slopes": (size, 0.0, size), "curvatures": (size, 0.0, size), name: ends}
                if accepted:
                    assert constraints.Curve(x, y, periodic=True, **more).periodic
                else:
                    with pytest.raises(ValueError, match=f"Curve: {name}: expected the same at both ends of a period"):
                        constraints.Curve(x, y, periodic=True, **more)


def test_functions_of_users_with_infinite_results_are_refused() -> None:
    x = Graph().input("x")
    assert outputs_of("law", lambda x: [x, 2.0], [x]) == [x, 2.0]
    for result in (math.inf, math.nan, [1.0, -math.inf]):
        with pytest.raises(ValueError, match=r"law: its function .* expected finite numbers, got"):
            outputs_of("law", lambda x, result=result: result, [x])
    for result in (None, "1", [], 1j, [x < 1.0]):
        with pytest.raises(ValueError, match=r"law: its function .* expected a number or an array of numbers, got"):
            outputs_of("law", lambda x, result=result: result, [x])


class Law:
    """Object that is called."""

    def __call__(self, x: Any) -> Any:
        return x


def test_functions_without_a_name_are_left_to_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        _is_importable(Law())
        and _is_importable(math.sin)
        and _is_importable(test_ends_of_a_period_are_equal_up_to_rounding)
    )
    nameless: Any = SimpleNamespace(__qualname__="f", __module__=None)
    assert _is_importable(nameless) and not _is_importable(lambda x: x)
    assert not user_functions._by_value()


def test_bushings_have_positive_parameters_and_a_rigid_rest() -> None:
    for value in (0.0, 0.4, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 1e20):
        for name in ("stiffness", "damping"):
            bushing = Bushing("a", "b", **{name: value})
            assert getattr(bushing, name) == tuple(np.broadcast_to(value, 6).tolist())
            assert len(bushing.resistances(None, Pose.identity())) == int(np.count_nonzero(np.broadcast_to(value, 6)))
    for value in (-1e-12, math.nan, math.nextafter(1e20, math.inf), (0.1,) * 5):
        for name in ("stiffness", "damping"):
            with pytest.raises(ValueError, match=f"Bushing: {name}: expected a number >= 0"):
                Bushing("a", "b", **{name: value})
    for scale, accepted in ((1.0 - 2e-10, True), (1.0 + 2e-10, True), (1.0 - 3e-9, False), (1.0 + 3e-9, False)):
        placed: Any = np.eye(4)
        placed[:3, :3], placed[:3, 3] = scale * ROTATION, (0.1, 0.2, 0.3)
        if accepted:
            assert Bushing("a", "b", rest=placed).rest == Pose.of(placed.tolist())
        else:
            with pytest.raises(ValueError, match=r"Bushing: rest: expected a pose \(4, 4\)"):
                Bushing("a", "b", rest=placed)
    mirrored: Any = np.eye(4)
    mirrored[:3, :3] = ROTATION * [1.0, 1.0, -1.0]
    with pytest.raises(ValueError, match=r"Bushing: rest: expected a pose \(4, 4\)"):
        Bushing("a", "b", rest=mirrored)
    for name in ("stiffness", "damping", "rest_length"):
        assert getattr(SpringDamper("a", "b", **{name: 0.4}), name) == 0.4
        with pytest.raises(ValueError, match=f"SpringDamper: {name}: expected a number >= 0, got -0.4"):
            SpringDamper("a", "b", **{name: -0.4})


def test_force_elements_exert_opposite_wrenches_on_both_bodies() -> None:
    """The wrenches on two bodies balance about the world's origin, and the end at the world has none."""
    robot = lw.load("double_pendulum")
    first, second = "upper_rod", "lower_rod"
    q, v = [0.3, -0.7], [0.2, 0.5]
    for a, b in ((first, second), ("world", first), (second, "world")):
        tree = robot.with_force_elements(Bushing(a, b, stiffness=(3.0, 5.0, 7.0, 20.0, 30.0, 40.0), damping=2.0)).tree
        wrenches = element_wrenches(tree, q, v)
        assert [frame for frame, _, _ in wrenches] == [x for x in (a, b) if x != "world"]
        if "world" not in (a, b):
            total = np.zeros(6)
            for frame, _, (*moment, fx, fy, fz) in wrenches:
                X = np.reshape(pose(tree, q, frame).elements(), (4, 4)).astype(float)
                f = X[:3, :3] @ [fx, fy, fz]
                total += [*(X[:3, :3] @ moment + np.cross(X[:3, 3], f)), *f]
            assert np.abs(total).max() < 1e-12 and max(abs(x) for _, _, w in wrenches for x in w) > 0.1
