"""Joints of the user: the transform suffices where q̇ = v, and messages name missing methods otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.joints import Ball, Cam, Helical, Swivel
from helpers.precise import difference_jacobian, differences
from helpers.scalars import assert_near, every_scalar, symbolic_jacobian
from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints import JointType
from linkwork.spatial import Pose, Quaternion, Rotation, Vec3

HELICAL = Helical(Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0), 0.3)
CAM = Cam(lift=0.4, wobble=0.25)
SWIVEL = Swivel(arm=0.7)

ANGLES = np.array([[0.0], [0.4], [-1.3], [3.0], [100.0]])


# -- closed forms


@every_scalar
def test_motion_subspace_of_a_users_helical_joint_is_its_screw(run: Any) -> None:
    """(a; pitch·a) is constant, so the bias is zero."""
    a = np.array(list(HELICAL.axis))
    for result in run(lambda q: HELICAL.S(q).columns[0].elements(), ANGLES):
        assert_near(result, np.concatenate([a, 0.3 * a]), times=16.0)
    for result in run(lambda q: HELICAL.bias(q, [2.0]).elements(), ANGLES):
        assert_near(result, np.zeros(6), times=32.0)


def cam_by_hand(q: float, v: float) -> tuple[np.ndarray, np.ndarray]:
    """S and the bias of the cam: angle g = q + w sin 2q, place p = (l (1 − cos q), l q², 0)."""
    l, w = CAM.lift, CAM.wobble
    g, g1, g2 = q + w * math.sin(2 * q), 1 + 2 * w * math.cos(2 * q), -4 * w * math.sin(2 * q)
    p1 = np.array([l * math.sin(q), 2 * l * q])
    p2 = np.array([l * math.cos(q), 2 * l])
    R = np.array([[math.cos(g), -math.sin(g)], [math.sin(g), math.cos(g)]])
    dR = np.array([[-math.sin(g), -math.cos(g)], [math.cos(g), -math.sin(g)]]) * g1
    linear, rate = R.T @ p1, dR.T @ p1 + R.T @ p2
    return np.array([0, 0, g1, *linear, 0]), np.array([0, 0, g2, *rate, 0]) * v * v


@every_scalar
def test_motion_subspace_of_a_users_cam_joint_equals_the_closed_form(run: Any) -> None:
    """Rotation and translation are both nonlinear in q, so S changes and there is a bias."""
    angles = ANGLES[:4]
    results = run(lambda q: [*CAM.S(q).columns[0].elements(), *CAM.bias(q, [-1.7]).elements()], angles)
    for result, (q,) in zip(results, angles, strict=True):
        S, bias = cam_by_hand(float(q), -1.7)
        assert_near(result[:6], S, times=16.0)
        assert_near(result[6:], bias, times=32.0)


def test_zeros_of_a_users_joint_transform_are_zeros_of_its_motion_subspace() -> None:
    """A planar joint's trace has no out-of-plane motion: those parts are constants, not expressions."""
    (q, v) = Graph().inputs("q", (2,))
    for motion in (CAM.S([q]).columns[0], CAM.bias([q], [v])):
        wx, wy, _, _, _, vz = motion.elements()
        assert [(type(x), x) for x in (wx, wy, vz)] == [(float, 0.0)] * 3


# -- derivatives of what is derived


def test_derivatives_of_a_motion_subspace_by_a_joints_parameter_are_exact() -> None:
    """A joint's parameter may itself be a dual number, whose level is distinguished from that of q."""
    for angle in (0.0, 0.8):
        for pitch in (Dual(0.3, 1.0), seeded([0.3], [1.0])[0]):
            joint = Helical(HELICAL.axis, pitch)
            column = joint.S([angle]).columns[0].elements()
            assert_near([float(parts(x)[0]) for x in column], list(HELICAL.S([angle]).columns[0].elements()), times=4.0)
            assert_near([float(parts(x)[1]) for x in column], [0.0, 0.0, 0.0, *HELICAL.axis], times=8.0)


@dataclass(frozen=True)
class Offset(Swivel):
    """Parts of its transform are a parameter alone: they do not move."""

    def X(self, q: Sequence[Any]) -> Pose:
        return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), q[0]), Vec3(self.arm, q[1], self.arm * self.arm))


