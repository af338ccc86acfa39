"""MJCF document under construction, with poses and quaternions as attributes and shapes of links as geoms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from linkwork._util.messages import quoted
from linkwork.formats.mjcf.writing.joint_elements import Part
from linkwork.formats.unique_names import Names
from linkwork.formats.written_content import WritingLog, report_shape, simple_geometries
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.model import WORLD, Body, Frame, Tree
from linkwork.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, HalfSpace, Mesh, Polytope, Shape, Sphere
from linkwork.spatial import Pose, Quaternion, Rotation

__all__ = ["MjcfDocument", "add_shapes", "between", "bounds", "placed", "quaternion_text"]

_FAR = 1e10  # stands for a bound that a range does not have


@dataclass(slots=True)
class MjcfDocument:
    """MJCF document under construction: its elements by link, joints in MuJoCo's order, and what is lost."""

    tree: Tree
    root: Node
    log: WritingLog
    links: dict[str, Node] = field(default_factory=dict)  # the <body> of each link
    joints: list[tuple[Body, tuple[str, ...], list[Part]]] = field(default_factory=list)  # in the order of qpos
    sites: Names = field(default_factory=Names)
    tendons: Names = field(default_factory=Names)
    equalities: Names = field(default_factory=Names)

    def section(self, tag: str) -> Node:
        """Return the document's element of a section, such as <actuator>, which is added if it does not exist yet."""
        section = next((node for node in self.root.children if node.tag == tag), None)
        return self.root.add(tag) if section is None else section

    def pose_in_link(self, frame: str) -> tuple[str, Pose]:
        """Return the link of a frame, or "world", and the frame's pose in that link."""
        named = link = self.tree.frame(frame)
        while link.name not in self.links and link.welded_to is not None:
            link = self.tree.frame(link.welded_to)
        if link.name in self.links:
            return link.name, between(link.placement, named.placement)
        return ("world" if named.body == WORLD else self.tree.bodies[named.body].name), named.placement

    def site(self, name: str, frame: str, pose: Pose) -> str:
        """Add a site at a pose in a frame, and return its name: ``name``, with a suffix if that is taken.

        A frame that is a site already is returned if the pose is the identity.
        """
        if frame in self.sites.taken and pose.is_identity:
            return frame
        unique = self.sites.new(name)
        link, X = self.pose_in_link(frame)
        node = self.links.get(link, self.section("worldbody"))
        node.add("site", name=unique, **placed(X @ pose if not pose.is_identity else X))
        return unique


def between(X_a: Pose, X_b: Pose) -> Pose:
    """Return X_ab, the pose of b in a, from the poses of both in a common frame; exactly X_b if X_a is the identity."""
    return X_b if X_a.is_identity else X_a.inv() @ X_b


def placed(X: Pose) -> dict[str, str]:
    """Return the attributes pos and quat of a pose, without an attribute whose value is the identity's."""
    result = {}
    if any(X.translation):
        result["pos"] = number_list_text(X.translation)
    if X.rotation != Rotation.identity():
        result["quat"] = quaternion_text(X.rotation)
    return result


def bounds(log: WritingLog, element: str, prefix: str, low: float, high: float) -> dict[str, str]:
    """Return the attributes of a range, such as ``ctrllimited`` and ``ctrlrange``; none if it has no finite bound.

    MuJoCo needs two finite bounds, of which the lower is below the upper.
    """
    if math.isinf(low) and math.isinf(high):
        return {}
    if math.isinf(low) or math.isinf(high):
        far = max(_FAR, 10.0 * min(abs(low), abs(high)))
        log.changed(element, f"a range with one bound has the other at {far:g}")
        low, high = max(low, -far), min(high, far)
    if low == high:
        log.changed(element, f"a range with equal bounds ({low:g}) has the upper one at the next number")
        high = math.nextafter(high, math.inf)
    return {f"{prefix}limited": "true", f"{prefix}range": number_list_text((low, high))}


def quaternion_text(rotation: Rotation) -> str:
    """Return the quaternion (w, x, y, z) of a rotation as text."""
    return number_list_text(Quaternion.of(rotation).elements())


_HULLS = "Robot.with_collision_hulls replaces those for collisions by convex hulls, which are written"
_FURTHER_FRICTION = (0.005, 0.0001)  # of torsion [m] and rolling [m]: MuJoCo's defaults
_SMALLEST_MESH = 1e-6  # [m] radius; MuJoCo refuses meshes of very small area
_VISUAL, _COLLISION = "1", "3"  # groups of geoms; MuJoCo's viewer shows groups 0 to 2


def add_shapes(document: MjcfDocument, link: Frame, node: Node) -> None:
    """Add the visual and the collision shapes of a link to its <body>."""
    for geometries, group, massless in ((link.visuals, _VISUAL, "0"), (link.collisions, _COLLISION, None)):
        element = f"link[{link.name}]/{'visual' if group == _VISUAL else 'collision'}"
        for geometry in simple_geometries(document.log, element, geometries):
            if isinstance(geometry.shape, HalfSpace) and link.body != WORLD:
                document.log.lost(element, "MuJoCo has half-spaces only on bodies that do not move")
                continue
            if isinstance(geometry.shape, Polytope) and geometry.shape.bounding_sphere[1] < _SMALLEST_MESH:
                document.log.lost(element, f"MuJoCo refuses meshes with a radius below {_SMALLEST_MESH:g} m")
                continue
            attributes = _shape(document, geometry.shape)
            if isinstance(geometry.shape, Mesh):
                document.log.lost(element, "shapes from mesh files are not written", _HULLS)
                continue
            if attributes is None:
                report_shape(document.log, element, geometry)
                continue
            _report_names(document, element, geometry)
            node.add(
                "geom",
                **attributes,
                **placed(geometry.origin),
                group=group,
                contype=massless,
                conaffinity=massless,
                rgba=_colour(geometry),
                friction=None
                if geometry.friction is None
                else number_list_text((geometry.friction, *_FURTHER_FRICTION)),
            )


def _shape(document: MjcfDocument, shape: Shape) -> dict[str, str] | None:
    """Return the attributes of a geom for a shape; None for a shape that MJCF does not have."""
    match shape:
        case Box():
            return {"type": "box", "size": number_list_text(0.5 * x for x in shape.size)}
        case Sphere():
            return {"type": "sphere", "size": number_text(shape.radius)}
        case Cylinder():
            return {"type": "cylinder", "size": number_list_text((shape.radius, 0.5 * shape.length))}
        case Capsule(length=0.0):
            return {"type": "sphere", "size": number_text(shape.radius)}
        case Capsule():
            return {"type": "capsule", "size": number_list_text((shape.radius, 0.5 * shape.length))}
        case Ellipsoid():
            return {"type": "ellipsoid", "size": number_list_text(shape.radii)}
        case HalfSpace():
            return {"type": "plane", "size": "0 0 1"}
        case Polytope():
            asset = document.section("asset")
            name = f"hull_{len(asset.children)}"
            points = number_list_text(x for vertex in shape.vertices for x in vertex)
            asset.add("mesh", name=name, vertex=points)
            return {"type": "mesh", "mesh": name}
    return None


def _report_names(document: MjcfDocument, element: str, geometry: Geometry) -> None:
    material = geometry.material
    if geometry.name or (material is not None and material.name):
        document.log.changed(element, "shapes are written without their names and those of materials")
    if material is not None and material.texture is not None:
        document.log.lost(element, f"the texture {quoted(material.texture)} is not written")


def _colour(geometry: Geometry) -> str | None:
    material = geometry.material
    return None if material is None or material.rgba is None else number_list_text(material.rgba)
