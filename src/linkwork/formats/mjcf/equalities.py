"""Equality constraints of a compiled model.

Solver parameters (``solref``, ``solimp``) are not read: a constraint of linkwork holds exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkwork._util.messages import listed
from linkwork.constraints import Ball, Constraint, Coupling, PolynomialCoupling, Weld
from linkwork.errors import Location
from linkwork.formats.description import ConstraintDescription, Following, MarkDescription
from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.formats.mjcf.tendons import FixedTendon
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["Equalities", "read_equalities"]


@dataclass(slots=True)
class Equalities:
    """Equality constraints of a MuJoCo model as constraints of linkwork, and the points to which they refer."""

    constraints: list[ConstraintDescription] = field(default_factory=list)
    points: list[MarkDescription] = field(default_factory=list)


def read_equalities(source: CompiledModel, structure: Structure, tendons: dict[int, FixedTendon]) -> Equalities:
    """Return the equality constraints of a MuJoCo model as constraints of linkwork.

    A joint that follows another linearly also gets the linear relation as its ``mimic``.
    """
    reader = _Reader(source, structure, tendons)
    array = source.array
    kinds, active = array("eq_type"), array("eq_active0")
    if source.disabled & {"equality", "constraint"} and kinds:
        source.ignored("equality constraints are disabled by the file's option and not taken")
        return reader.result
    for i, kind in enumerate(source.kind("mjtEq", x) for x in kinds):
        stated_name = source.name_in_model("equality", i)
        where = source.where(kind, stated_name or f"equality{i}", "equality/")
        if not active[i]:
            source.ignored(
                f"{source.title(kind, stated_name or f'equality{i}')}: it is not active, and not taken", where
            )
            continue
        name = source.joint_names.underscored(stated_name or f"equality{i}")
        try:
            reader.read(i, kind, name, where)
        except ValueError as error:
            source.error("CONSTRAINT", str(error), where)
    return reader.result


class _Reader:
    """Reader of equality constraints."""

    def __init__(self, source: CompiledModel, structure: Structure, tendons: dict[int, FixedTendon]) -> None:
        self.source, self.structure, self.tendons = source, structure, tendons
        self.result = Equalities()
        array = source.array
        self.first, self.second, self.data = array("eq_obj1id"), array("eq_obj2id"), array("eq_data")
        self.objects = array("eq_objtype")
        self.starts, self.qpos0, self.types = array("jnt_qposadr"), array("qpos0"), array("jnt_type")
        self.rigid = structure.rigid()
        self.masters: dict[str, str] = {}  # of joints with a mimic relation

    def read(self, i: int, kind: str, name: str, where: Location) -> None:
        """Add equality constraint i, or report it."""
        match kind:
            case "joint":
                self.joint(i, name, where)
            case "tendon":
                self.tendon(i, name, where)
            case "connect" | "weld":
                self.frames(i, name, kind, where)
            case _:
                message = f"{self.source.title(kind, name)}: equality constraints of flexes are not taken"
                self.source.unsupported(message, where)

    def add(self, constraint: Constraint, where: Location, mimic_of: str | None = None) -> None:
        self.result.constraints.append(ConstraintDescription(constraint, where, mimic_of))

    # -- joints and tendons

    def joint(self, i: int, name: str, where: Location) -> None:
        """Add the constraint of joint coordinates q_a − r_a = Σ c_k (q_b − r_b)^k, with the references r = qpos0.

        Without a second joint b it is q_a − r_a = c_0.
        """
        a, c = self.source.joints[self.first[i]], self.data[i][:5]
        r_a, unit = self.reference(self.first[i]), self.unit(self.first[i])
        if self.second[i] < 0 or not any(c[1:]):
            self.add(Coupling({a: 1.0}, offset=r_a + c[0], unit=unit, name=name), where)
            return
        b, r_b = self.source.joints[self.second[i]], self.reference(self.second[i])
        if any(c[2:]):
            references = {"a_reference": r_a, "b_reference": r_b}
            self.add(PolynomialCoupling(a, b, tuple(c), **references, unit=unit, name=name), where)
            return
        offset = r_a + c[0] - c[1] * r_b
        follows = a not in self.masters and self.chain_end(b) != a
        if follows:
            self.masters[a] = b
            self.structure.with_joint(a, mimic=Following(b, c[1], offset))
        self.add(Coupling({a: 1.0, b: -c[1]}, offset=offset, unit=unit, name=name), where, a if follows else None)

    def chain_end(self, joint: str) -> str:
        """Return the joint at the end of the chain of mimic relations that begins at a joint."""
        while joint in self.masters:
            joint = self.masters[joint]
        return joint

    def reference(self, j: int) -> float:
        start: float = self.qpos0[self.starts[j]]
        return start

    def unit(self, j: int) -> str:
        return "m" if self.source.kind("mjtJoint", self.types[j]) == "slide" else "rad"

    def tendon(self, i: int, name: str, where: Location) -> None:
        """Add the constraint of lengths of fixed tendons L_a − L_a0 = c_0 + c_1 (L_b − L_b0).

        Lengths with index 0 are those at qpos0. Without a second tendon b it is L_a − L_a0 = c_0.
        """
        source, c = self.source, self.data[i][:5]
        ids = [k for k in (self.first[i], self.second[i]) if k >= 0]
        used = ids if any(c[1:]) else ids[:1]
        if any(k not in self.tendons for k in used):
            source.unsupported(f"{source.title('equality of tendons', name)}: spatial tendons are not taken", where)
            return
        if any(c[2:]) and len(used) > 1:
            message = f"{source.title('equality of tendons', name)}: powers of the tendon's length are not taken"
            source.unsupported(message, where)
            return
        lengths = source.array("tendon_length0")
        weights, offset = dict(self.tendons[used[0]].weights), lengths[used[0]] + c[0]
        if len(used) > 1:
            for joint, weight in self.tendons[used[1]].weights.items():
                weights[joint] = weights.get(joint, 0.0) - c[1] * weight
            offset -= c[1] * lengths[used[1]]
        weights = {joint: weight for joint, weight in weights.items() if weight}
        if weights:
            self.add(Coupling(weights, offset=offset, unit=self.tendons[used[0]].unit, name=name), where)

    # -- frames

    def frames(self, i: int, name: str, kind: str, where: Location) -> None:
        """Add the constraint of a <connect> (three equations) or a <weld> (six equations) of two bodies or sites."""
        source, data = self.source, self.data[i]
        by_sites = source.kind("mjtObj", self.objects[i]) == "site"
        names = source.sites if by_sites else source.bodies
        first, second = names[self.first[i]], names[self.second[i]]
        bodies = [self.first[i], self.second[i]]
        if by_sites:
            bodies = [source.array("site_bodyid")[k] for k in bodies]
        if len({self.rigid[source.bodies[k]] for k in bodies}) == 1:
            message = (
                f"{source.title(kind, name)} connects parts of one rigid body ({listed((first, second))}): not taken"
            )
            source.ignored(message, where)
            return
        if kind == "connect":
            point, at = Vec3(0.0, 0.0, 0.0), first
            if not by_sites:
                point = Vec3.of(data[3:6])
                at = self.point(name, first, data[0:3], where)
            self.add(Ball(at, second, point=point, name=name), where)
            return
        pose = Pose.identity()
        if not by_sites:  # anchor: data[0:3] in the second body, data[3:6] in the first
            turn = Rotation.from_quaternion(*data[6:10])
            pose = Pose(turn, Vec3.of(data[3:6]) - turn @ Vec3.of(data[0:3]))
        self.add(Weld(second, first, pose=pose, name=name), where)

    def point(self, name: str, body: str, position: Sequence[float], where: Location) -> str:
        """Return the name of a frame at ``position`` on a body: that of the body, or of a new point."""
        if not any(position):
            return body
        point = self.source.frame_names.underscored(f"{name}_anchor")
        self.result.points.append(MarkDescription(point, body, tuple(position), where))
        return point
