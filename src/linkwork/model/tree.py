"""The robot's tree: its bodies, parents first, and the frames on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import Issue, UnknownNameError
from ..spatial import Pose, Vec3
from .body import WORLD, Body, Frame

__all__ = ["Report", "Tree"]


@dataclass(frozen=True, slots=True)
class Report:
    """What reading the description found odd: every repair and everything ignored is listed here."""

    warnings: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class Tree:
    """An articulated system as a value: immutable, picklable, equal and hashable by content."""

    name: str
    bodies: tuple[Body, ...]  # parents before children
    frames: tuple[Frame, ...]  # every link, in the order of the description, then further frames
    gravity: Vec3 = Vec3(0.0, 0.0, -9.81)  # in the world [m/s²]
    source: str | None = field(default=None, compare=False)  # the file it was read from
    report: Report = field(default=Report(), compare=False)

    def __post_init__(self) -> None:
        q = v = 0
        starts = []
        for body in self.bodies:
            starts.append((q, v))
            q, v = q + body.joint.nq, v + body.joint.nv
        lookup = {
            "nq": q,
            "nv": v,
            "_q_slices": tuple(slice(s, s + b.joint.nq) for (s, _), b in zip(starts, self.bodies, strict=True)),
            "_v_slices": tuple(slice(s, s + b.joint.nv) for (_, s), b in zip(starts, self.bodies, strict=True)),
            "_joint_index": {body.joint_name: i for i, body in enumerate(self.bodies)},
            "_frame_index": {frame.name: i for i, frame in enumerate(self.frames)},
        }
        for name, value in lookup.items():
            object.__setattr__(self, name, value)

    nq: int = field(init=False, compare=False, repr=False, default=0)
    nv: int = field(init=False, compare=False, repr=False, default=0)

    # -- walking the tree

    def outward(self) -> Iterator[tuple[int, int, Body]]:
        """(index, parent's index, body) for every body, parents before children."""
        for i, body in enumerate(self.bodies):
            yield i, body.parent, body

    def inward(self) -> Iterator[tuple[int, int, Body]]:
        """(index, parent's index, body) for every body, children before parents."""
        for i in range(len(self.bodies) - 1, -1, -1):
            yield i, self.bodies[i].parent, self.bodies[i]

    def split_q(self, q: Any) -> list[Any]:
        """The configuration, joint by joint."""
        return [q[s] for s in self.q_slices]

    def split_v(self, v: Any) -> list[Any]:
        """A velocity, acceleration or force, joint by joint."""
        return [v[s] for s in self.v_slices]

    # -- finding things by name

    @property
    def q_slices(self) -> tuple[slice, ...]:
        return self._q_slices  # type: ignore[attr-defined,no-any-return]

    @property
    def v_slices(self) -> tuple[slice, ...]:
        return self._v_slices  # type: ignore[attr-defined,no-any-return]

    def joint_index(self, name: str) -> int:
        """The index of the body that the named joint carries.  Raises UnknownNameError."""
        index: dict[str, int] = self._joint_index  # type: ignore[attr-defined]
        try:
            return index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, index) from None

    def frame(self, name: str) -> Frame:
        """The named frame; ``"world"`` is the world's.  Raises UnknownNameError."""
        index: dict[str, int] = self._frame_index  # type: ignore[attr-defined]
        try:
            return self.frames[index[name]]
        except (KeyError, TypeError):
            if name == "world":
                return Frame("world", WORLD, Pose.identity())
            raise UnknownNameError("frame", name, ["world", *index]) from None
