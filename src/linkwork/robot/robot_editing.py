"""Methods of `Robot` that return an edited robot: joints, inertias, payloads, hulls, locked joints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.file_search import FileSearch, Folders, read_folders
from linkwork._util.validation import integer
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import edits
from linkwork.mechanisms.algorithms.constraint_rows import rebind_constraints
from linkwork.model.body import Body, Frame
from linkwork.model.composite_body import frames_with_inertias, with_summed_inertias
from linkwork.model.coupled_joints import coupling_text
from linkwork.model.inertia_check import check_inertial, mass_properties
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_actuators import check_actuation
from linkwork.model.tree_builder import read_gravity
from linkwork.model.tree_edits import lock_joints
from linkwork.model.value_check import check_joint_values
from linkwork.robot.construction.link import joint_description
from linkwork.robot.construction.robot_constructors import Constructors
from linkwork.robot.joint.joint import Joint, body_with, joint_of
from linkwork.robot.placed_link import link_frame
from linkwork.shapes import Geometry, Mesh, Polytope
from linkwork.spatial import Inertia, Symmetric3, Vec3
from linkwork.spatial.arguments import checked_inertia

__all__ = ["CollisionHullMethods", "EditingMethods"]


class EditingMethods(Constructors):
    """Methods of `Robot` that return an edited robot and leave the original unchanged."""

    __slots__ = ()

    @edits
    def with_joint(self, joint: Joint) -> Self:
        """Return the robot with the joint of the same name replaced by ``joint``: other limits, type, placement, ...

        ``robot.with_joint(robot.joint("knee").with_type(Knee(...)))`` sets a user-defined joint type.

        Raises UnknownNameError for a joint that the robot does not have; ValueError if it connects other links, is
        fixed, has other sizes while it follows or is followed by a joint, or does not fit a constraint, an actuator or
        a named configuration; ModelError for values beyond 1e20; TypeError for an argument that is not a joint.
        """
        if not isinstance(joint, Joint):
            example = 'as in robot.with_joint(robot.joint("elbow").with_damping(0.5))'
            raise TypeError(f"with_joint: joint: expected a joint, {example}, got {joint!r}")
        if joint.name in self._tree.fixed_joints:
            raise ValueError(f"with_joint: joint {joint.name!r} is fixed and cannot be replaced")
        index = self._tree.joint_index(joint.name)
        old = joint_of(self._tree, index)
        if joint.links != old.links:
            raise ValueError(f"with_joint: joint {joint.name!r} connects {old.links} in the robot, not {joint.links}")
        follows = old.mimic is not None or any(b.mimic and b.mimic.joint == joint.name for b in self._tree.bodies)
        if follows and (joint.nq, joint.nv) != (old.nq, old.nv):
            raise ValueError(
                f"with_joint: joint {joint.name!r} follows a joint or is followed: its nq and nv cannot change"
            )
        findings = Findings()
        check_joint_values(findings, joint_description(self._tree.name, joint))
        findings.raise_errors()
        bodies = list(self._tree.bodies)
        bodies[index] = body_with(joint, bodies[index])
        return type(self)(check_actuation(rebind_constraints(replace(self._tree, bodies=tuple(bodies)))))

    @edits
    def with_inertia(
        self,
        link: str,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | Inertia | None = None,
    ) -> Self:
        """Return the robot with a new mass [kg], centre of mass or rotational inertia of a link.

        ``com`` (3,) is the centre of mass relative to the link's origin, in the link's axes [m]. ``inertia`` is about
        the centre of mass in the link's axes [kg·m²], a symmetric matrix (3, 3) or its diagonal (3,). A
        `linkwork.spatial.Inertia`, which is about the link's origin, replaces all three. Arguments left out do not
        change. The link may be any of `links`, also one welded to another; all functions use the new inertia.

        Raises UnknownNameError for an unknown link, and ValueError for an unphysical inertia, by the rules of the file
        reader. Their warnings are added to `report`.
        """
        self._tree.require_inertias("with_inertia")
        frame = link_frame(self._tree, frames_with_inertias(self._tree.bodies, self._tree.frames), link)
        caller = f"with_inertia: link {link!r}"
        whole = inertia if isinstance(inertia, Inertia) else None
        if whole is not None and (mass is not None or com is not None):
            raise TypeError(f"{caller}: an Inertia includes mass and com; leave these out")
        old_mass, old_com, about = mass_properties(frame.inertia if whole is None else whole)
        if whole is None and inertia is not None:
            about = checked_inertia(inertia, caller)
        mass, com = old_mass if mass is None else mass, tuple(old_com) if com is None else com
        result, findings = _checked(caller, mass, com, about, (*frame.visuals, *frame.collisions))
        frames = frames_with_inertias(self._tree.bodies, self._tree.frames)
        frames = tuple(replace(f, inertia=result) if f.name == link else f for f in frames)
        return type(self)(_with_links(self._tree, frames, findings))

    @edits
    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """Return the robot with another ``gravity`` (3,) in the world's axes [m/s²].

        >>> import linkwork as lw
        >>> lw.load("arm7").with_gravity((0, 0, 0)).gravity_force({"elbow": -1.2}).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]

        Raises ValueError unless the argument is three finite numbers.
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
        load is a link called ``name`` whose frame coincides with ``frame``; a fixed joint ``{name}_joint`` attaches it.

        Raises UnknownNameError for an unknown frame, and ValueError for an unphysical inertia and a name that exists
        already.
        """
        tree, joint = self._tree, f"{name}_joint"
        tree.require_inertias("with_payload")
        carrier = tree.frame(frame)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_payload: name: expected a non-empty string, got {name!r}")
        if name == "world" or any(f.name == name for f in tree.frames):
            raise ValueError(f"with_payload: the robot has a link {name!r} already: give the load another name")
        if joint in tree.carried:
            raise ValueError(f"with_payload: the robot has a joint {joint!r} already: give the load another name")
        caller = f"with_payload: {name!r}"
        result, findings = _checked(caller, mass, com, checked_inertia(inertia, caller), ())
        load = Frame(name, carrier.body, carrier.placement, result, fixed_joint=joint, welded_to=frame)
        return type(self)(_with_links(tree, (*frames_with_inertias(tree.bodies, tree.frames), load), findings))

    @edits
    def with_locked_joints(self, joints: str | Mapping[str, ArrayLike] | Iterable[str]) -> Self:
        """Return the robot with joints locked at fixed configurations; their coordinates are removed from q and v.

        ``joints`` is a dict of configurations by joint name, ``{"elbow": 1.2}``, each a number or an array (nq of the
        joint,) [rad, m]; or a list of names of joints to lock at their zero configuration.  The child link is welded to
        the parent; links and joints keep their names.  Followers of a locked joint are locked at the positions of their
        couplings.  Actuators that act on locked joints only are removed, and named configurations lose these joints.

        >>> import linkwork as lw
        >>> lw.load("arm7").with_locked_joints({"elbow": -1.2, "wrist_roll": 0.0}).nq
        5

        Raises UnknownNameError for an unknown joint; ValueError, with the joint's name, for an invalid configuration or
        one outside the limits, for a follower whose master is not locked or is locked at another position, and if a
        constraint refers to a joint that would be locked.
        """
        return type(self)(lock_joints(self._tree, locked_configurations(self._tree, joints)))


def _checked(
    caller: str, mass: Any, com: Any, about: Symmetric3, shapes: Sequence[Geometry]
) -> tuple[Inertia, Findings]:
    """Return the inertia of a link about its origin, and the warnings of the file reader's rules.

    ``about`` is the rotational inertia about the centre of mass.  Raises ValueError for an unphysical inertia.
    """
    weight = real_array(f"{caller}: mass: expected a number [kg]", mass)
    center = real_array(f"{caller}: com: expected three numbers [m]", com)
    if weight.shape != () or center.shape != (3,):
        raise ValueError(f"{caller}: mass, com: expected a number and three numbers, got {mass!r} and {com!r}")
    findings = Findings()
    result = check_inertial(findings, Location(caller), float(weight), Vec3.of(center.tolist()), about, shapes)
    if findings.errors:
        raise ModelError([replace(issue, hint=None) for issue in findings.errors])  # hints apply to files only
    return result, findings


def _with_links(tree: Tree, frames: tuple[Frame, ...], findings: Findings) -> Tree:
    """Return the tree with ``frames`` as its links, and bodies with the sums of their links' inertias."""
    bodies = with_summed_inertias(tree.bodies, frames)
    report = Report((*tree.report.warnings, *findings.warnings))
    return replace(tree, bodies=bodies, frames=frames, report=report)


