"""Tree of a robot: its bodies, parents first, and the frames on them.

Unknown names raise errors with hints: frame words of other libraries, joint names for links, indices for names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import published_in
from linkwork._util.messages import did_you_mean, nearest
from linkwork.errors import Issue, UnknownNameError
from linkwork.model.body import WORLD, Body, Direction, DisabledPair, Frame, Point
from linkwork.model.composite_body import check_inertias
from linkwork.spatial import Inertia, Pose, Vec3

if TYPE_CHECKING:
    from linkwork._util.file_search import FileSearch
    from linkwork.constraints import Constraint
    from linkwork.force_elements import ForceElement
    from linkwork.model.actuator import Actuator
    from linkwork.model.description import NamedState

__all__ = ["Report", "Tree", "kind_hint"]


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True)
class Report:
    """Report on the reading of a description: all repairs, and everything that was ignored.

    ``warnings`` are its entries.
    """

    warnings: tuple[Issue, ...] = ()

    @property
    def repairs(self) -> tuple[Issue, ...]:
        """The warnings that ``strict`` turns into errors: all but notes without effect on the robot."""
        return tuple(issue for issue in self.warnings if not issue.is_note)

    def __str__(self) -> str:
        return "\n".join(map(str, self.warnings)) if self.warnings else "no findings"


@dataclass(frozen=True)
class Tree:
    """An articulated system as a value: immutable, picklable, equal and hashable by content.

    Its configuration q stacks the configurations of its independent joints, in the order of `stacked`; v, accelerations
    and forces likewise.  A joint with a coupling has no coordinates of its own: its slices of q and v are its master's.

    The inertias of links are stored in their frames; a body's inertia is their sum, stored for the algorithms.  Raises
    ValueError if it is not the sum, or if bodies, couplings and stacking are inconsistent, UnknownNameError for an
    unknown master.
    """

    _stores_content: ClassVar[bool] = True  # its digest as part of a traced function's content is computed once

    name: str
    bodies: tuple[Body, ...]  # parents before children
    frames: tuple[Frame, ...]  # every link, in the order of the description, then further frames
    gravity: Vec3 = Vec3(0.0, 0.0, -9.81)  # in the world [m/s²]
    source: str | None = field(default=None, compare=False)  # path of the file
    report: Report = field(default=Report(), compare=False)
    stacking: tuple[int, ...] = ()  # order of the bodies' joints in q and v; () for that of ``bodies``
    points: tuple[Point, ...] = ()
    directions: tuple[Direction, ...] = ()
    inertias_ignored: bool = False  # True if the description's inertias were left out; all are zero
    constraints: tuple[Constraint, ...] = ()  # in addition to the joints
    disabled_collisions: tuple[DisabledPair, ...] = ()  # pairs of links without distance checks
    enabled_collisions: tuple[tuple[str, str], ...] = ()  # links connected by a joint that are checked nevertheless
    force_elements: tuple[ForceElement, ...] = ()  # springs, dampers and bushings between bodies
    actuators: tuple[Actuator, ...] = ()
    named_configurations: tuple[NamedState, ...] = ()
    trusted: bool = field(default=True, compare=False)  # False if its file is a stranger's: its meshes are, too
    part_sources: tuple[str, ...] = field(default=(), compare=False)  # paths of the files of robots joined to it
    package_dirs: FileSearch | None = field(default=None, compare=False)  # folders of packages, as passed to `load`

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
        self._build_lookup()
        if self.points or self.directions:
            self._check_names()
        masters = [self._master(i, body) for i, body in enumerate(self.bodies)]
        q = v = 0
        starts = {}
        for i in order:
            if masters[i] == i:
                starts[i] = q, v
                q, v = q + self.bodies[i].joint.nq, v + self.bodies[i].joint.nv
        slots = [(*starts[m], self.bodies[m].joint) for m in masters]
        lookup = {
            "nq": q,
            "nv": v,
            "_q_slices": tuple(slice(start, start + joint.nq) for start, _, joint in slots),
            "_v_slices": tuple(slice(start, start + joint.nv) for _, start, joint in slots),
        }
        for name, value in lookup.items():
            object.__setattr__(self, name, value)

    def _build_lookup(self) -> None:
        """Build the lookup tables of frames, points and directions."""
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
        """Return the index of the body whose joint has the coordinates that move body i.

        It is i itself unless the joint follows another one.
        """
        if body.coupling is None:
            return i
        master = self.joint_index(body.coupling.joint)
        joint, followed = body.joint, self.bodies[master].joint
        if self.bodies[master].coupling is not None or (joint.nq, joint.nv) != (followed.nq, followed.nv):
            raise ValueError(
                f"joint {body.joint_name!r} cannot follow joint {body.coupling.joint!r}: a master follows no "
                f"other joint and has as many coordinates as its followers"
            )
        return master

    def _check_names(self) -> None:
        """Raise an error if a point or direction is on an unknown frame or has a name that is in use."""
        marks: list[Point | Direction] = [*self.points, *self.directions]
        taken = {"world"} | {frame.name for frame in self.frames}
        axes = {f"{frame}{axis}" for frame in taken for axis in _AXES}
        for mark in marks:
            self.frame(mark.frame)
            if mark.name in taken or (isinstance(mark, Direction) and mark.name in axes):
                raise ValueError(
                    f"{type(mark).__name__.lower()} {mark.name!r}: the robot already has a frame, point, direction or "
                    f"axis of a frame of this name"
                )
            taken.add(mark.name)

    def __repr__(self) -> str:
        return f"<Tree {self.name!r}: {len(self.bodies)} bodies, {len(self.frames)} frames, nq {self.nq}, nv {self.nv}>"

    nq: int = field(init=False, compare=False, repr=False, default=0)
    nv: int = field(init=False, compare=False, repr=False, default=0)

    def __hash__(self) -> int:
        """Return the hash of all compared fields, cached: kernels are looked up by it in each call."""
        result: int | None = self.__dict__.get("_hash")
        if result is None:
            result = hash(tuple([getattr(self, f.name) for f in fields(self) if f.compare]))
            object.__setattr__(self, "_hash", result)
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the hash, as hashes of strings differ between processes, and the length."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "_length")}

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the robot's file and of the files of robots that were joined to it."""
        return *(() if self.source is None else (self.source,)), *self.part_sources

    @property
    def links(self) -> tuple[Frame, ...]:
        """Frames of links in the order of the description, without frames that were added to a link."""
        return tuple(frame for frame in self.frames if frame.is_link)

    def require_inertias(self, dependent: str) -> None:
        """Raise ValueError if the robot has no inertias; ``dependent`` names the function that needs them."""
        if self.inertias_ignored:
            raise ValueError(
                f'{dependent}: robot {self.name!r} was loaded without inertias (inertia="ignore"), for kinematics '
                f'only: load it with inertia="given" or inertia="nearest"'
            )

    def with_gravity(self, gravity: Vec3) -> Tree:
        """Return the tree with another gravity, of any scalars."""
        tree = copy(self)
        object.__setattr__(tree, "gravity", gravity)
        return tree

    def with_unchecked(self, **parts: Any) -> Tree:
        """Return the tree with other components, whose values may be of any scalars.

        Components are bodies, frames, points, directions and gravity.  The values are not checked.
        """
        tree = copy(self)
        for name, value in parts.items():
            object.__setattr__(tree, name, value)
        tree._build_lookup()
        return tree

    # -- traversal

    def outward(self) -> Iterator[tuple[int, int, Body]]:
        """Iterate over (index, parent's index, body), parents before children."""
        for i, body in enumerate(self.bodies):
            yield i, body.parent, body

    def inward(self) -> Iterator[tuple[int, int, Body]]:
        """Iterate over (index, parent's index, body), children before parents."""
        for i in range(len(self.bodies) - 1, -1, -1):
            yield i, self.bodies[i].parent, self.bodies[i]

    def stacked(self) -> Iterator[tuple[int, Body]]:
        """Iterate over (index, body) of the joints that follow no other joint, in the order of q and v."""
        for i in self.order:
            if self.bodies[i].coupling is None:
                yield i, self.bodies[i]

    def split_q(self, q: Any) -> list[Any]:
        """Return the part of a configuration q for each body, as the argument of `Body.X`.

        A body whose joint follows another one gets the coordinates of that joint.
        """
        return [q[s] for s in self.q_slices]

    def split_v(self, v: Any) -> list[Any]:
        """Return the part of a velocity or acceleration for each body.

        A body whose joint follows another one gets the coordinates of that joint.
        """
        return [v[s] for s in self.v_slices]

    def gathered(self, parts: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Return joint forces of all bodies as one list (nv), in the order of v.

        ``parts`` has the forces by body index; they may also be other quantities dual to velocities.  The values of
        joints that share coordinates, a master and its followers, are added.
        """
        result: list[Any] = [None] * self.nv
        for i, _, _ in self.outward():
            for k, part in zip(range(self.nv)[self.v_slices[i]], parts[i], strict=True):
                result[k] = part if result[k] is None else result[k] + part
        return result

    # -- lookup

    @property
    def order(self) -> tuple[int, ...]:
        """Indices of all bodies in the order in which their joints are stacked in q and v.

        Bodies whose joint follows another joint are included, although such a joint has no coordinates of its own.
        """
        return self._order  # type: ignore[attr-defined,no-any-return]

    @property
    def mass(self) -> float:
        """Mass of all bodies and of the links fixed to the world [kg]."""
        fixed = [frame.inertia.mass for frame in self.frames if frame.body == WORLD]
        return float(sum([*fixed, *(body.inertia.mass for body in self.bodies)]))

    @property
    def fixed_inertia(self) -> Inertia:
        """Inertia of the links fixed to the world, about its origin."""
        result = [frame.placement @ frame.inertia for frame in self.frames_on(WORLD)]
        return sum(result, Inertia.zero())

    @property
    def has_couplings(self) -> bool:
        """True if any joint is coupled to a master joint."""
        return any(body.coupling is not None for body in self.bodies)

    @property
    def q_slices(self) -> tuple[slice, ...]:
        """Slice of q with the coordinates of each body's joint.

        A joint that follows another joint has that joint's slice.
        """
        return self._q_slices  # type: ignore[attr-defined,no-any-return]

    @property
    def v_slices(self) -> tuple[slice, ...]:
        """Slice of v with the coordinates of each body's joint.

        A joint that follows another joint has that joint's slice.
        """
        return self._v_slices  # type: ignore[attr-defined,no-any-return]

    @property
    def carried(self) -> dict[str, str]:
        """Name of the child link of each joint, by the joint's name; fixed joints are included."""
        return {body.joint_name: body.name for body in self.bodies} | self.fixed_joints

    @property
    def fixed_joints(self) -> dict[str, str]:
        """Name of the child link of each fixed joint, by the joint's name.

        A fixed joint whose name is also that of a moving joint, as "floating_base" in some files, is left out.
        """
        moving: dict[str, int] = self._joint_index  # type: ignore[attr-defined]
        welds = {frame.fixed_joint: frame.name for frame in self.frames if frame.fixed_joint is not None}
        return {joint: link for joint, link in welds.items() if joint not in moving}

    def joint_index(self, name: str) -> int:
        """Return the index of the body that the named joint moves. Raises UnknownNameError."""
        index: dict[str, int] = self._joint_index  # type: ignore[attr-defined]
        try:
            return index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, index, kind_hint("joint", name, self.carried)) from None

    def frames_on(self, body: int) -> tuple[Frame, ...]:
        """Return the frames fixed to a body, or to the world, in order."""
        return tuple(self._frames_on.get(body, ()))  # type: ignore[attr-defined]

    def frame(self, name: str) -> Frame:
        """Return the frame called ``name``; ``"world"`` is the frame of the world. Raises UnknownNameError."""
        index: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        try:
            return self.frames[index[name]]
        except (KeyError, TypeError):
            if name == "world":
                return Frame("world", WORLD, Pose.identity())
            raise self.unknown_frame(name) from None

    def unknown_frame(self, name: str) -> UnknownNameError:
        """Return the error for a name that no frame has, with similar names and names of other kinds."""
        index: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        roots = [f.name for f in self.frames if f.body == WORLD and f.fixed_joint is None]
        roots = roots or [body.name for body in self.bodies if body.parent == WORLD]
        points: dict[str, Point] = self._points  # type: ignore[attr-defined]
        remedy = kind_hint("frame", name, self.carried)
        if not remedy and isinstance(name, str) and name in points:
            remedy = f"it is a point in frame {points[name].frame!r}: Robot.with_frame adds frames"
        remedy = remedy or frame_hint(name, roots, self._ends(), index)
        return UnknownNameError("frame", name, ["world", *index], remedy)

    def _ends(self) -> list[str]:
        """Return the last frame of each body without child bodies; empty if there are no bodies."""
        parents = {body.parent for body in self.bodies}
        last = {frame.body: frame.name for frame in self.frames}
        return [last[i] for i in range(len(self.bodies)) if i not in parents and i in last]

    def point(self, name: str) -> Point:
        """Return the point called ``name``; the name of a frame means its origin. Raises UnknownNameError."""
        result: dict[str, Point] = self._points  # type: ignore[attr-defined]
        if isinstance(name, str) and name not in result and (name in self._frame_index or name == "world"):  # type: ignore[attr-defined]
            return Point(name, name, Vec3.zero())
        return _named("point", name, result, self._frame_index, title="frame or point")  # type: ignore[attr-defined]

    def direction(self, name: str) -> Direction:
        """Return the direction called ``name``; ``"hand.z"`` is the z axis of the frame "hand".

        Raises UnknownNameError.
        """
        result: dict[str, Direction] = self._directions  # type: ignore[attr-defined]
        if isinstance(name, str) and name not in result and name[-2:] in _AXES:
            return Direction(name, self.frame(name[:-2]).name, _AXES[name[-2:]])
        frames: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        axes = [f"{name}{axis}" for axis in _AXES] if isinstance(name, str) and name in frames else []
        remedy = f"axes of a frame are {', '.join(axes)}; vectors= accepts directions in its axes" if axes else ""
        return _named("direction", name, result, (), remedy)


