"""Tables of Denavit-Hartenberg parameters compared with products of textbook matrices, and with real robots."""

from __future__ import annotations

import math
from math import cos, pi, sin
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from oracles.example_robots import EXAMPLES

PUMA = [  # standard [Corke and Armstrong-Hélouvry 1994]
    {"alpha": pi / 2},
    {"a": 0.4318},
    {"a": 0.0203, "d": 0.15005, "alpha": -pi / 2},
    {"d": 0.4318, "alpha": pi / 2},
    {"alpha": -pi / 2},
    {},
]
UR5 = [  # standard [Universal Robots]
    {"d": 0.089159, "alpha": pi / 2},
    {"a": -0.425},
    {"a": -0.39225},
    {"d": 0.10915, "alpha": pi / 2},
    {"d": 0.09465, "alpha": -pi / 2},
    {"d": 0.0823},
]
PANDA = [  # modified [Franka]
    {"d": 0.333},
    {"alpha": -pi / 2},
    {"d": 0.316, "alpha": pi / 2},
    {"a": 0.0825, "alpha": pi / 2},
    {"a": -0.0825, "d": 0.384, "alpha": -pi / 2},
    {"alpha": pi / 2},
    {"a": 0.088, "alpha": pi / 2},
]
STANFORD = [  # standard, with a prismatic joint and offsets [Paul 1981]
    {"d": 0.412, "alpha": -pi / 2, "theta": 0.4},
    {"d": 0.154, "alpha": pi / 2},
    {"prismatic": True, "theta": -pi / 2, "d": 0.2, "a": 0.05, "alpha": 0.3},
    {"alpha": -pi / 2},
    {"alpha": pi / 2, "theta": 1.0},
    {"d": 0.263},
]
TABLES = {"PUMA": PUMA, "UR5": UR5, "PANDA": PANDA, "STANFORD": STANFORD}


def step(row: dict[str, Any], q: float, convention: str) -> np.ndarray:
    """The matrix of the textbooks, element by element."""
    a, alpha, d, theta = (row.get(key, 0.0) for key in ("a", "alpha", "d", "theta"))
    d, theta = (d + q, theta) if row.get("prismatic") else (d, theta + q)
    c, s, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    if convention == "standard":
        rows = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d]]
    else:
        rows = [[c, -s, 0, a], [s * ca, c * ca, -sa, -sa * d], [s * sa, c * sa, ca, ca * d]]
    return np.array([*rows, [0, 0, 0, 1]])


@pytest.mark.slow(every=5)
def test_frames_of_a_denavit_hartenberg_table_equal_products_of_matrices() -> None:
    base, tool = lw.pose((0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6)), lw.pose((0, 0, 0.107), rpy=(0, 0, -pi / 4))
    for name, rows in TABLES.items():
        for convention in ("standard", "modified"):
            robot = lw.Robot.from_dh(name, rows, convention=convention, base=base, tool=tool)  # type: ignore[arg-type]
            assert robot.frames == ("base", *(f"link{k}" for k in range(1, len(rows) + 1)), "tool")
            q = np.random.default_rng(0).uniform(-2.0, 2.0, (3, robot.nq))
            result = robot.forward_kinematics(q)
            for sample, poses in zip(q, result, strict=True):
                X = base
                for k, row in enumerate(rows):
                    X = X @ step(row, sample[k], convention)
                    assert np.abs(poses[k] - X).max() <= 1e-13, (name, convention, k)
                assert np.abs(robot.pose(sample, "tool") - X @ tool).max() <= 1e-13


