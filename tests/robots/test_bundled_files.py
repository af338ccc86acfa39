"""Files of the bundled robots: plain URDF, true headers, names, trees, limits, and inertias of the first shapes."""

import importlib.resources
import math
import re
import xml.etree.ElementTree as ET

import numpy as np

from robots.shipped import (
    MECHANISMS,
    ROBOTS,
    every_file,
    every_robot,
    massive_links,
    moving_joints,
    text_of,
    values,
    xml_of,
)

CHILDREN = {
    "robot": {"material", "link", "joint"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry", "material"},
    "collision": {"origin", "geometry"},
    "geometry": {"box", "cylinder", "sphere"},
    "material": {"color"},
    "joint": {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"},
}


def test_every_bundled_robot_file_is_tested():
    shipped = {
        entry.name for entry in importlib.resources.files("linkwork.robots").iterdir() if entry.name.endswith(".urdf")
    }
    assert shipped == {f"{robot.name}.urdf" for robot in (*ROBOTS, *MECHANISMS)}


@every_file
def test_bundled_robot_files_are_plain_urdf(robot):
    text, root = text_of(robot.name), xml_of(robot.name)
    assert text.isascii()
    assert "DOCTYPE" not in text
    assert "xacro" not in text
    assert root.get("name") == robot.name
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set()), element.tag
        for attribute in ("xyz", "rpy", "size", "radius", "length", "value", "lower", "upper", "effort", "velocity"):
            if attribute in element.attrib:
                assert np.isfinite(values(element, attribute)).all()
    materials = {material.get("name") for material in root.findall("material")}
    assert {material.get("name") for material in root.findall("link/visual/material")} == materials


@every_file
def test_headers_of_bundled_robot_files_state_mass_joints_and_links(robot):
    header = text_of(robot.name).split("<!--")[1].split("-->")[0]
    assert header.strip().startswith(f"{robot.name}:")
    assert f"Total mass {robot.mass:g} kg" in header
    assert f"{robot.joints} moving joints" in header
    assert f"{robot.links} links" in header
    assert "Sources:" in header
    assert "License: part of linkwork, BSD-3-Clause." in header


@every_file
def test_names_in_bundled_robot_files_are_unique_identifiers(robot):
    root = xml_of(robot.name)
    names = [element.get("name") for tag in ("link", "joint") for element in root.findall(tag)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in names)
    assert set(robot.frames) <= set(names)


@every_file
def test_links_and_joints_of_bundled_robot_files_form_a_tree(robot):
    root = xml_of(robot.name)
    links = [link.get("name") for link in root.findall("link")]
    children = [joint.find("child").get("link") for joint in root.findall("joint")]
    parents = [joint.find("parent").get("link") for joint in root.findall("joint")]
    assert len(links) == robot.links
    assert len(moving_joints(robot.name)) == robot.joints
    assert len(children) == len(set(children)) == len(links) - 1
    assert set(children) | {robot.root} == set(links)
    assert set(parents) <= set(links)
    assert robot.root == "world" or root.find(f"link[@name='{robot.root}']/inertial") is not None


@every_robot
def test_moving_joints_of_bundled_robot_files_have_axes_limits_and_damping(robot):
    for joint in moving_joints(robot.name):
        axis, limit, dynamics = values(joint.find("axis"), "xyz"), joint.find("limit"), joint.find("dynamics")
        assert sorted(abs(axis)) == [0, 0, 1]
        assert float(limit.get("effort")) > 0
        assert float(limit.get("velocity")) > 0
        assert float(dynamics.get("damping")) >= 0
        assert float(dynamics.get("friction")) >= 0
        if joint.get("type") == "continuous":
            assert set(limit.attrib) == {"effort", "velocity"}
        else:
            lower, upper = float(limit.get("lower")), float(limit.get("upper"))
            assert lower <= 0 <= upper
            assert lower < upper


@every_robot
def test_right_angles_in_bundled_robot_files_are_exact(robot):
    for joint in xml_of(robot.name).findall("joint"):
        for angle in values(joint.find("origin"), "rpy"):
            assert angle in (0.0, math.pi / 2, -math.pi / 2)


def primitive_inertia(shape: ET.Element, mass: float) -> tuple[np.ndarray, float]:
    """The principal moments and the volume of a uniform solid."""
    if shape.tag == "box":
        x, y, z = values(shape, "size")
        return mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]), x * y * z
    r = float(shape.get("radius"))
    if shape.tag == "sphere":
        return np.full(3, 2 / 5 * mass * r * r), 4 / 3 * math.pi * r**3
    length = float(shape.get("length"))
    across = mass * (3 * r * r + length * length) / 12
    return np.array([across, across, mass * r * r / 2]), math.pi * r * r * length


@every_robot
def test_inertias_in_bundled_robot_files_equal_those_of_the_first_shape(robot):
    """The first visual shape of a link is the solid its mass is spread over; a collision shape is the same solid, or a
    sphere about its centre that is no wider than it."""
    for link in massive_links(robot.name):
        inertial, visual, collision = link.find("inertial"), link.find("visual"), link.find("collision")
        mass = float(inertial.find("mass").get("value"))
        moments, volume = primitive_inertia(visual.find("geometry")[0], mass)
        stated = [float(inertial.find("inertia").get(key)) for key in ("ixx", "iyy", "izz")]
        np.testing.assert_allclose(stated, moments, rtol=1e-8)
        assert all(float(inertial.find("inertia").get(key)) == 0 for key in ("ixy", "ixz", "iyz"))
        assert 300 < mass / volume < 3000, link.get("name")
        assert visual.find("origin").attrib == inertial.find("origin").attrib
        if collision is not None and collision.find("geometry")[0].tag == visual.find("geometry")[0].tag:
            assert collision.find("origin").attrib == inertial.find("origin").attrib
            assert collision.find("geometry")[0].attrib == visual.find("geometry")[0].attrib
        elif collision is not None:
            (sphere,), solid = collision.find("geometry"), visual.find("geometry")[0]
            assert collision.find("origin").get("xyz") == inertial.find("origin").get("xyz")
            assert sphere.tag == "sphere" and solid.tag == "cylinder"
            assert float(sphere.get("radius")) <= float(solid.get("radius"))
