"""Documents with the elements of MuJoCo's schema, and what other values of their attributes change."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import mujoco
import numpy as np

from formats.silent_content import described
from linkwork.errors import ModelError
from linkwork.formats.mjcf.mjcf_reader import describe_model

__all__ = ["LISTED", "NAMED", "WHOLE", "Attribute", "attributes", "outcome_of", "schema", "untested", "whole_elements"]

INERTIAL = '<inertial pos="0.01 0.02 0.03" mass="1" fullinertia="0.2 0.3 0.4 0.01 0.02 0.03"/>'
TREE = f"""<mujoco model="m"><compiler angle="radian" balanceinertia="false"/>
<option gravity="0.1 0.2 -9.7"><flag energy="disable"/></option>
<default><default class="other"><joint damping="3"/><geom rgba="0.9 0.1 0.2 1" friction="0.3"/><mesh scale="2 2 2"/>
 <equality solref="0.1 1"/><tendon armature="0.3"/><general gear="3"/><site rgba="1 1 0 1"/>
 <material emission="0.3"/><pair friction="0.3"/></default></default>
<asset><mesh name="wedge" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1 0.1 0.1 0"/>
 <mesh name="wall" vertex="0 0 0 0.2 0 0 0 0.1 0 0 0 0.1 0.1 0.1 0"/>
 <hfield name="hills" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 0.5 0.2 1 0.3 0"/>
 <hfield name="dunes" nrow="2" ncol="2" size="1 2 0.5 0.1" elevation="0 0.5 0.2 1"/>
 <material name="paint" rgba="0.1 0.2 0.3 1"/><material name="gloss" rgba="0.5 0.2 0.3 1"/></asset>
<worldbody>
 <geom name="floor" type="plane" size="1 2 1" friction="0.9 0.005 0.0001"/>
 <geom name="terrain" type="hfield" hfield="hills" pos="5 0 0"/><site name="mark" pos="1 2 3"/>
 <body name="moving" mocap="true" pos="3 0 1"><geom name="ghost" size="0.1"/></body>
 <body name="swing" pos="0 0 1" euler="0.1 0.2 0.3" gravcomp="0.5"><joint name="hinge" axis="1 2 3"/>
  <geom name="bob" size="0.1" pos="0.1 0 0" material="paint"/>
  <geom name="block" type="box" size="0.1 0.2 0.3" fromto="0 0 0 0.1 0.2 0.7" fluidshape="ellipsoid"/></body>
 <body name="left" pos="0 3 0"><freejoint/><geom name="peg" size="0.1" contype="2" conaffinity="0"/></body>
 <body name="right" pos="0 4 0"><freejoint/><geom name="hole" size="0.1" contype="0" conaffinity="2"/>
  <site name="rim" type="capsule" size="0.1" fromto="0 0 0 0.1 0.2 0.7"/></body>
 <body name="trunk" pos="0 0 1"><freejoint name="base"/>{INERTIAL}<geom name="hull" type="box" size="0.1 0.2 0.3"/>
  <body name="arm" pos="0.1 0 0.2" quat="0.9 0.1 0.2 0.3">
   <joint name="turn" axis="0 1 0" pos="0.02 0 0.01" damping="0.3" armature="0.05" stiffness="8" springref="0.2"
     range="-1 2" actuatorfrcrange="-30 30" frictionloss="0.1"/>{INERTIAL}
   <geom name="wheel" size="0.02" pos="0 0 0.4"/><site name="tip" pos="0 0 0.5" quat="0.5 0.5 0.5 0.5"/>
   <body name="ball" pos="0 0 0.3"><joint name="socket" type="ball" damping="0.1"/>
    <inertial pos="0 0.05 0.1" mass="0.7" diaginertia="0.01 0.012 0.005"/><geom name="stone" type="mesh" mesh="wedge"/>
   </body>
   <body name="cart" pos="0 0.2 0.3"><joint name="rail" type="slide" axis="1 0 0"/>{INERTIAL}
    <geom name="box" type="box" size="0.1 0.1 0.1"/>
    <site name="eyelet" pos="0.3 0 0"/><body name="cog" pos="0.1 0 0"><joint name="spin" axis="1 0 0"/>{INERTIAL}
     <site name="hook"/></body></body></body></body></worldbody>
