"""Schema of SDF 1.4 to 1.12: elements and attributes that are read, those that are ignored, and their versions.

`check` walks through a document once and reports what the reader does not use, so that nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkwork._util.messages import printable, quoted
from linkwork.formats.file_reading import XACRO_HINT
from linkwork.formats.sdf.sdf_elements import SdfReader, version_text
from linkwork.formats.unused_content import Kind, Unused, kind, walk
from linkwork.formats.xml_document import Element

__all__ = ["AXES", "SHAPES", "check", "states_dynamics"]

SHAPES = ("box", "capsule", "cone", "cylinder", "ellipsoid", "mesh", "plane", "sphere")
UNREAD_SHAPES = ("heightmap", "image", "polyline")

AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2, "gearbox": 2}
"""Numbers of axes of the types of joints that have any."""

_TEXT = kind("text()")
_SCENE = "plugin sensor light gui scene audio_sink audio_source battery projector particle_emitter"


def _texts(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, _TEXT)


def _kind(attributes: str = "", once: str = "", many: str = "", ignored: str = "", unsupported: str = "") -> Kind:
    return kind(attributes, once, many, f"{ignored} {_SCENE}", unsupported)


_AXIS = kind("", once="xyz dynamics limit mimic use_parent_model_frame initial_position")
_SCHEMA: dict[str, Kind] = {
    "sdf": _kind("version", many="world model", ignored="actor"),
    "world": _kind(
        "name",
        once="gravity",
        many="physics model include frame joint",
        ignored="audio magnetic_field atmosphere actor road spherical_coordinates wind",
        unsupported="state population",
    ),
    "physics": kind(
        "",
        once="gravity",
        ignored="@name @type @default max_step_size real_time_factor real_time_update_rate max_contacts dart ode "
        "bullet simbody magnetic_field update_rate",
    ),
    "include": _kind(
        "merge",
        once="uri name static pose placement_frame",
        ignored="namespace",
        unsupported="experimental:params model_state",
    ),
    "model": _kind(
        "name canonical_link placement_frame",
        once="static pose",
        many="link joint frame model include",
        ignored="self_collide allow_auto_disable enable_wind gripper @namespace",
        unsupported="model_state drake:joint drake:linear_bushing_rpy drake:ball_constraint drake:tendon",
    ),
    "frame": _kind("name attached_to", once="pose"),
    "link": _kind(
        "name",
        once="pose inertial gravity kinematic velocity_decay",
        many="visual collision",
        ignored="self_collide enable_wind must_be_base_link frame",
    ),
    "velocity_decay": kind("", once="linear angular"),
    "inertial": _kind(
        "auto",
        once="pose mass inertia density",
        ignored="frame",
        unsupported="fluid_added_mass auto_inertia_params",
    ),
    "inertia": kind("", once="ixx ixy ixz iyy iyz izz"),
    "collision": _kind(
        "name",
        once="pose geometry density surface",
        ignored="laser_retro max_contacts frame",
        unsupported="auto_inertia_params",
    ),
    "visual": _kind(
        "name",
        once="pose geometry material",
        ignored="cast_shadows laser_retro transparency visibility_flags meta frame",
    ),
    "surface": Kind(once={"friction": "surface_friction"}, ignored=frozenset(("bounce", "contact", "soft_contact"))),
    "surface_friction": kind("", once="ode bullet", ignored="torsional"),
    "ode": kind("", once="mu mu2", ignored="fdir1 slip1 slip2 slip"),
    "bullet": kind("", once="friction friction2", ignored="fdir1 rolling_friction"),
    "material": kind(
        "",
        once="diffuse",
        ignored="script shader lighting ambient specular emissive shininess double_sided render_order pbr",
    ),
    "geometry": _kind("", once=" ".join(("empty", *SHAPES)), ignored=" ".join(UNREAD_SHAPES)),
    "empty": _kind(),
    "box": kind("", once="size"),
    "capsule": kind("", once="radius length"),
    "cone": kind("", once="radius length"),
    "cylinder": kind("", once="radius length"),
    "ellipsoid": kind("", once="radii"),
    "sphere": kind("", once="radius"),
    "plane": kind("", once="normal", ignored="size"),
    "mesh": kind("", once="uri scale submesh", ignored="@optimization convex_decomposition"),
    "submesh": kind("", once="name center"),
    "joint": _kind(
        "name type",
        once="parent child pose axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body",
        ignored="physics frame",
        unsupported="drake:rotor_inertia drake:gear_ratio drake:mimic drake:controller_gains",
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "xyz": kind("text() expressed_in"),
    "dynamics": kind("", once="damping friction spring_reference spring_stiffness"),
    "limit": kind("", once="lower upper effort velocity", ignored="stiffness dissipation"),
    "mimic": kind("joint axis", once="multiplier offset reference"),
    "pose": kind("text() relative_to frame rotation_format degrees"),
    **_texts("gravity", "kinematic", "static", "uri", "name", "placement_frame", "linear", "angular", "center"),
    **_texts("mass", "density", "ixx", "ixy", "ixz", "iyy", "iyz", "izz", "diffuse"),
    **_texts("size", "radius", "length", "radii", "normal", "scale", "parent", "child", "initial_position"),
    **_texts("thread_pitch", "screw_thread_pitch", "gearbox_ratio", "gearbox_reference_body"),
    **_texts("use_parent_model_frame", "damping", "friction", "spring_reference", "spring_stiffness"),
    **_texts("lower", "upper", "effort", "velocity", "multiplier", "offset", "reference"),
    **_texts("mu", "mu2", "friction2"),
}

_SINCE: dict[str, dict[str, int]] = {  # minor version of SDF 1 in which an item appeared, by kind of the element
    "world": {"gravity": 6, "frame": 7, "joint": 10},
    "include": {"placement_frame": 8, "@merge": 9},
    "model": {"model": 5, "include": 5, "frame": 5, "@canonical_link": 7, "@placement_frame": 8},
    "frame": {"@attached_to": 7},
    "inertial": {"density": 11, "@auto": 11},
    "collision": {"density": 11},
    "geometry": {"capsule": 8, "ellipsoid": 8, "cone": 11},
    "joint": {"screw_thread_pitch": 10},
    "axis": {"mimic": 11, "use_parent_model_frame": 5},
    "axis2": {"mimic": 11, "use_parent_model_frame": 5},
    "xyz": {"@expressed_in": 7},
    "dynamics": {"spring_reference": 5, "spring_stiffness": 5},
    "pose": {"@relative_to": 7, "@rotation_format": 9, "@degrees": 9},
}
_UNTIL: dict[str, dict[str, int]] = {  # the last minor version that has an item
    "physics": {"gravity": 5},
    "axis": {"use_parent_model_frame": 6, "initial_position": 8},
    "axis2": {"use_parent_model_frame": 6, "initial_position": 8},
    "pose": {"@frame": 6},
}


def check(reader: SdfReader, root: Element) -> None:
    """Record each element and attribute of an ``<sdf>`` document that the reader does not use or accept.

    Such content is unknown (UNKNOWN_TAG), without effect on the robot (IGNORED), not supported (UNSUPPORTED), of a
    later version of SDF than the document (VERSION; they are read), of an earlier one (UNKNOWN_TAG; they are not
    read), or stated twice (the error DUPLICATE_ELEMENT), or to be expanded by xacro (the error XACRO).
    """
    log = Unused(reader)
    minor = reader.release[1]

    def item_of(element: Element, item: str, inside: str) -> str:
        return (
            f"attribute {quoted(item[1:])} of <{printable(element.tag)}>"
            if item[0] == "@"
            else f"<{item}> in <{inside}>"
        )

    def check_version(element: Element, inside: str, item: str) -> None:
        since, until = _SINCE.get(inside, {}).get(item), _UNTIL.get(inside, {}).get(item)
        shown = item_of(element, item, inside)
        if since is not None and since > minor:
            message = f"{shown} is of SDF 1.{since}, but this file declares {version_text(reader.release)}: read anyway"
            log.add((inside, item), element, "VERSION", message, f'write version="1.{since}" in <sdf>')
        elif until is not None and until < minor:
            message = f"{shown}, which SDF has up to version 1.{until} only,"
            log.add((inside, item), element, "UNKNOWN_TAG", message)

    def refuse_xacro(element: Element, item: str) -> None:
        log.add(("", "xacro"), element, "XACRO", f"{item} is xacro, not SDF", XACRO_HINT)

    def check_element(element: Element, name: str) -> None:
        for text in (element.text, *element.attributes.values()):
            if "${" in text:
                refuse_xacro(element, quoted(text.strip()))
        for item in map("@{}".format, element.attributes):
            if item[1:] in _SCHEMA[name].attributes:
                check_version(element, name, item)
            else:
                log.add_foreign(_SCHEMA[name], name, item, element, item_of(element, item, name))
        if "canonical_link" in element.attributes and (static := element.first("static")) and _is_true(static.text):
            message = "attribute 'canonical_link' of a static <model>"
            log.add((name, "@canonical_link"), element, "IGNORED", message)
        for tag, reason in _without_effect(element, name):
            if (child := element.first(tag)) is not None:
                log.add((name, tag + reason), child, "IGNORED", f"<{tag}> in <{element.tag}> {reason}")
        for child in element.children:
            if child.tag in _VERSIONED.get(name, ()):
                check_version(child, name, child.tag)

    def check_foreign(child: Element, inside: str) -> None:
        if child.tag.startswith("xacro:"):
            refuse_xacro(child, f"<{printable(child.tag)}>")
            return
        log.add_foreign(_SCHEMA[inside], inside, child.tag, child, f"<{printable(child.tag)}> in <{inside}>")

    walk(log, root, "sdf", _SCHEMA, check_element, check_foreign)
    log.report()
    if ("", "xacro") in log.omissions:
        reader.findings.raise_errors()  # further errors are consequences


def states_dynamics(axis: Element) -> bool:
    """Return True if an axis states damping, friction or a spring, which a joint without axes does not have."""
    dynamics = axis.first("dynamics")
    values = [] if dynamics is None else [child.text.strip() for child in dynamics.children]
    return any(value not in ("", "0", "0.0", "0.000000") for value in values)


def _without_effect(element: Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the children of an element that have no effect because of another child, each with the reason."""
    joint_type = element.attributes.get("type", "").strip().lower()
    match name:
        case "joint":
            of_type = f"of a {quoted(joint_type)} joint"
            for tag in ("axis", "axis2")[AXES.get(joint_type, 0) :]:
                if (axis := element.first(tag)) is not None and not states_dynamics(axis):
                    yield tag, of_type
            if joint_type != "screw":
                yield from (("thread_pitch", of_type), ("screw_thread_pitch", of_type))
            elif element.first("screw_thread_pitch") is not None:
                yield "thread_pitch", "with a <screw_thread_pitch>"
            if joint_type != "gearbox":
                yield from (("gearbox_ratio", of_type), ("gearbox_reference_body", of_type))
        case "axis" | "axis2" if element.parent is not None and element.parent.attributes.get("type") == "gearbox":
            yield from ((tag, "of a gearbox") for tag in ("dynamics", "limit", "mimic"))
        case "inertial" if _is_true(element.attributes.get("auto")):
            yield from ((tag, 'with auto="true"') for tag in ("pose", "inertia"))
        case "inertial":
            yield "density", 'without auto="true"'
        case "collision" if (link := element.parent) is not None:
            inertial = link.first("inertial")
            if inertial is None or not _is_true(inertial.attributes.get("auto")):
                yield "density", "of a link without automatic inertia"
        case "surface_friction" if (ode := element.first("ode")) is not None and ode.first("mu") is not None:
            yield "bullet", "with a <mu> in <ode>"
        case "physics" if element.parent is not None:
            if element.parent.first("gravity") is not None:
                yield "gravity", "beside the <gravity> of the world"
            elif element.parent.first("physics") is not element:
                yield "gravity", "after the first <physics>"


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() in ("true", "1")


_VERSIONED = {name: {*_SINCE.get(name, ()), *_UNTIL.get(name, ())} for name in (*_SINCE, *_UNTIL)}
