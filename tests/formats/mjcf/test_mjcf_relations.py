"""Elements that relate joints and links in written MJCF: coefficients and poses in the equations of MuJoCo."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints as c
from linkwork.force_elements import SpringDamper
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.spatial import Quaternion

HINGE, SLIDE = lw.joints.Revolute((0.48, -0.6, 0.64)), lw.joints.Prismatic((0.6, 0.64, 0.48))


def robot() -> lw.Robot:
    """Two hinges and two slides on a base."""
    kinds = {"a": HINGE, "b": HINGE, "x": SLIDE, "y": SLIDE}
    links = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("base", *(f"link_{k}" for k in kinds))]
    joints = [
        lw.Joint.of(
            kind, name=k, parent="base", child=f"link_{k}", placement=lw.pose((0.1 * i, 0.2, 0.3), rpy=(0.1, i, 0.2))
        )
        for i, (k, kind) in enumerate(kinds.items())
    ]
    return lw.Robot.build("machine", *links, *joints)


def document(built: lw.Robot, folder: Path) -> ElementTree.Element:
    built.to_mjcf(folder / "machine.xml")
    return ElementTree.parse(folder / "machine.xml").getroot()


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_couplings_are_written_as_polynomials_that_hold_where_the_constraint_does(tmp_path: Path) -> None:
    """The equality of MuJoCo is q_1 = Σ c_k q_2^k; each constraint's error is zero on it."""
    for constraint in (
        c.Gear("a", "b", ratio=-2.5, offset=0.3, name="train"),
        c.Rack("x", "a", radius=0.04, offset=0.02, name="train"),
        c.Screw("x", "a", pitch=0.03, offset=0.02, name="train"),
        c.Belt("a", "b", radius_a=0.05, radius_b=0.02, offset=0.1, name="train"),
        c.PolynomialCoupling("a", "b", (0.1, 0.5, -0.3, 0.2), a_reference=0.2, b_reference=0.4, name="train"),
        c.Coupling((("a", 2.0), ("b", 0.5)), offset=0.3, name="train"),
        c.Coupling((("a", 2.0),), offset=0.3, name="train"),
    ):
        built = robot().with_constraints(constraint)
        root = document(built, tmp_path)
        (joint,) = root.findall("equality/joint")
        coefficients = [float(x) for x in joint.get("polycoef", "").split()]
        assert len(coefficients) == 5 and joint.get("name") == "train"
        q = np.array([0.0, 0.37, 0.0, 0.0])
        index = {name: built.q_names.index(name) for name in ("a", "b", "x", "y")}
        q[index["b"]], q[index["a"]] = 0.37, -0.21
        second = joint.get("joint2")
        q[index[joint.get("joint1", "")]] = np.polyval(coefficients[::-1], q[index[second]] if second else 0.0)
        (error,) = built.tree.constraints[0].error(KinematicState(built.tree, q.tolist()))
        assert abs(float(error)) < 1e-15, constraint


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_welds_and_springs_are_written_with_their_poses_and_stiffness(tmp_path: Path) -> None:
    built = robot().with_frame("tip", "link_a", lw.pose((0.1, 0.2, 0.05), rpy=(0.3, 0.1, 0.2)))
    built = built.with_frame("hook", "link_y", lw.pose((0.3, -0.1, 0.2), rpy=(-0.2, 0.4, 0.1)))
    spring = SpringDamper("tip", "hook", stiffness=40.0, damping=0.5, rest_length=0.3, name="spring")
    root = document(built.with_loop("glue", "hook", "tip", lw.joints.Fixed()).with_force_elements(spring), tmp_path)
    (weld,) = root.findall("equality/weld")
    relpose, anchor = (np.array([float(x) for x in weld.get(key, "").split()]) for key in ("relpose", "anchor"))
    ends = {built.tree.frame(name).name: name for name in ("tip", "hook")}
    assert {*ends} == {"tip", "hook"} and {weld.get("body1"), weld.get("body2")} == {"link_y", "link_a"}
    local = {
        link: np.linalg.inv(built.pose(np.zeros(4), link)) @ built.pose(np.zeros(4), frame)
        for link, frame in (("link_a", "tip"), ("link_y", "hook"))
    }
    X_F, X_M = local[weld.get("body1", "")], local[weld.get("body2", "")]
    assert anchor == pytest.approx(X_M[:3, 3], abs=1e-14)
    expected = X_F @ np.linalg.inv(X_M)
    turn = lw.spatial.Rotation.from_quaternion(*relpose[3:])
    assert np.array([[*row] for row in turn.rows()]) == pytest.approx(expected[:3, :3], abs=1e-14)
    assert relpose[:3] == pytest.approx(X_F[:3, 3], abs=1e-14) and isinstance(Quaternion.of(turn), Quaternion)
    (tendon,) = root.findall("tendon/spatial")
    assert [tendon.get(key) for key in ("stiffness", "damping", "springlength")] == ["40", "0.5", "0.3"]
    sites = {site.get("name"): [float(x) for x in site.get("pos", "0 0 0").split()] for site in root.iter("site")}
    by_frame = [sites[end.get("site")] for end in tendon.findall("site")]
    assert by_frame[0] == pytest.approx(local["link_a"][:3, 3], abs=1e-14)
    assert by_frame[1] == pytest.approx(local["link_y"][:3, 3], abs=1e-14)
