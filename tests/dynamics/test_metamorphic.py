"""What must not change, or must change in a known way, when a robot is described otherwise: on random trees."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.joints import scaled
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_pose
from linkwork.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia, Pose, Symmetric3
from oracles.comparison import assert_close
from oracles.scalars import Direct, names_for
from oracles.trees import TREES, every_plain_tree, every_tree, state


def units(tree, which):
    return np.array([unit for body in tree.bodies for unit in getattr(body.joint, which)], dtype=str)


def outcomes(f, q, v, a):
    return {
        "forward_kinematics": f.forward_kinematics(q),
        "inverse_dynamics": f.inverse_dynamics(q, v, a),
        "mass_matrix": f.mass_matrix(q),
        "forward_dynamics": f.forward_dynamics(q, v, a),
    }


@every_plain_tree
def test_flipping_axes_flips_signs(tree):
    flips = [-1.0 if hasattr(b.joint, "axis") else 1.0 for b in tree.bodies]
    axes = {i: replace(b.joint, axis=-b.joint.axis) for i, b in enumerate(tree.bodies) if flips[i] < 0.0}
    other = replace(tree, bodies=tuple(replace(b, joint=axes.get(i, b.joint)) for i, b in enumerate(tree.bodies)))
    names = [b.joint.q_names or ("",) * b.joint.nq for b in tree.bodies]
    s_q = np.array([1.0 if name == "cos" else x for part, x in zip(names, flips, strict=True) for name in part])
    s_v = np.array([x for b, x in zip(tree.bodies, flips, strict=True) for _ in range(b.joint.nv)])
    q, v, a = state(tree)
    there, here = outcomes(Direct(other), q * s_q, v * s_v, a * s_v), outcomes(Direct(tree), q, v, a)
    signs = {"inverse_dynamics": s_v, "forward_dynamics": s_v, "mass_matrix": np.outer(s_v, s_v)}
    for name, value in here.items():
        assert_close(there[name] * signs.get(name, 1.0), value, 1e-13, name)


@every_tree
def test_turning_the_world_with_gravity(tree):
    X_0 = random_pose(np.random.default_rng(8))
    other = replace(
        tree,
        bodies=tuple(replace(b, placement=X_0 @ b.placement) if b.parent == WORLD else b for b in tree.bodies),
        frames=tuple(replace(f, placement=X_0 @ f.placement) if f.body == WORLD else f for f in tree.frames),
        gravity=X_0.rotation @ tree.gravity,
    )
    q, v, a = state(tree)
    there, here = outcomes(Direct(other), q, v, a), outcomes(Direct(tree), q, v, a)
    matrix = np.reshape(np.array(X_0.elements(), dtype=float), (4, 4))
    here["forward_kinematics"] = matrix @ here["forward_kinematics"]
    for name, value in here.items():
        assert_close(there[name], value, 1e-12, name)


@every_plain_tree
def test_dimensions(tree):
    """Lengths × L and masses × m: poses scale by L, energies by m L², in the same time."""
    L, m = 3.0, 5.0

    def scaled_pose(X):
        return Pose(X.rotation, X.translation * L)

    def scaled_inertia(I):
        return Inertia(I.mass * m, I.moment * (m * L), Symmetric3(*(x * (m * L * L) for x in I.about.elements())))

    def scaled_body(b):
        return replace(
            b,
            joint=scaled(b.joint, L),
            placement=scaled_pose(b.placement),
            rotor=scaled_pose(b.rotor),
            inertia=scaled_inertia(b.inertia),
        )

    bodies, frames = tuple(scaled_body(b) for b in tree.bodies), without_inertias(tree.frames)
    other = replace(tree, bodies=bodies, frames=frames, gravity=tree.gravity * L)
    s_q = np.where(units(tree, "q_units") == "m", L, 1.0)
    s_v = np.where(units(tree, "v_units") == "m/s", L, 1.0)
    force = m * L * L / s_v
    q, v, a = state(tree)
    there = outcomes(Direct(other), q * s_q, v * s_v, a * s_v)
    here = outcomes(Direct(tree), q, v, a)
    here["forward_kinematics"][..., :3, 3] *= L
    here["inverse_dynamics"] = here["inverse_dynamics"] * force
    here["mass_matrix"] = here["mass_matrix"] * np.outer(force, 1.0 / s_v)
    here["forward_dynamics"] = Direct(tree).forward_dynamics(q, v, a * s_v / force) * s_v
    for name, value in here.items():
        assert_close(there[name], value, 1e-12, name)


@pytest.mark.parametrize("name", ROBOT)
def test_a_massless_frame_changes_no_bit(name):
    """What is compiled is the same program."""
    tree = TREES["mixed_2"]
    extra = Frame("extra", 3, random_pose(np.random.default_rng(1)))
    other = replace(tree, frames=(*tree.frames, extra))
    asked = (name, *names_for(tree, ROBOT[name], tree.frames[-3].name))
    here, there = (
        trace_requests(robot_owner(t), name, {name: read_request(robot_owner(t), asked)}) for t in (tree, other)
    )
    assert here == there


@every_plain_tree
def test_a_body_may_be_split_by_a_fixed_joint(tree):
    """A fixed joint's body welds its load to its parent: same kinetics as one body."""
    from linkwork.joints import Fixed
    from linkwork.model.body import Limits

    rng, frames = np.random.default_rng(6), without_inertias(tree.frames)
    for host in range(len(tree.bodies)):
        place = random_pose(rng)
        load = tree.bodies[(host + 1) % len(tree.bodies)].inertia
        one = replace(tree.bodies[host], inertia=tree.bodies[host].inertia + place @ load)
        together = replace(tree, bodies=(*tree.bodies[:host], one, *tree.bodies[host + 1 :]), frames=frames)
        weld = replace(
            one, name="load", joint_name="weld", parent=host, joint=Fixed(), placement=place, rotor=Pose.identity(),
            inertia=load, limits=Limits.none(Fixed()), damping=(), friction=(),
        )  # fmt: skip
        apart = replace(tree, bodies=(*tree.bodies, weld), frames=frames)
        q, v, a = state(tree)
        there, here = outcomes(Direct(apart), q, v, a), outcomes(Direct(together), q, v, a)
        there["forward_kinematics"] = there["forward_kinematics"][:, :-1]
        for name, value in here.items():
            assert_close(there[name], value, 1e-12, name)
