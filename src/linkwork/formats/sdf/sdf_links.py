"""SDF links: inertia, shapes and materials."""

from __future__ import annotations

from collections.abc import Callable

from linkwork._util.messages import quoted
from linkwork.formats.description import LARGEST, LinkDescription, check_inertial
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.sdf.sdf_frames import Frames, Node
from linkwork.formats.sdf.sdf_schema import SHAPES, UNREAD_SHAPES
from linkwork.formats.xml_document import Element
from linkwork.joints import Planar
from linkwork.model import compose
from linkwork.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Geometry, HalfSpace, Material, Mesh, Shape, Sphere
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["LinkReader"]

MeshUri = Callable[[str, SdfReader], str]
"""What names a mesh file in the robot: the URI in its document, or a path for a document that is included."""

_DENSITY = 1000.0  # SDF's default [kg/m³]
_DIAGONAL = ("ixx", "iyy", "izz")
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class LinkReader:
    """Reader of SDF links, which counts values that are missing in the file and replaced by SDF's defaults.

    ``inertia`` selects a link's inertia: the ``"given"`` one, the ``"nearest"`` physically consistent one, or zero
    (``"ignore"``).
    """

    def __init__(self, frames: Frames, inertia: str, mesh_uri: MeshUri) -> None:
        self.frames, self.inertia, self.mesh_uri = frames, inertia, mesh_uri
        self.without_inertial: list[Node] = []
        self.unsupported: dict[str, list[tuple[Node, Element]]] = {}
        self.without_effect: dict[str, list[tuple[Node, Element]]] = {}

    def read(self, node: Node, name: str) -> LinkDescription:
        """Return the link that a `<link>` describes, with the given name."""
        reader, element = node.reader, node.element
        visuals, collisions = self._shapes(node, "visual"), self._shapes(node, "collision")
        shapes = (*(geometry for geometry, _ in visuals), *(geometry for geometry, _ in collisions))
        inertia = Inertia.zero()
        if self.inertia != "ignore":
            inertia = self._inertia(node, shapes, collisions)
        self._report_dynamics(node)
        return LinkDescription(
            name,
            inertia,
            tuple(geometry for geometry, _ in visuals),
            tuple(geometry for geometry, _ in collisions),
            reader.where(element),
        )

    def report(self) -> None:
        """Report findings that concern several links once, with the number of links."""
        for content, uses in (*self.unsupported.items(), *self.without_effect.items()):
            node, element = uses[0]
            times = f" ({len(uses)} times, here first)" if len(uses) > 1 else ""
            if content in self.unsupported:
                node.reader.warn(element, "UNSUPPORTED", f"{content}{times}")
            else:
                node.reader.note(element, "IGNORED", f"{content}{times}")
        if self.without_inertial:
            node, count = self.without_inertial[0], len(self.without_inertial)
            times = f" ({count} times, here first)" if count > 1 else ""
            message = (
                f"link {quoted(node.name)} has no <inertial>: SDF's default is a mass of 1 kg and moments of 1 kg m²"
            )
            node.reader.note(node.element, "INERTIA_DEFAULT", message + times)

    def _report_dynamics(self, node: Node) -> None:
        reader, element = node.reader, node.element
        if node.fixed:
            for child in map(element.first, ("gravity", "kinematic", "velocity_decay")):
                if child is not None:
                    self._add(f"<{child.tag}> of a static link is ignored", node, child, self.without_effect)
            return
        if not reader.flag(element, "gravity", True):
            self._add("a link without gravity is not supported yet: gravity acts on it", node, element.first("gravity"))
        if reader.flag(element, "kinematic"):
            self._add("a kinematic link is not supported yet: forces move it", node, element.first("kinematic"))
        decay = element.first("velocity_decay")
        if decay is not None and (reader.value(decay, "linear", 0.0), reader.value(decay, "angular", 0.0)) != (
            0.0,
            0.0,
        ):
            self._add("<velocity_decay> is not supported yet and is ignored", node, decay)

    def _add(
        self,
        message: str,
        node: Node,
        element: Element | None,
        findings: dict[str, list[tuple[Node, Element]]] | None = None,
    ) -> None:
        kinds = self.unsupported if findings is None else findings
        kinds.setdefault(message, []).append((node, element or node.element))

    # -- inertia

    def _inertia(self, node: Node, shapes: tuple[Geometry, ...], collisions: list[tuple[Geometry, Element]]) -> Inertia:
        reader, element = node.reader, node.element.first("inertial")
        nearest = self.inertia == "nearest"
        if element is None:
            if node.fixed:
                return Inertia.zero()
            self.without_inertial.append(node)
            return Inertia.at_center(1.0, Vec3.zero(), Symmetric3.diagonal(1.0, 1.0, 1.0))
        if reader.flag_attribute(element, "auto"):
            return self._automatic(node, element, shapes, collisions)
        errors = len(reader.findings.errors)
        pose, frame = reader.pose_in(element)
        if frame:
            message = "relative_to of the <pose> of an <inertial> is not defined in SDF: read relative to the link"
            reader.warn(element.first("pose") or element, "UNSUPPORTED", message)
        mass, matrix = reader.value(element, "mass", 1.0), element.first("inertia")
        moments = [reader.value(matrix, key, float(key in _DIAGONAL), LARGEST**3) for key in _MOMENTS]
        if len(reader.findings.errors) > errors:
            return Inertia.zero()
        about = Symmetric3(*moments)
        about = about if pose is Pose.identity() else pose.rotation @ about
        where = reader.where(element)
        return check_inertial(reader.findings, where, mass, pose.translation, about, shapes, nearest=nearest)

    def _automatic(
        self, node: Node, element: Element, shapes: tuple[Geometry, ...], collisions: list[tuple[Geometry, Element]]
    ) -> Inertia:
        """Return the inertia of a link computed from its collision shapes and their densities.

        If the file states a mass, the inertia is scaled to that mass.
        """
        reader = node.reader
        density = reader.value(element, "density", _DENSITY)
        total, known = Inertia.zero(), 0
        for geometry, collision in collisions:
            density_value = reader.value(collision, "density", density)
            volume, unit = geometry.shape.volume, geometry.shape.unit_inertia()
            if density_value <= 0.0:
                reader.error(collision, "NEGATIVE", f"<density> must be positive, got {density_value!r}")
            elif volume is None or unit is None:
                kind = type(geometry.shape).__name__.lower()
                message = f"the automatic inertia of a {kind} is not supported yet: its mass is left out"
                self._add(message, node, collision)
            else:
                total = total + geometry.origin @ Inertia.at_center(
                    density_value * volume, geometry.shape.center, unit * (density_value * volume)
                )
                known += 1
        if not collisions:
            message = f"link {quoted(node.name)}: an automatic inertia needs a <collision>"
            reader.error(element, "ELEMENT_MISSING", message)
        if element.first("mass") is not None and known:
            mass = reader.value(element, "mass")
            factor = mass / total.mass if total.mass > 0.0 else 0.0
            total = Inertia(mass, total.moment * factor, total.about * factor)
        if total.mass <= 0.0:
            if element.first("mass") is not None and reader.value(element, "mass") < 0.0:
                reader.error(element, "MASS_NEGATIVE", f"mass must not be negative, got {total.mass!r}")
            return Inertia.zero()
        center = total.moment * (1.0 / total.mass)
        about = total.shifted(-center).about
        return check_inertial(reader.findings, reader.where(element), total.mass, center, about, shapes)

    # -- shapes

    def _shapes(self, node: Node, tag: str) -> list[tuple[Geometry, Element]]:
        """Return the shapes of a link's `<visual>` or `<collision>` elements, without those that have errors."""
        reader, result = node.reader, []
        for element in node.element.all(tag):
            geometry = element.first("geometry")
            if geometry is None:
                message = f"<{tag}> needs a <geometry>: read as empty, as Gazebo does"
                reader.warn(element, "ELEMENT_MISSING", message)
            read_shape = None if geometry is None else self._shape(node, geometry, tag)
            pose = self._pose(node, element)
            material = element.first("material") if tag == "visual" else None
            appearance = None if material is None else _material(reader, material)
            if read_shape is not None:
                shape, inner = read_shape
                name, friction = element.attributes.get("name", ""), self._friction(node, element)
                result.append((Geometry(shape, compose(pose, inner), name, appearance, friction), element))
        return result

    def _friction(self, node: Node, element: Element) -> float | None:
        """Return the coefficient of friction of a collision's surface; None if it states none."""
        surface = element.first("surface")
        friction = None if surface is None else surface.first("friction")
        for engine, first, second in (("ode", "mu", "mu2"), ("bullet", "friction", "friction2")):
            values = None if friction is None else friction.first(engine)
            if values is None or values.first(first) is None:
                continue
            mu = node.reader.value_at_least_zero(values, first)
            if values.first(second) is not None and node.reader.value_at_least_zero(values, second) != mu:
                message = f"<{second}> is not supported yet and is ignored: <{first}> holds in all directions"
                self._add(message, node, values.first(second))
            return mu
        return None

    def _pose(self, node: Node, element: Element) -> Pose:
        """Return the pose of a visual or a collision in its link."""
        reader = node.reader
        pose, name = reader.pose_in(element)
        if not name or node.scope is None:
            return pose
        where = element.first("pose") or element
        base = self.frames.lookup(node.scope, name, "relative_to", reader, where)
        return pose if base is None else compose(self.frames.relative(node, base), pose)

    def _shape(self, node: Node, geometry: Element, tag: str) -> tuple[Shape, Pose] | None:
        """Return the shape of a `<geometry>` and its pose in it; None for none, and after an error."""
        reader = node.reader
        element = reader.shape(geometry, SHAPES, ("empty", *UNREAD_SHAPES))
        if element is None or element.tag == "empty":
            return None
        if element.tag in UNREAD_SHAPES:
            if tag == "collision":
                self._add(f"a <{element.tag}> in a <collision> is not supported yet and is ignored", node, element)
            else:
                reader.note(element, "NOT_DRAWN", f"a <{element.tag}> in a <visual> is not drawn")
            return None
        shape, pose = self._primitive(node, element), Pose.identity()
        if element.tag == "plane" and element.first("normal") is not None and shape is not None:
            normal = Vec3.of(reader.values(element.first("normal") or element, 3, (0.0, 0.0, 1.0)))
            length = normal.dot(normal) ** 0.5
            if not 0.0 < length <= LARGEST:
                reader.error(element, "AXIS_ZERO", "the normal of a plane must not be zero")
                return None
            if (normal.x, normal.y) != (0.0, 0.0) or normal.z < 0.0:
                plane = Planar.across(normal)
                pose = Pose(Rotation(plane.x_axis, plane.y_axis, normal * (1.0 / length)).T, Vec3.zero())
        return None if shape is None else (shape, pose)

    def _primitive(self, node: Node, element: Element) -> Shape | None:
        reader = node.reader
        errors = len(reader.findings.errors)
        match element.tag:
            case "box":
                x, y, z = _sizes(reader, element, "size", 3)
                return Box((x, y, z)) if len(reader.findings.errors) == errors else None
            case "ellipsoid":
                x, y, z = _sizes(reader, element, "radii", 3)
                return Ellipsoid((x, y, z)) if len(reader.findings.errors) == errors else None
            case "sphere":
                (radius,) = _sizes(reader, element, "radius")
                return Sphere(radius) if len(reader.findings.errors) == errors else None
            case "plane":
                return HalfSpace()
            case "mesh":
                return self._mesh(node, element)
        (radius,), (length,) = _sizes(reader, element, "radius"), _sizes(reader, element, "length")
        if len(reader.findings.errors) > errors:
            return None
        if element.tag == "capsule":
            return Capsule(radius, length)
        return Cone(radius, length) if element.tag == "cone" else Cylinder(radius, length)

    def _mesh(self, node: Node, element: Element) -> Mesh | None:
        """Return the mesh that a `<mesh>` names, with its scale; None after an error.  The file is not opened."""
        reader = node.reader
        errors = len(reader.findings.errors)
        uri = reader.string(element, "uri")
        x = y = z = 1.0
        if (child := element.first("scale")) is not None:
            x, y, z = reader.values(child, 3, (1.0, 1.0, 1.0))
            if 0.0 in (x, y, z):
                reader.error(child, "SCALE", f"scale must not be zero, got {quoted(child.text.strip())}")
        if (part := element.first("submesh")) is not None:
            self._add("<submesh> is not supported: the whole mesh is used", node, part)
        if uri is None or len(reader.findings.errors) > errors:
            return None
        return Mesh(self.mesh_uri(uri, reader), (x, y, z))


