"""The robot's tree: its bodies, parents first, and the frames on them.

What is meant by names that a robot does not have: words of other libraries, a joint's for a link's, places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from linkwork.constraints import Constraint
from linkwork.errors import NOTED, Issue, UnknownNameError
from linkwork.force_elements import ForceElement
from linkwork.model.actuator import Actuator
from linkwork.model.body import WORLD, Body, Direction, DisabledPair, Frame, Point
from linkwork.model.composite_body import check_inertias
from linkwork.model.named_state import NamedState
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["Report", "Tree", "another_kind"]


@dataclass(frozen=True, slots=True)
class Report:
    """What reading the description found odd: every repair and everything ignored is listed here, and printed."""

    warnings: tuple[Issue, ...] = ()

    @property
    def repairs(self) -> tuple[Issue, ...]:
        """The warnings that ``strict`` makes errors of: all but what is noted without bearing on the robot."""
        return tuple(issue for issue in self.warnings if issue.code not in NOTED)

    def __str__(self) -> str:
        return "\n".join(map(str, self.warnings)) if self.warnings else "nothing was odd"


@dataclass(frozen=True)
class Tree:
    """An articulated system as a value: immutable, picklable, equal and hashable by content.

    Its configuration q stacks the configurations of its independent joints, in the order of `stacked`; v, accelerations
    and forces likewise.  A joint with a coupling has no numbers of its own: its places in q and v are its master's.

    What the links weigh is said by their frames; a body's inertia follows from them, and is kept beside them for the
    algorithms.  Raises ValueError where it is not their sum, and where bodies, couplings and stacking do not fit
    together, UnknownNameError for a master that is not there.
    """

    name: str
    bodies: tuple[Body, ...]  # parents before children
    frames: tuple[Frame, ...]  # every link, in the order of the description, then further frames
    gravity: Vec3 = Vec3(0.0, 0.0, -9.81)  # in the world [m/s²]
    source: str | None = field(default=None, compare=False)  # the file it was read from
    report: Report = field(default=Report(), compare=False)
    stacking: tuple[int, ...] = ()  # bodies as their joints' numbers stand in q and v, if not as in ``bodies``
    points: tuple[Point, ...] = ()
    directions: tuple[Direction, ...] = ()
    inertias_ignored: bool = False  # whether those of the description were left out: all are zero, and mean nothing
    constraints: tuple[Constraint, ...] = ()  # what it obeys besides its joints
    disabled_collisions: tuple[DisabledPair, ...] = ()  # pairs of links whose distances are not looked at
    enabled_collisions: tuple[
        tuple[str, str], ...
    ] = ()  # of links that a joint connects, and are looked at all the same
    force_elements: tuple[ForceElement, ...] = ()  # springs and dampers between bodies
    actuators: tuple[Actuator, ...] = ()
    named_configurations: tuple[NamedState, ...] = ()  # configurations that have names

    def __post_init__(self) -> None:
        check_inertias(self.bodies, self.frames)
        count = len(self.bodies)
        order = self.stacking or tuple(range(count))
        if self.stacking and sorted(order) != list(range(count)):
            raise ValueError(f"stacking: expected every one of {count} bodies once, got {order!r}")
        lookup: dict[str, Any] = {
            "stacking": () if order == tuple(range(count)) else order,
            "_order": order,
            "_joint_index": {body.joint_name: i for i, body in enumerate(self.bodies)},
            "_frame_index": {frame.name: i for i, frame in enumerate(self.frames)},
        }
        for name, value in lookup.items():
            object.__setattr__(self, name, value)
        self._find_marks()
        if self.points or self.directions:
            self._check_marks()
        masters = [self._master(i, body) for i, body in enumerate(self.bodies)]
        q = v = 0
        starts = {}
        for i in order:
            if masters[i] == i:
                starts[i] = q, v
                q, v = q + self.bodies[i].joint.nq, v + self.bodies[i].joint.nv
        places = [(*starts[m], self.bodies[m].joint) for m in masters]
        lookup = {
            "nq": q,
            "nv": v,
            "_q_slices": tuple(slice(start, start + joint.nq) for start, _, joint in places),
            "_v_slices": tuple(slice(start, start + joint.nv) for _, start, joint in places),
        }
        for name, value in lookup.items():
            object.__setattr__(self, name, value)

    def _find_marks(self) -> None:
        """Makes the tables in which frames, points and directions are looked up."""
        lookup: dict[str, Any] = {
            "_frames_on": {},
            "_points": {point.name: point for point in self.points},
            "_directions": {direction.name: direction for direction in self.directions},
        }
        for frame in self.frames:
            lookup["_frames_on"].setdefault(frame.body, []).append(frame)
        for name, value in lookup.items():
            object.__setattr__(self, name, value)

    def _master(self, i: int, body: Body) -> int:
        """The body whose joint has the numbers of body i's: itself, unless it follows another."""
        if body.coupling is None:
            return i
        master = self.joint_index(body.coupling.joint)
        joint, followed = body.joint, self.bodies[master].joint
        if self.bodies[master].coupling is not None or (joint.nq, joint.nv) != (followed.nq, followed.nv):
            raise ValueError(
                f"joint {body.joint_name!r} cannot follow joint {body.coupling.joint!r}: a master follows no "
                f"other joint and has as many numbers as its followers"
            )
        return master

    def _check_marks(self) -> None:
        """Whether points and directions are on frames that are there, and have names of their own."""
        marks: list[Point | Direction] = [*self.points, *self.directions]
        taken = {"world"} | {frame.name for frame in self.frames}
        axes = {f"{frame}{axis}" for frame in taken for axis in _AXES}
        for mark in marks:
            self.frame(mark.frame)
            if mark.name in taken or (isinstance(mark, Direction) and mark.name in axes):
                raise ValueError(
                    f"{type(mark).__name__.lower()} {mark.name!r}: the robot has another frame, point or direction, or "
                    f"axis of a frame, of this name"
                )
            taken.add(mark.name)

    def __repr__(self) -> str:
        return f"<Tree {self.name!r}: {len(self.bodies)} bodies, {len(self.frames)} frames, nq {self.nq}, nv {self.nv}>"

    nq: int = field(init=False, compare=False, repr=False, default=0)
    nv: int = field(init=False, compare=False, repr=False, default=0)

    def __hash__(self) -> int:
        """That of all that is compared, found once: kernels are looked up by it in each call."""
        result: int | None = self.__dict__.get("_hash")
        if result is None:
            result = hash(tuple([getattr(self, f.name) for f in fields(self) if f.compare]))
            object.__setattr__(self, "_hash", result)
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash: of texts it is another in each process, and copies have other parts."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @property
    def links(self) -> tuple[Frame, ...]:
        """Frames of links, in the order of the description: all frames but those that were only put on a link."""
        return tuple(frame for frame in self.frames if frame.is_link)

    def require_inertias(self, what: str) -> None:
        """Raises ValueError where the inertias were left out, and ``what`` depends on them."""
        if self.inertias_ignored:
            raise ValueError(
                f'{what}: robot {self.name!r} is without its inertias (inertia="ignore"), for kinematics '
                f'alone: make it with inertia="given" or inertia="nearest"'
            )

    def under(self, gravity: Vec3) -> Tree:
        """The tree under another gravity, which may be of any scalars."""
        tree = copy(self)
        object.__setattr__(tree, "gravity", gravity)
        return tree

    def made_of(self, **parts: Any) -> Tree:
        """The tree with other numbers in its bodies, frames, points and directions, and other gravity, of any scalars.

        None of them is looked at.
        """
        tree = copy(self)
        for name, value in parts.items():
            object.__setattr__(tree, name, value)
        tree._find_marks()
        return tree

    # -- walking the tree

    def outward(self) -> Iterator[tuple[int, int, Body]]:
        """(index, parent's index, body) for every body, parents before children."""
        for i, body in enumerate(self.bodies):
            yield i, body.parent, body

    def inward(self) -> Iterator[tuple[int, int, Body]]:
        """(index, parent's index, body) for every body, children before parents."""
        for i in range(len(self.bodies) - 1, -1, -1):
            yield i, self.bodies[i].parent, self.bodies[i]

    def stacked(self) -> Iterator[tuple[int, Body]]:
        """(index, body) of every joint that has numbers of its own, in their order in q and v."""
        for i in self.order:
            if self.bodies[i].coupling is None:
                yield i, self.bodies[i]

    def split_q(self, q: Any) -> list[Any]:
        """The configuration, body by body: what `Body.X` takes.  A follower gets its master's numbers."""
        return [q[s] for s in self.q_slices]

    def split_v(self, v: Any) -> list[Any]:
        """A velocity or acceleration, body by body.  A follower gets its master's numbers."""
        return [v[s] for s in self.v_slices]

    def gathered(self, parts: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Joint forces, or whatever else belongs to velocities, from body by body to one list (nv).

        Parts of joints that share their numbers, a master and its followers, add up.
        """
        result: list[Any] = [None] * self.nv
        for i, _, _ in self.outward():
            for k, part in zip(range(self.nv)[self.v_slices[i]], parts[i], strict=True):
                result[k] = part if result[k] is None else result[k] + part
        return result

    # -- finding things by name

    @property
    def order(self) -> tuple[int, ...]:
        """The bodies' indices in the order in which their joints are stacked, followers included."""
        return self._order  # type: ignore[attr-defined,no-any-return]

    @property
    def mass(self) -> float:
        """The mass of all bodies and of the links that are fixed to the world [kg]."""
        fixed = [frame.inertia.mass for frame in self.frames if frame.body == WORLD]
        return float(sum([*fixed, *(body.inertia.mass for body in self.bodies)]))

    @property
    def fixed_inertia(self) -> Inertia:
        """The inertia of the links that are fixed to the world, about its origin."""
        result = [frame.placement @ frame.inertia for frame in self.frames_on(WORLD)]
        return sum(result, Inertia.zero())

    @property
    def has_couplings(self) -> bool:
        """Whether some joint follows another."""
        return any(body.coupling is not None for body in self.bodies)

    @property
    def q_slices(self) -> tuple[slice, ...]:
        """Where each body's numbers are in q; a follower's are its master's."""
        return self._q_slices  # type: ignore[attr-defined,no-any-return]

    @property
    def v_slices(self) -> tuple[slice, ...]:
        """Where each body's numbers are in v; a follower's are its master's."""
        return self._v_slices  # type: ignore[attr-defined,no-any-return]

    @property
    def carried(self) -> dict[str, str]:
        """The link that each joint carries, by the joint's name, fixed joints too."""
        return {body.joint_name: body.name for body in self.bodies} | self.fixed_joints

    @property
    def fixed_joints(self) -> dict[str, str]:
        """The link that each fixed joint carries, by the joint's name."""
        return {frame.fixed_joint: frame.name for frame in self.frames if frame.fixed_joint is not None}

    def joint_index(self, name: str) -> int:
        """The index of the body that the named joint carries.  Raises UnknownNameError."""
        index: dict[str, int] = self._joint_index  # type: ignore[attr-defined]
        try:
            return index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, index, another_kind("joint", name, self.carried)) from None

    def frames_on(self, body: int) -> tuple[Frame, ...]:
        """The frames fixed to a body, or to the world, in their order."""
        return tuple(self._frames_on.get(body, ()))  # type: ignore[attr-defined]

    def frame(self, name: str) -> Frame:
        """The named frame; ``"world"`` is the world's.  Raises UnknownNameError."""
        index: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        try:
            return self.frames[index[name]]
        except (KeyError, TypeError):
            if name == "world":
                return Frame("world", WORLD, Pose.identity())
            roots = [f.name for f in self.frames if f.body == WORLD and f.fixed_joint is None]
            roots = roots or [body.name for body in self.bodies if body.parent == WORLD]
            points: dict[str, Point] = self._points  # type: ignore[attr-defined]
            remedy = another_kind("frame", name, self.carried) or meant_by(name, roots)
            if not remedy and isinstance(name, str) and name in points:
                remedy = f"it is a point in frame {points[name].frame!r}: Robot.with_frame makes frames"
            raise UnknownNameError("frame", name, ["world", *index], remedy) from None

    def point(self, name: str) -> Point:
        """The named point; the name of a frame is that of its origin.  Raises UnknownNameError."""
        result: dict[str, Point] = self._points  # type: ignore[attr-defined]
        if isinstance(name, str) and name not in result and (name in self._frame_index or name == "world"):  # type: ignore[attr-defined]
            return Point(name, name, Vec3.zero())
        return _named("point", name, result, self._frame_index)  # type: ignore[attr-defined]

    def direction(self, name: str) -> Direction:
        """The named direction; ``"hand.z"`` is that of an axis of a frame.  Raises UnknownNameError."""
        result: dict[str, Direction] = self._directions  # type: ignore[attr-defined]
        if isinstance(name, str) and name not in result and name[-2:] in _AXES:
            return Direction(name, self.frame(name[:-2]).name, _AXES[name[-2:]])
        frames: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        axes = [f"{name}{axis}" for axis in _AXES] if isinstance(name, str) and name in frames else []
        remedy = f"axes of a frame are {', '.join(axes)}; vectors= gives directions in its axes" if axes else ""
        return _named("direction", name, result, (), remedy)