class CollisionHullMethods(Constructors):
    """Methods of `Robot` that replace its collision meshes by convex hulls."""

    __slots__ = ()

    @edits
    def with_collision_hulls(
        self,
        folders: Folders | None = None,
        *,
        max_vertices: int | None = 32,
        decompose: bool = False,
        unit: float | None = None,
    ) -> Self:
        """Return the robot with each collision mesh replaced by its convex hull; this opens the mesh files.

        Files are opened only inside ``folders`` (`linkwork.shapes.load_mesh`, the `mesh` extra), the folder of the
        robot's file, the package that contains it, and the folders of ROS's and Gazebo's environment variables, where
        `linkwork.load` and `show` search too.  A hull of more than ``max_vertices`` vertices becomes an outer hull that
        contains the mesh.  Its ``overestimate`` [m] bounds its excess; `report` has an issue MESH_HULL for each mesh,
        MESH_OPEN for an open or inside-out surface, and MESH_EMPTY for a file without triangles, which has no hull.
        With ``decompose``, the mesh is decomposed into convex components first, which preserves hollows
        (`LoadedMesh.convex_decomposition`, the `decompose` extra).  ``unit`` [m] is the length unit of the files.
        Other shapes and visuals do not change.  Meshes of a robot that was loaded with ``trusted=False`` are parsed in
        another process.

        Raises the errors of `load_mesh`, preceded by the link's name, and ValueError without folders for a robot that
        is not from a file.
        """
        if max_vertices is not None:
            max_vertices = integer("with_collision_hulls", "max_vertices", max_vertices, least=8)
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
                    known[mesh], problems = _hulls(
                        frame.name,
                        mesh,
                        _searched(self._tree, folders),
                        max_vertices,
                        decompose,
                        unit,
                    )
                    issues += problems
                result += [replace(geometry, shape=hull) for hull in known[mesh]]
            frames.append(replace(frame, collisions=tuple(result)))
        report = Report((*self._tree.report.warnings, *issues))
        return type(self)(replace(self._tree, frames=tuple(frames), report=report))


