"""`check_joint` on every joint type, and on joints that break the contract in one line each."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.broken_joints import BREAKS, SLIGHT, Broken, Crank, Hinge, Stated, WrongSlides, WrongZero
from helpers.contracts import assert_sharp
from helpers.facade import EVERY, every_joint
from helpers.joints import EVERY as TYPES
from helpers.joints import Swivel
from linkwork.errors import ContractError
from linkwork.joints import JointType
from linkwork.robot.joint_checks.check_context import TOLERANCE, Bare, Trial
from linkwork.robot.joint_checks.check_joint import LINES
from linkwork.robot.joint_checks.declaration_checks import RESULTS


@pytest.mark.costly
@every_joint
def test_every_joint_type_satisfies_the_joint_contract(joint: lw.Joint) -> None:
    report = lw.check_joint(joint.type, num_samples=4)
    assert report.success, str(report)
    report.raise_if_failed()
    assert "keeps the contract" in str(report)


def test_requirements_of_the_joint_contract_hold_to_rounding(drawn) -> None:
    """Requirements by closed-form equations, without compiled functions."""
    for name, joint in drawn([*TYPES.items()]):
        trial = Trial(lw.Joint.of(joint), 1, np.random.default_rng(0))
        for line in LINES:
            if line.name != "compiled":
                allowed = 1e-14 if line.tolerance == TOLERANCE else line.tolerance
                assert max(line.errors(trial), default=0.0) <= allowed, (name, line.name)


def test_check_joint_samples_within_the_joints_limits() -> None:
    report = lw.check_joint(lw.load("arm7").joint("elbow"), num_samples=3, seed=np.random.default_rng(1))
    assert report.success


def _instance(kind: type[JointType]) -> JointType:
    return kind(0.5) if issubclass(kind, Swivel) else kind()


@pytest.mark.costly
@pytest.mark.parametrize(("kind", "lines", "noticed", "allowed"), SLIGHT, ids=lambda x: getattr(x, "__name__", None))
def test_check_joint_names_a_requirement_broken_by_a_small_error(
    kind: type[JointType], lines: set[str], noticed: float, allowed: float
) -> None:
    assert_sharp(lambda make: lw.check_joint(make(), num_samples=3), kind, lines, noticed, allowed)


@pytest.mark.costly
@pytest.mark.parametrize("kind", BREAKS, ids=lambda kind: kind.__name__)
def test_check_joint_names_the_broken_requirement_of_a_joint_type(kind: type[JointType]) -> None:
    report = lw.check_joint(_instance(kind), num_samples=3)
    assert not report.success
    assert BREAKS[kind] in [line.name for line in report.failures]
    assert "FAIL" in str(report)
    verdict = rf"joint type {kind.__name__} breaks the contract: \d+ of \d+ requirements fail\nFAIL"
    with pytest.raises(ContractError, match=verdict):
        report.raise_if_failed()


def test_every_attribute_of_a_joint_type_has_a_contract_requirement_that_can_fail() -> None:
    """Every public name of the contract is held by a line, every line holds one that there is, and each can fail."""
    said = {name for name in (*vars(JointType), *JointType.__annotations__) if not name.startswith("_")}
    lines = [line for line in LINES if line not in RESULTS]
    assert {name for line in lines for name in (line.holds or (line.name,))} == said
    assert {line.name for line in LINES}.difference(BREAKS.values(), *(lines for _, lines, *_ in SLIGHT)) == {
        "compiled"
    }


@pytest.mark.slow(every=3)
def test_wrong_declarations_of_a_joint_type_change_the_dynamics_and_fail_the_contract() -> None:
    """A robot's mass matrix with them differs from that without declarations by far more than rounding."""

    def arm(kind: JointType) -> lw.Robot:
        robot = lw.load("arm7")
        for joint in robot.joints[1:4]:
            robot = robot.with_joint(joint.with_type(kind))
        return robot

    q = arm(Crank()).random_configuration(np.random.default_rng(0))
    for kind, same, wrong in (
        (WrongSlides(), Bare(Hinge()), "commuting_translations"),
        (Stated(), Crank(), "reduced_inertia"),
    ):
        assert np.max(np.abs(arm(kind).mass_matrix(q) - arm(same).mass_matrix(q))) > 1e-3
        failures = [line.name for line in lw.check_joint(kind, num_samples=2).failures]
        assert wrong in failures and "dynamics" in failures
    for kind, same in ((Hinge(), Bare(Hinge())), (Crank(), Bare(Crank()))):
        expected = arm(same).mass_matrix(q)
        assert np.max(np.abs(arm(kind).mass_matrix(q) - expected)) <= 1e-13 * np.max(np.abs(expected))


def test_exception_of_a_joint_type_is_reported_by_check_joint_with_its_line() -> None:
    (line,) = [line for line in lw.check_joint(Broken(), num_samples=1).failures if line.name == "bias"]
    assert line.problem.startswith("AttributeError: 'list' object has no attribute 'nonsense' in Broken.bias, line ")
    assert line.problem.endswith(": return q.nonsense")


def test_check_joint_detects_a_neutral_configuration_without_identity_transform() -> None:
    (line,) = [line for line in lw.check_joint(WrongZero(), num_samples=1).failures if line.name == "zero"]
    assert "X(zero) is not the identity, but X(q) is at q = [" in line.problem


@pytest.mark.slow(every=5)
def test_example_of_every_joint_type_is_comparable_by_value() -> None:
    assert all(line.success for line in lw.check_joint(EVERY["floating"]).lines if line.name == "value")
