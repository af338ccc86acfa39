"""Where joints are to be, in their own tangent spaces: no quaternion leaves its sphere, and none is subtracted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.task import (
    AimedTask,
    Scalars,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    named,
)

__all__ = ["JointTask", "PostureTask"]


@dataclass(frozen=True)
class _Place:
    """A joint of a robot, and where its numbers stand in q."""

    joint: str
    start: int
    size: int
    units: tuple[str, ...]  # by velocity

    @property
    def rows(self) -> tuple[str, ...]:
        count = len(self.units)
        return (self.joint,) if count == 1 else tuple(f"{self.joint}[{i}]" for i in range(count))


@public_constructor
@dataclass(frozen=True)
class PostureTask(AimedTask):
    """The configuration is near one (nq): errors lead from there in the tangent space, a row each velocity [rad, m].

    ``joints`` are those that count, all if there are none: names, or a dict of how much each counts; a joint's share
    multiplies its weight.
    """

    joints: Any = None
    _: KW_ONLY
    places: tuple[_Place, ...] = ()  # known once it is a robot's

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
            places: tuple[_Place, ...] = ...,
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
                    f"PostureTask: joints: expected names, or a dict of how much each counts, got {self.joints!r}"
                ) from None
            for joint, share in result:
                if not isinstance(joint, str) or not 0.0 < share < math.inf:
                    raise ValueError(f"PostureTask: joints: expected a number above 0 of {joint!r}, got {share!r}")
            if not result or len({joint for joint, _ in result}) < len(result):
                raise ValueError(f"PostureTask: joints: expected one joint at least, each once, got {self.joints!r}")
            object.__setattr__(self, "joints", result)
        self.settle("posture")

    @property
    def references(self) -> References:
        return References(joints=tuple(joint for joint, _ in self.joints or ()))

    @property
    def known(self) -> bool:
        return bool(self.places)

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget(("nq",), "configuration", "the configuration that it is to be near")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {row}" for place in self.places for row in place.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(unit for place in self.places for unit in place.units)

    @property
    def weights(self) -> tuple[float, ...]:
        shares = dict(self.joints or ())
        own = [shares.get(place.joint, 1.0) for place in self.places for _ in place.units]
        return tuple(w * share for w, share in zip(super().weights, own, strict=True))

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        result = [
            state.difference(place.joint, target[place.start : place.start + place.size]) for place in self.places
        ]
        return TaskRows([x for part in result for x in part.errors], [row for part in result for row in part.rows])

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        tree, named = robot.tree, dict(self.joints or ())
        for joint in named:
            body = tree.bodies[tree.joint_index(joint)]
            if body.coupling is not None:
                raise ValueError(
                    f"task {self.name!r}: joints: joint {joint!r} follows joint {body.coupling.joint!r}: name that one"
                )
        places = tuple(
            _place(tree, i, state)
            for i, body in tree.stacked()
            if body.joint.nv and body.joint_name in (named or (body.joint_name,))
        )
        if not places:
            raise ValueError(f"task {self.name!r}: no joint of it moves")
        return replace(self, places=places)


@public_constructor
@dataclass(frozen=True)
class JointTask(AimedTask):
    """A joint is at a configuration: a number, or (nq of it,) where it has several [rad, m]; one that follows too."""

    joint: str
    _: KW_ONLY
    place: _Place | None = None  # known once it is a robot's

    def __post_init__(self) -> None:
        named(self, "joint", of="joint")
        self.settle(self.joint)

    @property
    def references(self) -> References:
        return References(joints=(self.joint,))

    @property
    def known(self) -> bool:
        return self.place is not None

    @property
    def target_of(self) -> TaskTarget:
        size = 1 if self.place is None else self.place.size
        return TaskTarget(() if size == 1 else (size,), "numbers", f"where joint {self.joint!r} is to be")

    @property
    def component_names(self) -> tuple[str, ...]:
        if self.place is None:
            return ()
        return tuple(f"{self.name}{row.removeprefix(self.joint)}" for row in self.place.rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        return () if self.place is None else self.place.units

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return state.difference(self.joint, state.joint(self.joint).normalize(target))

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        tree = robot.tree
        place = _place(tree, tree.joint_index(self.joint), state)
        if not place.units:
            raise ValueError(f"task {self.name!r}: joint {self.joint!r} does not move")
        return replace(self, place=place)


def _place(tree: Any, i: int, state: TaskKinematics) -> _Place:
    body, numbers = tree.bodies[i], tree.q_slices[i]
    return _Place(body.joint_name, numbers.start, numbers.stop - numbers.start, state.units(body.joint_name))
