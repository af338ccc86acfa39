"""Laws of dry friction: the contract of each, and a new law in every function of a robot."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.model import friction_laws
from linkwork.model.friction_law_contract import check_friction_law
from linkwork.model.friction_laws import ALL, Coulomb, DryFriction, FrictionLaw, FrictionName

ARM = lw.load("arm7").with_joint_dynamics(friction=1.5, static_friction={"elbow": 2.5}, friction_velocity=0.1)


@pytest.mark.parametrize("law", ALL, ids=lambda law: law.name)
def test_every_friction_law_satisfies_the_friction_contract(law):
    check_friction_law(law).raise_if_failed()


def test_type_annotations_of_method_signatures_name_all_friction_laws():
    assert get_args(FrictionName) == tuple(law.name for law in ALL)


class Rough(FrictionLaw):
    """F(v) = f v / √(v² + v_s²)."""

    name = "rough"
    uses = ("sliding", "velocity")

    def resistance(self, v, friction):
        return friction.sliding * (v / sqrt(v * v + friction.velocity * friction.velocity))


def test_friction_law_of_a_user_acts_in_all_functions():
    check_friction_law(Rough()).raise_if_failed()
    tree, rng = ARM.tree, np.random.default_rng(0)
    q, v, a = ARM.random_configuration(seed=0), *rng.normal(size=(2, ARM.nv))
    from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
    from linkwork.dynamics.algorithms.regressors import inverse_dynamics_regressor

    felt = np.array(inverse_dynamics(tree, q, v, a, passive=True, friction=Rough()))
    without = np.array(inverse_dynamics(ARM.with_joint_dynamics(friction=0.0).tree, q, v, a, passive=True))
    assert felt - without == pytest.approx(1.5 * v / np.hypot(v, 0.1), abs=1e-12)
    Y = np.array(inverse_dynamics_regressor(tree, q, v, a, passive=True, friction=Rough()))
    assert Y @ ARM.inertial_parameters(passive=True) == pytest.approx(felt, abs=1e-9)


class Slight(Rough):
    """F(v) of `Rough` with a deviation."""

    by = 0.0

    def resistance(self, v, friction):
        return Rough.resistance(self, v, friction) + self.by * self.deviation(v, friction)

    def deviation(self, v, friction):
        return 0.0 * v


class Uneven(Slight):
    def deviation(self, v, friction):
        return where(lt(0.0, v), 1.0, 0.0) * v / sqrt(v * v + 1e4)


class Strong(Slight):
    def resistance(self, v, friction):
        return Rough.resistance(self, v, friction) * (1.0 + self.by)


class Static(Slight):
    def deviation(self, v, friction):
        return Rough.resistance(self, v, friction) * (friction.static / friction.sliding - 1.0)


class Steep(Slight):
    def slope(self, v, friction):
        return Rough.slope(self, v, friction) * (1.0 + self.by)


class Jumping(Slight):
    def deviation(self, v, friction):
        return where(lt(0.0, v), 1.0, -1.0)


class Sticking(Coulomb):
    by, sticks = 0.0, False


@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (Uneven, "odd", 1e-8, None),
        (Strong, "far from rest", 3e-3, 3e-4),
        (Static, "uses", 1e-9, None),
        (Steep, "slope", 1e-4, 1e-6),
        (Jumping, "rest", 3e-7, 3e-8),
    ],
)
def test_check_friction_law_reports_a_requirement_violated_by_a_small_error(kind, line, noticed, allowed):
    assert_sharp(lambda make: check_friction_law(make()), kind, line, noticed, allowed)


class Accelerating(FrictionLaw):
    name = "accelerating"
    uses = ("sliding",)

    def resistance(self, v, friction):
        return -friction.sliding * v


class Silent(Rough):
    """A law that depends on the friction velocity, and does not say so."""

    uses = ("sliding",)


@pytest.mark.parametrize(
    ("law", "failures"),
    [
        (Sticking(), ["rest"]),
        (Accelerating(), ["dissipation", "far from rest", "stops"]),
        (Silent(), ["uses"]),
    ],
)
def test_check_friction_law_reports_broken_friction_laws(law, failures):
    assert [line.name for line in check_friction_law(law).failures] == failures


def test_stribeck_friction_peaks_at_its_friction_velocity():
    law, friction = friction_laws.BY_NAME["stribeck"], DryFriction(1.0, 1.6, 0.05)
    speeds = np.linspace(0.0, 1.0, 20_001)
    F = np.array([law.resistance(v, friction) for v in speeds])
    assert speeds[F.argmax()] == pytest.approx(0.05, abs=2e-3)
    assert F.max() == pytest.approx(1.6, abs=5e-3)
    assert F[-1] == pytest.approx(1.0, abs=1e-2)


def test_stribeck_friction_acts_in_compiled_functions():
    q, v = ARM.random_configuration(seed=0), np.linspace(-0.3, 0.3, ARM.nv)
    law = friction_laws.BY_NAME["stribeck"]
    dry = [DryFriction(1.5, f_s, 0.1) for f_s in ARM.static_friction]
    F = np.array([law.resistance(x, friction) for x, friction in zip(v, dry, strict=True)])
    damped = -ARM.damping * v
    exerted = ARM.passive_force(q, v, friction="stribeck")
    assert exerted == pytest.approx(damped - F, abs=1e-12)
    a = ARM.forward_dynamics(q, v, np.zeros(7), passive=True, friction="stribeck")
    assert ARM.inverse_dynamics(q, v, a, passive=True, friction="stribeck") == pytest.approx(np.zeros(7), abs=1e-9)
    taken = ARM.power(q, v, np.zeros(7), passive=True, friction="stribeck").dissipated
    assert taken == pytest.approx(v @ (F - damped), abs=1e-12)
    with pytest.raises(ValueError, match="static_friction equal to friction"):
        ARM.inverse_dynamics_regressor(q, v, a, passive=True, friction="stribeck")
    even = ARM.with_joint_dynamics(static_friction=1.5)
    Y = even.inverse_dynamics_regressor(q, v, a, passive=True, friction="stribeck")
    pi = even.inertial_parameters(passive=True)
    assert Y @ pi == pytest.approx(even.inverse_dynamics(q, v, a, passive=True, friction="stribeck"), abs=1e-9)


def test_static_friction_without_coulomb_friction_acts_only_in_the_stribeck_law():
    tree = ARM.tree
    bodies = [replace(body, friction=(0.0,), drive=replace(body.drive, static_friction=(1.0,))) for body in tree.bodies]
    robot = lw.Robot(replace(tree, bodies=tuple(bodies)))
    q, v = robot.random_configuration(seed=0), np.full(7, 0.1)
    assert robot.passive_force(q, v, friction="stribeck") + robot.damping * v == pytest.approx(-np.ones(7), abs=1e-12)
    assert robot.passive_force(q, v) + robot.damping * v == pytest.approx(np.zeros(7), abs=1e-12)


def test_friction_laws_are_compared_by_class_and_attributes():
    assert Rough() == Rough() and hash(Rough()) == hash(Rough())
    assert Rough() != Accelerating()
    assert friction_laws.read_friction("f", Coulomb()) == "coulomb"
    assert friction_laws.read_friction("f", Sticking()) == Sticking()


def test_unsupported_friction_laws_are_refused_with_a_list_of_supported_laws():
    robot = lw.load("fourbar")
    q, zeros = robot.assemble().q, np.zeros(robot.nv)
    stuck = "friction: expected a law that does not stick, got 'coulomb'; choose one of 'smooth', 'stribeck'"
    with pytest.raises(ValueError, match=f"forward_dynamics of a robot with constraints: {stuck}"):
        robot.forward_dynamics(q, zeros, zeros, passive=True, friction="coulomb")
    with pytest.raises(ValueError, match=f"forward_dynamics_derivatives: {stuck}"):
        ARM.forward_dynamics_derivatives(ARM.neutral(), *np.zeros((2, 7)), passive=True, friction="coulomb")
    with pytest.raises(ValueError, match=r"inverse_dynamics: friction: expected one of .* or a FrictionLaw, got 'wet'"):
        ARM.inverse_dynamics(ARM.neutral(), *np.zeros((2, 7)), passive=True, friction="wet")
    with pytest.raises(ValueError, match="simulate: passive: expected True or False, got 'stribeck'"):
        ARM.simulate(ARM.neutral(), duration=0.1, passive="stribeck")
    with pytest.raises(ValueError, match=r"friction='coulomb': expected the method .* or a law that does not stick"):
        ARM.simulate(ARM.neutral(), duration=0.1, friction="coulomb", method="rk4")
    listed = Rough()
    listed.coefficients = [1.0]
    with pytest.raises(TypeError, match="Rough: expected attributes that can be hashed"):
        ARM.power(ARM.neutral(), *np.zeros((2, 7)), passive=True, friction=listed)
