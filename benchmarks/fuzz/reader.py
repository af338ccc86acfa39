"""Random changes of model files; reading them must give a valid robot or a descriptive error."""

from __future__ import annotations

import functools
import html
import math
import pickle
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.fuzz.failures import Find, expect
from linkwork.errors import MOST_ISSUES, ModelError, ModelWarning, SingularInertiaError
from linkwork.robot.robot_table import ROBOT

__all__ = ["ENCODINGS", "NAMES", "SNIPPETS", "VALUES", "case", "check", "options", "text"]

Read = Callable[..., lw.Robot]  # (text, **options)

_RICH = """<?xml version="1.0" encoding="utf-8"?>
<robot name="r" version="1.1">
<material name="red"><color rgba="1 0 0 1"/><texture filename="a.png"/></material>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0 0.2 0"/><mass value="2"/>
<inertia ixx="1" ixy="0.1" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual name="v"><origin quat_xyzw="0 0 1 0"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
<collision><geometry><cylinder radius="1" length="2"/></geometry></collision>
<visual><geometry><mesh filename="package://x/a.stl" scale="1 1 -1"/></geometry></visual></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial></link>
<link name="c"/><link name="d"/><link name="e"/><link name="f"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 0 0" rpy="0 1 0"/><axis xyz="0 0 2"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="1" friction="0.5"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit upper="1" effort="3" velocity="4"/>
<mimic joint="j" multiplier="2" offset="1"/></joint>
<joint name="l" type="fixed"><parent link="c"/><child link="d"/><origin xyz="0 0 1"/></joint>
<joint name="m" type="continuous"><parent link="d"/><child link="e"/><axis xyz="0 1 0"/>
<safety_controller k_velocity="1"/></joint>
<joint name="n" type="floating"><parent link="a"/><child link="f"/></joint>
<gazebo reference="a"/></robot>
"""
_TOKEN = re.compile(r'<[^>"]*|"[^"]*"|[^<"]+')
SNIPPETS = ["<", ">", '"', "&", "]]>", "<!DOCTYPE a>", "<!--", "-->", "<?", "\0", "<![CDATA[", "</robot>", "<link", "é"]
SNIPPETS += ["${x}", "<xacro:macro/>", "&amp;", "&#0;", "&#55296;", "\ud800", "\ufeff", "\x85", "<capsule/>", "<axis/>"]
VALUES = ["0", "-0", "1", "-1", "1e308", "-1e308", "5e-324", "1e400", "nan", "inf", "-inf", "", "1 2", "1,5", "x"]
VALUES += ["1e-320", "1e20", "-1e20", "1.1e20", "1e12", "1e13", "1e-13", "0x10", "1_0", "+.5e+1", "1e200", "0.1 2 3"]
NAMES = ["", " ", "world", "floating_base", "a", "b", "j", "k", "é" * 5, "x" * 300, "../a", "<b>", "$(x)", "\u202e"]
_ELEMENT = re.compile(r"<[^<>/]*/>|<(joint|link|visual|inertial|geometry)\b[^<>/]*>.*?</\1>", re.DOTALL)
_NAMED = re.compile(r"(name|link|joint|type)=$")
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32", "utf-7"]


@functools.cache
def _seeds() -> tuple[tuple[str, ...], ...]:
    """Return the model files to modify, split into markup, values and the text between."""
    small = [name for name in lw.robots.names() if lw.robots.path(name).stat().st_size < 8000]
    texts = [_RICH, *(lw.robots.path(name).read_text(encoding="utf-8") for name in small)]
    return tuple(tuple(_TOKEN.findall(text)) for text in texts)


def case(rng: np.random.Generator, tally: Counter[str]) -> None:
    """Reads one text with one set of options.  Raises Find."""
    check(text(rng), options(rng), rng, tally)


