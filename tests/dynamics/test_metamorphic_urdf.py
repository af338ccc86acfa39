"""What must not change when a robot's file says the same in other words."""

import math
import random
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from linkwork import Robot, robots
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.robot_table import ROBOT, robot_owner
from oracles.comparison import assert_close
from oracles.scalars import Direct, names_for, share

CASES = {"arm7_gripper": False, "quadruped": True}
both_robots = pytest.mark.parametrize("name", CASES)


def text_of(name):
    return robots.path(name).read_text(encoding="utf-8")


def robot_of(name, xml=None):
    text = text_of(name) if xml is None else ET.tostring(xml, encoding="unicode")
    return Robot.from_urdf_string(text, floating_base=CASES[name])


@pytest.fixture(scope="module")
def originals():
    return {name: robot_of(name) for name in CASES}


def state(robot, size=5):
    rng = np.random.default_rng(2)
    return (
        robot.random_configuration(rng, size=size),
        rng.normal(size=(size, robot.nv)),
        rng.normal(size=(size, robot.nv)),
    )


def outcomes(robot, q, v, a):
    f = Direct(robot.tree)
    return {
        "poses": f.forward_kinematics(q),
        "forces": f.inverse_dynamics(q, v, a),
        "mass_matrix": f.mass_matrix(q),
        "accelerations": f.forward_dynamics(q, v, a),
    }


@both_robots
def test_other_names_in_another_order(originals, name):
    xml = ET.fromstring(text_of(name))
    for element in xml.iter():
        for kind in ("link", "joint"):
            if element.tag == kind:
                element.set("name", "other " + element.get("name"))
        if element.tag in ("parent", "child"):
            element.set("link", "other " + element.get("link"))
        if element.tag == "mimic":
            element.set("joint", "other " + element.get("joint"))
    children = list(xml)
    random.Random(3).shuffle(children)
    xml[:] = children
    here, there = originals[name], robot_of(name, xml)
    assert there.joints != here.joints
    q, v, a = state(here)

    def renamed(joint_name):
        return joint_name if joint_name == "floating_base" else "other " + joint_name

    of_q = np.concatenate([np.r_[there.joint(renamed(j.name)).q_slice] for j in here.joints])
    of_v = np.concatenate([np.r_[there.joint(renamed(j.name)).v_slice] for j in here.joints])
    bodies = [there.bodies.index("other " + body) for body in here.bodies]
    q_there, v_there, a_there = np.empty_like(q), np.empty_like(v), np.empty_like(a)
    q_there[:, of_q], v_there[:, of_v], a_there[:, of_v] = q, v, a
    found = outcomes(there, q_there, v_there, a_there)
    found["poses"] = found["poses"][:, bodies]
    found["mass_matrix"] = found["mass_matrix"][:, of_v][:, :, of_v]
    found["forces"], found["accelerations"] = found["forces"][:, of_v], found["accelerations"][:, of_v]
    for what, value in outcomes(here, q, v, a).items():
        # accelerations: the articulated bodies of the trunk are summed in another order; cond(M) is below 1e4
        assert_close(found[what], value, 1e-13 if what != "accelerations" else 1e-11, what, core=value.ndim - 1)


@both_robots
def test_links_split_by_fixed_joints(originals, name):
    """Every joint hangs on a link of its own, and every link's mass is a link of its own."""
    xml = ET.fromstring(text_of(name))
    for joint in xml.findall("joint"):
        xyz, rpy = joint.find("origin").get("xyz", "0 0 0"), joint.find("origin").get("rpy", "0 0 0")
        before = joint.find("parent").get("link")
        add_fixed(xml, "mount of " + joint.get("name"), before, xyz, "0 0 0")
        joint.find("parent").set("link", "mount of " + joint.get("name"))
        joint.find("origin").attrib.update(xyz="0 0 0", rpy=rpy)
    for link in xml.findall("link"):
        inertial = link.find("inertial")
        if inertial is not None:
            origin = inertial.find("origin")
            place = (origin.get("xyz", "0 0 0"), origin.get("rpy", "0 0 0")) if origin is not None else ("0 0 0",) * 2
            mass = add_fixed(xml, "mass of " + link.get("name"), link.get("name"), *place)
            link.remove(inertial)
            if origin is not None:
                inertial.remove(origin)
            mass.append(inertial)
    here, there = originals[name], robot_of(name, xml)
    assert len(there.frames) > 2 * len(here.frames)
    assert here.bodies == there.bodies
    assert [j.name for j in here.joints] == [j.name for j in there.joints]
    assert there.mass == pytest.approx(here.mass, rel=1e-15)
    q, v, a = state(here)
    found = outcomes(there, q, v, a)
    for what, value in outcomes(here, q, v, a).items():
        assert_close(found[what], value, 1e-12, what, core=value.ndim - 1)


@both_robots
def test_a_massless_link_changes_no_bit(originals, name, drawn):
    """Of every function of an arm, and of a quarter of them of what stands on legs."""
    xml = ET.fromstring(text_of(name))
    for link in xml.findall("link"):
        add_fixed(xml, "sensor on " + link.get("name"), link.get("name"), "0.1 -0.2 0.3", "0.4 0.5 0.6")
    here, there = originals[name], robot_of(name, xml)
    for function in drawn(ROBOT if name == "arm7_gripper" else share(0, 4)):
        asked = (function, *names_for(here.tree, ROBOT[function]))
        programs = [
            trace_requests(robot_owner(r.tree), function, {function: read_request(robot_owner(r.tree), asked)})
            for r in (here, there)
        ]
        assert programs[0] == programs[1], function


@both_robots
def test_the_other_way_round(originals, name):
    """Axes reversed: the signs of q, v and forces change, and nothing else."""
    xml = ET.fromstring(text_of(name))
    for axis in xml.iter("axis"):
        axis.set("xyz", " ".join(str(-float(x)) for x in axis.get("xyz").split()))
    here, there = originals[name], robot_of(name, xml)
    q, v, a = state(here)
    s_q = np.concatenate([np.full(j.nq, -1.0 if j.nv == 1 else 1.0) for j in here.joints])
    s_v = np.concatenate([np.full(j.nv, -1.0 if j.nv == 1 else 1.0) for j in here.joints])
    found, expected = outcomes(there, q * s_q, v * s_v, a * s_v), outcomes(here, q, v, a)
    for what, sign in {"poses": 1.0, "forces": s_v, "mass_matrix": np.outer(s_v, s_v), "accelerations": s_v}.items():
        tolerance = 1e-13 if what != "accelerations" else 1e-12
        assert_close(found[what] * sign, expected[what], tolerance, what, core=expected[what].ndim - 1)


def test_revolute_and_continuous_are_one_inside_the_limits(originals):
    xml = ET.fromstring(text_of("arm7_gripper"))
    turned = [joint for joint in xml.findall("joint") if joint.get("type") == "revolute"]
    assert turned
    for joint in turned:
        joint.set("type", "continuous")
    here, there = originals["arm7_gripper"], robot_of("arm7_gripper", xml)
    q, v, a = state(here)
    found = outcomes(there, q, v, a)
    for what, value in outcomes(here, q, v, a).items():
        assert np.array_equal(found[what], value), what
    for joint in turned:
        assert there.joint(joint.get("name")).upper == math.inf
        assert here.joint(joint.get("name")).upper < math.inf


def add_fixed(xml, link, parent, xyz, rpy):
    joint = ET.SubElement(xml, "joint", name=f"to {link}", type="fixed")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=link)
    ET.SubElement(joint, "origin", xyz=xyz, rpy=rpy)
    return ET.SubElement(xml, "link", name=link)