def _searched(tree: Tree, folders: Folders | None) -> FileSearch:
    """Return the search of meshes: in the folders, and where a robot's file may name files.  Raises ValueError."""
    from linkwork.formats.resource_paths import tree_paths

    if folders is None and tree.package_dirs is None and not any(map(os.path.isfile, tree.files)):
        message = "with_collision_hulls: folders: the robot is not from a file: expected the folders of its meshes"
        raise ValueError(message)
    allowed = None if folders is None else read_folders("with_collision_hulls: folders", folders)
    return tree_paths(tree, allowed)


def _hulls(
    link: str, mesh: Mesh, folders: FileSearch, max_vertices: int | None, decompose: bool, unit: float | None
) -> tuple[tuple[Polytope, ...], list[Issue]]:
    from linkwork.shapes.mesh_files import EmptyMeshError, load_mesh

    where = Location(element=f"link[{link}]/collision/mesh[{mesh.uri}]")
    try:
        loaded = load_mesh(mesh, folders, unit=unit)  # type: ignore[arg-type]
        hulls = loaded.convex_decomposition(max_vertices) if decompose else (loaded.convex_hull(max_vertices),)
    except EmptyMeshError as error:
        return (), [Issue("MESH_EMPTY", f"{error}: the shape is left out", where)]
    except (ValueError, OSError) as error:
        raise type(error)(f"with_collision_hulls: link {link!r}: {error}") from error
    file = loaded.file.name
    issues = [Issue("MESH_OPEN", f"{file}: {issue}; the hull is used instead", where) for issue in loaded.issues]
    excess = max(hull.overestimate for hull in hulls)
    count = max(len(hull.vertices) for hull in hulls)
    message = f"{file}: {len(hulls)} hull(s) of at most {count} vertices, at most {excess:.3g} m too large"
    return hulls, [*issues, Issue("MESH_HULL", message, where)]