<contact><exclude name="apart" body1="trunk" body2="cart"/><pair name="both" geom1="floor" geom2="hull"/></contact>
<equality><joint name="cubic" joint1="rail" joint2="spin" polycoef="0.1 0.2 0.3 0.4 0.5"/>
 <weld name="held" body1="arm" body2="cog" relpose="0.1 0.2 0.3 0.9 0.1 0.3 0.3"/>
 <weld name="sites" site1="tip" site2="hook"/><connect name="points" site1="tip" site2="hook"/>
 <connect name="pinned" body1="arm" body2="cog" anchor="0.1 0.2 0.3"/>
 <tendon name="equal" tendon1="sum" tendon2="rest" polycoef="0.1 0.2"/></equality>
<tendon><fixed name="sum" stiffness="2" damping="1" limited="true" range="-1 1" frictionloss="0.1"
  actuatorfrcrange="-1 1"><joint joint="rail" coef="0.5"/><joint joint="spin" coef="-2"/></fixed>
 <fixed name="rest"><joint joint="turn" coef="1"/></fixed>
 <spatial name="cable" stiffness="5" damping="0.5" springlength="0.2"><site site="mark"/><site site="hook"/></spatial>
 <spatial name="belt" stiffness="5" damping="0.5" limited="true" range="0 5" actuatorfrcrange="-1 1"><site site="mark"/>
  <geom geom="wheel" sidesite="tip"/><site site="eyelet"/><pulley divisor="2"/><site site="tip"/><site site="hook"/>
 </spatial></tendon>
ACTUATORS<keyframe><key name="bent" KEY/></keyframe></mujoco>"""
ACTUATORS = """<actuator>
 <general name="servo" joint="turn" gainprm="3 1" biastype="affine" biasprm="1 -2 -0.5" dyntype="filter" dynprm="0.3"
   actlimited="true" actrange="-1 1"/>
 <motor name="motor" joint="rail" gear="2" delay="0.1" nsample="4"/>
 <position name="place" joint="turn" kp="40" kv="3" ctrlrange="-1 1"/>
 <velocity name="speed" joint="spin" kv="30" forcerange="-4 4"/>
 <intvelocity name="course" joint="spin" kp="30" actrange="-4 4"/>
 <damper name="brake" joint="spin" kv="30" ctrlrange="0 4"/><cylinder name="piston" joint="rail" area="2"/>
 <motor name="thrust" site="tip" refsite="mark" gear="1 2 3 0.1 0.2 0.3"/>
 <motor name="crank" cranksite="tip" slidersite="hook" cranklength="0.5"/><motor name="rope" tendon="sum"/>
 </actuator>"""
# Elements that the report names as a whole, each with its tag and a number as its name.
NAMED = f"""<mujoco><asset><texture name="texture1" type="2d" builtin="flat" width="8" height="8"/></asset><worldbody>
 <camera name="camera1"/><light name="light1"/><geom name="a" size="0.1"/><geom name="b" size="0.1"/><site name="s"/>
 <flexcomp name="flexcomp1" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" dim="2" mass="1"/>
 <body name="arm"><joint name="spin"/><joint name="socket" type="ball"/>{INERTIAL}</body>
 <body name="x"><freejoint/>{INERTIAL}</body><body name="y" pos="1 0 0"><freejoint/>{INERTIAL}</body></worldbody>
<deformable><flex name="flex1" dim="1" body="x y" vertex="0 0 0 0 0 0" element="0 1"/>
 <skin name="skin1" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="x" bindpos="0 0 0" bindquat="1 0 0 0"
   vertid="0 1 2" vertweight="1 1 1"/></skin></deformable>
<contact><pair name="pair1" geom1="a" geom2="b"/></contact><equality><flex name="flex2" flex="flex1"/></equality>
<custom><numeric name="numeric1" data="1"/><text name="text1" data="a"/><tuple name="tuple1"><element objtype="body"
  objname="arm"/></tuple></custom>
<actuator><muscle name="muscle1" joint="spin" lengthrange="0 1"/><adhesion name="adhesion1" body="arm" ctrlrange="0 1"/>
 <dcmotor name="dcmotor1" joint="spin" motorconst="0.1" resistance="2"/><pid name="pid1" joint="spin" kp="2"/>
 <orientation name="orientation1" joint="socket" kp="2"/></actuator>
