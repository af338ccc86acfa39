"""Written files on both sides of each limit, and the largest files that a budget permits."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import LoopJoint
from linkwork.errors import ModelError
from linkwork.formats import Budget, parse_loops, sdf_text, urdf_text
from linkwork.formats.written_content import is_at_bounds
from linkwork.formats.xml_document import parse
from linkwork.joints import Planar, Spherical, Universal
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

PENDULUM = lw.load("double_pendulum")
INF = math.inf


def with_body(**changes: Any) -> Tree:
    first, *more = PENDULUM.tree.bodies
    return replace(PENDULUM.tree, bodies=(replace(first, **changes), *more))


def bounded(lower: float, upper: float, enabled: bool) -> Tree:
    limits = replace(PENDULUM.tree.bodies[0].limits, lower=(lower,), upper=(upper,), enabled=enabled)
    return with_body(limits=limits)


def test_values_without_effect_are_reported_if_sdf_loses_them() -> None:
    bounds, forces = "bounds without effect are not written", "damping and friction without effect are not written"
    for tree, text in (
        (bounded(-1.0, 2.0, False), bounds),
        (bounded(-INF, 2.0, False), bounds),
        (bounded(-INF, INF, False), None),
        (bounded(-1.0, 2.0, True), None),
        (with_body(dynamics="none", damping=(0.5,), friction=(0.0,)), forces),
        (with_body(dynamics="none", damping=(0.0,), friction=(0.25,)), forces),
        (with_body(dynamics="none", damping=(0.0,), friction=(0.0,)), None),
        (with_body(damping=(0.5,), friction=(0.25,)), None),
    ):
        said = [issue.message for issue in sdf_text(tree)[1].warnings]
        assert [x for x in (bounds, forces) if any(x in message for message in said)] == ([text] if text else [])


def test_axes_of_universal_joints_are_at_a_right_angle_within_rounding() -> None:
    for cosine, changed in ((5e-10, False), (5e-9, True)):
        joint = Universal((1.0, 0.0, 0.0), (cosine, 0.6, 0.8), right_angle=False)
        robot = PENDULUM.with_joint(PENDULUM.joint("elbow").with_type(joint))
        said = str([str(issue) for issue in sdf_text(robot.tree)[1].warnings])
        assert ("at no right angle" in said) is changed


def test_loops_are_written_to_sdf_if_they_are_closed_at_zero_within_rounding() -> None:
    at = PENDULUM.pose(np.zeros(2), "tip")[:3, 3]
    for gap, joint, written, text in (
        (0.0, Spherical(), True, ""),
        (5e-10, Spherical(), True, ""),
        (5e-9, Spherical(), False, "it is open where q is zero"),
        (0.0, Planar(), False, ""),
    ):
        robot = PENDULUM.with_frame("peg", "world", (at[0] + gap, at[1], at[2]))
        robot = robot.with_constraints(LoopJoint("pin", joint, "peg", "tip"))
        document, report = sdf_text(robot.tree)
        assert ('<joint name="pin"' in document) is written
        assert text in str([str(issue) for issue in report.warnings])


def test_first_moments_without_mass_are_reported_if_urdf_loses_them() -> None:
    for moment, lost in (((0.1, -0.2, 0.3), True), ((0.0, 0.0, 0.0), False)):
        inertia = Inertia(0.0, Vec3(*moment), Symmetric3.diagonal(0.1, 0.2, 0.25))
        frames = tuple(replace(f, inertia=inertia) if f.name == "upper_rod" else f for f in PENDULUM.tree.frames)
        tree = replace(PENDULUM.tree, bodies=with_summed_inertias(PENDULUM.tree.bodies, frames), frames=frames)
        said = str([str(issue) for issue in urdf_text(tree)[1].warnings])
        assert ("first moments of mass without mass are not written" in said) is lost


def test_moments_at_the_bounds_of_mujoco_are_those_within_rounding() -> None:
    for moments, expected in (
        ((0.8, 1.2, 2.0 - 1e-9), True),
        ((0.8, 1.2, 2.0 - 5e-9), False),
        ((5e-10, 1.0, 1.0), True),
        ((5e-9, 1.0, 1.0), False),
        ((1.9e-15, 2.1e-15, 2.1e-15), True),
        ((2.1e-15, 2.2e-15, 2.2e-15), False),
    ):
        assert is_at_bounds(moments) is expected, moments


def test_rotations_that_are_not_orthonormal_are_reported_if_urdf_has_angles_for_them() -> None:
    rows = Rotation.from_rpy(0.3, -0.5, 0.7)
    for by, lost in ((2e-15, False), (5e-14, True)):
        stretched = Rotation(rows.x * (1.0 + by), rows.y, rows.z)
        tree = with_body(placement=Pose(stretched, Vec3(0.1, 0.2, 0.3)))
        said = str([str(issue) for issue in urdf_text(tree)[1].warnings])
        assert ("the rotation is not orthonormal" in said) is lost


def test_budgets_of_files_include_the_file_at_the_limit() -> None:
    text = "<a>" + "é" * 10 + "<b/><b/></a>"  # 3 elements in 35 bytes
    assert len(text.encode()) == 35
    values = '{"version": 1, "frames": []}'  # 3 values
    for read, name, limit in (
        (lambda budget: parse(text, budget=budget), "max_elements", 3),
        (lambda budget: parse(text, budget=budget), "max_bytes", 35),
        (lambda budget: parse(text.encode(), budget=budget), "max_bytes", 35),
        (lambda budget: parse_loops(values, budget=budget), "max_elements", 3),
        (lambda budget: parse_loops(values, budget=budget), "max_bytes", len(values)),
    ):
        assert read(Budget(**{name: limit})) is not None
        with pytest.raises(ModelError, match="TOO_LARGE"):
            read(Budget(**{name: limit - 1}))


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_budgets_of_models_count_all_files_that_they_include(tmp_path: Path) -> None:
    link = '<body name="{}"><geom size=".1"/></body>'
    part = f"<mujoco><worldbody>{link.format('b')}</worldbody></mujoco>"  # 4 elements
    whole = f'<mujoco><include file="part.xml"/><worldbody>{link.format("a")}</worldbody></mujoco>'  # 5 elements
    (tmp_path / "part.xml").write_text(part)
    (tmp_path / "whole.xml").write_text(whole)
    inner = '<sdf version="1.9"><model name="m"><link name="a"/><frame name="f"/><frame name="g"/></model></sdf>'
    includes = "".join(f"<include><name>m{k}</name><uri>inner.sdf</uri></include>" for k in range(20))
    (tmp_path / "inner.sdf").write_text(inner)
    (tmp_path / "outer.sdf").write_text(f'<sdf version="1.9"><world name="w">{includes}</world></sdf>')
    files = [("outer.sdf", "max_elements", 20 * 5)]  # more than the 62 of the outer file
    if find_spec("mujoco"):
        files += [
            ("whole.xml", "max_compiled", 9),
            ("whole.xml", "max_files", 2),
            ("whole.xml", "max_total_bytes", len(part) + len(whole)),
        ]
    for name, limit, count in files:
        assert lw.load(tmp_path / name, budget=Budget(**{limit: count})).links
        with pytest.raises(ModelError, match=r"TOO_LARGE"):
            lw.load(tmp_path / name, budget=Budget(**{limit: count - 1}))
