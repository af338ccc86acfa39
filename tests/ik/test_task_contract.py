"""`check_task` on the library's own tasks, and on tasks that break the contract in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork import ik
from linkwork.errors import ContractError
from linkwork.ik import TaskKinematics, TaskRows, check_task
from linkwork.ik.tasks.task import AimedTask, WeighedTask

ARM = (
    lw.load("arm7")
    .with_point("elbow_point", "forearm_proximal", (0.3, 0.2, 0.1))
    .with_point("tip", "hand", (0.0, 0.0, 0.1))
    .with_direction("ahead", "hand", (0.0, 0.0, 1.0))
)
SOLID = ARM
for _name in ("upper_arm_distal", "wrist"):
    SOLID = SOLID.with_collisions(_name, lw.shapes.Sphere(0.05))
SCENE = lw.Scene().with_sphere("ball", 0.1, (0.9, 0.2, 0.9))
HUMAN = lw.load("humanoid")
REACHED = ARM.pose(ARM.random_configuration(seed=5), "hand")


def low(k: Any, target: Any) -> Any:
    return k.point("tip")[2] - target


TASKS: tuple[tuple[ik.Task, lw.Robot, dict[str, Any]], ...] = (
    (ik.PoseTask("hand"), ARM, {"target": REACHED}),
    (ik.PositionTask("hand", weight=2.0), ARM, {}),
    (ik.OrientationTask("hand"), ARM, {"target": REACHED[:3, :3]}),
    (ik.AlignTask("ahead"), ARM, {"target": (0.0, 0.6, 0.8)}),
    (ik.LookAtTask("ahead", point="elbow_point"), ARM, {}),
    (ik.LookAtTask("ahead", cone=0.3), ARM, {"target": (1.0, 0.4, 0.3)}),
    (ik.DistanceTask("tip", "base"), ARM, {}),
    (ik.BoxTask("tip", lower=(-0.1, -0.2, 0.1), upper=(0.3, 0.2, 0.4)), ARM, {}),
    (ik.CenterOfMassTask(), ARM, {}),
    (ik.SupportPolygonTask([(-0.1, -0.1), (0.1, -0.1), (0.0, 0.2)]), ARM, {}),
    (ik.PostureTask(), ARM, {}),
    (ik.JointTask("elbow"), ARM, {}),
    (ik.ManipulabilityTask("hand"), ARM, {}),
    (ik.ClearanceTask(scene=SCENE, at_least=0.02), SOLID, {}),
    (ik.ConstraintTask(lw.constraints.PointOnPlane("tip", "world.z", offset=0.2)), ARM, {}),
    (ik.FunctionTask("low", low, shape=(), units="m"), ARM, {}),
    (ik.JointVelocityTask("elbow"), ARM, {}),
    (ik.MomentumTask(), ARM, {}),
    (ik.Soft(ik.PositionTask("hand"), weight=3.0), ARM, {}),
    (ik.Within(ik.PositionTask("hand"), -0.1, 0.1), ARM, {}),
)


@pytest.mark.parametrize(("task", "robot", "how"), TASKS, ids=lambda x: type(x).__name__)
def test_all_ik_tasks_of_the_library_satisfy_the_task_contract(task: ik.Task, robot: lw.Robot, how: Any) -> None:
    check_task(task, robot, **how).raise_if_failed()


def test_contract_tests_cover_all_public_ik_task_types() -> None:
    kinds = {x for x in vars(ik).values() if isinstance(x, type) and issubclass(x, ik.Task)}
    assert kinds - {ik.Task} == {type(task) for task, _, _ in TASKS}


@dataclass(frozen=True)
class Level(AimedTask):
    """The height of a frame, from a target [m]."""

    frame: str = "hand"

    def __post_init__(self) -> None:
        self.settle(f"{self.frame}_height")

    @property
    def references(self) -> Any:
        return lw.constraints.References(frames=(self.frame,))

    @property
    def target_of(self) -> Any:
        return ik.TaskTarget((), "numbers", "the height [m]")

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def errors(self, k: TaskKinematics, target: Sequence[Any]) -> list[Any]:
        return [k.point(self.frame).z - target[0]]


class Unequal(Level):
    def __eq__(self, counterpart: object) -> bool:
        return self is counterpart

    __hash__ = Level.__hash__


class Unitless(Level):
    @property
    def row_units(self) -> tuple[str, ...]:
        return ("metres",)


class Closed(Level):
    """A height with rows in closed form; one method deviates by a factor."""

    by, deviates = 0.0, ""

    def _rows(self, name: str, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        between = k.between(self.frame)
        z = between.pose.rotation.T @ lw.spatial.Vec3(0.0, 0.0, 1.0 + self.by * (name == self.deviates))
        return TaskRows(Level.errors(self, k, target), [[z.dot(column.linear) for column in between.columns]])

    def rows(self, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        return self._rows("rows", k, target)

    def exact_jacobian(self, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        return self._rows("exact_jacobian", k, target)

    def curved_rows(self, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        return self._rows("curved_rows", k, target)


class WrongRows(Closed):
    deviates = "rows"


class WrongCurved(Closed):
    deviates = "curved_rows"


class TwoErrors(Closed):
    def rows(self, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        result = Closed.rows(self, k, target)
        return TaskRows([result.errors[0] + self.by], result.rows)


class Later(Closed):
    def errors(self, k: TaskKinematics, target: Sequence[Any]) -> list[Any]:
        return [Level.errors(self, k, target)[0] + self.by * k.time]


class Branching(Closed):
    """A Python branch is decided once, when it is traced."""

    def rows(self, k: TaskKinematics, target: Sequence[Any]) -> TaskRows:
        result = Closed.rows(self, k, target)
        z = result.errors[0]
        return TaskRows([z if isinstance(z, float) else z + self.by], result.rows)


def test_task_classes_of_users_satisfy_the_task_contract() -> None:
    check_task(Level(), ARM).raise_if_failed()
    check_task(Closed(weight=3.0), ARM, target=0.4).raise_if_failed()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (WrongRows, "rows", 3e-5, 3e-6),
        (WrongCurved, "curved_rows", 3e-5, 3e-6),
        (TwoErrors, "errors", 3e-8, 3e-9),
        (Later, "drift", 3e-5, 3e-6),
        (Branching, "compiled", 3e-8, 3e-9),
    ],
)
def test_check_task_names_a_requirement_broken_by_a_small_error(
    kind: type[Closed], line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda make: check_task(make(), ARM), kind, line, noticed, allowed)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (Unequal, "value"),
        (Unitless, "names"),
    ],
)
def test_check_task_names_the_broken_requirement_of_a_task(kind: type[Level], line: str) -> None:
    report = check_task(kind(), ARM)
    assert line in [failure.name for failure in report.failures], str(report)
    with pytest.raises(ContractError, match=f"task {kind.__name__} breaks the contract"):
        report.raise_if_failed()


def test_check_task_names_a_missing_method() -> None:
    class Empty(WeighedTask):
        component_names = ("e",)
        row_units = ("m",)

    report = check_task(Empty(name="empty"), ARM)
    assert "Empty: a task needs a method `errors`, or `rows`" in str(report)


def test_check_task_rejects_values_that_are_not_tasks() -> None:
    with pytest.raises(TypeError, match="check_task: task: expected"):
        check_task("reach", ARM)  # type: ignore[arg-type]
    assert np.isfinite(REACHED).all()