_ROUNDING = 1e-9  # [rad, m] tolerance of a locked joint's limits and coupling


def locked_configurations(tree: Tree, joints: Mapping[str, Any] | Iterable[str]) -> dict[int, list[float]]:
    """Return the configuration of each joint to be locked and of its followers, by index of the joint's body.

    ``joints`` is the argument of `with_locked_joints`.
    """
    joints = [joints] if isinstance(joints, str) else joints
    if not isinstance(joints, Iterable):
        raise TypeError(
            f"with_locked_joints: joints: expected a dict of configurations by joint or a list of names, got {joints!r}"
        )
    caller = "with_locked_joints"
    pairs = list(joints.items()) if isinstance(joints, Mapping) else [(name, None) for name in joints]
    for name, _ in pairs:
        if not isinstance(name, str):
            raise TypeError(f"with_locked_joints: joints: expected names of joints, got {name!r}")
        if name in tree.fixed_joints:
            raise ValueError(f"with_locked_joints: joint {name!r} is a fixed joint already")
    values = {tree.joint_index(name): value for name, value in pairs}
    fixed = {i: _configuration(tree.bodies[i], x) for i, x in values.items() if tree.bodies[i].coupling is None}
    for i, body in enumerate(tree.bodies):
        if body.coupling is None:
            continue
        master = tree.joint_index(body.coupling.joint)
        equation = coupling_text(body.joint_name, body.coupling)
        if master in fixed:
            fixed[i] = _within_limits(body, body.coupling.q(fixed[master]))
        elif i in values:
            raise ValueError(
                f"with_locked_joints: joint {body.joint_name!r} follows another joint, {equation}; lock that joint"
            )
        if (
            values.get(i) is not None
            and np.max(np.abs(np.subtract(_configuration(body, values[i]), fixed[i]))) > _ROUNDING
        ):
            raise ValueError(
                f"{caller}: joint {body.joint_name!r} cannot be at {values[i]!r}, because {equation} is {fixed[i]}"
            )
    return fixed


def _configuration(body: Body, value: Any) -> list[float]:
    """Return the configuration q at which a joint is locked: ``value``, or for None its zero configuration."""
    if value is None:
        return _within_limits(body, body.call_joint("zero"))
    array = real_array(f"with_locked_joints: joint {body.joint_name!r}: expected {body.joint.nq} numbers", value)
    q = array[np.newaxis] if array.ndim == 0 else array
    if q.shape != (body.joint.nq,):
        expected = "a number" if body.joint.nq == 1 else f"{body.joint.nq} numbers"
        raise ValueError(f"with_locked_joints: joint {body.joint_name!r}: expected {expected}, got shape {array.shape}")
    return _within_limits(body, body.joint.checked(q, body.joint_name).tolist())


def _within_limits(body: Body, q: Sequence[float]) -> list[float]:
    for x, low, high in zip(q, *body.limits.positions, strict=True):
        if not low - _ROUNDING <= x <= high + _ROUNDING:
            raise ValueError(
                f"with_locked_joints: joint {body.joint_name!r} at {x:.6g} is outside its limits "
                f"[{low:.6g}, {high:.6g}]; joint.with_position_limits_enabled(False) disables them"
            )
    return list(q)
