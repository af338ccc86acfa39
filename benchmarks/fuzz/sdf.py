"""Random changes of SDF files; reading them must give a valid robot or a descriptive error."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.fuzz.reader import ENCODINGS, NAMES, SNIPPETS, VALUES, check
from linkwork.formats import parse_sdf
from linkwork.robot.construction.robot_loading import Options

__all__ = ["case", "options", "read", "text"]

_MODELS = Path(__file__).parents[2] / "tests" / "formats" / "sdf"
_RICH = """<?xml version="1.0"?>
<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity><frame name="f"><pose>1 0 0 0 0 0</pose></frame>
<include><uri>model://gripper</uri><name>g</name><pose relative_to="f">0 0 1 0 0 0</pose></include>
<model name="m" canonical_link="a" placement_frame="p"><static>false</static><pose degrees="true">1 2 3 10 20 30</pose>
<link name="a"><inertial auto="true"><density>10</density></inertial>
<collision name="c"><density>3</density><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
<surface><friction/></surface></collision><gravity>true</gravity><sensor name="s" type="imu"/></link>
<link name="b"><pose relative_to="j">0 0 1 0 0.5 0</pose><inertial><pose>0.1 0 0 0 0.2 0</pose><mass>2</mass><inertia>
<ixx>1</ixx><ixy>0.1</ixy><ixz>0</ixz><iyy>1</iyy><iyz>0</iyz><izz>1</izz></inertia></inertial>
<visual name="v"><geometry><mesh><uri>a.stl</uri><scale>1 1 -1</scale></mesh></geometry>
<material><diffuse>1 0 0 1</diffuse></material></visual></link>
<link name="c"/><link name="d"><kinematic>0</kinematic></link>
<frame name="p" attached_to="b"><pose>1 0 0 0 0 0</pose></frame>
<joint name="j" type="revolute"><pose relative_to="a">0 1 0 0 0 0</pose><parent>a</parent><child>b</child><axis>
<xyz expressed_in="__model__">0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort></limit><dynamics>
<damping>1</damping><friction>0.5</friction><spring_stiffness>2</spring_stiffness></dynamics></axis></joint>
<joint name="k" type="prismatic"><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz><mimic joint="j">
<multiplier>2</multiplier><offset>1</offset></mimic></axis></joint>
<joint name="l" type="universal"><parent>c</parent><child>d</child><axis/><axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name="o" type="screw"><parent>d</parent><child>n::e</child><axis/>
<screw_thread_pitch>0.1</screw_thread_pitch></joint>
<joint name="loop" type="ball"><parent>n::e</parent><child>b</child></joint>
<model name="n"><pose rotation_format="quat_xyzw">0 0 1 0 0 0 1</pose><link name="e"/></model>
</model></world></sdf>
"""
_TEXT = re.compile(r">([^<>]*)<")
_ATTRIBUTE = re.compile(r"=(?:\"([^\"]*)\"|'([^']*)')")
_ELEMENT = re.compile(
    r"<[^<>/!?]*/>|<(joint|link|frame|pose|axis2?|inertial|geometry|limit)\b[^<>]*>.*?</\1>", re.DOTALL
)
_NAMES = [*NAMES, "c", "m", "n", "n::e", "m::a", "__model__", "p", "g::palm", "a::", "::", "::" * 50]
_TYPES = [
    "ball",
    "fixed",
    "screw",
    "gearbox",
    "revolute2",
    "continuous",
    "prismatic",
    "universal",
    "revolute",
    "planar",
]


def case(rng: np.random.Generator, tally: Counter[str]) -> None:
    """Reads one text with one set of options.  Raises Find."""
    check(text(rng), options(rng), rng, tally, read)


def read(document: str | bytes, **chosen: Any) -> lw.Robot:
    """Return the robot of a text.  Raises ModelError."""
    every = Options(**{name: value for name, value in chosen.items() if name != "model"})
    description = parse_sdf(
        document,
        strict=every.strict,
        continuous=every.continuous,
        inertia=every.inertia,
        floating_base=every.floating_base,
        package_dirs=[_MODELS / "models"],
    )
    return lw.Robot(every.tree(description))


def options(rng: np.random.Generator) -> dict[str, Any]:
    """Options of loading, mostly few."""
    results: dict[str, Any] = {}
    for name, values in (
        ("strict", [True]),
        ("floating_base", [True, False]),
        ("mimic", ["coupled", "ignore"]),
        ("continuous", ["sincos"]),
        ("inertia", ["nearest", "ignore"]),
    ):
        if rng.random() < 0.2:
            results[name] = values[int(rng.integers(len(values)))]
    return results


def text(rng: np.random.Generator) -> str | bytes:
    """A text with some things changed, as text or as bytes: mostly such that it is still well-formed."""
    files = sorted(_MODELS.glob("*.sdf"))
    is_own_scope = rng.random() < 0.7
    changed = _RICH if is_own_scope else files[int(rng.integers(len(files)))].read_text(encoding="utf-8")
    well_formed = rng.random() < 0.8
    for _ in range(int(rng.geometric(0.5))):
        match int(rng.integers(4 if well_formed else 5)):
            case 0 | 1:
                changed = _with(rng, changed, _TEXT)
            case 2:
                changed = _with(rng, changed, _ATTRIBUTE)
            case 3:
                changed = _with_elements(rng, changed)
            case _:
                at = int(rng.integers(len(changed) + 1))
                end = at + int(rng.integers(0, 40))
                changed = changed[:at] + str(rng.choice(SNIPPETS)) + changed[end if rng.random() < 0.5 else at :]
    if rng.random() < 0.1:
        return changed.encode(str(rng.choice(ENCODINGS)), "replace")
    return changed if rng.random() < 0.5 else changed.encode("utf-8", "surrogatepass")


def _with(rng: np.random.Generator, whole: str, kind: re.Pattern[str]) -> str:
    """Return the text with another value of one element or attribute."""
    positions = [*kind.finditer(whole)]
    if not positions:
        return whole
    position = positions[int(rng.integers(len(positions)))]
    group = 2 if kind is _ATTRIBUTE and position[1] is None else 1
    words = position[group].split()
    choice = rng.random()
    if choice < 0.4 and words:
        index = int(rng.integers(len(words)))
        value = (
            str(rng.choice(VALUES))
            if rng.random() < 0.7
            else repr(float(rng.normal()) * 10.0 ** int(rng.integers(-30, 30)))
        )
        words[index] = value
        changed = " ".join(words)
    elif choice < 0.5:
        changed = " ".join(str(x) for x in rng.choice(VALUES, size=int(rng.integers(0, 8))))
    elif choice < 0.6:
        changed = str(
            rng.choice([*_TYPES, "true", "1.4", "1.6", "1.7", "1.12", "2.0", "axis2", "euler_rpy", "quat_xyzw"])
        )
    else:
        changed = html.escape(str(rng.choice(_NAMES)))
    return whole[: position.start(group)] + changed + whole[position.end(group) :]


def _with_elements(rng: np.random.Generator, whole: str) -> str:
    """Return the text without one of the elements, or with one twice, or one more of another place."""
    elements = [*_ELEMENT.finditer(whole)]
    if not elements:
        return whole
    element, partner = (elements[int(i)] for i in rng.integers(len(elements), size=2))
    added = [
        partner[0],
        element[0] + partner[0],
        element[0] + element[0],
        "",
        f"<x{element[0][1:]}",
        element[0].replace("=", "s=", 1),
    ]
    return whole[: element.start()] + added[int(rng.integers(len(added)))] + whole[element.end() :]
