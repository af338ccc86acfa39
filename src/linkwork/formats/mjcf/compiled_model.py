"""Compiled MuJoCo model with unique names of its elements, their lines in the file, and the issues found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.lazy_imports import optional_module
from linkwork._util.messages import listed, printable, quoted
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.unique_names import Names
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["WORLD_LINK", "CompiledModel", "imported_mujoco", "pose_of"]

WORLD_LINK = "world"  # name of body 0 of every model

Lines = Mapping[tuple[str, str], Location]  # of named elements, by tag and name


def imported_mujoco(caller: str) -> Any:
    """Return the module mujoco.  Raises ImportError, with the command that installs it."""
    return optional_module("mujoco", f"{caller}: models of MuJoCo need the package mujoco", "mujoco")


class CompiledModel:
    """A model (`mujoco.MjModel`), the names of its elements in linkwork, and the issues found.

    An element without a name is called after its kind and its index in the model: "body3", "joint2", "geom7".
    """

    def __init__(
        self, model: Any, file: str | None = None, lines: Lines | None = None, displaced: Iterable[str] = ()
    ) -> None:
        import mujoco

        self.mujoco, self.model, self.file, self.lines = mujoco, model, file, lines or {}
        self.displaced = tuple(displaced)  # names of meshes that are not where their files say
        self.issues: list[Issue] = []  # notes and warnings
        self.errors: list[Issue] = []
        self.bodies = self.own_names("body", model.nbody)
        self.joints = self.own_names("joint", model.njnt)
        self.geoms = self.own_names("geom", model.ngeom)
        self.frame_names = Names(self.bodies)  # links, frames and points
        self.joint_names = Names(self.joints)  # joints and constraints
        self.sites: list[str] = []  # names of the frames of the sites, set by `sites_as_frames`
        off = self.flags("mjtDisableBit", model.opt.disableflags)
        self.disabled = off | ({"spring", "damper"} if "passive" in off else set())

    # -- names and words

    def own_names(self, kind: str, count: int) -> list[str]:
        """Return the names of all objects of a kind, such as "body", made unique."""
        stated = [self.name_in_model(kind, i) for i in range(count)]
        names = Names(stated)
        return [name or names.underscored(f"{kind}{i}") for i, name in enumerate(stated)]

    def name_in_model(self, kind: str, i: int) -> str:
        """Return the name of an object in the model, or "" if it has none."""
        name: str | None = self.mujoco.mj_id2name(self.model, self.mujoco.mju_str2Type(kind), i)
        return name or ""

    def word(self, value: Any) -> str:
        """Return the word for a member of MuJoCo's enumerations: "hinge" for mjtJoint.mjJNT_HINGE."""
        return str(value.name).partition("_")[2].lower()

    def flags(self, enumeration: str, mask: int) -> set[str]:
        """Return the words for the bits of a mask, such as "energy" for mjtEnableBit.mjENBL_ENERGY."""
        bits = getattr(self.mujoco, enumeration).__members__.values()
        return {self.word(bit) for bit in bits if int(bit) & mask and self.word(bit)}

    def kind(self, enumeration: str, value: int) -> str:
        """Return the word for a value of an enumeration, such as "mjtJoint"; its number if it is unknown."""
        try:
            return self.word(getattr(self.mujoco, enumeration)(value))
        except ValueError:
            return str(value)

    def array(self, name: str, default: Any = ()) -> Any:
        """Return the array ``name`` of the compiled model as lists and numbers.

        The result is ``default`` if the installed MuJoCo does not have the array.

        Quaternions are normalised. Raises ModelError for NaN (NOT_FINITE) and for quaternions that are not unit
        (QUAT_NORM), which a program can write into a compiled model.
        """
        value: Any = getattr(self.model, name, None)
        if not hasattr(value, "tolist"):
            return default if value is None else value
        rows = value.tolist()
        if value.dtype.kind == "f" and np.isnan(value).any():
            i = int(np.argwhere(np.isnan(value))[0][0])
            message = f"model.{name}[{i}]: expected numbers, got {rows[i]}"
            raise ModelError(Issue("NOT_FINITE", message, self._of_row(name, i)))
        for i, row in enumerate([rows] if name == "qpos0" else rows if name in _WITH_QUATERNIONS else ()):
            for k in self._quaternions_of_row(name, i):
                row[k : k + 4] = self._unit(row[k : k + 4], name, k if name == "qpos0" else i)
        return rows

    def _quaternions_of_row(self, name: str, i: int) -> Sequence[int]:
        """Return the indices at which quaternions start in row i of the model's array ``name``."""
        if name in ("qpos0", "key_qpos"):
            return self._quaternion_starts
        if name == "eq_data":
            kinds = self.kind("mjtEq", self.model.eq_type[i]), self.kind("mjtObj", self.model.eq_objtype[i])
            return (6,) if kinds == ("weld", "body") else ()
        return (0,)

    @cached_property
    def _quaternion_starts(self) -> list[int]:
        """Indices in qpos of the quaternions of free and ball joints."""
        types = [self.kind("mjtJoint", x) for x in self.model.jnt_type.tolist()]
        starts = zip(types, self.model.jnt_qposadr.tolist(), strict=True)
        return [start + (3 if kind == "free" else 0) for kind, start in starts if kind in ("free", "ball")]

    def _unit(self, values: Sequence[float], name: str, i: int) -> list[float]:
        """Return row i of the array ``name``, a quaternion (w, x, y, z), scaled to norm 1.

        A norm that differs from 1 by more than 1e-3 is the error QUAT_NORM.
        """
        norm, title, where = math.hypot(*values), f"model.{name}[{i}]", self._of_row(name, i)
        if not abs(norm - 1.0) <= _MOST:
            message = f"{title}: expected a unit quaternion (w, x, y, z), got {[*values]} with the norm {norm:.6g}"
            raise ModelError(Issue("QUAT_NORM", message, where))
        if abs(norm - 1.0) > _SILENT:
            issue = Issue("QUAT_NORM", f"{title}: the norm of the quaternion is {norm:.9g}, not 1: normalised", where)
            self.issues += [] if issue in self.issues else [issue]
        return [x / norm for x in values] if abs(norm - 1.0) > _EXACT else [*values]

    def _of_row(self, name: str, i: int) -> Location:
        """Return the location in the file of the object to which row i of an array belongs, such as "geom_quat"."""
        kind = _KINDS_OF_FIELDS.get(name.partition("_")[0])
        return Location(self.file) if kind is None else self.where(kind, self.name_in_model(kind, i) or f"{kind}{i}")

    # -- findings

    def where(self, kind: str, name: str, inside: str = "") -> Location:
        """Return the location of an element: its line, if it has a name in the file, and its path."""
        step = f"{kind}[{printable(name)}]"
        path = f"mujoco/{inside}{step}"
        known = self.lines.get((kind, name)) or (self.lines.get(("freejoint", name)) if kind == "joint" else None)
        if known is None:
            return Location(self.file, None, None, path)
        return Location(known.file, known.line, known.column, path)

    def of_body(self, kind: str, name: str, body: int) -> Location:
        """Return the location of an element inside a body."""
        inside = "worldbody/" if body == 0 else f"body[{printable(self.bodies[body])}]/"
        return self.where(kind, name, inside)

    def error(self, code: str, message: str, where: Location) -> None:
        """Record an error."""
        self.errors.append(Issue(code, message, where))

    def ignored(self, message: str, where: Location | None = None, hint: str | None = None) -> None:
        """Add a note about content of the file that linkwork ignores, and that does not act on the dynamics."""
        self.issues.append(Issue("IGNORED", message, where or Location(self.file), hint))

    def unsupported(self, message: str, where: Location | None = None, hint: str | None = None) -> None:
        """Add a warning about content of the file that linkwork does not read, although it acts on the dynamics."""
        self.issues.append(Issue("UNSUPPORTED", message, where or Location(self.file), hint))

    def ignored_all(self, subject: str, names: Sequence[str]) -> None:
        """Add one note about several elements of a kind that linkwork ignores, if ``names`` is not empty."""
        if names:
            self.ignored(f"{subject} are not taken: {listed(names)}")

    def not_drawn(self, subject: str, names: Sequence[str]) -> None:
        """Add one note about elements that MuJoCo shows and pictures of the robot do not, if ``names`` is not empty."""
        if names:
            message = f"{subject} are not taken and not drawn: {listed(names)}"
            self.issues.append(Issue("NOT_DRAWN", message, Location(self.file)))

    def title(self, kind: str, name: str) -> str:
        """Return the description of an element for messages: its kind and its name."""
        return f"{kind} {quoted(name)}"


def pose_of(position: Sequence[float], quaternion: Sequence[float]) -> Pose:
    """Return the pose with a position [m] and a unit quaternion (w, x, y, z)."""
    if tuple(quaternion) == _NO_TURN and not any(position):
        return Pose.identity()
    turn = Rotation.identity() if tuple(quaternion) == _NO_TURN else Rotation.from_quaternion(*quaternion)
    return Pose(turn, Vec3.of(position))


_NO_TURN = (1.0, 0.0, 0.0, 0.0)
_WITH_QUATERNIONS = frozenset(
    ("body_quat", "body_iquat", "geom_quat", "site_quat", "mesh_quat", "qpos0", "key_qpos", "eq_data")
)
_EXACT, _SILENT, _MOST = 1e-12, 1e-6, 1e-3  # of a quaternion's norm from 1: unchanged, normalised, with a warning
_KINDS_OF_FIELDS = {
    **{kind: kind for kind in ("body", "geom", "site", "mesh", "key", "actuator")},
    "jnt": "joint",
    "eq": "equality",
}
