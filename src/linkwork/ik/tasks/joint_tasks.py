"""Tasks for joint positions; errors are tangent vectors, without subtraction of quaternions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.arguments import named
from linkwork.ik.tasks.task import AimedTask, Scalars, TaskKinematics, TaskRows, TaskTarget
from linkwork.kinematics.algorithms.joint_errors import error_acceleration, has_plain_errors, settling_acceleration
from linkwork.model.body import Body

__all__ = ["JointTask", "PostureTask"]


@dataclass(frozen=True)
class _JointIndex:
    """Joint of a robot, and the indices of its coordinates in q."""

    joint: str
    start: int
    size: int
    units: tuple[str, ...]  # of each coordinate of v
    curved: Body | None = field(repr=False)  # for a joint whose errors have other rates than v − v_d

    @property
    def rows(self) -> tuple[str, ...]:
        count = len(self.units)
        return (self.joint,) if count == 1 else tuple(f"{self.joint}[{i}]" for i in range(count))


class _JointErrorTask(AimedTask):
    """Base class of tasks whose errors are differences of joint configurations.

    For feedback controllers, the target's velocity and acceleration are joint velocities and accelerations in the
    target's own axes.
    """

    @property
    @abstractmethod
    def _joint_indices(self) -> tuple[_JointIndex, ...]:
        """Joints whose configurations the task compares, in the order of the errors."""

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and the Jacobian that feedback controllers use: that of the joints' velocities.

        ``state`` and ``target`` are those of `errors`.  If some errors are free, or weights differ, it is the exact
        Jacobian of the errors, with further rows for joints whose errors have other rates than v − v_d.
        """
        result = self.exact_jacobian(state, target)
        curved = [(indices, state.moving(body.joint_name)) for indices, body in self._curved()]
        if self._needs_exact_jacobian:
            return TaskRows(result.errors, [*result.rows, *(row for _, rows in curved for row in rows)])
        rows = list(result.rows)
        for indices, moving in curved:
            rows[indices] = moving
        return TaskRows(result.errors, rows)

    @property
    def rates_follow_jacobian(self) -> bool:
        return False  # the target's velocity is in its own axes

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        result, more = super().settling(errors, moved, led, ahead, gains), len(errors)
        for indices, body in self._curved():
            e, v = errors[indices], moved[indices]
            if self._needs_exact_jacobian:
                v = moved[more : more + len(e)]
                more += len(e)
            a = settling_acceleration(body, e, v, led[indices], ahead[indices], gains)
            result[indices] = error_acceleration(body, e, v, a) if self._needs_exact_jacobian else a
        return result

    def _curved(self) -> Iterator[tuple[slice, Body]]:
        """Yield (slice of errors, body) for joints whose errors have rates other than v − v_d, such as ball joints.

        v_d is the velocity of the target.
        """
        start = 0
        for index in self._joint_indices:
            if index.curved is not None:
                yield slice(start, start + len(index.units)), index.curved
            start += len(index.units)

    @property
    def _needs_exact_jacobian(self) -> bool:
        """True if only some errors of a ball joint or similar joint are free, or if their weights differ."""
        return any(
            any(map(math.isinf, self.tolerances[indices])) or len(set(self.weights[indices])) > 1
            for indices, _ in self._curved()
        )


