"""`check_joint` on every joint type, and on joints that break the contract in one line each."""

from __future__ import annotations

import re
from typing import Any

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
from linkwork.robot.joint_checks.motion_checks import _jacobians


@pytest.mark.costly
@every_joint
def test_every_joint_type_satisfies_the_joint_contract(joint: lw.Joint) -> None:
    report = lw.check_joint(joint.type, num_samples=4)
    assert report.success, str(report)
    report.raise_if_failed()
    assert "keeps the contract" in str(report)


@pytest.mark.slow(every=3)
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


def _alone(kind: type[JointType], name: str) -> str:
    """Return the problem of one requirement, tried without the others and without compilation; "" if it holds."""
    for line in (line for line in LINES if line.name == name):
        try:
            error = max(line.errors(Trial(lw.Joint.of(_instance(kind)), 3, np.random.default_rng(0))), default=0.0)
        except Exception as problem:  # of the joint type, too
            return f"{type(problem).__name__}: {problem}"
        if not error <= line.tolerance:
            return "an error beyond the tolerance"
    return ""


def test_broken_requirements_of_a_joint_type_fail_alone() -> None:
    texts = {kind.__name__: _alone(kind, name) for kind, name in BREAKS.items()}
    assert all(texts.values()), texts
    for kind, text in {
        "WrongZero": "zero: X(zero) is not the identity, but X(q) is at q = [0.0]",
        "FalseZero": "pose_residual: 1.2e-16 for a pose 2.0e+00 from the nearest configuration",
        "WrongReversed": "reversed: expected the joint itself when reversed twice, got Revolute",
        "FarDistance": "where normalize(q) is 0.000105 away",
        "NoDistance": "distance: 0 at q = [1.0001",
        "WrongRegularity": "where motions and rates are independent",
        "MissedSingularity": "regularity: 1 at q = [0.0, 0.0, 0.0], where motions or rates are dependent",
        "WrongFixed": "has_fixed_subspaces: expected True, since S is constant, got False",
        "NotFixed": "has_fixed_subspaces: expected False, since S is not constant, got True",
        "WrongCount": "num_constraints: expected 5, since S has rank 1, got 4",
        "Floats": "is_floating: expected False, since S has rank 1, got True",
        "WrongParts": "parts: expected joint types, got ('axis',)",
        "NoUnits": "q_units: expected one of rad, m, 1, got 'degrees'",
        "OtherUnits": "v_units: q̇ is v, so expected the rates of ('rad',), got ('m/s',)",
        "OneName": "q_names: expected distinct strings, got ('angle', 'angle')",
        "NoTypeName": "type_name: expected distinct strings, got ('',)",
        "WrongExample": "example: expected a joint of this type, got Revolute",
        "WithoutChecks": "checked: accepts [0.0, 0.0], which is not a configuration",
    }.items():
        assert text in texts[kind]


def test_slight_deviations_of_a_joint_type_fail_each_requirement_from_their_size_on() -> None:
    for kind, names, noticed, allowed in SLIGHT:
        for name in names - ({"S"} if kind.__name__ == "WrongRates" else set()):  # S compares at other states
            assert _alone(type(kind.__name__, (kind,), {"by": noticed}), name), (kind, name)
            assert not _alone(type(kind.__name__, (kind,), {"by": allowed}), name), (kind, name)


def test_results_of_the_wrong_shape_or_rank_and_unequal_joints_are_named() -> None:
    plain = Hinge.constraint_wrench_subspace
    drawn_once = Hinge.random

    def repeated(self: Hinge, q: Any) -> Any:
        first, *_, last = plain(self, q)
        return [first, first, first, first, last]

    def nearly_repeated(self: Hinge, q: Any) -> Any:
        first, second, *following = plain(self, q)
        return [first, first + second * 5e-9, *following]

    def long(self: Hinge, rng: Any, lower: Any, upper: Any, size: Any) -> Any:
        return drawn_once(self, rng, lower, upper, (*size, 1))

    def beyond(self: Hinge, rng: Any, lower: Any, upper: Any, size: Any) -> Any:
        return drawn_once(self, rng, lower, upper, size) + 7.0

    def unseeded(self: Hinge, rng: Any, lower: Any, upper: Any, size: Any) -> Any:
        return drawn_once(self, np.random.default_rng(), lower, upper, size)

    class Other(Hinge):
        v_units = ("1/s",)

        def reversed(self) -> Any:
            return Back(-self.axis)

    class Back(Hinge):
        def reversed(self) -> Any:
            return Other(-self.axis)

    for kind, name, text in (
        (type("Same", (Hinge,), {"constraint_wrench_subspace": repeated}), "constraint_wrench_subspace", "dependent"),
        (type("Near", (Hinge,), {"constraint_wrench_subspace": nearly_repeated}), "constraint_wrench_subspace", ""),
        (type("Long", (Hinge,), {"random": long}), "random", "random: expected shape (1,), got (1, 1)"),
        (type("Beyond", (Hinge,), {"random": beyond}), "random", "a configuration is outside the limits"),
        (type("Unseeded", (Hinge,), {"random": unseeded}), "random", "equal generators draw different configurations"),
        (type("Unequal", (Hinge,), {"__eq__": lambda a, b: a is b, "__hash__": Hinge.__hash__}), "value", "not equal"),
        (Other, "reversed", "reversed: v_units: expected the joint's ('1/s',), got ('rad/s',)"),
    ):
        problem = _alone(kind, name)
        assert text in problem and bool(text) == bool(problem), (kind, problem)


class _Declared(Hinge):
    """A hinge with one declaration that is wrong: `by` of the attribute `attribute`."""


@pytest.mark.light
@pytest.mark.parametrize(
    ("attribute", "value", "name", "text"),
    [
        ("nv", 2, "sizes", "nq, nv: expected nq ≥ nv, and nv from 0 to 6, got 1 and 2"),
        ("v_units", ("rad/s", "m/s"), "sizes", "v_units: expected 1 values, got 2"),
        ("v_units", ("rad",), "names and units", "v_units: expected one of rad/s, m/s, 1/s, got 'rad'"),
        ("q_names", ("",), "names and units", "q_names: expected distinct strings, got ('',)"),
        ("unit_length", ((0, 0),), "names and units", "unit_length: expected distinct indices of q, got ((0, 0),)"),
        ("unit_length", ((1,),), "names and units", "unit_length: expected distinct indices of q, got ((1,),)"),
    ],
)
def test_wrong_declarations_of_a_joint_type_are_named(attribute: str, value: object, name: str, text: str) -> None:
    kind = type("Declared", (_Declared,), {})
    joint = lw.Joint.of(kind())
    trial = Trial(joint, 3, np.random.default_rng(0))
    (line,) = [line for line in LINES if line.name == name]
    assert max(line.errors(trial), default=0.0) <= line.tolerance
    object.__setattr__(joint.type, attribute, value)
    with pytest.raises(ValueError, match=re.escape(text)):
        line.errors(trial)


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


def test_errors_of_a_joint_types_forces_are_relative_to_those_of_the_rates_in_the_joint_contract() -> None:
    class Strong(Hinge):
        def velocity_from_rate_adjoint(self, q: Any, f_v: Any) -> list[Any]:
            return [1000.0 * x for x in super().velocity_from_rate_adjoint(q, f_v)]

    force = abs(np.random.default_rng(3).normal(size=1)[0])  # of the check, above 1
    errors = _jacobians(Trial(lw.Joint.of(Strong(), name="a"), 1, np.random.default_rng(0)))
    assert force > 1.0 and max(errors) == pytest.approx(999.0)
