"""Robots as people have them: every URDF of example-robot-data, and those inside linkwork, beside Pinocchio."""

from __future__ import annotations

import functools
import importlib.metadata
import pathlib

import numpy as np
import pytest

from linkwork.errors import ModelError
from linkwork.formats import read_urdf
from linkwork.joints import Floating, Prismatic, Revolute
from linkwork.model.body import WORLD, Body
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from linkwork.spatial import Inertia, Pose

pin = pytest.importorskip("pinocchio")


def robots() -> dict[str, pathlib.Path]:
    """The files by name: "talos_data/talos_reduced"."""
    results = {}
    for path in (pathlib.Path(__file__).parents[2] / "src" / "linkwork" / "robots").glob("*.urdf"):
        results[f"linkwork/{path.stem}"] = path
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".urdf":
            results[f"{file.parts[-3].removesuffix('_description')}/{file.stem}"] = pathlib.Path(str(file.locate()))
    return dict(sorted(results.items()))


ROBOTS = robots()
# Files that say what no robot can be, the errors that say so, and the option with which they load all the same.
BAD = {
    "alex/alex_psyonic_hands": ("MIMIC_UNKNOWN", {"mimic": "ignore"}),
    "romeo/romeo_laas_small": ("INERTIA_NOT_PSD", {"inertia": "nearest"}),
    "tiago/tiago": ("INERTIA_NOT_PSD", {"inertia": "nearest"}),
    "tiago/tiago_dual": ("INERTIA_NOT_PSD", {"inertia": "nearest"}),
    "tiago/tiago_no_hand": ("INERTIA_NOT_PSD", {"inertia": "nearest"}),
    "ur/ur3": ("BAD_NAME", None),  # without a name, which Pinocchio refuses too
}
GOOD = [name for name in ROBOTS if name not in BAD]
# What is odd about the files, and only that.
KNOWN_CODES = {
    *("IGNORED", "INERTIA_TRIANGLE", "INERTIA_UNITS", "LIMIT_MISSING", "MASS_ZERO", "MIMIC_FREE"),
    *("UNKNOWN_MATERIAL", "UNKNOWN_TAG", "UNSUPPORTED"),
}


@functools.cache
def tree(name: str, floating_base: bool = False) -> Tree:
    return build_tree(read_urdf(ROBOTS[name]), floating_base=floating_base)


@functools.cache
def model(name: str, floating_base: bool = False) -> pin.Model:
    path = str(ROBOTS[name])
    return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating_base else pin.buildModelFromUrdf(path)


def matrix(pose: Pose) -> np.ndarray:
    return np.array(pose.elements()).reshape(4, 4)


def inertial_values(inertia: Inertia) -> np.ndarray:
    return np.array([inertia.mass, *inertia.moment, *inertia.about.elements()])


def inertial_values_of_pinocchio(inertia: pin.Inertia) -> np.ndarray:
    six = inertia.matrix()  # linear first
    h, about = inertia.mass * inertia.lever, six[3:, 3:]
    return np.array([inertia.mass, *h, *about[np.triu_indices(3)]])


@pytest.mark.parametrize("name", BAD)
def test_urdf_files_of_published_robots_with_faults_are_refused_by_their_code(name: str):
    if name not in ROBOTS:
        pytest.skip("this version of example-robot-data does not have it")
    code, _ = BAD[name]
    with pytest.raises(ModelError, match=code) as caught:
        tree(name)
    assert {issue.code for issue in caught.value.issues} == {code}


@pytest.mark.parametrize("name", [name for name, (_, options) in BAD.items() if options])
def test_urdf_files_of_published_robots_with_faults_load_with_the_repairing_option(name: str):
    """Placements are Pinocchio's, and so are inertias but for bodies with links that are listed as repaired."""
    if name not in ROBOTS:
        pytest.skip("this version of example-robot-data does not have it")
    _, options = BAD[name]
    description = read_urdf(ROBOTS[name], inertia=options.get("inertia", "given"))
    ours, theirs = build_tree(description, mimic=options.get("mimic", "free")), model(name)
    check_frames(ours, theirs)
    repairs = [issue for issue in ours.report.repairs if issue.code == "INERTIA_NEAREST"]
    assert bool(repairs) == ("inertia" in options)
    repaired = {frame.body for frame in ours.frames for issue in repairs if f"link[{frame.name}]/" in str(issue.where)}
    for i, body in enumerate(ours.bodies):
        expected = inertial_values_of_pinocchio(theirs.inertias[theirs.getJointId(body.joint_name)])
        same = np.allclose(inertial_values(body.inertia), expected, rtol=1e-12, atol=1e-14 * max(1, expected[0]))
        assert same == (i not in repaired), body.name


