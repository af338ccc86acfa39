"""Writer of inertias, shapes and poses of links as elements of SDF."""

from __future__ import annotations

from linkwork._util.messages import quoted
from linkwork.formats.description import LinkDescription
from linkwork.formats.unique_names import Names
from linkwork.formats.written_content import MeshFolder, WritingLog, inertial_values, report_shape, simple_geometries
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    HalfSpace,
    Mesh,
    Polytope,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose, Quaternion

__all__ = ["LinkContents", "add_pose"]


class LinkContents:
    """Writer of the inertias and shapes of links, which collects the names of ``materials``."""

    def __init__(self, log: WritingLog, meshes: MeshFolder | None) -> None:
        self.log, self.meshes = log, meshes
        self.materials: dict[str, None] = {}

    def add(self, node: Node, link: LinkDescription) -> None:
        """Add a link's inertia and shapes to its element."""
        self._inertia(node, link)  # also of a link without mass: by default SDF gives it 1 kg
        for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
            element, names = f"link[{link.name}]/{tag}", Names()
            for geometry in simple_geometries(self.log, element, shapes):
                self._geometry(node, tag, element, link.name, geometry, names)

    def _inertia(self, link: Node, description: LinkDescription) -> None:
        mass, center, about = inertial_values(description.inertia)
        if mass == 0.0 and any(description.inertia.moment):
            self.log.lost(f"link[{description.name}]/inertial", "first moments of mass without mass are not written")
        node = link.add("inertial")
        if any(center):
            node.add("pose", number_list_text([*center, 0.0, 0.0, 0.0]))
        node.add("mass", number_text(mass))
        matrix = node.add("inertia")
        for key, value in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), about.elements(), strict=True):
            matrix.add(key, number_text(value))

    def _geometry(self, link: Node, tag: str, element: str, name: str, geometry: Geometry, names: Names) -> None:
        shape = self._shape(name, geometry.shape)
        if shape is None:
            report_shape(self.log, element, geometry)
            return
        node = link.add(tag, name=names.new(geometry.name or tag))
        add_pose(node, geometry.origin)
        node.add("geometry").children.append(shape)
        if geometry.friction is not None and tag == "collision":
            law = node.add("surface").add("friction").add("ode")
            for key in ("mu", "mu2"):  # both: the default of each is 1
                law.add(key, number_text(geometry.friction))
        elif geometry.friction is not None:
            self.log.lost(element, "the friction of a visual shape is not written")
        material = geometry.material
        if material is None:
            return
        if tag == "collision":
            self.log.lost(
                f"{element}/material", f"the material {quoted(material.name)} of a collision shape is not written"
            )
            return
        if material.name:
            self.materials[material.name] = None
        if material.texture is not None:
            self.log.lost(element, f"the texture {quoted(material.texture)} is not written")
        if material.rgba is not None:
            colors = node.add("material")
            for key in ("ambient", "diffuse"):
                colors.add(key, number_list_text(material.rgba))

    def _shape(self, link: str, shape: Shape) -> Node | None:
        match shape:
            case Box():
                sizes = {"size": number_list_text(shape.size)}
            case Cylinder() | Capsule() | Cone():
                sizes = {"radius": number_text(shape.radius), "length": number_text(shape.length)}
            case Sphere():
                sizes = {"radius": number_text(shape.radius)}
            case Ellipsoid():
                sizes = {"radii": number_list_text(shape.radii)}
            case Mesh():
                sizes = {"uri": shape.uri}
                if shape.scale != (1.0, 1.0, 1.0):
                    sizes["scale"] = number_list_text(shape.scale)
            case HalfSpace():
                sizes = {"normal": "0 0 1", "size": "1 1"}  # the size is that of the drawn part
            case Polytope() if self.meshes is not None:
                sizes = {"uri": self.meshes.add(link, shape)}
            case _:
                return None
        tag = {Polytope: "mesh", HalfSpace: "plane"}.get(type(shape), type(shape).__name__.lower())
        return Node(tag, children=[Node(key, text=value) for key, value in sizes.items()])


def add_pose(node: Node, pose: Pose, relative_to: str | None = None) -> None:
    """Add a ``<pose>`` to an element, in the frame ``relative_to``."""
    attributes = {} if relative_to is None else {"relative_to": relative_to}
    if pose.is_identity and not attributes:
        return
    epsilon = Quaternion.of(pose.rotation)
    turned = [*epsilon.vector, epsilon.w]
    if pose.is_identity or turned[:3] == [0.0, 0.0, 0.0]:
        node.add("pose", number_list_text([*pose.translation, 0.0, 0.0, 0.0]), **attributes)
        return
    node.add("pose", number_list_text([*pose.translation, *turned]), **attributes, rotation_format="quat_xyzw")