T = TypeVar("T")
_AXES = {".x": Vec3(1.0, 0.0, 0.0), ".y": Vec3(0.0, 1.0, 0.0), ".z": Vec3(0.0, 0.0, 1.0)}


def _named(kind: str, name: str, result: Mapping[str, T], more: Iterable[str], remedy: str = "") -> T:
    try:
        return result[name]
    except (KeyError, TypeError):
        remedy = remedy or (f"Robot.with_{kind} adds one" if not result else "")
        raise UnknownNameError(kind, name, [*result, *more], remedy) from None


_OWN = {"local", "body", "self", "own", "tool", "ee", "end_effector"}
_ALIGNED = {"local_world_aligned", "world_aligned", "aligned", "lwa", "mixed", "hybrid"}
_WORLDS = {"world", "universe", "ground", "global", "inertial", "map", "origin"}
_ROOTS = {"base", "base_link", "root", "root_link", "root_joint", "floating_base", "trunk", "torso", "pelvis"}


def meant_by(name: object, roots: Sequence[str]) -> str:
    """A remedy for a frame that is not there and whose name is a usual word; empty for any other.

    ``roots`` are the links that stand in the world or float in it.
    """
    word = name.lower().replace("-", "_").replace(" ", "_") if isinstance(name, str) else ""
    if word in _OWN:
        return 'a frame\'s own axes go by its name, as in expressed_in="hand": see docs/conventions.md'
    if word in _ALIGNED:
        return (
            'axes of the world at the frame\'s own origin are the default, expressed_in="world" without at=: '
            "see docs/conventions.md"
        )
    if word in _WORLDS:
        return 'the world\'s frame is called "world"'
    if word in _ROOTS and roots:
        return f"the root link is called {' or '.join(map(repr, roots[:3]))}"
    return ""


def another_kind(kind: str, name: object, joints: Mapping[str, str]) -> str:
    """A remedy for what is no name of its kind ("frame", "link" or "joint") but another thing of the robot's.

    ``joints`` are the links by the joint that carries each.  Empty where there is nothing to say.
    """
    own = getattr(name, "name", None)
    if isinstance(own, str):
        return another_kind(kind, own, joints) or f"{kind}s go by their names: {own!r}"
    if isinstance(name, int):
        return "" if kind == "frame" else f"it is robot.{kind}s[{name}], by its place in the list"
    if not isinstance(name, str):
        return f"expected a {kind}'s name, a string"
    if kind == "joint":
        carrying = [joint for joint, link in joints.items() if link == name]
        return f"it is a link, carried by joint {carrying[0]!r}" if carrying else ""
    return f"it is a joint, which carries link {joints[name]!r}" if name in joints else ""