@pytest.mark.parametrize("name", GOOD)
def test_warnings_of_published_robots_urdf_files_have_known_codes(name: str):
    codes = {issue.code for issue in tree(name).report.warnings}
    assert codes <= KNOWN_CODES
    if name.startswith("linkwork/"):
        read_urdf(ROBOTS[name], strict=True)
        assert codes <= {"MIMIC_FREE"}


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", GOOD)
def test_published_robots_have_the_joints_bodies_and_frames_of_pinocchio(name: str, floating_base: bool):
    if floating_base and tree(name).frame("world") in tree(name).frames:
        with pytest.raises(ModelError, match="the root link is named 'world'"):
            tree(name, floating_base)
        return
    ours, theirs = tree(name, floating_base), model(name, floating_base)
    assert len(ours.bodies) == theirs.njoints - 1
    assert ours.nv == theirs.nv
    names = {"floating_base": "root_joint"}
    for body in ours.bodies:
        index = theirs.getJointId(names.get(body.joint_name, body.joint_name))
        assert index < theirs.njoints, body.joint_name
        parent = "universe" if body.parent == WORLD else ours.bodies[body.parent].joint_name
        assert theirs.names[theirs.parents[index]] == names.get(parent, parent)
        placement = theirs.jointPlacements[index].homogeneous
        np.testing.assert_allclose(
            matrix(body.placement), placement, rtol=0, atol=1e-14 * max(1, np.abs(placement).max())
        )
        expected = inertial_values_of_pinocchio(theirs.inertias[index])
        np.testing.assert_allclose(
            inertial_values(body.inertia), expected, rtol=1e-12, atol=1e-14 * max(1, expected[0])
        )
        check_joint(body, theirs, index)
    check_frames(ours, theirs)


def check_joint(body: Body, theirs: pin.Model, index: int) -> None:
    """The same axis, limits, damping and friction."""
    joint = theirs.joints[index]
    if isinstance(body.joint, Floating):
        assert joint.shortname() == "JointModelFreeFlyer"
        return
    axis = body.joint.S([0.0]).columns[0].elements()
    data = joint.createData()
    joint.calc(data, joint_neutral(joint))
    expected = np.array(data.S).ravel()
    np.testing.assert_allclose(axis, [*expected[3:], *expected[:3]], atol=1e-15)
    assert isinstance(body.joint, (Revolute, Prismatic))
    velocity = slice(joint.idx_v, joint.idx_v + 1)
    assert body.limits.effort == tuple(theirs.effortLimit[velocity])
    assert body.limits.velocity == tuple(theirs.velocityLimit[velocity])
    assert body.damping == tuple(theirs.damping[velocity])
    assert body.friction == tuple(theirs.friction[velocity])
    if joint.nq == 1:
        assert body.limits.lower == (theirs.lowerPositionLimit[joint.idx_q],)
        assert body.limits.upper == (theirs.upperPositionLimit[joint.idx_q],)


def joint_neutral(joint: pin.JointModel) -> np.ndarray:
    return np.array([0.0]) if joint.nq == 1 else np.array([1.0, 0.0])  # Pinocchio's continuous joints: cos, sin


def check_frames(ours: Tree, theirs: pin.Model) -> None:
    """Every link stands where Pinocchio has it."""
    names = [body.joint_name.replace("floating_base", "root_joint") for body in ours.bodies]
    for frame in ours.frames:
        result = theirs.frames[theirs.getFrameId(frame.name, pin.FrameType.BODY)]
        parent = theirs.names[result.parentJoint]
        assert parent == ("universe" if frame.body == WORLD else names[frame.body])
        expected = result.placement.homogeneous
        np.testing.assert_allclose(
            matrix(frame.placement), expected, rtol=0, atol=1e-14 * max(1, np.abs(expected).max())
        )


@pytest.mark.parametrize("name", GOOD)
def test_published_robots_have_the_total_mass_of_their_links(name: str):
    links = read_urdf(ROBOTS[name]).links
    total = sum(link.inertia.mass for link in links)
    fixed = tree(name)
    if fixed.frame("world") not in fixed.frames:
        assert sum(body.inertia.mass for body in tree(name, True).bodies) == pytest.approx(total, rel=1e-12)
    at_rest = sum(frame.inertia.mass for frame in fixed.frames if frame.body == WORLD)
    assert sum(body.inertia.mass for body in fixed.bodies) + at_rest == pytest.approx(total, rel=1e-12)
