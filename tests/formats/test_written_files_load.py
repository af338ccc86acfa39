"""Written files are valid for their readers, also with inertias, ranges, shapes and names at the bounds."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.formats import mjcf_text, parse_sdf, sdf_text, urdf_text
from linkwork.model.body import Limits
from linkwork.model.inertia_check import mass_properties, nearest_physical
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from linkwork.shapes import Box, Capsule, HalfSpace, Polytope
from linkwork.spatial import Inertia, Rotation, Symmetric3, Vec3

TYPES = (joints.Revolute, joints.Prismatic, joints.Fixed)
KINDS = ("rod", "point", "plate", "disc", "nearest", "light", "ball")
NAMES = (
    " a",
    "b ",
    "c::d",
    "__e__",
    "\u00a0f",
    "<g>",
    "h&i",
    "j\nk",
    "l\rm",
    "n  o",
    "p/q",
    "é",
    "world",
    "::",
    "\u2003r",
)


def inertia_at_bound(rng: np.random.Generator, kind: str) -> Inertia:
    """An inertia at the bounds of what a body can have."""
    a, b = rng.uniform(1e-3, 1.0, 2).tolist()
    moments = {"rod": (a, a, 0.0), "plate": (a, b, a + b), "disc": (a, a, 2.0 * a), "ball": (a, a, a)}
    moments["light"] = (1e-16, 2e-16, 3e-16)
    quaternion = rng.normal(size=4)
    R = Rotation.from_quaternion(*(quaternion / np.linalg.norm(quaternion)).tolist())
    about = R @ Symmetric3.diagonal(*moments.get(kind, (0.0, 0.0, 0.0)))
    if kind == "nearest":
        A = rng.normal(size=(3, 3))
        about, _ = nearest_physical(Symmetric3(*(A + A.T)[np.triu_indices(3)].tolist()))
    return Inertia.at_center(1e-6 if kind == "light" else 1.0 + a, Vec3.of(rng.normal(size=3).tolist()), about)


def at_bounds(rng: np.random.Generator, kind: str) -> Tree:
    """A random tree whose links have such inertias, and limits of which some are equal, infinite or zero."""
    tree = random_tree(rng, 4, types=TYPES)
    inertias = {body.name: inertia_at_bound(rng, kind) for body in tree.bodies}
    frames = tuple(replace(f, inertia=inertias.get(f.name, Inertia.zero())) for f in tree.frames)
    inf, bodies = float("inf"), []
    for k, body in enumerate(tree.bodies):
        bounds = ((0.5, 0.5, 0.0), (2e10, inf, 1.0), (-inf, 1.0, inf), (-1.0, 1.0, 1e-300))[k]
        nv = body.joint.nv
        limits = Limits(*((x,) * nv for x in (bounds[0], bounds[1], inf, bounds[2])))
        bodies.append(replace(body, inertia=inertias[body.name], limits=limits))
    return replace(tree, frames=frames, bodies=tuple(bodies))


def test_mujoco_loads_written_mjcf() -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    for kind in KINDS:
        for _ in range(5):
            tree = at_bounds(rng, kind)
            text, report = mjcf_text(tree)
            model = mujoco.MjModel.from_xml_string(text)
            is_raised = "moments of inertia at MuJoCo's bounds" in str(report)
            for body in tree.bodies:
                mass, center, about = mass_properties(body.inertia)
                i = model.body(body.name).id
                R = np.empty(9)
                mujoco.mju_quat2Mat(R, model.body_iquat[i])
                R = R.reshape(3, 3)
                result = R @ np.diag(model.body_inertia[i]) @ R.T
                xx, xy, xz, yy, yz, zz = about.elements()
                np.testing.assert_allclose(
                    result, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], rtol=0, atol=4e-15 + 1e-12 * xx
                )
                assert model.body_mass[i] == mass
                np.testing.assert_allclose(model.body_ipos[i], [*center], rtol=1e-14, atol=1e-15)
                has_joint = body.joint.nv > 0
                low = min(np.linalg.eigvalsh(result))
                assert not has_joint or low > 1e-15 * 0.9
                assert is_raised or not has_joint or kind not in ("point", "light")
    impossible = lw.Robot(at_bounds(rng, "ball")).tree
    about = Inertia.at_center(1.0, Vec3.zero(), Symmetric3.diagonal(1.0, 1.0, 3.0))
    frames = tuple(replace(f, inertia=about) if f.name == "body0" else f for f in impossible.frames)
    impossible = replace(
        impossible, frames=frames, bodies=(replace(impossible.bodies[0], inertia=about), *impossible.bodies[1:])
    )
    text, report = mjcf_text(impossible)
    assert "MuJoCo refuses the principal moments 1, 1, 3 kg m²" in str(report)
    with pytest.raises(ValueError, match=r"A \+ B >= C"):
        mujoco.MjModel.from_xml_string(text)


def test_mujoco_loads_shapes_and_ranges_of_written_mjcf() -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = lw.load("arm6")
    tip = robot.links[-1].name
    small = 1e-9 * np.vstack([np.zeros(3), np.eye(3)])
    robot = robot.with_collisions(tip, HalfSpace(), Box((1e-12, 1.0, 1.0)), Capsule(0.1, 0.0), Polytope(small))
    joint = robot.joints[0].name
    for k, bounds in enumerate(((0.0, 0.0), (1e11, float("inf")), (-float("inf"), -2e12))):
        actuator = lw.Actuator(f"m{k}", ((joint, (1.0,)),), control_range=bounds, force_range=bounds)
        robot = robot.with_actuators(actuator)
    text, report = mjcf_text(robot.tree)
    model = mujoco.MjModel.from_xml_string(text)
    assert model.nu == 3 and (model.actuator_ctrlrange[:, 0] < model.actuator_ctrlrange[:, 1]).all()
    assert model.actuator_ctrlrange[0, 1] < 1e-300 and model.actuator_ctrlrange[1, 1] > 1e11
    for words in (
        "half-spaces only on bodies that do not move",
        "meshes with a radius below",
        "equal bounds",
        "one bound",
    ):
        assert words in str(report), words


def test_readers_load_written_robots_with_names_reserved_by_the_format() -> None:
    """Links, joints and robots of names that SDF reserves are written by other names."""
    rng = np.random.default_rng(1)
    tree = random_tree(rng, len(NAMES), types=(joints.Revolute,), shape="chain")
    renamed = dict(zip((body.name for body in tree.bodies), NAMES, strict=True))
    renamed[tree.bodies[NAMES.index("world")].name] = "not world"
    frames = tuple(
        replace(
            f,
            name=renamed.get(f.name, f.name),
            welded_to=None if f.welded_to is None else renamed.get(f.welded_to, f.welded_to),
        )
        for f in tree.frames
    )
    bodies = tuple(
        replace(b, name=renamed[b.name], joint_name=name) for b, name in zip(tree.bodies, NAMES, strict=True)
    )
    tree = replace(tree, name="a::b ", frames=frames, bodies=bodies)
    text, report = sdf_text(tree)
    back = build_tree(parse_sdf(text))
    assert len(back.bodies) == len(tree.bodies) and "'c_d'" in str(report) and "'joint_world'" in str(report)
    names = {body.name for body in back.bodies}.intersection(NAMES)
    assert names == {"<g>", "h&i", "j\nk", "n  o", "p/q", "é"}
    for name in NAMES:
        robot_name, _ = sdf_text(replace(tree, name=name))
        assert build_tree(parse_sdf(robot_name)).name


def test_pinocchio_and_mujoco_load_written_urdf_and_sdf() -> None:
    pinocchio, rng = pytest.importorskip("pinocchio"), np.random.default_rng(2)
    mujoco = pytest.importorskip("mujoco")
    for kind in KINDS:
        tree = at_bounds(rng, kind)
        text, report = urdf_text(tree)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert lw.Robot.from_urdf_string(text).nv == tree.nv
            assert build_tree(parse_sdf(sdf_text(tree)[0])).nv == tree.nv
        assert ("MuJoCo refuses it in a URDF" in str(report)) == (kind != "ball")
        if kind == "ball":
            assert mujoco.MjModel.from_xml_string(text).nv == tree.nv
        model = pinocchio.buildModelFromXML(text)
        moving = [body for body in tree.bodies if body.joint.nv]
        assert {*model.names} == {"universe", *(body.joint_name for body in moving)}
        for body in moving:
            result = model.inertias[model.getJointId(body.joint_name)].mass
            assert result >= body.inertia.mass * (1.0 - 1e-12)  # with the masses of links that are fixed to it
