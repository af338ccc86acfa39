"""`check_constraint` on the library's own constraints, and on constraints that break the contract in one line each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from constraints.test_constraints_in_edits import arm, every_kind, rod
from helpers.contracts import assert_sharp
from linkwork import constraints
from linkwork.constraints import Kinematics, Rates, References, check_constraint
from linkwork.errors import ContractError
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constraint_rows import rates_of_some
from linkwork.spatial import Vec3

ARM = arm()
SLIDER = lw.Robot.build(
    "slider",
    rod("nut"),
    lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="turn", parent="world", child="nut"),
    rod("carriage"),
    lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="slide", parent="world", child="carriage"),
    rod("pulley"),
    lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="spin", parent="world", child="pulley"),
)
OUT_OF_REACH = ("weld(rod1, world)", "parallel(up, world.y)")  # their rows are exact where they hold
TRIED: tuple[tuple[constraints.Constraint, lw.Robot], ...] = (
    *((constraint, ARM) for constraint in every_kind() if constraint.name not in OUT_OF_REACH),
    (constraints.Parallel("hand.z", "world.y"), lw.load("arm7")),
    (constraints.Weld("rod2", pose=ARM.pose([0.3, -0.2, 0.4], "rod2")), ARM),
    (constraints.PointOnCurve("tip", lambda r: [r[0] - 1.0, r[1] - 0.2 * r[2]]), ARM),
    (lw.load("fourbar").constraints[0], lw.load("fourbar")),
    (constraints.RollingContact("rod2", radius=0.2, axis=None), ARM),
    (constraints.Rack("slide", "turn", 0.1), SLIDER),
    (constraints.Screw("slide", "turn", 0.01), SLIDER),
    (constraints.Belt("spin", "turn", 0.1, 0.2), SLIDER),
    (constraints.PolynomialCoupling("slide", "turn", (0.1, 0.3, 0.2), unit="m"), SLIDER),
    (constraints.CurveCoupling("slide", "turn", constraints.Curve([-1, 0.5, 2], [0.1, 0.3, 0.1]), unit="m"), SLIDER),
)


@pytest.mark.parametrize(("constraint", "robot"), TRIED, ids=lambda x: type(x).__name__)
def test_all_constraints_of_the_library_satisfy_the_constraint_contract(
    constraint: constraints.Constraint, robot: lw.Robot
) -> None:
    check_constraint(constraint, robot).raise_if_failed()


def test_acceleration_biases_of_constraints_equal_the_rates_of_their_velocity_errors() -> None:
    """γ is the rate of G v + σ along q ⊕ v t, by differences of fourth order of the code on floats."""
    rng, h = np.random.default_rng(0), 1e-4
    for constraint, robot in TRIED:
        robot = robot.without_constraints().with_constraints(constraint)
        tree, constraint_ = robot.tree, robot.constraints[0]
        q, v = robot.random_configuration(rng).tolist(), rng.normal(size=robot.nv)

        def rates(s: float, tree: Any = tree, constraint_: Any = constraint_, q: Any = q, v: Any = v) -> Rates:
            return rates_of_some(tree, [constraint_], integrate(tree, q, (s * v).tolist()), v.tolist(), 0.3 + s)

        moved = []
        for s in (2.0 * h, h, -h, -2.0 * h):
            kinematics = rates(s)
            drift = 0.0 if kinematics.drift is None else np.array(kinematics.drift, dtype=float)
            moved.append(np.array(kinematics.rows, dtype=float) @ v + drift)
        expected = (8.0 * (moved[1] - moved[2]) - (moved[0] - moved[3])) / (12.0 * h)
        size = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(
            np.array(rates(0.0).bias, dtype=float), expected, rtol=0, atol=1e-9 * size, err_msg=constraint_.name
        )


def test_couplings_of_two_joints_enforce_their_equations_with_every_option() -> None:
    """Without options, and with each."""
    turn, slide, spin = q = np.array([0.37, -0.61, 0.83])
    for coupling, error in (
        (constraints.Gear("spin", "turn", 1.7), spin - 1.7 * turn),
        (constraints.Gear("spin", "turn", 1.7, offset=0.2), spin - 1.7 * turn - 0.2),
        (constraints.Rack("slide", "turn", 0.1), slide - 0.1 * turn),
        (constraints.Rack("slide", "turn", 0.1, offset=0.2), slide - 0.1 * turn - 0.2),
        (constraints.Screw("slide", "turn", 0.01), slide - 0.01 * turn),
        (constraints.Screw("slide", "turn", 0.01, offset=0.2), slide - 0.01 * turn - 0.2),
        (constraints.Belt("spin", "turn", 0.1, 0.3), 0.1 * spin - 0.3 * turn),
        (constraints.Belt("spin", "turn", 0.1, 0.3, offset=0.2), 0.1 * spin - 0.3 * turn - 0.2),
        (constraints.Belt("spin", "turn", 0.1, 0.3, crossed=True), 0.1 * spin + 0.3 * turn),
        (constraints.PolynomialCoupling("spin", "turn", (0.1, 0.3)), spin - 0.1 - 0.3 * turn),
        (constraints.PolynomialCoupling("spin", "turn", (0.1, 0.3), a_reference=0.2), spin - 0.3 - 0.3 * turn),
        (constraints.PolynomialCoupling("spin", "turn", (0.1, 0.3), b_reference=0.2), spin - 0.1 - 0.3 * (turn - 0.2)),
        (constraints.PolynomialCoupling("spin", "turn", (0.1, 0.3, 0.7)), spin - 0.1 - 0.3 * turn - 0.7 * turn**2),
    ):
        robot = SLIDER.with_constraints(coupling)
        k = robot._kinematic_state(q, np.zeros(3), 0.0)
        assert [float(x) for x in coupling.error(k)] == pytest.approx([error], abs=1e-15), coupling


def test_contract_tests_cover_all_public_constraints() -> None:
    assert set(constraints.ALL) == {type(constraint) for constraint, _ in TRIED}


@dataclass(frozen=True)
class Height(constraints.Constraint):
    """A point at a height, in closed form."""

    point: str = "tip"
    height: float = 0.3
    name: str = "height"
    extra: Any = field(default=None, compare=False)

    @property
    def references(self) -> References:
        return References(points=(self.point,))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def error(self, k: Kinematics) -> list[Any]:
        return [k.point(self.point).z - self.height]

    def rates(self, k: Kinematics) -> Rates | None:
        frame, p = k.locate(self.point)
        between = k.between(frame)
        up = between.pose.rotation.inv_act(Vec3(0.0, 0.0, 1.0))
        V, A = between.twist, between.bias
        rows = [up.dot(column.linear + column.angular.cross(p)) for column in between.columns]
        bias = A.linear + A.angular.cross(p) + V.angular.cross(V.linear + V.angular.cross(p))
        return Rates([rows], [up.dot(bias)])


class Unequal(Height):
    def __eq__(self, counterpart: object) -> bool:
        return self is counterpart

    __hash__ = Height.__hash__


class Metres(Height):
    @property
    def row_units(self) -> tuple[str, ...]:
        return ("metres",)


class TwoValues(Height):
    def error(self, k: Kinematics) -> list[Any]:
        return [*Height.error(self, k), 0.0]

    def rates(self, k: Kinematics) -> None:
        return None


class Slight(Height):
    """A height with a deviation by a factor, or by a part of a unit."""

    by = 0.0

    def changed(self, k: Kinematics, rows: float = 0.0, bias: float = 0.0, **drift: Any) -> Rates:
        result = Height.rates(self, k)
        assert result is not None
        return Rates(
            [[x * (1.0 + rows) for x in row] for row in result.rows], [x * (1.0 + bias) for x in result.bias], **drift
        )


class WrongRows(Slight):
    def rates(self, k: Kinematics) -> Rates:
        return self.changed(k, rows=self.by, bias=self.by)


class WrongBias(Slight):
    def rates(self, k: Kinematics) -> Rates:
        return self.changed(k, bias=self.by)


class Rising(Slight):
    def error(self, k: Kinematics) -> list[Any]:
        return [Height.error(self, k)[0] - self.by * k.time]


class WrongDrift(Slight):
    time_dependent = True

    def error(self, k: Kinematics) -> list[Any]:
        return [Height.error(self, k)[0] - k.time]

    def rates(self, k: Kinematics) -> Rates:
        return self.changed(k, drift=[-1.0 - self.by])


class Branching(Slight):
    """A Python branch is decided once, when it is traced."""

    def error(self, k: Kinematics) -> list[Any]:
        z = Height.error(self, k)[0]
        return [z if isinstance(z, float) else z + self.by]


class Heavy(Slight):
    def error(self, k: Kinematics) -> list[Any]:
        return [Height.error(self, k)[0] + self.by * k.center_of_mass().z]

    def rates(self, k: Kinematics) -> None:
        return None


class Pushed(Height):
    @property
    def references(self) -> References:
        return References(frames=("rod2",))

    @property
    def fixed_wrenches(self) -> Any:
        return (lw.spatial.Force(Vec3(0.0, 0.0, 1.0), Vec3.zero()),)


class Timed(Height):
    timed = True


class Misnamed(Height):
    uses_inertias = True

    def bound(self, k: Kinematics) -> Misnamed:
        return self


def test_constraint_class_of_a_user_satisfies_the_constraint_contract() -> None:
    check_constraint(Height(), ARM).raise_if_failed()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (WrongRows, "rows", 3e-5, 3e-6),
        (WrongBias, "bias", 3e-5, 3e-6),
        (Rising, "drift", 1e-10, None),
        (WrongDrift, "drift", 3e-5, 3e-6),
        (Branching, "compiled", 3e-8, 3e-9),
        (Heavy, "uses_inertia", 3e-7, 1e-8),
    ],
)
def test_check_constraint_names_a_requirement_broken_by_a_small_error(
    kind: type[Slight], line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda make: check_constraint(make(), ARM), kind, line, noticed, allowed)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (Unequal, "value"),
        (Metres, "names"),
        (Pushed, "names"),
        (TwoValues, "error, velocity"),
        (Pushed, "fixed_wrenches"),
        (Timed, "attributes"),
        (Misnamed, "attributes"),
    ],
)
def test_check_constraint_names_the_broken_requirement_of_a_constraint(kind: type[Height], line: str) -> None:
    report = check_constraint(kind(), ARM)
    assert line in [failure.name for failure in report.failures], str(report)
    with pytest.raises(ContractError, match=f"constraint {kind.__name__} breaks the contract"):
        report.raise_if_failed()


def test_check_constraint_rejects_values_that_are_not_constraints() -> None:
    with pytest.raises(TypeError, match="check_constraint: constraint: expected"):
        check_constraint("weld", ARM)  # type: ignore[arg-type]