<sensor><touch name="touch1" site="s"/><jointpos name="jointpos1" joint="spin"/><clock name="clock1"/></sensor>
</mujoco>"""
NUMERALS = (
    "0.3",
    "2",
    "0",
    "1",
    "3",
    "0.3 0.4",
    "-0.1 0.3",
    "0.3 0.4 0.5",
    "0.9 0.8 0.7 0.6",
    "0.1 0.2 0.3 0.4 0.5 0.6",
)
WORDS = (
    *("true", "false", "enable", "disable", "other", "convex", "shell", "legacy", "hinge", "slide", "ball", "sphere"),
    *("capsule", "ellipsoid", "cylinder", "box", "integrator", "filterexact", "affine", "fixed", "none", "linear"),
    *("cubic", "RK4", "implicitfast", "elliptic", "PGS", "dense", "degree", "zyx", "0 3", "never", "plate", "auto"),
)
# Elements that the report names as a whole, by the start of their paths; and elements without mechanical meaning.
WHOLE = {
    **dict.fromkeys(("asset/texture", "asset/skin", "deformable/", "body/flexcomp", "body/camera"), "reported"),
    **dict.fromkeys(("body/light", "custom/", "sensor/", "asset/material/layer", "contact/pair"), "reported"),
    **dict.fromkeys(("equality/flex", "equality/flexstrain"), "reported"),
    **{f"actuator/{tag}": "reported" for tag in ("muscle", "adhesion", "dcmotor", "pid", "orientation", "plugin")},
    **dict.fromkeys(("visual", "statistic", "size"), "label"),
    **dict.fromkeys(("tendon/spatial/geom", "tendon/spatial/pulley"), "reported"),
    **dict.fromkeys(("default", "compiler", "extension", "asset/model", "body/attach"), "compiler"),
    **dict.fromkeys(("asset/mesh/plugin", "body/geom/plugin", "body/plugin"), "reported"),
}
# Fields of the compiled model: parts of content that the report names, and fields without mechanical meaning.
REPORTED_FIELDS = (
    "actuator_act(early|limited|range|adr|num)|actuator_(dynprm|history.*)|geom_fluid|body_gravcomp|key_plastic|wrap_objid"
    "|tendon_(length0|lengthspring|spring.*|stiffness.*|damping.*|frictionloss|range|actfrc.*|invweight0|tree.*)|ten_J.*"
)
LABEL_FIELDS = (
    r"n[a-zA-Z]+|nuser_.*|narena|names.*|paths|.*_user|.*adr|(site|jnt|tendon|actuator)_group|site_(size|type|rgba|matid"
    "|dataid)|tendon_(width|rgba|matid)|geom_castshadow|mesh_(facenormal|normal|texcoord|facetexcoord).*|mat_.*|stat.*"
    "|actuator_lengthrange|signature|body_(simple|bvh.*)|dof_simplenum|M_.*|map[DM].*"
    "|bvh_.*|geom_aabb|mesh_oct.*|oct_.*|tree_sleep_policy"
)
# Attributes that determine how the compiler reads files, makes meshes, and merges bodies; or that need other content.
LISTED = {
    *(f"asset/mesh@{x}" for x in ("builtin", "content_type", "face", "file", "maxhullvert", "params", "texcoord")),
    *(f"asset/hfield@{name}" for name in ("content_type", "file", "ncol", "nrow")),
    *("asset/material@texture", "body/geom@fitscale", "body/site@mesh", "body@fuse", "body/freejoint@align"),
    *("option/flag@ipc", "keyframe/key@plastic"),
    *(f"actuator/general@{name}" for name in ("actdim", "ffrange", "inheritrange", "input", "velrange")),
    "actuator/intvelocity@actlimited",  # which MuJoCo requires
}
# Changes without effect: of a spring without stiffness, the position of a slide, bit masks that match with the others,
# a bound that MuJoCo applies to hinges and slides alone, and assets that nothing uses; by the names of elements.
WITHOUT_EFFECT = {
    **dict.fromkeys(("hinge", "rail", "spin"), ("springref", "pos")),
    "socket": ("actuatorfrcrange",),
    "rest": ("springlength",),
    **dict.fromkeys(("floor", "terrain"), ("contype", "conaffinity", "rgba", "material", "group", "class", "size")),
    **dict.fromkeys(("ghost", "bob", "block", "hull", "wheel", "stone", "box"), ("contype", "conaffinity")),
}
UNUSED = ("wall", "dunes")
CRANK = {"joint": None, "site": None, "refsite": None, "cranksite": "tip", "slidersite": "hook", "cranklength": "0.5"}
# What else an element has where an attribute is changed, by attribute; None removes.
CONTEXT: Mapping[str, Mapping[str, str | None]] = {
    **dict.fromkeys(("cranksite", "slidersite", "cranklength"), CRANK),
    "refsite": dict.fromkeys(CRANK) | {"site": "tip", "refsite": "mark"},
    **{f"{word}limited": {f"{word}range": "-1 1"} for word in ("ctrl", "force", "act")},
    **{name: {"nsample": "4", "delay": "0.1"} for name in ("delay", "interp", "nsample")},
    "inheritrange": {"joint": "turn", "ctrlrange": None, "actrange": None, "actlimited": None},
    "dampratio": {"kv": None},
}
VALUES = {"contype": ("0",), "conaffinity": ("0",), "group": ("3", "7"), "ipc": ("enable",)}  # that act alone


class Attribute(NamedTuple):
    """An attribute of the schema, and the document, the element and its index path where it is changed."""

    name: str  # path of tags and "@" attribute
    document: int
    path: tuple[int, ...]


@cache
def schema() -> Mapping[str, tuple[str, ...]]:
    """Return the attributes of each element of MuJoCo's schema, by the path of its tags below <mujoco>."""
    result: dict[str, tuple[str, ...]] = {}
    stack: list[tuple[int, str]] = []
    path = ""
    for line in mujoco.mj_printSchema(False, False).splitlines():
        if match := re.match(r"( *)(\S+) \(.\)\s*(.*)$", line):
            indent, tag, words = match.groups()
            stack = [entry for entry in stack if entry[0] < len(indent)] + [(len(indent), tag.rpartition(")")[2])]
            path = "/".join(tag for _, tag in stack[1:])
            result[path] = tuple(words.split())
        elif line.strip():
            result[path] += tuple(line.split())
    return {path: names for path, names in result.items() if path and names}


