"""Content of a URDF as the calls that a user would write in Python; independent of the reader."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

import linkwork as lw
from linkwork import joints, shapes

__all__ = ["as_code", "random_urdf"]

Element = ElementTree.Element
ANGLES = (0.0, 0.0, np.pi / 2, -np.pi / 2, np.pi, 1.5708, 0.3, -2.1)


def as_code(text: str) -> tuple[str, list[lw.Link | lw.Joint]]:
    """The robot's name, and its parts."""
    root = ElementTree.fromstring(text.encode())
    materials = {m.attrib["name"]: _material(m, {}) for m in root.findall("material")}
    links = [_link(element, materials) for element in root.findall("link")]
    joints = [_joint(element, _gear(root, element)) for element in root.findall("joint")]
    return root.attrib["name"], [*links, *joints]


def _gear(root: Element, joint: Element) -> dict[str, Any]:
    """The gear ratio that a transmission of one motor gives a joint."""
    for transmission in root.findall("transmission"):
        ends = [results.get("name") for results in transmission.findall("joint")]
        if ends == [joint.attrib["name"]] and len(transmission.findall("actuator")) == 1:
            for ratio in transmission.iter("mechanicalReduction"):
                return {"gear_ratio": float(ratio.text or "1")}
    return {}


def _floats(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _pose(element: Element | None) -> np.ndarray:
    attributes = {} if element is None else element.attrib
    return lw.pose(_floats(attributes.get("xyz", "0 0 0")), rpy=_floats(attributes.get("rpy", "0 0 0")))


def _material(element: Element, materials: dict[str, shapes.Material]) -> shapes.Material:
    """A material by what it says, or by the name of one that says it; a link's own may be named by later ones."""
    name, color, texture = element.get("name", ""), element.find("color"), element.find("texture")
    file = None if texture is None else texture.get("filename")
    if color is None and not file:
        return materials.get(name, shapes.Material(name))
    rgba = None if color is None else tuple(_floats(color.attrib["rgba"]))
    material = shapes.Material(name, rgba, file)  # type: ignore[arg-type]
    materials.setdefault(name, material)
    return material


def _geometry(element: Element, materials: dict[str, shapes.Material]) -> shapes.Geometry:
    (shape,) = element.find("geometry") or ()
    look = element.find("material") if element.tag == "visual" else None
    geometry: dict[str, Any] = {
        "box": lambda size: shapes.Box(_floats(size)),  # type: ignore[arg-type]
        "cylinder": lambda radius, length: shapes.Cylinder(float(radius), float(length)),
        "sphere": lambda radius: shapes.Sphere(float(radius)),
        "mesh": lambda filename, scale="1 1 1": shapes.Mesh(filename, _floats(scale)),  # type: ignore[arg-type]
    }
    material = None if look is None else _material(look, materials)
    return geometry[shape.tag](**shape.attrib).at(
        _pose(element.find("origin")), name=element.get("name", ""), material=material
    )


def _link(element: Element, materials: dict[str, shapes.Material]) -> lw.Link:
    inertial, weight = element.find("inertial"), {}
    if inertial is not None:
        xx, xy, xz, yy, yz, zz = (
            float(inertial.find("inertia").attrib[name])  # type: ignore[union-attr]
            for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        weight = {
            "mass": float(inertial.find("mass").attrib["value"]),  # type: ignore[union-attr]
            "com": _pose(inertial.find("origin")),
            "inertia": [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
        }
    return lw.Link(
        element.attrib["name"],
        visuals=[_geometry(visual, materials) for visual in element.findall("visual")],
        collisions=[_geometry(collision, {}) for collision in element.findall("collision")],
        **weight,  # type: ignore[arg-type]
    )


def _joint(element: Element, drive: dict[str, Any]) -> lw.Joint:
    kind, axis = element.attrib["type"], element.find("axis")
    direction = [1.0, 0.0, 0.0] if axis is None else _floats(axis.attrib["xyz"])
    types = {
        "revolute": lambda: joints.Revolute(direction),  # type: ignore[arg-type]
        "continuous": lambda: joints.Revolute(direction),  # type: ignore[arg-type]
        "prismatic": lambda: joints.Prismatic(direction),  # type: ignore[arg-type]
        "planar": lambda: joints.Planar.across(direction),  # type: ignore[arg-type]
        "floating": joints.Floating,
        "fixed": joints.Fixed,
    }
    said: dict[str, Any] = {}
    for tag, words in (("limit", ("velocity", "effort", "lower", "upper")), ("dynamics", ("damping", "friction"))):
        result = element.find(tag)
        if result is not None and kind in ("revolute", "continuous", "prismatic"):
            words = words[:2] if kind == "continuous" else words
            said |= {word: float(result.attrib[word]) for word in words if word in result.attrib}
    if element.find("dynamics[@spring_stiffness]") is not None:
        said["stiffness"] = float(element.find("dynamics").attrib["spring_stiffness"])  # type: ignore[union-attr]
    mimic = element.find("mimic")
    if mimic is not None:
        said["mimic"] = (mimic.attrib["joint"], float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0")))
    return lw.Joint.of(
        types[kind](),
        name=element.attrib["name"],
        parent=element.find("parent").attrib["link"],  # type: ignore[union-attr]
        child=element.find("child").attrib["link"],  # type: ignore[union-attr]
        placement=_pose(element.find("origin")),
        **said,
        **(drive if kind in ("revolute", "continuous", "prismatic") else {}),
    )


def random_urdf(rng: np.random.Generator, links: int) -> str:
    """A URDF of so many links: every joint type, quarter turns, mimicry, shapes and materials."""
    parts = [f'<robot name="random{links}">', '<material name="red"><color rgba="1 0.25 0 1"/></material>']
    parts += [f'<link name="l{i}">{_random_inside(rng)}</link>' for i in range(links)]
    drivers: list[int] = []
    for i in range(1, links):
        kind = rng.choice(["revolute", "continuous", "prismatic", "fixed", "planar", "floating"])
        inside = f'<parent link="l{rng.integers(i)}"/><child link="l{i}"/>{_random_origin(rng)}'
        if kind in ("revolute", "continuous", "prismatic"):
            lower, upper = np.sort(rng.normal(size=2)).tolist()
            bounds = "" if kind == "continuous" else f'lower="{lower!r}" upper="{upper!r}" '
            inside += f'<limit {bounds}velocity="{rng.uniform()!r}" effort="{rng.uniform()!r}"/>'
            inside += f'<dynamics damping="{rng.uniform()!r}" friction="{rng.uniform()!r}"/>'
            if drivers and rng.uniform() < 0.3:
                inside += f'<mimic joint="j{rng.choice(drivers)}" multiplier="{rng.normal()!r}" offset="0.25"/>'
            drivers.append(i)
        if kind in ("revolute", "continuous", "prismatic", "planar"):
            axis = rng.normal(size=3) if rng.uniform() < 0.5 else rng.permutation([0.0, 0.0, rng.choice([-1.0, 1.0])])
            inside += f'<axis xyz="{_listed(axis)}"/>'
        parts.append(f'<joint name="j{i}" type="{kind}">{inside}</joint>')
    return "\n".join([*parts, "</robot>"])


def _listed(values: Any) -> str:
    return " ".join(repr(float(x)) for x in values)


def _random_origin(rng: np.random.Generator) -> str:
    if rng.uniform() < 0.2:
        return ""
    xyz = rng.normal(size=3) * rng.integers(0, 2, size=3)
    return f'<origin xyz="{_listed(xyz)}" rpy="{_listed(rng.choice(ANGLES, size=3))}"/>'


def _random_inside(rng: np.random.Generator) -> str:
    if rng.uniform() < 0.2:
        return ""
    x, y, z = rng.uniform(0.1, 1.0, size=3).tolist()
    products = " ".join(f'{name}="{rng.normal() * 1e-3!r}"' for name in ("ixy", "ixz", "iyz"))
    weight = f'<mass value="{rng.uniform()!r}"/><inertia ixx="{y + z!r}" iyy="{x + z!r}" izz="{x + y!r}" {products}/>'
    shape = rng.choice(['<box size="1 2 0.5"/>', '<sphere radius="0.1"/>', '<mesh filename="a.dae" scale="1 2 -1"/>'])
    look = rng.choice(["", '<material name="red"/>', '<material name="own"><color rgba="0 0 1 0.5"/></material>'])
    origin, geometry = _random_origin(rng), f"<geometry>{shape}</geometry>"
    return (
        f"<inertial>{_random_origin(rng)}{weight}</inertial><visual>{origin}{geometry}{look}</visual>"
        f'<collision name="hull">{origin}{geometry}</collision>'
    )