def text(rng: np.random.Generator) -> str | bytes:
    """A text with some things changed, as text or as bytes: mostly such that it is still well-formed."""
    seeds = _seeds()
    tokens = list(seeds[0] if rng.random() < 0.7 else seeds[int(rng.integers(len(seeds)))])
    well_formed = rng.random() < 0.75
    for _ in range(int(rng.geometric(0.6))):
        if tokens and not well_formed:
            _change_markup(rng, tokens)
        else:
            _change_value(rng, tokens)
    changed = "".join(tokens)
    if well_formed:
        for _ in range(int(rng.geometric(0.6)) - 1):
            changed = _change_elements(rng, changed)
        if rng.random() < 0.8:
            return changed if rng.random() < 0.5 else changed.encode("utf-8", "surrogatepass")
        return changed.encode(str(rng.choice(ENCODINGS)), "replace")
    data = bytearray(changed.encode("utf-8", "surrogatepass"))
    for _ in range(int(rng.integers(0, 4))):
        if data:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
    return bytes(data) if rng.random() < 0.5 else changed


def _change_markup(rng: np.random.Generator, tokens: list[str]) -> None:
    at, index = (int(i) for i in rng.integers(len(tokens), size=2))
    match int(rng.integers(6)):
        case 0:
            del tokens[at]
        case 1:
            tokens[at], tokens[index] = tokens[index], tokens[at]
        case 2:
            tokens.insert(at, tokens[index])
        case 3:
            tokens[at] = str(rng.choice(SNIPPETS))
        case 4:
            end = None if rng.random() < 0.2 else at + int(rng.integers(1, 30))
            del tokens[at:end]
        case _:  # a part once more, somewhere else
            first, last = sorted((at, index))
            tokens[first:first] = tokens[first : min(last, first + 40)]


def _change_value(rng: np.random.Generator, tokens: list[str]) -> None:
    values = [i for i, token in enumerate(tokens) if token.startswith('"') and i]
    if not values:
        return
    value = int(rng.choice(values))
    if _NAMED.search(tokens[value - 1]):
        names = [tokens[i].strip('"') for i in values if _NAMED.search(tokens[i - 1])]
        tokens[value] = f'"{rng.choice([*(html.escape(name) for name in NAMES), *names])}"'
    elif rng.random() < 0.3:
        tokens[value] = f'"{float(rng.normal()) * 10.0 ** int(rng.integers(-30, 30))!r}"'
    else:
        words = tokens[value].strip('"').split()
        count = max(1, len(words)) if rng.random() < 0.9 else int(rng.integers(0, 5))
        changed = [str(x) for x in rng.choice(VALUES, size=count)]
        keep = rng.random() < 0.5 and len(words) == count > 1
        index = int(rng.integers(count)) if count else 0
        tokens[value] = '"' + " ".join(words[:index] + changed[:1] + words[index + 1 :] if keep else changed) + '"'


def _change_elements(rng: np.random.Generator, whole: str) -> str:
    """Without one of the elements, or with one twice, or one more of another place."""
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


def options(rng: np.random.Generator) -> dict[str, Any]:
    """Options of loading, mostly few."""
    results: dict[str, Any] = {}
    for name, values in (
        ("strict", [True]),
        ("floating_base", [True]),
        ("multi_root", [True]),
        ("mimic", ["coupled", "ignore"]),
        ("continuous", ["sincos"]),
        ("inertia", ["nearest", "ignore"]),
    ):
        if rng.random() < 0.25:
            results[name] = values[int(rng.integers(len(values)))]
    return results


def check(
    document: str | bytes,
    chosen: dict[str, Any],
    rng: np.random.Generator,
    tally: Counter[str],
    read: Read = lw.Robot.from_urdf_string,
) -> None:
    """Read a text by the function ``read`` and check the result.  Raises Find."""
    shown = f"options {chosen}\n{document!r}"
    robot, warned = _read(read, document, chosen, shown)
    if isinstance(robot, ModelError):
        tally[f"error {robot.code}"] += 1
        _check_error(robot, shown)
        return
    tally["robots"] += 1
    repairs = robot.report.repairs
    for issue in repairs:
        tally[f"repair {issue.code}"] += 1
    expect(len(warned) == bool(repairs), "repairs are told by one warning", shown)
    expect(not (chosen.get("strict") and repairs), "strict repairs nothing", shown)
    again, _ = _read(read, document, chosen, shown)
    expect(again == robot and again.report == robot.report, "the same text is the same robot", shown)
    expect(pickle.loads(pickle.dumps(robot)) == robot, "a robot pickles", shown)
    if not chosen.get("strict"):
        strict, _ = _read(read, document, {**chosen, "strict": True}, shown)
        expect(isinstance(strict, ModelError) if repairs else strict == robot, "strict refuses repairs alone", shown)
    _check_tree(robot, shown)
    if len(robot.bodies) <= 12:
        _check_functions(robot, rng, shown)