def whole_elements() -> Iterator[tuple[str, str]]:
    """Yield the elements that are reported, or without meaning, as a whole, and which of both."""
    for path in schema():
        for start, kind in WHOLE.items():
            if path == start or path.startswith(start + "/" * (not start.endswith("/"))):
                yield path, kind
                break


@cache
def documents() -> list[ET.Element]:
    text = TREE.replace("ACTUATORS", ACTUATORS)
    model = mujoco.MjModel.from_xml_string(text.replace("KEY", ""))
    values = model.qpos0, 0.1 * np.arange(model.nv), 0.01 * np.arange(model.nu)
    qpos, qvel, ctrl = (" ".join(map(str, row)) for row in values)
    tree = TREE.replace("ACTUATORS", "")
    no_controls = f'qpos="{qpos}" qvel="{qvel}"'
    return [
        ET.fromstring(tree.replace("KEY", no_controls)),
        ET.fromstring(text.replace("KEY", f'{no_controls} ctrl="{ctrl}"')),
    ]


def attributes() -> list[Attribute]:
    """Return each attribute of each element of the documents; an attribute of several elements several times."""
    whole = {path for path, _ in whole_elements()}
    result = []
    for k, document in enumerate(documents()):
        for element, path, steps in _nodes(document, (), ()):
            shown = "/".join(steps)
            if shown in whole or (steps[0] in ("actuator", "keyframe", "option")) != (k == 1):
                continue
            label = element.get("name", "")
            left = {"name", *WITHOUT_EFFECT.get(label, ()), *(schema()[shown] if label in UNUSED else ())}
            names = (name for name in schema().get(shown, ()) if name not in left and element.tag != "worldbody")
            result += [Attribute(f"{shown}@{name}", k, path) for name in names]
    return result


def untested() -> list[str]:
    """Return the attributes of the schema that no document can have: of elements that no document contains."""
    tested = {attribute.name for attribute in attributes()} | {path for path, _ in whole_elements()}
    listed = [f"{path}@{name}" for path, names in schema().items() for name in names if name != "name"]
    return [name for name in listed if name not in tested and name.partition("@")[0] not in tested]


