"""`check_force_element` on the library's own elements, and on elements that break the contract in one line each."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork import force_elements
from linkwork.constraints import References
from linkwork.errors import ContractError
from linkwork.expr import eq, sqrt, where
from linkwork.force_elements import ForceElement, Marks, Resistance, check_force_element, force_element_contract
from linkwork.force_elements.force_element_contract import REQUIREMENTS
from linkwork.spatial import Force, Motion, Pose, Vec3

ARM = lw.load("double_pendulum")
ELEMENTS = (
    lw.force_elements.SpringDamper("base", "tip", stiffness=50.0, damping=2.0, rest_length=0.2),
    lw.force_elements.Bushing("base", "lower_rod", stiffness=(1, 2, 3, 40, 50, 60), damping=(0.1, 0.2, 0.3, 4, 5, 6)),
)


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda x: type(x).__name__)
def test_all_force_elements_of_the_library_satisfy_the_contract(element: ForceElement) -> None:
    check_force_element(element, ARM).raise_if_failed()


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda x: type(x).__name__)
def test_damping_forces_of_force_elements_equal_the_sum_over_their_resistances(element: ForceElement) -> None:
    """F = −Σ d (F_i · V) F_i over resistances F_i of damping d."""
    B, A = element.ends(ARM.tree)
    for q, v in np.random.default_rng(0).normal(size=(5, 2, 2)):
        between = ARM._kinematic_state(q, v, 0.0).between(B, A)
        X, V = between.pose, between.twist
        expected = np.zeros(6)
        for resistance in element.resistances(ARM.tree, X):
            expected -= resistance.damping * float(V.dot(resistance.wrench)) * np.array(resistance.wrench.elements())
        assert np.abs(expected).max() > 1e-3
        assert np.allclose(element.damper_wrench(ARM.tree, X, V).elements(), expected, rtol=0.0, atol=1e-13)


def test_contract_tests_cover_all_public_force_elements() -> None:
    assert set(force_elements.ALL) == {type(element) for element in ELEMENTS}


@dataclass(frozen=True)
class Gravity(ForceElement):
    """Two points that attract each other: f = strength / l², U = −strength / l."""

    a: str
    b: str
    strength: float = 3.0
    name: str = "gravity"

    @property
    def references(self) -> References:
        return References(points=(self.a, self.b))

    def ends(self, marks: Marks) -> tuple[str, str]:
        return marks.point(self.b).frame, marks.point(self.a).frame

    def _direction(self, marks: Marks, X: Pose) -> tuple[Any, Any, Any]:
        a, b = marks.point(self.a).position, marks.point(self.b).position
        p = b + X.rotation.inv_act(X.translation - a)
        return b, p, sqrt(p.dot(p))

    def energy(self, marks: Marks, X: Pose) -> Any:
        return -self.strength / self._direction(marks, X)[2]

    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        b, p, length = self._direction(marks, X)
        f = p * (-self.strength / (length * length * length))
        return Force(b.cross(f), f)

    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        return Force.zero()


class Unequal(Gravity):
    def __eq__(self, counterpart: object) -> bool:
        return self is counterpart

    __hash__ = Gravity.__hash__


class Fixed(Gravity):
    def with_names(self, names: Any) -> Any:
        return self


class Nameless(Gravity):
    def __init__(self, a: str, b: str) -> None:
        super().__init__(a, b, name="")


class Slight(Gravity):
    """Gravity with a deviation by a factor, or by a part of a unit."""

    by = 0.0


class Pushing(Slight):
    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        return Gravity.spring_wrench(self, marks, X) * (1.0 + self.by)


class Driving(Slight):
    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        b, _, _ = self._direction(marks, X)
        f = (V.linear + V.angular.cross(b)) * self.by
        return Force(b.cross(f), f)


class Standing(Slight):
    """A force that resists motion, and is not zero at rest."""

    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        b, _, _ = self._direction(marks, X)
        u = V.linear + V.angular.cross(b)
        speed = u.dot(u)
        f = Vec3(*(where(eq(speed, 0.0), self.by, -x) for x in (u.x, u.y, u.z)))
        return Force(b.cross(f), f)


class Negative(Slight):
    damps = False

    def resistances(self, marks: Marks, X: Pose) -> list[Resistance]:
        return [Resistance(Gravity.spring_wrench(self, marks, X), *(0.0, -self.by)[:: 1 if self.damps else -1])]


class Undamped(Negative):
    damps = True


class Branching(Slight):
    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        result = Gravity.spring_wrench(self, marks, X)
        return result if isinstance(result.force.x, float) else result * (1.0 + self.by)


def test_force_element_class_of_a_user_satisfies_the_contract() -> None:
    check_force_element(Gravity("base", "tip"), ARM).raise_if_failed()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (Pushing, "spring_wrench", 3e-5, 3e-6),
        (Driving, "damper_wrench", 1e-8, 1e-10),
        (Standing, "damper_wrench", 3e-8, 3e-9),
        (Negative, "resistances", 1e-300, None),
        (Undamped, "resistances", 1e-300, None),
        (Negative, "resistances", np.nan, None),
        (Branching, "compiled", 3e-8, 3e-9),
    ],
)
def test_check_force_element_names_a_requirement_broken_by_a_small_error(
    kind: type[Slight], line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda make: check_force_element(make("base", "tip"), ARM), kind, line, noticed, allowed)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (Unequal, "value .*two force elements of the same fields are not equal"),
        (Fixed, "names .*with_names: 'base' was not renamed"),
        (Nameless, "names .*name: expected a non-empty string, got ''"),
    ],
)
def test_check_force_element_names_the_broken_requirement_of_an_element(kind: type[Gravity], line: str) -> None:
    report = check_force_element(kind("base", "tip"), ARM)
    with pytest.raises(ContractError, match=f"(?s)force element {kind.__name__} breaks the contract.*FAIL  {line}"):
        report.raise_if_failed()


def test_check_force_element_rejects_values_that_are_not_force_elements() -> None:
    with pytest.raises(TypeError, match="check_force_element: element: expected"):
        check_force_element("spring", ARM)  # type: ignore[arg-type]


@pytest.mark.light
@pytest.mark.parametrize(("stiffness", "damping"), [(0.0, 0.0), (-1e-9, 0.0), (2.0, -1e-9), (np.nan, 1.0)])
def test_resistances_of_a_force_element_are_not_negative(stiffness: float, damping: float) -> None:
    (requirement,) = [line for line in REQUIREMENTS if line.name == "resistances"]
    tried = SimpleNamespace(stiffness=stiffness, damping=damping)
    element = SimpleNamespace(resistances=lambda *_: [SimpleNamespace(stiffness=1.0, damping=1.0), tried])
    between = lambda *_: SimpleNamespace(pose=None)  # noqa: E731
    trial: Any = SimpleNamespace(states=[(0.0, 0.0)], element=element, bare=SimpleNamespace(tree=None), between=between)
    if stiffness == damping == 0.0:
        assert requirement.errors(trial) == []
        return
    with pytest.raises(
        ValueError, match=f"resistances: expected stiffness and damping >= 0, got {stiffness}, {damping}"
    ):
        requirement.errors(trial)


def test_requirements_on_names_and_resistances_are_checked_at_their_bounds() -> None:
    def resisting(*values: float) -> Any:
        element = SimpleNamespace(
            resistances=lambda tree, pose: [SimpleNamespace(stiffness=values[0], damping=values[1])]
        )
        return SimpleNamespace(
            states=[(0.0, 0.0)],
            element=element,
            bare=SimpleNamespace(tree=None),
            between=lambda q, v: SimpleNamespace(pose=None),
        )

    for values in ((0.0, 0.0), (0.3, 0.4), (2.0, 3.0)):
        assert force_element_contract._resistances(resisting(*values)) == []
    for values in ((-1e-12, 0.4), (0.3, -1e-12), (np.nan, 0.0)):
        with pytest.raises(ValueError, match="resistances: expected stiffness and damping >= 0"):
            force_element_contract._resistances(resisting(*values))
    spring, other_spring = ELEMENTS[0], lw.force_elements.SpringDamper("base", "tip", stiffness=51.0)
    for stored, accepted in ((spring, True), (other_spring, False)):
        trial: Any = SimpleNamespace(element=spring, robot=SimpleNamespace(force_elements={spring.name: stored}))
        if accepted:
            assert force_element_contract._names(trial) == []
        else:
            with pytest.raises(ValueError, match="the robot has another element of this name"):
                force_element_contract._names(trial)
