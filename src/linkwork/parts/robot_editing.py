"""Editing a robot: every method gives a new robot, and the old one stays as it is.

A robot's meshes as hulls that distances can be measured of.

Which joints to lock, and where: what users say, looked at, with all that follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import edits
from linkwork.mechanisms.algorithms.constraint_rows import settled_anew
from linkwork.model.body import Body, Frame
from linkwork.model.composite_body import frames_with_inertias, with_summed_inertias
from linkwork.model.coupled_joints import coupling_text
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_actuators import check_actuation
from linkwork.model.tree_builder import read_gravity
from linkwork.model.tree_edits import lock_joints
from linkwork.model.value_check import check_inertial, check_joint_values, mass_properties
from linkwork.parts.construction.link import joint_description
from linkwork.parts.construction.robot_constructors import Constructors
from linkwork.parts.joint.joint import Joint, body_with, joint_of
from linkwork.parts.placed_link import link_frame
from linkwork.shapes import Geometry, Mesh, Polytope
from linkwork.shapes.mesh_files import load_mesh
from linkwork.spatial import Inertia, Symmetric3, Vec3
from linkwork.spatial.arguments import given_inertia

__all__ = ["CollisionHullMethods", "EditingMethods"]


class EditingMethods(Constructors):
    """How a robot with something changed is made of a robot."""

    __slots__ = ()

    @edits
    def with_joint(self, joint: Joint) -> Self:
        """The robot with one of its joints, by name, as it is given: with other limits, damping, type, placement ...

        ``robot.with_joint(robot.joint("knee").with_type(Knee(...)))`` puts a joint type of your own in a robot.  Raises
        UnknownNameError for a joint that the robot does not have, ValueError where it connects other links or takes
        part in following another and its sizes change, for a fixed joint, and where a constraint, an actuator or a
        named configuration cannot be of a joint of the new type, ModelError for numbers that no robot may have (beyond
        1e20), TypeError for what is no joint.
        """
        if not isinstance(joint, Joint):
            edited = 'as in robot.with_joint(robot.joint("elbow").with_damping(0.5))'
            raise TypeError(f"with_joint: expected a joint, {edited}, got {joint!r}")
        if joint.name in self._tree.fixed_joints:
            raise ValueError(f"with_joint: joint {joint.name!r} is a fixed joint, and cannot be another")
        index = self._tree.joint_index(joint.name)
        old = joint_of(self._tree, index)
        if joint.links != old.links:
            raise ValueError(f"joint {joint.name!r} connects {old.links} in the robot, not {joint.links}")
        follows = old.mimic is not None or any(b.mimic and b.mimic.joint == joint.name for b in self._tree.bodies)
        if follows and (joint.nq, joint.nv) != (old.nq, old.nv):
            raise ValueError(f"joint {joint.name!r} follows a joint or is followed: its type cannot get other sizes")
        findings = Findings()
        check_joint_values(findings, joint_description(self._tree.name, joint))
        findings.raise_errors()
        bodies = list(self._tree.bodies)
        bodies[index] = body_with(joint, bodies[index])
        return type(self)(check_actuation(settled_anew(replace(self._tree, bodies=tuple(bodies)))))

    @edits
    def with_inertia(
        self,
        link: str,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | Inertia | None = None,
    ) -> Self:
        """The robot with another mass [kg], centre of mass or rotational inertia of one link; what is left out stays.

        ``com`` (3,) is the centre of mass from the link's origin, in the link's axes [m]; ``inertia`` is about the
        centre of mass, in the link's axes [kg·m²]: a symmetric matrix (3, 3) or the three numbers of its diagonal.  A
        `linkwork.spatial.Inertia`, which is about the link's origin, stands for all three.  The link is any of
        `links`, one that is welded to another too: what moves with it gets heavier in every function.

        Raises UnknownNameError for a link that is not there, and ValueError for numbers that no body has, by the rules
        of the reader; what these rules find odd is added to the warnings of `report`.
        """
        self._tree.require_inertias("with_inertia")
        frame = link_frame(self._tree, frames_with_inertias(self._tree.bodies, self._tree.frames), link)
        caller = f"with_inertia: link {link!r}"
        whole = inertia if isinstance(inertia, Inertia) else None
        if whole is not None and (mass is not None or com is not None):
            raise TypeError(f"{caller}: an Inertia has its mass and its centre: leave out mass and com")
        old_mass, old_com, about = mass_properties(frame.inertia if whole is None else whole)
        if whole is None and inertia is not None:
            about = given_inertia(inertia, caller)
        mass, com = old_mass if mass is None else mass, tuple(old_com) if com is None else com
        result, findings = _checked(caller, mass, com, about, (*frame.visuals, *frame.collisions))
        frames = frames_with_inertias(self._tree.bodies, self._tree.frames)
        frames = tuple(replace(f, inertia=result) if f.name == link else f for f in frames)
        return type(self)(_weighed(self._tree, frames, findings))

    @edits
    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The robot under another gravity, three numbers in the world's axes [m/s²]; ``(0, 0, 0)`` is none.

        >>> import linkwork as lw
        >>> lw.load("arm7").with_gravity((0, 0, 0)).gravity_force({"elbow": -1.2}).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]

        Raises ValueError for what is no three finite numbers.
        """
        return type(self)(replace(self._tree, gravity=read_gravity(gravity)))

    @edits
    def with_payload(
        self,
        name: str,
        frame: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Self:
        """Return the robot with a load of ``mass`` [kg] welded to ``frame``, for example an object in a hand.

        ``com`` (3,) is the load's centre of mass relative to the frame's origin, in the frame's axes [m].  ``inertia``
        is about the centre of mass, in the same axes [kg·m²], as in `with_inertia`; the default is a point mass.  The
        load is a link called ``name`` whose frame coincides with ``frame``.  It hangs on a fixed joint called
        ``{name}_joint``.

        Raises UnknownNameError for a frame that is not there, and ValueError for numbers that no body has and for a
        name that is taken.
        """
        tree, joint = self._tree, f"{name}_joint"
        tree.require_inertias("with_payload")
        carrier = tree.frame(frame)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_payload: name: expected a string, got {name!r}")
        if name == "world" or any(f.name == name for f in tree.frames):
            raise ValueError(f"with_payload: the robot has a link {name!r} already: give the load another name")
        if joint in tree.carried:
            raise ValueError(f"with_payload: the robot has a joint {joint!r} already: give the load another name")
        caller = f"with_payload: {name!r}"
        result, findings = _checked(caller, mass, com, given_inertia(inertia, caller), ())
        load = Frame(name, carrier.body, carrier.placement, result, fixed_joint=joint, welded_to=frame)
        return type(self)(_weighed(tree, (*frames_with_inertias(tree.bodies, tree.frames), load), findings))

    @edits
    def with_locked_joints(self, joints: Mapping[str, ArrayLike] | Iterable[str]) -> Self:
        """Return the robot with some joints fixed at given configurations; their coordinates leave q and v.

        ``joints`` is a dict of configurations by joint name, ``{"elbow": 1.2}``, a number or as many as the joint's nq
        [rad, m], or a list of names, whose joints are held at their zero.  What a joint carries is welded to what
        carries it; links and joints keep their names, and all else stays as it was.  Joints that follow a locked one
        are locked with it, where their couplings have them.  Actuators of locked joints alone go; named configurations
        say nothing of locked joints any more.

        >>> import linkwork as lw
        >>> lw.load("arm7").with_locked_joints({"elbow": -1.2, "wrist_roll": 0.0}).nq
        5

        Raises UnknownNameError for a joint that is not there, and ValueError, naming the joint, for a configuration
        that is none or is outside of the joint's limits, for a joint that follows another which is not locked, or is
        locked elsewhere, and where a constraint is of a joint that would be locked.
        """
        return type(self)(lock_joints(self._tree, held_configurations(self._tree, joints)))


# -- inertias as people write them
def _checked(
    caller: str, mass: Any, com: Any, about: Symmetric3, shapes: Sequence[Geometry]
) -> tuple[Inertia, Findings]:
    """The inertia about the link's origin, and what the reader's rules find odd about it.  Raises ValueError."""
    weight = real_array(f"{caller}: mass: expected a number [kg]", mass)
    center = real_array(f"{caller}: com: expected three numbers [m]", com)
    if weight.shape != () or center.shape != (3,):
        raise ValueError(
            f"{caller}: mass and com: expected a mass and a com of three numbers, got {mass!r} and {com!r}"
        )
    findings = Findings()
    result = check_inertial(findings, Location(caller), float(weight), Vec3.of(center.tolist()), about, shapes)
    if findings.errors:
        raise ModelError([replace(issue, hint=None) for issue in findings.errors])  # hints are for those of files
    return result, findings


def _weighed(tree: Tree, frames: tuple[Frame, ...], findings: Findings) -> Tree:
    """The tree with these links, and bodies that weigh what they do."""
    bodies = with_summed_inertias(tree.bodies, frames)
    report = Report((*tree.report.warnings, *findings.warnings))
    return replace(tree, bodies=bodies, frames=frames, report=report)


class CollisionHullMethods(Constructors):
    """How a robot whose shapes are known is made of one with files of meshes."""

    __slots__ = ()

    @edits
    def with_collision_hulls(
        self,
        folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        max_vertices: int | None = 32,
        pieces: bool = False,
        unit: float | None = None,
    ) -> Self:
        """The robot with the convex hull of each mesh that collides in the mesh's place; this opens the files.

        The files are looked for in ``folders`` and are opened nowhere else (`linkwork.shapes.load_mesh`, which takes
        the `mesh` extra).  A hull of more than ``max_vertices`` vertices becomes an outer hull of so many, which holds
        the mesh; by how much it is too large is said by its ``overestimate`` [m], and by `report`: an issue MESH_HULL a
        mesh, and MESH_OPEN for a surface that is open or inside out.  With ``pieces``, the mesh is taken apart into
        convex pieces first (`LoadedMesh.convex_pieces`, the `decompose` extra), and hollows stay hollow.  ``unit`` [m]
        is that of the files' numbers.  Other shapes, and what links look like, stay as they are.

        Raises what `load_mesh` does, with the link's name before it.
        """
        known: dict[Mesh, tuple[Polytope, ...]] = {}
        issues: list[Issue] = []
        frames = []
        for frame in self._tree.frames:
            result = []
            for geometry in frame.collisions:
                mesh = geometry.shape
                if not isinstance(mesh, Mesh):
                    result.append(geometry)
                    continue
                if mesh not in known:
                    known[mesh], told = _hulls(frame.name, mesh, folders, max_vertices, pieces, unit)
                    issues += told
                result += [replace(geometry, shape=hull) for hull in known[mesh]]
            frames.append(replace(frame, collisions=tuple(result)))
        report = Report((*self._tree.report.warnings, *issues))
        return type(self)(replace(self._tree, frames=tuple(frames), report=report))


def _hulls(
    link: str, mesh: Mesh, folders: object, max_vertices: int | None, pieces: bool, unit: float | None
) -> tuple[tuple[Polytope, ...], list[Issue]]:
    where = Location(element=f"link[{link}]/collision/mesh[{mesh.uri}]")
    try:
        loaded = load_mesh(mesh, folders, unit=unit)  # type: ignore[arg-type]
        hulls = loaded.convex_pieces(max_vertices) if pieces else (loaded.convex_hull(max_vertices),)
    except (ValueError, OSError) as error:
        raise type(error)(f"with_collision_hulls: link {link!r}: {error}") from error
    issues = [Issue("MESH_OPEN", f"{loaded.file.name}: {odd}: its hull stands for it", where) for odd in loaded.issues]
    most = max(hull.overestimate for hull in hulls)
    count = max(len(hull.vertices) for hull in hulls)
    message = f"{loaded.file.name}: {len(hulls)} hull(s) of at most {count} vertices, {most:.3g} m too large at most"
    return hulls, [*issues, Issue("MESH_HULL", message, where)]


_ROUNDING = 1e-9  # [rad, m] how far beyond a limit, or off what it follows, a locked joint may be


def held_configurations(tree: Tree, joints: Mapping[str, Any] | Iterable[str]) -> dict[int, list[float]]:
    """Return the configurations of the joints to lock and of their followers, by body: see `with_locked_joints`."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise TypeError(
            f"with_locked_joints: expected a dict of configurations by joint, or a list of joints, got {joints!r}"
        )
    caller = "with_locked_joints"
    given = list(joints.items()) if isinstance(joints, Mapping) else [(name, None) for name in joints]
    for name, _ in given:
        if not isinstance(name, str):
            raise TypeError(f"with_locked_joints: expected names of joints, got {name!r}")
        if name in tree.fixed_joints:
            raise ValueError(f"with_locked_joints: joint {name!r} is a fixed joint already")
    values = {tree.joint_index(name): value for name, value in given}
    held = {i: _held(tree.bodies[i], x) for i, x in values.items() if tree.bodies[i].coupling is None}
    for i, body in enumerate(tree.bodies):
        if body.coupling is None:
            continue
        master = tree.joint_index(body.coupling.joint)
        equation = coupling_text(body.joint_name, body.coupling)
        if master in held:
            held[i] = _within(body, body.coupling.q(held[master]))
        elif i in values:
            raise ValueError(
                f"with_locked_joints: joint {body.joint_name!r} follows another, {equation}: lock that one"
            )
        if values.get(i) is not None and np.max(np.abs(np.subtract(_held(body, values[i]), held[i]))) > _ROUNDING:
            raise ValueError(
                f"{caller}: joint {body.joint_name!r} cannot be at {values[i]!r}, because {equation} is {held[i]}"
            )
    return held


def _held(body: Body, value: Any) -> list[float]:
    """The configuration that a joint is locked at: None stands for its zero."""
    if value is None:
        return _within(body, body.call_joint("zero"))
    array = real_array(f"with_locked_joints: joint {body.joint_name!r}: expected {body.joint.nq} numbers", value)
    numbers = array[np.newaxis] if array.ndim == 0 else array
    if numbers.shape != (body.joint.nq,):
        expected = "a number" if body.joint.nq == 1 else f"{body.joint.nq} numbers"
        raise ValueError(f"with_locked_joints: joint {body.joint_name!r}: expected {expected}, got shape {array.shape}")
    return _within(body, body.joint.checked(numbers, body.joint_name).tolist())


def _within(body: Body, q: Sequence[float]) -> list[float]:
    for x, low, high in zip(q, *body.limits.positions, strict=True):
        if not low - _ROUNDING <= x <= high + _ROUNDING:
            raise ValueError(
                f"with_locked_joints: joint {body.joint_name!r} at {x:.6g} is outside of its limits "
                f"[{low:.6g}, {high:.6g}]; joint.with_position_limits_enabled(False) switches them off"
            )
    return list(q)