def test_dual_number_as_a_joints_parameter_does_not_enter_its_motion_subspace() -> None:
    q, v = [0.3, -0.9], [1.2, 0.4]
    exact = np.array(Offset(0.7).S(q).columns[1].elements(), dtype=float)
    assert_near(exact, [0.0, 0.0, 0.0, math.sin(0.3), math.cos(0.3), 0.0], times=2.0)
    joint = Offset(Dual(0.7, 1.0))
    for column, expected in zip(joint.S(q).columns, Offset(0.7).S(q).columns, strict=True):
        assert [parts(x) for x in column.elements()] == [(x, 0.0) for x in expected.elements()]
    bias = joint.bias(q, v).elements()
    assert [parts(x) for x in bias] == [(x, 0.0) for x in Offset(0.7).bias(q, v).elements()]


def test_parameter_of_a_users_joint_may_be_a_symbol() -> None:
    graph = Graph()
    q, pitch = graph.input("q"), graph.input("pitch")
    column = Helical(HELICAL.axis, pitch).S([q]).columns[0].elements()
    values = [float(x) for x in evaluate(column, {q: 0.8, pitch: 0.3})]
    assert_near(values, list(HELICAL.S([0.8]).columns[0].elements()), times=8.0)


@pytest.mark.parametrize("k", [0, 1])
def test_derivatives_of_a_users_joint_by_one_of_several_coordinates_are_exact(k: int) -> None:
    """One coordinate is a dual number: the contract itself differentiates by all together."""
    q, v = [0.3, -0.9], [1.2, 0.4]
    mixed: list[Any] = list(q)
    mixed[k] = Dual(q[k], 1.0)
    by_symbols = symbolic_jacobian(lambda q: [x for c in SWIVEL.S(q).columns for x in c.elements()], q)[:, k]
    by_duals = [parts(x)[1] for c in SWIVEL.S(mixed).columns for x in c.elements()]
    assert_near(by_duals, by_symbols, times=16.0)
    exact = difference_jacobian(lambda q: SWIVEL.bias(q, v).elements(), q)[:, k]
    assert_near([parts(x)[1] for x in SWIVEL.bias(mixed, v).elements()], exact, times=32.0)
    moving: list[Any] = list(v)
    moving[k] = Dual(v[k], 1.0)
    exact = difference_jacobian(lambda v: SWIVEL.bias(q, v).elements(), v)[:, k]
    assert_near([float(parts(x)[1]) for x in SWIVEL.bias(q, moving).elements()], exact, times=32.0)


def test_velocity_bias_of_a_users_joint_is_quadratic_in_the_velocity() -> None:
    for joint, q in ((CAM, [0.4]), (SWIVEL, [0.3, -0.9])):
        v = [1.3] * joint.nv
        once = np.array(joint.bias(q, v).elements(), dtype=float)
        assert_near(list(joint.bias(q, [2.0 * x for x in v]).elements()), 4.0 * once, times=16.0)
        assert_near(list(joint.bias(q, [0.0] * joint.nv).elements()), np.zeros(6), times=0.0)
        assert np.linalg.norm(once) > 0.1


def test_users_joints_accept_batches_of_configurations() -> None:
    q, v = np.random.default_rng(0).normal(size=(2, 2, 7))
    S = SWIVEL.S(list(q))
    bias = SWIVEL.bias(list(q), list(v))
    for k in range(7):
        single = SWIVEL.S(q[:, k].tolist())
        for column, expected in zip(S.columns, single.columns, strict=True):
            assert_near([np.broadcast_to(x, 7)[k] for x in column.elements()], list(expected.elements()), times=8.0)
        single_bias = SWIVEL.bias(q[:, k].tolist(), v[:, k].tolist())
        assert_near([np.broadcast_to(x, 7)[k] for x in bias.elements()], list(single_bias.elements()), times=32.0)


# -- a rotation that is a quaternion


def test_motion_subspace_of_a_users_ball_joint_follows_from_its_rate_map() -> None:
    q = list(Quaternion(0.5, -0.1, 0.7, 0.2).normalized().elements())
    for k, column in enumerate(Ball().S(q).columns):
        assert_near(list(column.elements()), np.eye(6)[k], times=4.0)
    v = [0.3, -1.1, 0.6]
    assert_near(list(Ball().bias(q, v).elements()), np.zeros(6), times=8.0)
    rate = [float(x) for x in differences(lambda phi: Ball().integrate(q, phi), [0.0] * 3, v)]
    assert_near([float(x) for x in Ball().q_dot(q, v)], rate, times=4.0)


@dataclass(frozen=True)
class Unfinished(JointType):
    """A quaternion without the maps of its manifold."""

    nq, nv = 4, 3
    q_units, v_units = ("1",) * 4, ("rad/s",) * 3

    @classmethod
    def example(cls, rng: np.random.Generator) -> Unfinished:
        return cls()

    def X(self, q: Sequence[Any]) -> Pose:
        return Pose(Rotation.from_quaternion(*q), Vec3.zero())


