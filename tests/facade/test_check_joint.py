"""`check_joint` on every type there is, and on joints that break the contract, each in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, every_joint
from linkwork.errors import JointContractError
from linkwork.joints import Revolute
from linkwork.spatial import Motion, Pose, Rotation, Subspace, Vec3

Z = Vec3(0.0, 0.0, 1.0)


@every_joint
def test_every_type_keeps_the_contract(joint: lw.Joint) -> None:
    report = lw.check_joint(joint.type, samples=4)
    assert report.passed, str(report)
    report.raise_if_failed()
    assert "keeps the contract" in str(report)


def test_a_joint_of_a_robot_is_tried_within_its_bounds() -> None:
    report = lw.check_joint(lw.load("arm7").joint("elbow"), samples=3, rng=np.random.default_rng(1))
    assert report.passed


@dataclass(frozen=True)
class Hinge(Revolute):
    """A revolute joint to break."""

    axis: Vec3 = Z


class WrongSubspace(Hinge):
    def S(self, q: Any) -> Subspace:
        return Subspace((Motion(Vec3.zero(), Z),))


class WrongBias(Hinge):
    def bias(self, q: Any, v: Any) -> Motion:
        return Motion(Z, Vec3.zero())


class WrongZero(Hinge):
    def zero(self) -> list[float]:
        return [0.5]


class NotRigid(Hinge):
    def X(self, q: Any) -> Pose:
        R = Rotation.about(Z, q[0])
        return Pose(Rotation(R.x, R.y, R.z * 2.0), Vec3.zero())


class WrongUnits(Hinge):
    q_units = ("rad", "m")


class WrongRandom(Hinge):
    def random(self, rng: Any, lower: Any, upper: Any, size: Any) -> np.ndarray:
        return np.full((*size, 1), 10.0)


class WrongNormal(Hinge):
    def normalize(self, q: Any) -> list[Any]:
        return [q[0] + 1.0]


class WrongPrincipal(Hinge):
    def principal(self, q: Any) -> list[Any]:
        return [0.0]


class NotOverSymbols(Hinge):
    def X(self, q: Any) -> Pose:
        if q[0] > 0.0:
            return super().X(q)
        return super().X(q)


class Broken(Hinge):
    def bias(self, q: Any, v: Any) -> Motion:
        return q.nonsense


BREAKS = {
    WrongSubspace: "S",
    WrongBias: "bias",
    WrongZero: "zero",
    NotRigid: "X",
    WrongUnits: "sizes and units",
    WrongRandom: "random",
    WrongNormal: "normalize",
    WrongPrincipal: "principal",
    NotOverSymbols: "symbols",
    Broken: "bias",
}


@pytest.mark.parametrize("kind", BREAKS, ids=lambda kind: kind.__name__)
def test_a_broken_line_is_named(kind: type[Hinge]) -> None:
    report = lw.check_joint(kind(), samples=3)
    assert not report.passed
    assert BREAKS[kind] in [line.name for line in report.failures]
    assert "FAIL" in str(report)
    with pytest.raises(JointContractError, match=f"joint type {kind.__name__} breaks the contract:\nFAIL"):
        report.raise_if_failed()


def test_what_a_joint_raises_is_told_with_its_line() -> None:
    (line,) = [line for line in lw.check_joint(Broken(), samples=1).failures if line.name == "bias"]
    assert line.problem.startswith("AttributeError: 'list' object has no attribute 'nonsense' in Broken.bias, line ")
    assert line.problem.endswith(": return q.nonsense")


def test_a_zero_elsewhere_is_found() -> None:
    (line,) = [line for line in lw.check_joint(WrongZero(), samples=1).failures if line.name == "zero"]
    assert "X is not the identity there, but it is at q = [" in line.problem


def test_the_example_of_every_joint_is_a_value() -> None:
    assert all(line.passed for line in lw.check_joint(EVERY["floating"]).lines if line.name == "value")