def outcome_of(attribute: Attribute) -> str:
    """Return "taken", "reported", "refused", "label", "silent ...", or "compiler" if the compiled model is the same."""
    name = attribute.name.partition("@")[2]
    document, (_, first, fields) = _first(attribute.document, attribute.path if name in CONTEXT else (), name)
    owners = [_at(document, attribute.path[:k]).get("name") for k in (len(attribute.path), -1)]
    messages = [message for _, message in first[1] if any(f"{owner!r}" in message for owner in owners)]
    best = "compiler"
    for value in _others(document, attribute.path, name):
        changed = deepcopy(document)
        _at(changed, attribute.path).set(name, value)
        try:
            model, outcome = _read(changed)
        except ValueError:  # MuJoCo's
            continue
        if outcome != first:
            return "refused" if outcome[0] is None else "taken" if outcome[0] != first[0] else "reported"
        names = [field for field, content in _fields(model).items() if content != fields.get(field)]
        changed_fields = [field for field in names if not re.fullmatch(LABEL_FIELDS, field)]
        is_named = messages and all(re.fullmatch(REPORTED_FIELDS, field) for field in changed_fields)
        if changed_fields and not (is_named or any("is not taken:" in message for message in messages)):
            return f"silent: {value!r} changes {changed_fields}"
        if changed_fields or names:
            best = "reported" if changed_fields else "label"
    return best


@cache
def _first(k: int, path: tuple[int, ...], name: str) -> tuple[ET.Element, tuple[Any, Any, dict[str, bytes]]]:
    """Return a document, with the context of an attribute, and its compiled model, outcome and fields."""
    document = deepcopy(documents()[k])
    for key, value in CONTEXT[name].items() if path else ():
        element = _at(document, path)
        if key in element.attrib:
            del element.attrib[key]
        if value is not None and key in schema()[f"actuator/{element.tag}"]:
            element.set(key, value)
    model, outcome = _read(document)
    return document, (model, outcome, _fields(model))


def _read(document: ET.Element) -> tuple[Any, tuple[str | None, tuple[tuple[str, str], ...]]]:
    """Return the compiled model, and the description and report of it; no description for a model that is refused."""
    model = mujoco.MjModel.from_xml_string(ET.tostring(document, encoding="unicode"))
    try:
        result = describe_model(model)
    except ModelError as error:
        return model, (None, (("", str(error)),))
    return model, (
        described(replace(result, warnings=())),
        tuple((issue.code, issue.message) for issue in result.warnings),
    )


def _fields(owner: Any, prefix: str = "") -> dict[str, bytes]:
    """Return the bytes of all fields of a compiled model."""
    result = {}
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or callable(value):
            continue
        if name in ("opt", "stat"):
            result |= _fields(value, f"{name}.")
        elif name != "vis":
            result[prefix + name] = value if isinstance(value, bytes) else np.asarray(value).tobytes()
    return result


def _nodes(element: ET.Element, path: tuple[int, ...], steps: tuple[str, ...]) -> Iterator[Any]:
    for k, child in enumerate(element):
        inside = ("body",) if child.tag in ("body", "worldbody") else (*steps, child.tag)
        yield child, (*path, k), inside
        yield from _nodes(child, (*path, k), inside)


def _at(element: ET.Element, path: tuple[int, ...]) -> ET.Element:
    for k in path:
        element = element[k]
    return element


def _others(document: ET.Element, path: tuple[int, ...], name: str) -> list[str]:
    """Return other values: numbers changed alone, names of elements, words, and numbers."""
    text = _at(document, path).get(name, "")
    if name in VALUES:
        return [value for value in VALUES[name] if value != text]
    words = text.split()
    result = []
    if words and all(re.fullmatch(r"[-+.\de]+", word) for word in words):
        changed = (repr(float(x) + 0.0625) if "." in x else str(int(x) + 1) for x in words)
        result = [" ".join([*words[:k], new, *words[k + 1 :]]) for k, new in enumerate(changed)]
    kind = name.rstrip("12").replace("jointinparent", "joint").replace("site", "/site").rpartition("/")[2]
    names = [
        x.get("name", "")
        for x in document.iter()
        if x.tag == kind or (kind == "tendon" and x.tag in ("fixed", "spatial"))
    ]
    return [value for value in dict.fromkeys((*result, *filter(None, names), *WORDS, *NUMERALS)) if value != text]
