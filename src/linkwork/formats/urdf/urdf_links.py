"""URDF links: inertia, shapes and materials."""

from __future__ import annotations

from dataclasses import field

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import nearest, quoted
from linkwork.errors import MOST_ISSUES
from linkwork.formats.urdf.urdf_schema import SHAPES
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element
from linkwork.formats.xml_text import BadNumber, parse_number_list
from linkwork.model.description import LinkDescription
from linkwork.model.inertia_check import check_inertial
from linkwork.shapes import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
)
from linkwork.spatial import Inertia, Symmetric3
from linkwork.spatial.arguments import LARGEST

__all__ = ["Materials", "read_link", "read_materials"]


@dataclass
class Materials:
    """Materials that links may refer to by name, and names without a material that were reported."""

    named: dict[str, Material] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def read_link(reader: Reader, element: Element, materials: Materials, inertia_mode: str = "given") -> LinkDescription:
    """Return the link that a `<link>` describes.

    ``inertia_mode`` selects its inertia: the ``"given"`` one, the ``"nearest"`` physically consistent one, or zero
    (``"ignore"``).
    """
    name = reader.name(element) or ""
    visuals = _shapes(reader, element, "visual", materials)
    collisions = _shapes(reader, element, "collision", materials)
    inertial = element.first("inertial") if inertia_mode != "ignore" else None
    inertia = Inertia.zero()
    if inertial is not None:
        inertia = _inertia(reader, inertial, (*visuals, *collisions), inertia_mode == "nearest")
    return LinkDescription(name, inertia, visuals, collisions, reader.where(element))