@public_constructor
@dataclass(frozen=True)
class PostureTask(_JointErrorTask):
    """Task: the configuration q is near a target (nq); errors are the tangent vector from target to q [rad, m].

    ``joints`` selects joints by name (default: all), or maps names to factors that multiply the weight.

    ``level`` and ``tolerance`` are those of every `Task`.  ``indices`` are the joints' coordinates and are computed.
    """

    joints: Any = None
    _: KW_ONLY
    indices: tuple[_JointIndex, ...] = ()  # set by `settled`

    if TYPE_CHECKING:  # a dict, or names

        def __init__(
            self,
            joints: Any = ...,
            *,
            target: Any = ...,
            weight: Any = ...,
            level: int = ...,
            tolerance: Any = ...,
            name: str = ...,
            indices: tuple[_JointIndex, ...] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        joints = self.joints
        if joints is not None:
            if isinstance(joints, str):
                joints = (joints,)
            pairs = joints.items() if isinstance(joints, Mapping) else joints
            try:
                result = tuple((x, 1.0) if isinstance(x, str) else (x[0], float(x[1])) for x in pairs)
            except (TypeError, ValueError, IndexError):
                raise TypeError(
                    f"PostureTask: joints: expected names, or a dict of positive factors by name, got {self.joints!r}"
                ) from None
            for joint, share in result:
                if not isinstance(joint, str) or not 0.0 < share < math.inf:
                    raise ValueError(f"PostureTask: joints: expected a positive factor of {joint!r}, got {share!r}")
            if not result or len({joint for joint, _ in result}) < len(result):
                raise ValueError(
                    f"PostureTask: joints: expected at least one joint and no duplicates, got {self.joints!r}"
                )
            object.__setattr__(self, "joints", result)
        self.settle("posture")

    @property
    def references(self) -> References:
        return References(joints=tuple(joint for joint, _ in self.joints or ()))

    @property
    def _depends_on(self) -> References | None:
        return None if self.joints is None else self.references

    @property
    def known(self) -> bool:
        return bool(self.indices)

    @property
    def _joint_indices(self) -> tuple[_JointIndex, ...]:
        return self.indices

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget(("nq",), "configuration", "reference configuration")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {row}" for index in self.indices for row in index.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(unit for index in self.indices for unit in index.units)

    @property
    def weights(self) -> tuple[float, ...]:
        shares = dict(self.joints or ())
        joint_weights = [shares.get(index.joint, 1.0) for index in self.indices for _ in index.units]
        return tuple(w * share for w, share in zip(super().weights, joint_weights, strict=True))

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        result = [
            state.difference(index.joint, target[index.start : index.start + index.size]) for index in self.indices
        ]
        return TaskRows(
            [x for residual in result for x in residual.errors], [row for residual in result for row in residual.rows]
        )

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        tree, named = robot.tree, dict(self.joints or ())
        for joint in named:
            body = tree.bodies[tree.joint_index(joint)]
            if body.coupling is not None:
                raise ValueError(
                    f"task {self.name!r}: joints: {joint!r} is coupled to {body.coupling.joint!r}; name that joint"
                )
        indices = tuple(
            _joint_index(tree, i, state)
            for i, body in tree.stacked()
            if body.joint.nv and body.joint_name in (named or (body.joint_name,))
        )
        if not indices:
            raise ValueError(f"task {self.name!r}: joints: expected a movable joint, got none")
        return replace(self, indices=indices)


@public_constructor
@dataclass(frozen=True)
class JointTask(_JointErrorTask):
    """Task: a joint is at a position, a number or an array (nq of the joint,) [rad, m].

    The joint may be a coupled one.

    ``weight``, ``level``, ``tolerance``, ``target`` and ``name`` are those of every `Task`.  ``index`` has the joint's
    coordinates and is computed.
    """

    joint: str
    _: KW_ONLY
    index: _JointIndex | None = None  # set by `settled`

    def __post_init__(self) -> None:
        named(self, "joint", of="joint")
        self.settle(self.joint)

    @property
    def references(self) -> References:
        return References(joints=(self.joint,))

    @property
    def _depends_on(self) -> References:
        return self.references

    @property
    def known(self) -> bool:
        return self.index is not None

    @property
    def _joint_indices(self) -> tuple[_JointIndex, ...]:
        return () if self.index is None else (self.index,)

    @property
    def target_of(self) -> TaskTarget:
        size = 1 if self.index is None else self.index.size
        return TaskTarget(() if size == 1 else (size,), "numbers", f"position of joint {self.joint!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        if self.index is None:
            return ()
        return tuple(f"{self.name}{row.removeprefix(self.joint)}" for row in self.index.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        return () if self.index is None else self.index.units

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return state.difference(self.joint, state.joint(self.joint).normalize(target))

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        tree = robot.tree
        index = _joint_index(tree, tree.joint_index(self.joint), state)
        if not index.units:
            raise ValueError(f"task {self.name!r}: joint: expected a movable joint, got {self.joint!r}")
        return replace(self, index=index)


def _joint_index(tree: Any, i: int, state: TaskKinematics) -> _JointIndex:
    body, coordinates = tree.bodies[i], tree.q_slices[i]
    size, units = coordinates.stop - coordinates.start, state.units(body.joint_name)
    curved = None if body.coupling is not None or has_plain_errors(body) else body
    return _JointIndex(body.joint_name, coordinates.start, size, units, curved)