T = TypeVar("T")
_AXES = {".x": Vec3(1.0, 0.0, 0.0), ".y": Vec3(0.0, 1.0, 0.0), ".z": Vec3(0.0, 0.0, 1.0)}


def _named(kind: str, name: str, result: Mapping[str, T], more: Iterable[str], remedy: str = "", title: str = "") -> T:
    try:
        return result[name]
    except (KeyError, TypeError):
        is_similar = result or did_you_mean(str(name), [*more])
        remedy = remedy or ("" if is_similar else f"Robot.with_{kind} adds one")
        raise UnknownNameError(title or kind, name, [*result, *more], remedy) from None


_SELF_WORDS = {"local", "body", "self", "own"}
_ENDS = {"ee", "eef", "end_effector", "endeffector", "tcp", "tool", "tool0", "tool_frame", "tip", "hand", "gripper"}
_ALIGNED = {"local_world_aligned", "world_aligned", "aligned", "lwa", "mixed", "hybrid"}
_WORLDS = {"world", "universe", "ground", "global", "inertial", "map", "origin"}
_ROOTS = {"base", "base_link", "root", "root_link", "root_joint", "floating_base", "trunk", "torso", "pelvis"}


def frame_hint(name: object, roots: Sequence[str], ends: Sequence[str], known: Collection[str]) -> str:
    """Return a hint for an unknown frame name that is common in other libraries, such as "local", else "".

    ``roots`` are the links fixed to the world or floating in it, ``ends`` the frames at the ends of the chains, and
    ``known`` are all frames.
    """
    word = name.lower().replace("-", "_").replace(" ", "_") if isinstance(name, str) else ""
    if word in _SELF_WORDS:
        return 'a frame\'s own axes are selected by its name, as in expressed_in="hand": see docs/conventions.md'
    if word in _ALIGNED:
        return (
            'axes of the world at the frame\'s own origin are the default, expressed_in="world" without at=: '
            "see docs/conventions.md"
        )
    if word in _WORLDS:
        return 'the world\'s frame is called "world"'
    if word in _ENDS and ends and not did_you_mean(word, known):
        return f"the last frame of the chain is {' or '.join(map(repr, ends[:4]))}; {nearest(word, known)}"
    if word in _ROOTS and roots:
        return f"the root link is called {' or '.join(map(repr, roots[:3]))}"
    return ""


def kind_hint(kind: str, name: object, joints: Mapping[str, str]) -> str:
    """Return a hint for a name that belongs to an object of another kind than expected, else "".

    ``kind`` is the expected kind: "frame", "link" or "joint". ``joints`` maps each joint's name to its child link.
    """
    its_name = getattr(name, "name", None)
    if isinstance(its_name, str):
        return kind_hint(kind, its_name, joints) or f"pass the name of the {kind}: {its_name!r}"
    if isinstance(name, int):
        return "" if kind == "frame" else f"it is robot.{kind}s[{name}], by its index in the list"
    if not isinstance(name, str):
        positions = "point_position and point_jacobian take positions in a frame, and robot.with_frame adds a frame"
        is_point = kind == "frame" and isinstance(name, (tuple, list)) and len(name) == 3
        return f"expected a {kind}'s name, a string{f'; {positions}' if is_point else ''}"
    if kind == "joint":
        carrying = [joint for joint, link in joints.items() if link == name]
        return f"it is a link, carried by joint {carrying[0]!r}" if carrying else ""
    return f"it is a joint, which carries link {joints[name]!r}" if name in joints else ""