def _inertia(reader: Reader, element: Element, shapes: tuple[Geometry, ...], nearest: bool) -> Inertia:
    """Return the inertia that an `<inertial>` states: mass, center of mass, and rotational inertia about it.

    The file states the rotational inertia in the axes of `<origin>`. With ``nearest`` an inconsistent inertia is
    replaced by the nearest consistent one.
    """
    pose = reader.pose(element.first("origin"))
    mass_element, matrix = reader.required(element, "mass"), element.first("inertia")
    if mass_element is None:
        return Inertia.zero()
    errors = len(reader.findings.errors)
    mass, about = reader.number(mass_element, "value"), Symmetric3.diagonal(0.0, 0.0, 0.0)
    if matrix is None:
        message = "<inertial> needs an <inertia>: read as a point mass, as ROS's own reader does"
        reader.warn(element, "ELEMENT_MISSING", message)
    else:
        about = Symmetric3(*(reader.number(matrix, name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")))
    if len(reader.findings.errors) > errors:
        return Inertia.zero()
    about = pose.rotation @ about
    return check_inertial(
        reader.findings, reader.where(element), mass, pose.translation, about, shapes, nearest=nearest
    )


# -- shapes


def _shapes(reader: Reader, link: Element, tag: str, materials: Materials) -> tuple[Geometry, ...]:
    """Return the shapes of a link's `<visual>` or `<collision>` elements, without those that have errors."""
    result = []
    for element in link.all(tag):
        origin = reader.pose(element.first("origin"))
        geometry = reader.required(element, "geometry")
        material = element.first("material") if tag == "visual" else None
        appearance = None if material is None else _material(reader, material, materials)
        shape = None if geometry is None else _shape(reader, geometry)
        if shape is not None:
            result.append(Geometry(shape, origin, element.attributes.get("name", ""), appearance))
    return tuple(result)


def _shape(reader: Reader, geometry: Element) -> Shape | None:
    """Return the shape of a `<geometry>`; None after an error."""
    element = reader.shape(geometry, SHAPES)
    if element is None:
        return None
    match element.tag:
        case "box":
            edges = _sizes(reader, element, "size", 3)
            return None if edges is None else Box((edges[0], edges[1], edges[2]))
        case "cylinder":
            radius, length = _sizes(reader, element, "radius"), _sizes(reader, element, "length")
            return None if radius is None or length is None else Cylinder(*radius, *length)
        case "capsule":
            radius, length = _sizes(reader, element, "radius"), _sizes(reader, element, "length", zero=True)
            return None if radius is None or length is None else Capsule(*radius, *length)
        case "sphere":
            radius = _sizes(reader, element, "radius")
            return None if radius is None else Sphere(*radius)
        case _:
            return _mesh(reader, element)


def _sizes(
    reader: Reader, element: Element, attribute: str, count: int = 1, zero: bool = False
) -> tuple[float, ...] | None:
    """Return the dimensions of a primitive shape from an attribute; None after an error.

    The errors are GEOM_SIZE for one that is not positive (nor zero, with ``zero``), and MAGNITUDE beyond 1e20.
    """
    errors = len(reader.findings.errors)
    sizes = reader.number_list(element, attribute, count) if count > 1 else (reader.number(element, attribute),)
    if len(reader.findings.errors) == errors and not (min(sizes) > 0.0 or (zero and min(sizes) == 0.0)):
        bound = "not be negative" if zero else "be positive"
        reader.error(element, "GEOM_SIZE", f"{attribute} must {bound}, got {quoted(element.attributes[attribute])}")
    elif len(reader.findings.errors) == errors and max(sizes) > LARGEST:
        got = f"{attribute}: {quoted(element.attributes[attribute])} m is beyond {LARGEST:.0e}"
        reader.error(element, "MAGNITUDE", f"{got}: products of such values overflow")
    return sizes if len(reader.findings.errors) == errors else None


def _mesh(reader: Reader, element: Element) -> Mesh | None:
    """Return the mesh that a `<mesh>` names, with its scale; None after an error.

    The file's name is taken verbatim, and the file is not opened.
    """
    errors = len(reader.findings.errors)
    uri = reader.text(element, "filename")
    if uri is not None and not uri.strip():
        reader.error(element, "ATTRIBUTE_MISSING", "<mesh> needs the name of a file in its attribute 'filename'")
    x, y, z = scale = _scale(reader, element)
    if 0.0 in scale:
        reader.error(element, "SCALE", f"scale must not be zero, got {quoted(element.attributes['scale'])}")
    return Mesh(uri or "", (x, y, z)) if len(reader.findings.errors) == errors else None


def _scale(reader: Reader, element: Element) -> tuple[float, ...]:
    text = element.attributes.get("scale")
    if text is None:
        return (1.0, 1.0, 1.0)
    try:
        return parse_number_list(text, 3)
    except BadNumber as bad:
        hint = "one number for each axis" if bad.code == "ARITY" else bad.hint
        code = "SCALE" if bad.is_word else bad.code
        reader.bad_number(element, "scale", BadNumber(code, bad.message, hint))
        return (1.0, 1.0, 1.0)


# -- materials


def read_materials(reader: Reader, robot: Element) -> Materials:
    """Return the materials that are defined by a robot's own `<material>` elements."""
    materials: dict[str, Material] = {}
    first_definitions: dict[str, Element] = {}
    for element in robot.all("material"):
        name = reader.name(element)
        if name is None:
            continue
        material = _own_material(reader, element)
        if name in materials and materials[name] != material:
            line = first_definitions[name].line
            message = f"material {quoted(name)} is defined differently on line {line}: the first one is used"
            reader.warn(element, "DUPLICATE_NAME", message)
        materials.setdefault(name, material)
        first_definitions.setdefault(name, element)
    return Materials(materials)


def _own_material(reader: Reader, element: Element) -> Material:
    """Return the material that a `<material>` element defines by its colour or texture."""
    color, texture = element.first("color"), element.first("texture")
    rgba = None if color is None else _rgba(reader, color)
    file = None if texture is None else texture.attributes.get("filename")  # some exporters write an empty <texture/>
    return Material(element.attributes.get("name", ""), rgba, file or None)


def _material(reader: Reader, element: Element, materials: Materials) -> Material:
    """Return the material of a visual: defined by its element, or found by the name that the element states.

    A definition with a name is added to ``materials``.
    """
    stated = _own_material(reader, element)
    if stated.rgba is not None or stated.texture is not None:
        if stated.name:
            materials.named.setdefault(stated.name, stated)
        return stated
    if stated.name in materials.named:
        return materials.named[stated.name]
    if stated.name and stated.name not in materials.unknown:  # each is reported once
        hint = nearest(stated.name, materials.named) if len(materials.unknown) < MOST_ISSUES else None
        reader.warn(element, "UNKNOWN_MATERIAL", f"no material is named {quoted(stated.name)}", hint)
        materials.unknown.add(stated.name)
    return stated


def _rgba(reader: Reader, element: Element) -> tuple[float, float, float, float]:
    rgba = reader.number_list(element, "rgba", 4)
    if min(rgba) < 0.0 or max(rgba) > 1.0:
        reader.warn(element, "COLOR_RANGE", f"rgba must lie between 0 and 1, got {quoted(element.attributes['rgba'])}")
        rgba = tuple(min(max(value, 0.0), 1.0) for value in rgba)
    red, green, blue, alpha = rgba
    return red, green, blue, alpha