@pytest.mark.slow(every=5)
def test_denavit_hartenberg_tables_of_ur5_and_panda_equal_their_urdf() -> None:
    files = {example.name: example for example in EXAMPLES}
    ur5, panda = files["ur5"].robot(), files["panda"].robot()
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (5, 6))
    by_table = lw.Robot.from_dh("ur5", UR5, convention="standard")
    assert np.abs(by_table.pose(q, "link6") - ur5.pose(q, "tool0", relative_to="base")).max() <= 1e-8  # π to 9 digits
    by_table = lw.Robot.from_dh("panda", PANDA, convention="modified")
    q = np.zeros((5, panda.nq))
    q[:, :7] = np.random.default_rng(2).uniform(-3.0, 3.0, (5, 7))
    for k in range(1, 8):
        pose = panda.pose(q, f"panda_link{k}", relative_to="panda_link0")
        assert np.abs(by_table.pose(q[:, :7], f"link{k}") - pose).max() <= 1e-12


def test_modified_denavit_hartenberg_table_equals_a_urdf_bit_for_bit() -> None:
    """For θ = 0 the step before a joint is its <origin>: rpy = (α, 0, 0), xyz = (a, −d sin α, d cos α)."""
    sines = {0.0: (0.0, 1.0), pi / 2: (1.0, 0.0), -pi / 2: (-1.0, 0.0)}
    text = '<robot name="panda"><link name="base"/>'
    for k, row in enumerate(PANDA, 1):
        a, alpha, d = (row.get(key, 0.0) for key in ("a", "alpha", "d"))
        s, c = sines[alpha]
        before = f"link{k - 1}" if k > 1 else "base"
        text += (
            f'<link name="link{k}"/><joint name="joint{k}" type="continuous"><parent link="{before}"/>'
            f'<child link="link{k}"/><axis xyz="0 0 1"/>'
            f'<origin xyz="{a!r} {-d * s!r} {d * c!r}" rpy="{alpha!r} 0 0"/></joint>'
        )
    read = lw.Robot.from_urdf_string(text + "</robot>")
    built = lw.Robot.from_dh("panda", PANDA, convention="modified")
    assert built == read and hash(built) == hash(read) and repr(built.tree.bodies) == repr(read.tree.bodies)


def test_standard_and_modified_denavit_hartenberg_tables_of_one_arm_have_equal_dynamics() -> None:
    """Both tables have different frames of a link: a mass in one frame is converted to the other."""
    mass = {"mass": 2.0, "com": (0.1, -0.2, 0.05), "inertia": (0.03, 0.02, 0.04)}
    shifted = {**mass, "com": lw.pose((-0.4, 0, 0)) @ lw.pose(mass["com"])}  # standard: seen from the link's far end
    tables: dict[Any, Any] = {
        "standard": [{"a": 0.4, **shifted}, {"a": 0.4, **shifted}],
        "modified": [mass, {"a": 0.4, **mass}],
    }
    standard, modified = (lw.Robot.from_dh("r", tables[c], convention=c, gravity=(0, -9.81, 0)) for c in tables)
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    assert np.allclose(standard.inverse_dynamics(q, v, a), modified.inverse_dynamics(q, v, a), rtol=1e-13)


def test_rows_of_a_denavit_hartenberg_table_may_state_joints_and_links() -> None:
    hand = lw.Link("hand", mass=0.5, com=(0, 0, 0.1), frames={"tip": (0, 0, 0.2)})
    weld = lw.Joint.of(lw.joints.Fixed(), name="weld", parent="wrist", child="hand")
    robot = lw.Robot.from_dh(
        "r",
        [
            {"joint": "waist", "lower": -1, "upper": 2, "velocity": 3, "effort": 4, "damping": 5, "friction": 6},
            {"joint": "slide", "prismatic": True, "link": "wrist", "mass": 2, "com": (0, 0, 1), "inertia": (1, 1, 1)},
        ],
        hand,
        weld,
        convention="standard",
        floating_base=True,
        gravity=(0, 0, -1.62),
    )
    assert robot.frames == ("base", "link1", "wrist", "hand", "tip") and robot.gravity[2] == -1.62
    waist, slide = robot.joints[1:]
    assert (waist.name, slide.name, slide.type_name) == ("waist", "slide", "prismatic")
    values = (waist.lower, waist.upper, waist.velocity, waist.effort, waist.damping, waist.friction)
    assert [x.item() for x in values] == [-1, 2, 3, 4, 5, 6]
    assert robot.mass == 2.5
    link = lw.Link("l", lw.shapes.Sphere(0.1), mass=1.0)
    assert lw.Robot.from_dh("r", [{"link": link}], convention="modified").mass == 1.0


