"""Check of a model: each suspicious value is detected, and real robots have no errors."""

from __future__ import annotations

import dataclasses
import math
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.compare.plausibility.model_check import CODES
from linkwork.errors import ModelWarning
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.inertia_check import mass_properties
from linkwork.spatial import Inertia, Vec3
from oracles.example_robots import EXAMPLES

BOX = '<collision><origin xyz="0.25 0 0"/><geometry><box size="0.5 0.04 0.04"/></geometry></collision>'
UNIFORM = 2.0 * (0.5**2 + 0.04**2) / 12.0  # of the box, of 2 kg
SOUND = 'lower="-1" upper="2" effort="3" velocity="4"'


def moments(yy, xx=0.0004):
    return f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{yy}"/>'


ROD, PLACEHOLDER = moments(UNIFORM), moments(1, 1)


def link(name="rod", mass=2.0, com="0.25 0 0", inertia=ROD, shapes=BOX):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>{inertia}</inertial>{shapes}</link>'
    )


def joint(child="rod", parent="base", limit=SOUND, type="revolute", more="", at="0 0 0.2"):
    return f"""<joint name="to_{child}" type="{type}"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{at}"/><axis xyz="0 1 0"/><limit {limit}/>{more}</joint>"""


def check(*parts, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return robot_of(*parts, **options).check_model()


def robot_of(*parts, **options):
    return lw.Robot.from_urdf_string(f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>', **options)


FAR = '<collision><origin xyz="300 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>'
SMALL_RANGE = 'lower="-0.05" upper="0.05" effort="3" velocity="4"'
MASSLESS = '<link name="more"/>'
SMALL = '<collision><geometry><box size="0.001 0.001 0.001"/></geometry></collision>'
CASES = {
    "sound": ((link(), joint()), {}),
    "placeholder": ((link(inertia=PLACEHOLDER), joint()), {"PLACEHOLDER": "warning"}),
    "placeholder of a mesh": ((link(inertia=PLACEHOLDER, shapes=""), joint()), {"PLACEHOLDER": "warning"}),
    "of another link": (
        (link(inertia=moments(3, 2), shapes=""), joint()),
        {"INERTIA_LARGE": "warning"},
    ),
    "longer than its shape": ((link(inertia=moments(0.3)), joint()), {"INERTIA_EXTENT": "warning"}),
    "in other units": ((link(inertia=moments(1700, 1000)), joint()), {"INERTIA_UNITS": "warning"}),
    "too small": ((link(inertia=moments(1.1e-4, 1.1e-4)), joint()), {"INERTIA_SMALL": "warning"}),
    "nearly too small": ((link(inertia=moments(1.2e-4, 1.2e-4)), joint()), {}),
    "about the origin": ((link(inertia=moments(UNIFORM + 2 * 0.25**2)), joint()), {"INERTIA_ORIGIN": "warning"}),
    "term subtracted twice": (
        (link(inertia=moments(1e-5, 0.0009), com="0.02 0 0", shapes=""), joint()),
        {"INERTIA_TRIANGLE": "warning", "INERTIA_ORIGIN": "warning"},
    ),
    "point mass": ((link(inertia=moments(0, 0)), joint()), {"INERTIA_POINT": "note"}),
    "outside": ((link(com="0.25 0.4 0"), joint()), {"COM_OUTSIDE": "note"}),
    "mirrored": ((link(com="-0.25 0 0"), joint()), {"COM_MIRRORED": "warning"}),
    "heavy": (
        (link(), joint(), link("more", 5000, inertia=moments(2500 * UNIFORM, 1), shapes=""), joint("more", "rod")),
        {"MASS_UNITS": "warning"},
    ),
    "denser than metals": (
        (link(mass=500, inertia=moments(250 * UNIFORM, 0.1)), joint()),
        {"DENSITY": "warning", "MASS_UNITS": "warning"},
    ),
    "dense": ((link(shapes=SMALL), joint()), {"DENSITY": "note", "INERTIA_UNITS": "warning", "COM_FAR": "warning"}),
    "shape far": (
        (link(shapes=FAR), joint()),
        {"SHAPE_FAR": "warning", "COM_FAR": "warning", "INERTIA_EXTENT": "warning"},
    ),
    "massless": ((link(), joint(), MASSLESS, joint("more", "rod")), {"MASSLESS_MOVING": "error"}),
    "no mass": ((MASSLESS, joint("more")), {"NO_MASS": "note"}),
    "spread": (
        (link(), joint(), link("more", 1e-7, inertia=moments(1e-9, 1e-9), shapes=""), joint("more", "rod")),
        {"MASS_SPREAD": "warning"},
    ),
    "grams": (
        (link(mass=2000, inertia=moments(1000 * UNIFORM, 0.4), shapes=""), joint()),
        {"MASS_UNITS": "warning"},
    ),
    "millimetres": (
        (
            link(com="250 0 0", shapes=BOX.replace("0.25", "250").replace("0.5 0.04 0.04", "500 40 40")),
            joint(at="0 0 200"),
        ),
        {"LENGTH_UNITS": "warning", "DENSITY": "note", "INERTIA_SMALL": "warning"},
    ),
    "equal limits": ((link(), joint(limit='lower="0" upper="0" effort="3" velocity="4"')), {"LIMIT_EQUAL": "warning"}),
    "degrees": ((link(), joint(limit='lower="-170" upper="170" effort="3" velocity="4"')), {"LIMIT_UNITS": "warning"}),
    "radians as degrees": (
        (link(), joint(limit='lower="-0.0274" upper="0.0274" effort="3" velocity="4"')),
        {"LIMIT_UNITS": "warning"},
    ),
    "small range": (
        (link(), joint(limit='lower="-0.05" upper="0.05" effort="3" velocity="4"')),
        {"LIMIT_UNITS": "note"},
    ),
    "small ranges": (
        (link(), joint(limit=SMALL_RANGE), link("more"), joint("more", "rod", limit=SMALL_RANGE, at="1 0 0")),
        {"LIMIT_UNITS": "warning"},
    ),
    "travel": (
        (link(), joint(type="prismatic", limit='lower="0" upper="600" effort="3" velocity="4"')),
        {"LIMIT_UNITS": "warning"},
    ),
    "no effort": (
        (link(), joint(limit='lower="-1" upper="1" effort="0" velocity="0"')),
        {"EFFORT_ZERO": "note", "VELOCITY_ZERO": "note"},
    ),
    "friction": ((link(), joint(more='<dynamics friction="4"/>')), {"FRICTION_LARGE": "warning"}),
    "zero outside": ((link(), joint(limit='lower="1" upper="2" effort="3" velocity="4"')), {"ZERO_OUTSIDE": "note"}),
    "follower": (
        (link(), joint(), link("more"), joint("more", "rod", more='<mimic joint="to_rod" multiplier="2"/>')),
        {"MIMIC_RANGE": "warning"},
    ),
    "overlap": (
        (
            link(),
            joint(),
            link("more", shapes=""),
            joint("more", "rod"),
            link("last"),
            joint("last", "more", at="-0.1 0 -0.2"),
        ),
        {"OVERLAP": "note"},
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("case", CASES)
def test_check_model_detects_each_kind_of_suspicious_value(case):
    parts, expected = CASES[case]
    result = check(*parts)
    results = {finding.code: finding.severity for finding in result.findings}
    assert results == expected, str(result)
    for finding in result.findings:
        assert finding.reason and finding.remedy and finding.code in str(result), finding
        assert finding.subject[0] in ("robot", "link", "joint") and finding.subject[0] not in finding.subject[1]


MIMIC = '<mimic joint="to_rod"/>'


def between(lower, upper):
    return f'lower="{lower!r}" upper="{upper!r}" effort="3" velocity="4"'


def limited(lower, upper, type="revolute"):
    return joint(limit=between(lower, upper), type=type)


def heights(z, last):
    names = ["base", *(f"l{k}" for k in range(5))]
    return [
        x
        for a, b, z in zip(names, names[1:], [z] * 4 + [last], strict=False)
        for x in (link(b), joint(b, a, at=f"0 0 {z!r}"))
    ]


def two(first, second):
    inertia = moments(0.5 * second * UNIFORM, 2e-4 * second)
    more = link("more", second, inertia=inertia, shapes=""), joint("more", "rod", at="0 0 0")
    return [link(mass=first, shapes=""), joint(at="0 0 0.4"), *more]


def uniform(mass, shapes=BOX):
    return [link(mass=mass, inertia=moments(0.5 * mass * UNIFORM, 2.67e-4 * mass), shapes=shapes), joint()]


def alone(**how):
    return [link(**how), joint()]


def rods(ratio):
    """Links of 0.2 m whose radii of gyration are the same multiple of their lengths."""
    yy = 2.0 * (0.2 * ratio) ** 2
    names = ["base", *(f"l{k}" for k in range(6))]
    return [
        part
        for a, b in pairwise(names)
        for part in (link(b, com="0 0 0", inertia=moments(yy, 0.9 * yy), shapes=""), joint(b, a))
    ]


BALL = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>'
HALF = 0.5 * (0.5**2 + 2.0 * 0.04**2) ** 0.5  # of the diagonal of the box
VOLUME = 0.5 * 0.04**2
LIMITS = [  # code, the largest or smallest value without it, and a robot with a value
    ("LENGTH_UNITS", 100.0, lambda x: [link(), joint(at=f"0 0 {x}")]),
    ("MASS_SPREAD", 1e6, lambda x: two(2.0, 2.0 / x)),
    ("FRAME_FAR", 10.0, lambda x: heights(0.2, x)),
    ("FRAME_FAR", 24.0, lambda x: heights(1.2, x)),
    ("MASS_UNITS", 60.0, lambda x: two(2.0, x)),
    ("MASS_UNITS", 200.0 * 0.4**3, lambda x: two(0.1, x)),
    ("MASS_UNITS", 5000.0 * 0.2**3, lambda x: uniform(x, "")),
    ("MASS_UNITS", 0.05, lambda x: [link(), joint(at=f"0 0 {x}")]),
    ("LIMIT_UNITS", 100.0, lambda x: [link(), limited(0.0, x, "prismatic")]),
    ("LIMIT_UNITS", math.radians(2.0 * math.pi), lambda x: [link(), limited(0.0, x)]),
    ("ZERO_OUTSIDE", 1e-9, lambda x: [link(), limited(x, 1.0)]),
    ("MIMIC_RANGE", 3e-3, lambda x: [*alone(), link("more"), joint("more", "rod", between(-1.0, 2.0 - x), more=MIMIC)]),
    ("MIMIC_RANGE", 3e-3, lambda x: [*alone(), link("more"), joint("more", "rod", between(x - 1.0, 2.0), more=MIMIC)]),
    ("FRICTION_LARGE", 3.0, lambda x: [link(), joint(more=f'<dynamics friction="{x}"/>')]),
    ("SHAPE_FAR", 10.0 * 0.2, lambda x: alone(shapes=BOX + BALL.format(x))),
    ("COM_FAR", 10.0 * 0.2, lambda x: alone(com=f"{x} 0 0", shapes="")),
    ("COM_OUTSIDE", 0.5, lambda x: alone(com=f"0.25 {0.02 + x * HALF} 0")),
    ("COM_MIRRORED", 0.2, lambda x: alone(com=f"{-x * HALF} 0 0")),
    ("DENSITY", 1.0, lambda x: uniform(x * VOLUME)),
    ("DENSITY", 25e3, lambda x: uniform(x * VOLUME)),
    ("INERTIA_LARGE", 0.2, lambda x: alone(inertia=moments(2.0 * x * x, x * x), shapes="")),
    ("INERTIA_EXTENT", 1.0, lambda x: alone(inertia=moments(2.0 * (x * HALF) ** 2 + 2e-4))),
    ("INERTIA_LARGE", 3.0, lambda x: rods(x)),
    ("INERTIA_SMALL", 0.06, lambda x: rods(x)),
    ("PLACEHOLDER", 2.0, lambda x: alone(mass=0.01 / (x * HALF) ** 2, inertia=moments(0.01, 0.01))),
    (
        "OVERLAP",
        1e-3,
        lambda x: [
            *alone(shapes=BALL.format(0)),
            *(
                link("more", shapes=""),
                joint("more"),
                link("last", shapes=BALL.format(0.2 - x)),
                joint("last", "more", at="0 0 0"),
            ),
        ],
    ),
]


@pytest.mark.light
@pytest.mark.parametrize(("code", "limit", "parts"), LIMITS, ids=[f"{x[0]} {x[1]:.4g}" for x in LIMITS])
def test_check_model_reports_values_just_beyond_each_limit_and_none_just_within(code, limit, parts):
    is_found = [code in {x.code for x in check(*parts(limit * by)).findings} for by in (1.0 - 1e-3, 1.0 + 1e-3)]
    is_smallest = (code, limit) in (("DENSITY", 1.0), ("INERTIA_SMALL", 0.06)) or (
        code == "LIMIT_UNITS" and limit < 1.0
    )
    assert is_found == [is_smallest, not is_smallest]


@pytest.mark.light
def test_check_model_compares_gravity_with_limits_of_its_size_and_direction():
    for size, codes in ((1.499, ["GRAVITY"]), (1.501, []), (29.99, []), (30.01, ["GRAVITY"])):
        assert [x.code for x in check(link(), joint(), gravity=(0, 0, -size)).findings] == codes, size
    for tilt, codes in ((0.999e-3, []), (1.001e-3, ["GRAVITY_DIRECTION"])):
        gravity = [9.81 * x for x in (0.6 * tilt, -0.8 * tilt, -math.sqrt(1.0 - tilt * tilt))]
        assert [x.code for x in check(link(), joint(), gravity=gravity).findings] == codes, tilt


def test_check_model_detects_suspicious_gravity_frames_and_configurations():
    sound = [link(), joint()]
    assert [x.code for x in check(*sound, gravity=(0, 0, -9810)).findings] == ["GRAVITY"]
    assert [x.code for x in check(*sound, gravity=(0, -9.81, 0)).findings] == ["GRAVITY_DIRECTION"]
    assert check(*sound, gravity=(0, 0, 0)).findings == ()
    chain = [part for k in range(1, 6) for part in (link(f"l{k}"), joint(f"l{k}", f"l{k - 1}" if k > 1 else "base"))]
    away = [*chain, link("l6"), joint("l6", "l5", at="0 0 40")]
    assert {x.code for x in check(*away).findings} == {"FRAME_FAR", "IDENTICAL_INERTIAS"}
    text = '{"version": 1, "named_configurations": [{"name": "home", "q": {"to_rod": 2.5}}]}'
    (finding,) = robot_of(*sound).with_loops_document(text).check_model().findings
    assert (finding.code, finding.subject, dict(finding.values)["upper"]) == (
        "Q_OUT_OF_LIMITS",
        ("configuration", "home"),
        2.0,
    )


def test_check_model_checks_robots_built_in_python():
    robot = robot_of(link(), joint()).with_inertia("rod", inertia=(0.5, 0.5, 0.5), mass=0.1)
    (finding,) = robot.check_model().warnings
    assert (
        finding.code == "INERTIA_EXTENT"
        and finding.subject == ("link", "rod")
        and finding.as_dict()["values"]["reach"] > 0.2
    )
    assert lw.load("arm7").check_model().findings == ()


def test_check_model_gives_no_warnings_for_fixed_links_and_ignored_inertias():
    fixed = [link(inertia=PLACEHOLDER), joint(type="fixed")]
    assert {x.severity for x in check(*fixed).findings} == {"note"}
    assert check(link(inertia=PLACEHOLDER), joint(), inertia="ignore").findings == ()


def test_check_model_collects_equal_findings_in_a_table_of_limited_width():
    parts = [part for k in range(5) for part in (f'<link name="m{k}"/>', joint(f"m{k}"))]
    result = check(link(), joint(), *parts)
    assert len(result.errors) == 5 and repr(result) == "<ModelCheck of 'r': 5 errors>"
    lines = str(result).splitlines()
    assert sum("MASSLESS_MOVING" in line for line in lines) == 2 and "5 joints: to_m0, to_m1, to_m2, ..." in lines[4]
    assert all(len(line) <= 60 for line in result.lines(60))
    assert result.as_dict()["errors"] == 5 and set(result.as_dict()["findings"][0]) >= {"code", "reason", "remedy"}


def example(name):
    return next(example_robot for example_robot in EXAMPLES if example_robot.name == name)


def test_check_model_finds_no_errors_in_published_robots():
    """Warnings name the file's own flaws: placeholders of sensors, feet without extent."""
    of_pr2 = {"PLACEHOLDER", "INERTIA_UNITS", "MIMIC_RANGE", "INERTIA_TRIANGLE", "INERTIA_EXTENT"}
    known = {"panda": set(), "talos": set(), "ur5": set(), "g1": set(), "pr2": of_pr2}
    for name, codes in known.items():
        result = example(name).load().check_model()
        assert not result.errors and {warning.code for warning in result.warnings} == codes, str(result)


# By what is wrong, mass, centre and rotational inertia about it from those of the file; and the code that says so.
WRONG = {
    "moments about the origin": (lambda m, c, J: (m, c, Inertia.at_center(m, c, J).about), "INERTIA_ORIGIN"),
    "moments in kg mm²": (lambda m, c, J: (m, c, J * 1e6), "INERTIA_LARGE"),
    "moments in t m²": (lambda m, c, J: (m, c, J * 1e-3), "INERTIA_SMALL"),
    "masses in g": (lambda m, c, J: (1000.0 * m, c, J), "MASS_UNITS"),
    "centres in mm": (lambda m, c, J: (m, c * 1000.0, J), "COM_FAR"),
}


def changed_link(tree, name, change):
    """Return a robot with other mass, centre and rotational inertia of one link."""
    frames = tuple(
        dataclasses.replace(f, inertia=Inertia.at_center(*change(*mass_properties(f.inertia)))) if f.name == name else f
        for f in tree.frames
    )
    return lw.Robot(dataclasses.replace(tree, frames=frames, bodies=with_summed_inertias(tree.bodies, frames)))


def test_check_model_detects_one_wrong_link_of_a_published_robot():
    for name, wrong in (("panda", "panda_link3"), ("talos", "leg_right_3_link"), ("g1", "right_knee_link")):
        tree = example(name).robot().tree
        heavy = changed_link(tree, wrong, lambda m, c, J: (5000.0, c, J * (5000.0 / m)))
        assert ("MASS_UNITS", ("link", wrong)) in {
            (finding.code, finding.subject) for finding in heavy.check_model().warnings
        }
        if name == "panda":  # without a partner, and its meshes are not read
            continue
        result = changed_link(tree, wrong, lambda m, c, J: (m, Vec3(c.x, c.y, -c.z), J)).check_model()
        (finding,) = result.warnings
        assert finding.code == "COM_MIRRORED" and wrong in (finding.subject[1], *finding.message.split("'")), finding


@pytest.mark.parametrize("name", ["panda", "talos", "kinova"])
def test_check_model_detects_wrong_units_of_inertias_without_shapes(name):
    tree = example(name).robot().tree
    for wrong, (change, code) in WRONG.items():

        def changed(frame, change=change):
            mass, center, about = mass_properties(frame.inertia)
            return dataclasses.replace(
                frame, inertia=Inertia.at_center(*change(mass, center, about)), visuals=(), collisions=()
            )

        frames = tuple(map(changed, tree.frames))
        robot = lw.Robot(dataclasses.replace(tree, frames=frames, bodies=with_summed_inertias(tree.bodies, frames)))
        assert code in {finding.code for finding in robot.check_model().warnings}, wrong


def test_every_finding_code_of_check_model_occurs_in_a_test():
    results = {code for _, codes in CASES.values() for code in codes}
    elsewhere = {"GRAVITY", "GRAVITY_DIRECTION", "FRAME_FAR", "IDENTICAL_INERTIAS", "Q_OUT_OF_LIMITS"}
    by_readers = {"MASS_NEGATIVE", "INERTIA_NOT_PSD", "MAGNITUDE", "MASS_ZERO"}
    assert results | elsewhere | by_readers == set(CODES)


def test_page_comparing_robots_lists_all_finding_codes_of_check_model():
    page = (Path(__file__).parents[2] / "docs" / "comparing_robots.md").read_text(encoding="utf-8")
    for code, about in CODES.items():
        assert f"| `{code}` | {about.severity} | {about.reason} | {about.remedy} |\n" in page


def test_check_model_reports_no_overlap_of_floating_bodies_at_the_neutral_configuration():
    for joint_type, codes in ((lw.joints.Floating(), set()), (lw.joints.Prismatic((1, 0, 0)), {"OVERLAP"})):
        parts = []
        for name in ("one", "two", "three"):
            ball = lw.Link(name, mass=1.0, inertia=(0.004, 0.004, 0.004), collisions=[lw.shapes.Sphere(0.1)])
            parts += [ball, lw.Joint.of(joint_type, name=f"moves_{name}", parent="world", child=name)]
        assert {finding.code for finding in lw.Robot.build("balls", *parts).check_model().findings} == codes
