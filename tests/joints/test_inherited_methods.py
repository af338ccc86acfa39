"""Joint types that inherit from others: overridden transforms and rates drop the closed forms of the base."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.joints import EVERY
from linkwork.expr import sin
from linkwork.joints import ALL, Floating, JointType, Revolute, SphericalEuler
from linkwork.joints.base.inherited_methods import DEPENDS_ON
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Motion, Pose, Rotation, Subspace, Vec3

Z = Vec3(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Crank(Revolute):
    """A hinge whose frame also swings to the side: the closed forms of a hinge do not fit it."""

    axis: Vec3 = Z
    arm: float = 0.3

    def X(self, q: Any) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), Vec3(self.arm * sin(q[0]), 0.0, 0.1 * q[0]))


class ClosedCrank(Crank):
    """The same with closed forms of S and bias, right ones, and nothing else."""

    def X(self, q: Any) -> Pose:
        return Crank.X(self, q)

    S, bias = JointType.S, JointType.bias


@dataclass(frozen=True)
class Alone(JointType):
    """The same transform, and nothing else."""

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Alone:
        return cls()

    def X(self, q: Any) -> Pose:
        return Crank().X(q)


def arm(kind: JointType) -> lw.Robot:
    """A random robot of hinges with this joint in its middle, one in each direction, and a body beyond."""
    robot = lw.Robot(random_tree(np.random.default_rng(3), 5, types=[Revolute], shape="chain"))
    for k, joint in enumerate(robot.joints[1:4:2]):
        robot = robot.with_joint(joint.with_type(kind if k == 0 else kind.reversed()))
    return robot


def test_hinge_class_with_an_overridden_transform_has_its_own_dynamics() -> None:
    """Mass matrix, inverse dynamics and poses of a robot with it equal those of an independent type."""
    alone = arm(Alone())
    rng = np.random.default_rng(0)
    q, (v, a) = alone.random_configuration(seed=1, size=4), rng.normal(size=(2, 4, alone.nv))
    for kind in (Crank(), ClosedCrank()):
        robot = arm(kind)
        for name, arguments in (("mass_matrix", (q,)), ("inverse_dynamics", (q, v, a)), ("forward_kinematics", (q,))):
            actual, expected = getattr(robot, name)(*arguments), getattr(alone, name)(*arguments)
            assert np.max(np.abs(actual - expected)) <= 1e-13 * max(1.0, float(np.max(np.abs(expected)))), (kind, name)
        assert not kind.commuting_translations() and not kind.commuting_rotations() and not kind.has_fixed_subspaces
        assert kind.reversed() == lw.joints.Reversed(kind)


def test_every_joint_type_with_an_overridden_transform_ignores_inherited_closed_forms() -> None:
    """Functions of X come from the contract; the manifold is inherited."""
    about_X = [said for said, about in DEPENDS_ON.items() if "X" in about]
    for kind in ALL:
        changed_type = type(f"Other{kind.__name__}", (kind,), {"X": lambda self, q: Pose.identity()})
        for said in about_X:
            assert getattr(changed_type, said) is getattr(JointType, said), (kind, said)
        for said in (
            "q_dot",
            "velocity_from_rate",
            "integrate",
            "difference",
            "zero",
            "normalize",
            "random",
            "unit_length",
        ):
            same = getattr(changed_type, said) == getattr(kind, said)
            assert same, (kind, said)
        plain = type(f"Plain{kind.__name__}", (kind,), {})
        assert all(getattr(plain, said) is getattr(kind, said) for said in DEPENDS_ON)


def test_closed_forms_overridden_in_a_joint_class_are_used() -> None:
    """They may be written in the class or assigned from the base; a base without a transform has none."""

    class Slower(Crank):
        def X(self, q: Any) -> Pose:
            return Crank.X(self, [0.5 * q[0]])

        commuting_rotations = Revolute.commuting_rotations

    class Further(Slower):
        arm = 0.2

    assert Further.commuting_rotations is Revolute.commuting_rotations and Further.S is JointType.S
    assert Further.reversed is JointType.reversed

    class Base(JointType):
        nq, nv = 1, 1
        q_units, v_units = ("rad",), ("rad/s",)

        def S(self, q: Any) -> Subspace:
            return Subspace((Motion(Z, Vec3.zero()),))

    class Combined(Base):
        def X(self, q: Any) -> Pose:
            return Pose(Rotation.about(Z, q[0]), Vec3.zero())

    assert Combined.S is Base.S


@pytest.mark.slow(every=5)
def test_joint_class_with_overridden_rates_ignores_inherited_closed_forms() -> None:
    """The velocity of a floating body in the axes of F: the identity is no longer its subspace."""

    class InF(Floating):
        def q_dot(self, q: Any, v: Any) -> list[Any]:
            R = Floating.X(self, q).rotation
            return Floating.q_dot(self, q, [*R.inv_act(Vec3.of(v[:3])), *R.inv_act(Vec3.of(v[3:]))])

        def velocity_from_rate(self, q: Any, q_dot: Any) -> list[Any]:
            R, v = Floating.X(self, q).rotation, Floating.velocity_from_rate(self, q, q_dot)
            return [*(R @ Vec3.of(v[:3])), *(R @ Vec3.of(v[3:]))]

        def integrate(self, q: Any, phi: Any) -> list[Any]:
            R = Floating.X(self, q).rotation
            return Floating.integrate(self, q, [*R.inv_act(Vec3.of(phi[:3])), *R.inv_act(Vec3.of(phi[3:]))])

        def difference(self, q: Any, second: Any) -> list[Any]:
            R, v = Floating.X(self, q).rotation, Floating.difference(self, q, second)
            return [*(R @ Vec3.of(v[:3])), *(R @ Vec3.of(v[3:]))]

    report = lw.check_joint(InF(), num_samples=4)
    assert report.success, str(report)
    assert not InF().has_fixed_subspaces and InF().is_floating


@pytest.mark.parametrize("written", ["q_dot", "velocity_from_rate", "integrate", "difference"])
def test_joint_class_that_overrides_one_of_two_rate_maps_raises_an_error(written: str) -> None:
    with pytest.raises(TypeError, match=rf"^Half: {written} is written and .* is not, and the one of Floating"):
        type("Half", (Floating,), {written: lambda self, q, x: list(x)})


def test_slots_and_dataclass_fields_do_not_affect_inheritance_of_joint_types() -> None:
    @dataclass(frozen=True, slots=True)
    class Slotted(SphericalEuler):
        def X(self, q: Any) -> Pose:
            return SphericalEuler.X(self, [2.0 * x for x in q])

    assert Slotted.S is JointType.S and [field.name for field in dataclasses.fields(Slotted)] == ["order"]
    assert len(EVERY) > len(ALL)
