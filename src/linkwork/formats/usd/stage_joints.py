"""Joints of a stage: their ends on links, chains of joints between two bodies, and the choice of the base."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork._util.messages import listed
from linkwork.formats.unique_names import Names
from linkwork.formats.usd.joint_graph import WORLD
from linkwork.formats.usd.joint_prims import End, JointPrim, read_joint
from linkwork.formats.usd.prim_transforms import Transforms, pose_of
from linkwork.formats.usd.prim_values import PrimReader
from linkwork.joints import Fixed
from linkwork.spatial import Pose, Vec3

__all__ = ["StageJoints", "body_above", "has_schema", "unique_names"]


class StageJoints:
    """Reader of the joints of a USD stage.

    ``prims`` are all prims, ``bodies`` the prims of rigid bodies, and ``names`` the name of the link for each body's
    path.
    """

    def __init__(
        self,
        stage: Any,
        reader: PrimReader,
        transforms: Transforms,
        prims: list[Any],
        bodies: list[Any],
        names: dict[str, str],
    ) -> None:
        self.stage, self.reader, self.transforms = stage, reader, transforms
        self.prims, self.bodies, self.names = prims, bodies, names

    def read(self) -> tuple[list[JointPrim], dict[str, str]]:
        """Return the joints, and the massless links between stacked joints with the link that each represents."""
        from pxr import UsdPhysics

        reader = self.reader
        prims = []
        for prim in self.prims:
            if not prim.IsA(UsdPhysics.Joint):
                continue
            if not reader.flag(prim, "physics:jointEnabled", True):
                reader.note(prim, "a joint that is not enabled is ignored")
                continue
            prims.append(prim)
        names = unique_names([str(prim.GetPath()) for prim in prims], reserved=set())
        joints = []
        for prim in prims:
            ends = [self._end(prim, k) for k in (0, 1)]
            if ends[0] is None or ends[1] is None:
                continue
            if ends[0].link == ends[1].link:
                reader.warn(prim, "SELF_JOINT", f"the joint connects {ends[0].link!r} to itself: it is left out")
                continue
            joint = read_joint(reader, prim, names[str(prim.GetPath())], (ends[0], ends[1]))
            if joint is not None:
                joints.append(joint)
        return self._stacked(joints)

    def _end(self, joint: Any, index: int) -> End | None:
        """Return a joint's frame on its body; on the world if it names no body, None after a finding."""
        reader, transforms = self.reader, self.transforms
        targets = reader.targets(joint, f"physics:body{index}")
        position = np.array(reader.vector(joint, f"physics:localPos{index}") or (0.0, 0.0, 0.0))
        rotation = reader.rotation(joint, f"physics:localRot{index}")
        if len(targets) > 1:
            reader.error(joint, "DUPLICATE_ELEMENT", f"physics:body{index}: expected one body, got {len(targets)}")
            return None
        if not targets:
            units = reader.units
            turned = Pose(pose_of(_homogeneous(units.turn)).rotation @ rotation, Vec3.zero())
            return End(WORLD, Pose(turned.rotation, Vec3.of((units.length * (units.turn @ position)).tolist())))
        prim = self.stage.GetPrimAtPath(targets[0])
        if not prim or not prim.IsActive():
            problem = "is deactivated" if prim else "does not exist"
            reader.warn(joint, "UNKNOWN_LINK", f"physics:body{index}: {targets[0]} {problem}: the joint is left out")
            return None
        part, body = transforms.rigid(prim), body_above(prim, self.names)
        local = Pose(rotation, Vec3.of((reader.units.length * part.scale * position).tolist()))
        if body is None:
            return End(WORLD, part.pose @ local)
        name = self.names[str(body.GetPath())]
        if body == prim:
            return End(name, local)
        return End(name, transforms.rigid(body).pose.inv().formed() @ part.pose @ local)

    def _stacked(self, joints: list[JointPrim]) -> tuple[list[JointPrim], dict[str, str]]:
        """Connect joints that act one after the other between two bodies, by massless links.

        Such joints belong to an articulation with the attribute newton:jointsAddMobility.
        """
        reader, between, taken = self.reader, dict[str, str](), Names(self.names.values())
        roots = [
            str(prim.GetPath())
            for prim in self.prims
            if reader.value(prim, "newton:jointsAddMobility") and reader.flag(prim, "newton:jointsAddMobility", False)
        ]
        groups: dict[tuple[str, str], list[JointPrim]] = {}
        for joint in joints:
            path = str(joint.prim.GetPath())
            if any(path.startswith(root + "/") for root in roots):
                groups.setdefault((joint.ends[0].link, joint.ends[1].link), []).append(joint)
        for (_, last), group in groups.items():
            for joint, following in pairwise(group):
                name = taken.underscored(f"{last}_{joint.name}")
                between[name] = last
                joint.ends = joint.ends[0], End(name, joint.ends[1].pose)
                following.ends = End(name, following.ends[1].pose), following.ends[1]
        return joints, between

    def with_base(
        self,
        floating_base: bool,
        fixed: Mapping[str, Any],
        joints: list[JointPrim],
        poses: Mapping[str, Pose],
        prims: Mapping[str, Any],
    ) -> tuple[dict[str, Any], list[JointPrim]]:
        """Apply the option ``floating_base``: return the links that do not move, with their prims, and the joints."""
        neighbours = {name: set[str]() for name in (WORLD, *poses)}
        for joint in joints:
            first, second = (end.link for end in joint.ends)
            neighbours[first].add(second)
            neighbours[second].add(first)
        if floating_base:
            welds = [j for j in joints if isinstance(j.joint, Fixed) and WORLD in (j.ends[0].link, j.ends[1].link)]
            count = len(welds) + len(fixed)
            if count > 1 or (count == 0 and neighbours[WORLD]):
                message = f"floating_base=True needs one base, which a fixed joint connects to the world; got {count}"
                self.reader.error("/", "FLOATING_BASE", message, "load the stage without floating_base")
            return {}, [joint for joint in joints if joint not in welds]
        grounded, waiting = {WORLD, *fixed}, [WORLD, *fixed]
        roots = [
            self.names[str(prim.GetPath())] for prim in self.bodies if has_schema(prim, "PhysicsArticulationRootAPI")
        ]
        entered = {joint.ends[1].link for joint in joints}
        bases: list[str] = []
        candidates = [*roots, *(link for link in poses if link not in entered), *poses]
        while True:
            while waiting:
                for neighbour in neighbours[waiting.pop()] - grounded:
                    grounded.add(neighbour)
                    waiting.append(neighbour)
            free = next((link for link in candidates if link not in grounded), None)
            if free is None:
                break
            bases.append(free)
            grounded.add(free)
            waiting.append(free)
        if len(bases) > 1:
            message = f"floating_base=False needs a single free base, got {len(bases)}: {listed(bases)}"
            self.reader.error("/", "FLOATING_BASE", message, "load the stage without floating_base")
        return {**fixed, **{link: prims[link] for link in bases}}, joints