def _sizes(reader: SdfReader, element: Element, tag: str, count: int = 1) -> tuple[float, ...]:
    """Return the positive dimensions of a primitive shape, from the text of the child ``tag``.

    A value that is not positive is the error GEOM_SIZE.
    """
    child = reader.required(element, tag)
    if child is None:
        return (1.0,) * count
    errors = len(reader.findings.errors)
    sizes = reader.values(child, count, (1.0,) * count) if count > 1 else (reader.value(element, tag),)
    if len(reader.findings.errors) == errors and not min(sizes) > 0.0:
        reader.error(child, "GEOM_SIZE", f"<{tag}> must be positive, got {quoted(child.text.strip())}")
    return sizes


def _material(reader: SdfReader, element: Element) -> Material | None:
    """Return a material with the diffuse colour of a `<material>`; None if it states no colour."""
    diffuse = element.first("diffuse")
    if diffuse is None:
        return None
    count = 3 if len(diffuse.text.split(maxsplit=3)) == 3 else 4
    rgba = (*reader.values(diffuse, count, (0.0, 0.0, 0.0, 1.0)[:count]), 1.0)[:4]
    if min(rgba) < 0.0 or max(rgba) > 1.0:
        message = f"<diffuse> must lie between 0 and 1, got {quoted(diffuse.text.strip())}"
        reader.warn(diffuse, "COLOR_RANGE", message)
    red, green, blue, alpha = (min(max(value, 0.0), 1.0) for value in rgba)
    return Material("", (red, green, blue, alpha))