def test_invalid_denavit_hartenberg_tables_are_refused() -> None:
    bad: dict[str, Any] = {
        "'alfa' is not a column: did you mean 'alpha'?": {"alfa": 1.0},
        "'type' is not a column: \"prismatic\": True is a joint that slides along z": {"type": "prismatic"},
        "expected a dict such as": (0.1, 0.2, 0.3, 0.4),
        "columns are named, since their order": [0.1, 0.2, 0.3, 0.4],
        "d: expected a number [m], got 'x'": {"d": "x"},
        "theta: expected a number [rad], got nan": {"theta": math.nan},
        "prismatic: expected True or False, got 'yes'": {"prismatic": "yes"},
        "joint 'joint8': lower: expected a number, got an array of shape (2,)": {"lower": (1, 2)},
        "link 'link9': mass: expected a mass [kg] together with com": {"com": (0, 0, 1)},
        "link 'l' has its own inertia": {"link": lw.Link("l"), "mass": 1.0},
    }
    with pytest.raises(ModelError, match="DH_ROW") as caught:
        lw.Robot.from_dh("r", [*bad.values()], convention="standard")
    assert len(caught.value.issues) == len(bad)
    for k, (issue, message) in enumerate(zip(caught.value.issues, bad, strict=True), 1):
        assert str(issue).startswith(f"robot[r]/row[{k}]: ") and message in str(issue)
    with pytest.raises(
        ValueError, match=r"convention: expected 'standard' \(.*, distal\) or 'modified' \(Craig, proximal\), got 'dh'"
    ):
        lw.Robot.from_dh("r", UR5, convention="dh")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rows: expected at least one row"):
        lw.Robot.from_dh("r", [], convention="standard")
    with pytest.raises(TypeError, match=r"rows: expected a list with a dict for each joint, got \{'a': 1\}"):
        lw.Robot.from_dh("r", {"a": 1}, convention="standard")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tool: expected a pose"):
        lw.Robot.from_dh("r", UR5, convention="standard", tool=(1, 2))
    with pytest.raises(ModelError, match="two links are named 'base'"):
        lw.Robot.from_dh("r", [{}, {"link": "base"}], convention="standard")


def test_angles_and_limits_in_degrees_are_reported_when_a_robot_is_built():
    for column in ("alpha", "theta"):
        with pytest.warns(UserWarning, match=f"from_dh: {column}: angles are in rad, and 90 rad are 14.3 revolutions"):
            lw.Robot.from_dh("arm", [{"a": 0.3, column: -90}], convention="standard")
    with pytest.warns(lw.errors.ModelWarning, match=r"joint 'joint1': limits from -170 to 170 rad .* \[LIMIT_UNITS\]"):
        robot = lw.Robot.from_dh("arm", [{"a": 0.3, "lower": -170, "upper": 170}], convention="standard")
    assert [issue.code for issue in robot.report.warnings] == ["LIMIT_UNITS"]
    joint = lw.Joint.of(lw.joints.Universal(), name="j", parent="world", child="l", lower=-45, upper=(1.0, 90))
    with pytest.raises(lw.errors.ModelError, match="LIMIT_UNITS"):
        lw.Robot.build("r", lw.Link("l", mass=1.0), joint, strict=True)
    slide = {"a": 0.3, "prismatic": True, "lower": -170, "upper": 170}  # metres
    for row in (slide, {"a": 0.3, "alpha": 3.0, "theta": -6.0, "lower": -12.5, "upper": 12.5}):
        assert not lw.Robot.from_dh("arm", [row], convention="standard").report.warnings