Q, V = [1.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("method", "missing", "arguments"),
    [
        ("q_dot", "q_dot", (Q, V)),
        ("velocity_from_rate", "velocity_from_rate", (Q, Q)),
        ("integrate", "integrate", (Q, V)),
        ("difference", "difference", (Q, Q)),
        ("S", "q_dot", (Q,)),
        ("bias", "q_dot", (Q, V)),
        ("constraint_wrench_subspace", "q_dot", (Q,)),
    ],
)
def test_joint_methods_without_default_name_the_methods_to_write(
    method: str, missing: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(TypeError, match="has no default") as caught:
        getattr(Unfinished(), method)(*arguments)
    assert str(caught.value) == (
        f"Unfinished.{missing}: a joint with nq = 4 and nv = 3 has no default, because its configuration's rate "
        f"is not its velocity; write Unfinished.{missing}"
    )


def test_joint_class_without_a_transform_raises_an_error() -> None:
    class WithoutTransform(JointType):
        nq, nv = 1, 1
        q_units, v_units = ("rad",), ("rad/s",)

    with pytest.raises(TypeError, match=r"abstract"):
        WithoutTransform()


def test_joint_class_without_sizes_and_units_raises_an_error() -> None:
    class Turn(JointType):
        def X(self, q: Any) -> Pose:
            return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), q[0]), Vec3.zero())

    for attribute, value, shown in (
        ("nq", 1, "nq = 1"),
        ("nv", 1, "nv = 1"),
        ("q_units", ("rad",), 'q_units = ("rad",)'),
        ("v_units", ("rad/s",), 'v_units = ("rad/s",)'),
    ):
        with pytest.raises(ValueError, match="expected the class attribute") as caught:
            lw.Joint.of(Turn(), name="j")
        assert (
            str(caught.value)
            == f"Joint.of: joint 'j' (turn): {attribute}: expected the class attribute, such as `{shown}`, got none"
        )
        setattr(Turn, attribute, value)
    assert lw.Joint.of(Turn()).transform([0.0]).shape == (4, 4)


def test_joint_transform_that_is_not_a_pose_is_refused() -> None:
    class Unusual(JointType):
        nq, nv = 1, 1
        q_units, v_units = ("rad",), ("rad/s",)
        value: Any = np.eye(4)

        def X(self, q: Any) -> Pose:
            return self.returned  # type: ignore[no-any-return]

    for value, got in (
        (np.eye(4), "a method that returns a linkwork.spatial.Pose, got ndarray"),
        (None, "a method that returns a linkwork.spatial.Pose, got NoneType"),
        (Pose(Rotation.identity(), (0, 0, 0)), "got Pose(Rotation, tuple)"),  # type: ignore[arg-type]
        (Pose(np.eye(3), Vec3.zero()), "got Pose(ndarray, Vec3)"),  # type: ignore[arg-type]
    ):
        Unusual.returned = value
        with pytest.raises(ValueError, match="X: expected a method that returns") as caught:
            lw.Joint.of(Unusual(), name="j")
        assert str(caught.value).startswith("Joint.of: joint 'j' (unusual): X: expected ") and got in str(caught.value)


@pytest.mark.slow(every=5)
def test_joint_class_without_an_example_cannot_be_drawn_in_random_trees() -> None:
    @dataclass(frozen=True)
    class Turn(JointType):
        nq, nv = 1, 1
        q_units, v_units = ("rad",), ("rad/s",)

        def X(self, q: Any) -> Pose:
            return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), q[0]), Vec3.zero())

    lw.check_joint(Turn()).raise_if_failed()
    with pytest.raises(NotImplementedError, match=r"Turn: no random examples: the type does not write `example`"):
        Turn.example(np.random.default_rng(0))
    loose = type("Loose", (Turn,), {"__eq__": object.__eq__, "__hash__": object.__hash__})
    assert [line.name for line in lw.check_joint(loose()).failures] == ["value"]


def test_default_rate_maps_and_steps_of_a_joint_are_vector_additions() -> None:
    q, p = [0.3, -0.9], [1.0, 2.0]
    assert SWIVEL.q_dot(q, p) == SWIVEL.velocity_from_rate(q, p) == p
    assert SWIVEL.integrate(q, p) == [1.3, 1.1]
    assert SWIVEL.difference(q, p) == [0.7, 2.9]
    assert SWIVEL.zero() == [0.0, 0.0]
    assert SWIVEL.normalize(q) == SWIVEL.canonical(q) == q
    assert (SWIVEL.has_fixed_subspaces, SWIVEL.is_floating, SWIVEL.num_constraints) == (False, False, 4)
    assert Swivel.type_name() == "swivel"
