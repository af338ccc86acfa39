"""Shapes of links as geoms of MJCF."""

from __future__ import annotations

from linkwork._util.messages import quoted
from linkwork.formats.mjcf.writing.mjcf_document import MjcfDocument, placed
from linkwork.formats.written_content import report_shape, simple_geometries
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.model import WORLD, Frame
from linkwork.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, HalfSpace, Mesh, Polytope, Shape, Sphere

__all__ = ["add_shapes"]

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