def body_above(prim: Any, names: Mapping[str, str]) -> Any:
    """Return the prim of the rigid body at or above a prim, or None."""
    while prim and not prim.IsPseudoRoot():
        if str(prim.GetPath()) in names:
            return prim
        prim = prim.GetParent()
    return None


def _homogeneous(rotation: np.ndarray) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3] = rotation
    return result


def has_schema(prim: Any, schema: str) -> bool:
    return schema in prim.GetAppliedSchemas()


def unique_names(paths: list[str], reserved: set[str]) -> dict[str, str]:
    """Return a unique name for each path: its last part, preceded by as many further parts as necessary."""
    result: dict[str, str] = {}
    taken = Names(reserved)
    left, depth = paths, 1
    while left:
        tails = {path: "/".join(path.strip("/").split("/")[-depth:]) for path in left}
        counts: dict[str, int] = {}
        for tail in tails.values():
            counts[tail] = counts.get(tail, 0) + 1
        again = []
        for path, tail in tails.items():
            is_whole = depth >= path.count("/")  # and therefore unique
            if not is_whole and (counts[tail] > 1 or tail in taken.taken):
                again.append(path)
                continue
            result[path] = taken.underscored(tail)
        left, depth = again, depth + 1
    return {path: result[path] for path in paths}
