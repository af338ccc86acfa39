"""USD reader: rigid bodies, joints, masses, colliders and drives of UsdPhysics.

Source: the schemas UsdPhysics and UsdGeom of OpenUSD, and the attributes with which PhysX and Newton extend joints.
The units of the stage are converted to kg and m, and a stage with y up is turned to z up.  Values of single precision
are used as they are.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.file_search import Folders
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.description import ActuatorDescription, Description, Findings, FrameDescription, LinkDescription
from linkwork.formats.file_reading import path_text, require_path
from linkwork.formats.usd.body_masses import Collider, body_inertia
from linkwork.formats.usd.collision_filters import disabled_pairs
from linkwork.formats.usd.joint_graph import WORLD, initial_state, joint_graph
from linkwork.formats.usd.prim_shapes import SHAPES, read_shape
from linkwork.formats.usd.prim_transforms import Transforms, nearest_rotation, pose_of
from linkwork.formats.usd.prim_values import PrimReader, Units
from linkwork.formats.usd.stage_joints import StageJoints, body_above, has_schema, unique_names
from linkwork.formats.usd.unread_content import report_unread
from linkwork.formats.usd.usd_layers import diagnostics_collected, opened_stage, usd_error_text
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["prepare_process", "read_usd"]

_EARTH = 9.81  # [m/s²] for scenes without a magnitude


def prepare_process() -> None:
    """Import the libraries of USD and use them once, before a process reads an untrusted file."""
    from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils

    stage = Usd.Stage.CreateInMemory()
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Cube.Define(stage, Sdf.Path("/a")).GetPrim())
    UsdUtils.CoalescingDiagnosticDelegate().TakeUncoalescedDiagnostics()


def read_usd(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    floating_base: bool | None = None,
    package_dirs: Folders | None = None,
    budget: Budget | None = None,
) -> Description:
    """Return the description of all robots in a USD stage.

    ``strict`` turns repairs into errors.  With ``floating_base`` True, the base that a fixed joint holds moves freely;
    with False, bodies without a joint to the world are fixed where they are.  ``package_dirs`` are further folders
    whose layers the stage may refer to.  ``budget`` limits the layers and the composed prims.

    Raises ModelError with all errors, or the operating system's error if the file cannot be read.
    """
    from pxr import Tf

    require_path(path)
    where, findings = Location(path_text(path)), Findings(strict=strict)
    try:
        stage, warnings = opened_stage(path, package_dirs, budget or MODEL)
        for warning in warnings:
            findings.warn(warning)
        with diagnostics_collected(), np.errstate(all="ignore"):
            return _Stage(stage, path_text(path), findings, floating_base).description()
    except Tf.ErrorException as error:  # content that USD itself cannot evaluate
        message = f"USD cannot evaluate the stage: {usd_error_text(error)}"
        raise ModelError(Issue("COMPOSITION", message, where)) from None
    except UnicodeDecodeError as error:  # in a binary layer
        raise ModelError(Issue("DATA_ENCODING", f"a name or a text is not UTF-8: {error}", where)) from None


@dataclass
class _Link:
    """A link under construction, with the prim of its rigid body; None for the world."""

    name: str
    prim: Any
    colliders: list[Collider] = field(default_factory=list)
    visuals: list[Geometry] = field(default_factory=list)


class _Stage:
    """Reader of a stage: its bodies, shapes and joints in the order of traversal."""

    def __init__(self, stage: Any, file: str, findings: Findings, floating_base: bool | None) -> None:
        from pxr import Usd

        self.stage, self.findings, self.floating_base = stage, findings, floating_base
        self.file, self.where = file, Location(file)
        self.reader = PrimReader(file, findings, self._units())
        self.transforms = Transforms(self.reader)
        everything = Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate))
        self.prims = [*everything]
        self.bodies = [prim for prim in self.prims if self._is_body(prim)]
        self.names = unique_names([str(prim.GetPath()) for prim in self.bodies], reserved={WORLD})
        self.links = {WORLD: _Link(WORLD, None)}
        self.links |= {name: _Link(name, prim) for name, prim in zip(self.names.values(), self.bodies, strict=True)}
        self.frames: list[FrameDescription] = []

    def description(self) -> Description:
        reader = self.reader
        if not self.bodies:
            hint = "rigid bodies are prims with the schema PhysicsRigidBodyAPI"
            raise ModelError(Issue("NO_LINKS", "the stage has no rigid bodies", self.where, hint))
        poses = {
            name: self.transforms.rigid(link.prim).pose for name, link in self.links.items() if link.prim is not None
        }
        self._read_shapes()
        inertias = {
            name: body_inertia(reader, self.transforms, link.prim, link.colliders, link.visuals)
            for name, link in self.links.items()
            if link.prim is not None
        }
        fixed = {
            name: link.prim
            for name, link in self.links.items()
            if link.prim is not None and reader.flag(link.prim, "physics:kinematicEnabled", False)
        }
        for prim in fixed.values():
            reader.note(prim, "a kinematic body does not move: it is fixed where it is")
        stage_joints = StageJoints(self.stage, reader, self.transforms, self.prims, self.bodies, self.names)
        joints, stacked = stage_joints.read()
        inertias |= {link: Inertia.zero() for link in stacked}
        poses |= {link: poses[body] for link, body in stacked.items()}
        prims = {link: self.links[stacked.get(link, link)].prim for link in poses}
        if self.floating_base is not None:
            fixed, joints = stage_joints.with_base(self.floating_base, fixed, joints, poses, prims)
        roots = [
            self.names[str(prim.GetPath())] for prim in self.bodies if has_schema(prim, "PhysicsArticulationRootAPI")
        ]
        graph = joint_graph(reader, poses, fixed, joints, roots, prims, [frame.name for frame in self.frames])
        state = initial_state(reader, graph, poses, self.where)
        colliders = {name: link.colliders for name, link in self.links.items()}
        pairs = disabled_pairs(reader, self.prims, self.names, colliders)
        gravity = self._gravity()
        report_unread(reader, self.prims)
        reader.report_repeated()
        self.findings.raise_errors()
        links = [LinkDescription(WORLD, Inertia.zero(), *self._shapes(WORLD), self.where)]
        for name in poses:
            shapes = self._shapes(name) if name in self.links else ((), ())
            links.append(LinkDescription(name, inertias[name], *shapes, reader.where(prims[name])))
        default = self.stage.GetDefaultPrim()
        stem = os.path.splitext(os.path.basename(self.file))[0]
        return Description(
            name=str(default.GetName()) if default else stem or "stage",
            links=tuple(links),
            joints=tuple(graph.joints),
            warnings=tuple(self.findings.warnings),
            source=self.file,
            frames=(*self.frames, *graph.frames),
            where=self.where,
            constraints=tuple(graph.constraints),
            actuators=tuple(
                ActuatorDescription(actuator, reader.where(joint.prim))
                for joint in graph.used
                for actuator in joint.actuators
            ),
            named_configurations=() if state is None else (state,),
            disabled_collisions=tuple({frozenset((pair.a, pair.b)): pair for pair in (*pairs, *graph.pairs)}.values()),
            enabled_collisions=tuple(
                (joint.ends[0].link, joint.ends[1].link) for joint in graph.used if joint.collides
            ),
            gravity=gravity,
            base_is_stated=True,
        )

    def _shapes(self, name: str) -> tuple[tuple[Geometry, ...], tuple[Geometry, ...]]:
        link = self.links[name]
        return tuple(link.visuals), tuple(collider.geometry for collider in link.colliders)

    # -- the stage

    def _units(self) -> Units:
        from pxr import UsdGeom, UsdPhysics

        stage, findings = self.stage, self.findings
        if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
            message = "the stage does not state metersPerUnit: lengths are in 0.01 m, as USD defines"
            findings.warn(Issue("UNITS_MISSING", message, self.where, "state metersPerUnit = 1"))
        if not stage.HasAuthoredMetadata("upAxis"):
            message = "the stage does not state upAxis: y is up, as USD defines"
            findings.warn(Issue("UNITS_MISSING", message, self.where, 'state upAxis = "Z"'))
        length, mass = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
        for name, value in (("metersPerUnit", length), ("kilogramsPerUnit", mass)):
            if not 1e-9 <= value <= 1e9:
                message = f"{name}: expected a number between 1e-9 and 1e9, got {value!r}"
                raise ModelError(Issue("MAGNITUDE", message, self.where))
        up = str(UsdGeom.GetStageUpAxis(stage))
        if up not in ("Y", "Z"):
            raise ModelError(Issue("DATA_TYPE", f"upAxis: expected Y or Z, got {up!r}", self.where))
        return Units(length, mass, up)

    def _gravity(self) -> Vec3 | None:
        """Return the gravity of the first physics scene, or None without one."""
        reader, units = self.reader, self.reader.units
        scenes = [prim for prim in self.prims if str(prim.GetTypeName()) == "PhysicsScene"]
        if not scenes:
            return None
        if len(scenes) > 1:
            reader.note(scenes[1], f"of {len(scenes)} physics scenes, the gravity of the first is used")
        direction = reader.vector(scenes[0], "physics:gravityDirection") or (0.0, 0.0, 0.0)
        magnitude = reader.number(scenes[0], "physics:gravityMagnitude", -math.inf, infinite=True)
        size = _EARTH if magnitude < 0.0 else units.length * magnitude
        if not math.isfinite(size):
            reader.error(scenes[0], "NOT_FINITE", "physics:gravityMagnitude: expected a finite number, got inf")
            return None
        if not reader.flag(scenes[0], "newton:gravityEnabled", True):
            size = 0.0
        length = math.hypot(*direction)
        if length == 0.0:
            return Vec3(0.0, 0.0, -size)
        down = units.turn @ (np.array(direction) / length)
        return Vec3.of([size * x + 0.0 for x in down.tolist()])

    # -- bodies

    def _is_body(self, prim: Any) -> bool:
        from pxr import UsdGeom

        if not has_schema(prim, "PhysicsRigidBodyAPI"):
            return False
        if not prim.IsA(UsdGeom.Xformable):
            self.reader.warn(prim, "UNSUPPORTED", "a rigid body that is not an Xformable prim is left out")
            return False
        if not self.reader.flag(prim, "physics:rigidBodyEnabled", True):
            self.reader.note(prim, "a rigid body that is not enabled belongs to the body above it, or to the world")
            return False
        return True

    def _read_shapes(self) -> None:
        from pxr import UsdGeom

        reader = self.reader
        colliding: dict[str, bool] = {}  # by the paths of prims: the nearest PhysicsCollisionAPI at or above a prim
        for prim in self.prims:
            path = str(prim.GetPath())
            is_shape = prim.IsA(UsdGeom.Gprim) or str(prim.GetTypeName()) in SHAPES
            collides = colliding.get(str(prim.GetPath().GetParentPath()), False)
            if has_schema(prim, "PhysicsCollisionAPI"):
                collides = reader.flag(prim, "physics:collisionEnabled", True)
                if not collides:
                    reader.once(prim, "IGNORED", "colliders that are not enabled: they neither collide nor have mass")
                elif not is_shape:
                    reader.once(prim, "IGNORED", "PhysicsCollisionAPI on groups of shapes: all shapes below collide")
            colliding[path] = collides
            body = body_above(prim, self.names)
            if is_shape:
                self._add_shape(prim, body, collides)
            elif body is not None and body != prim and str(prim.GetTypeName()) == "Xform" and not prim.GetChildren():
                pose = pose_of_frame(self.transforms, prim, body)
                if pose is not None:
                    self.frames.append(
                        FrameDescription(path, self.names[str(body.GetPath())], pose, reader.where(prim))
                    )
        taken = {*self.links}
        names = unique_names([frame.name for frame in self.frames], reserved=taken)
        self.frames = [
            FrameDescription(names[frame.name], frame.link, frame.placement, frame.where) for frame in self.frames
        ]

    def _add_shape(self, prim: Any, body: Any, collides: bool) -> None:
        from pxr import UsdGeom

        link = self.links[WORLD if body is None else self.names[str(body.GetPath())]]
        matrix = self.transforms.absolute(prim) if body is None else self.transforms.relative(prim, body)
        imageable = UsdGeom.Imageable(prim)
        is_seen = (
            str(imageable.ComputePurpose()) in ("default", "render")
            and str(imageable.ComputeVisibility(self.reader.time)) != "invisible"
        )
        if collides:
            geometry = read_shape(self.reader, prim, matrix, collides=True)
            if geometry is not None:
                scale = np.linalg.norm(matrix[:3, :3], axis=0)
                pose = self._rigid(matrix)
                x, y, z = scale.tolist()
                link.colliders.append(Collider(prim, geometry, pose, (x, y, z)))
        if is_seen:
            geometry = read_shape(self.reader, prim, matrix, collides=False)
            if geometry is not None:
                link.visuals.append(geometry)

    @staticmethod
    def _rigid(matrix: np.ndarray) -> Pose:
        """Return the pose in a matrix (4, 4), without its scale factors."""
        rigid = matrix.copy()
        rigid[:3, :3] = nearest_rotation(matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0))
        return pose_of(rigid)


def pose_of_frame(transforms: Transforms, prim: Any, body: Any) -> Pose | None:
    """Return the pose of a prim in a body's frame, without scale factors; None if it is mirrored or sheared."""
    matrix = transforms.relative(prim, body)
    scales = np.linalg.norm(matrix[:3, :3], axis=0)
    if not np.isfinite(matrix).all() or scales.min() == 0.0:
        return None
    matrix[:3, :3] /= scales
    if np.abs(matrix[:3, :3].T @ matrix[:3, :3] - np.eye(3)).max() > 1e-5 or np.linalg.det(matrix[:3, :3]) < 0.0:
        return None
    matrix[:3, :3] = nearest_rotation(matrix[:3, :3])
    return pose_of(matrix)