def _read(read: Read, document: str | bytes, chosen: dict[str, Any], shown: str) -> tuple[Any, list[Any]]:
    """The robot or the ModelError, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            robot: Any = read(document, **chosen)
        except ModelError as error:
            robot = error
        except Exception as error:
            kind = f"reading raises {type(error).__name__}"
            raise Find(kind, f"{kind}: {error}\n{shown}") from error
    expect(all(issubclass(w.category, ModelWarning) for w in warned), "reading warns of the model alone", shown)
    return robot, warned


_PLACELESS = {"XML_EMPTY", "NOT_TEXT", "TOO_LARGE"}


def _check_error(error: ModelError, shown: str) -> None:
    expect(1 <= len(error.issues) <= MOST_ISSUES, "so many errors and no more", shown)
    for issue in error.issues:
        expect(re.fullmatch(r"[A-Z][A-Z_]+", issue.code) and issue.message, "an error has a code and a message", shown)
        expect(issue.where.line is not None or issue.code in _PLACELESS, f"{issue.code} has its line", shown)
        expect(len(str(issue)) < 5000 and "None" not in issue.message, f"{issue.code} is told well", shown)
    try:
        str(error).encode("utf-8")
    except UnicodeEncodeError:
        raise Find("an error can be printed", f"an error can be printed\n{shown}") from None


def _check_tree(robot: lw.Robot, shown: str) -> None:
    tree = robot.tree
    for element in (*tree.bodies, *tree.frames):
        inertia = element.inertia
        values = [*element.placement.elements(), inertia.mass, *inertia.moment, *inertia.about.elements()]
        expect(all(map(math.isfinite, values)) and inertia.mass >= 0.0, "a robot's numbers are finite", shown)
    for body in tree.bodies:
        limits = body.limits
        ordered = all(low <= high for low, high in zip(limits.lower, limits.upper, strict=True))
        expect(ordered and all(x >= 0.0 for x in (*limits.velocity, *limits.effort)), "limits are in order", shown)
        expect(all(0.0 <= x < math.inf for x in (*body.damping, *body.friction)), "damping is finite", shown)
    for names in ([body.joint_name for body in tree.bodies], [frame.name for frame in tree.frames]):
        expect(len(set(names)) == len(names) and all(name.strip() for name in names), "names are names", shown)


def _check_functions(robot: lw.Robot, rng: np.random.Generator, shown: str) -> None:
    """Kinematics and dynamics, over floats, at some state."""
    tree = robot.tree
    try:
        q = robot.random_configuration(seed=rng)
    except ValueError as error:
        expect("never within its limits" in str(error), "a configuration can be drawn", f"{error}\n{shown}")
        q = robot.neutral()
    expect(np.isfinite(q).all(), "configurations are finite", f"{q}\n{shown}")
    state = q.tolist()
    v = rng.normal(size=tree.nv).tolist()
    results = {"poses": [x for pose in ROBOT["forward_kinematics"].compute(tree, state) for x in pose.elements()]}
    if not tree.inertias_ignored:
        results["joint forces"] = ROBOT["inverse_dynamics"].compute(tree, state, v, v)
        try:
            results["accelerations"] = ROBOT["forward_dynamics"].compute(tree, state, v, results["joint forces"])
        except SingularInertiaError:
            pass
        except ArithmeticError as error:
            kind = "accelerations raise no arithmetic error"
            raise Find(kind, f"{kind}: {error!r}\n{shown}") from error
    for function, values in results.items():
        expect(_finite(values), f"{function} are finite", f"{values}\n{shown}")


def _finite(values: Sequence[Any]) -> bool:
    return all(math.isfinite(x) for x in values)
