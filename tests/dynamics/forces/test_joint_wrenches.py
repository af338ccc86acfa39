"""Wrenches across joints, against momentum and weight of the carried bodies, in every view."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.kinematics.algorithms.joint_functions import reaction
from linkwork.model.body import WORLD, PlacedJoint
from linkwork.spatial import Inertia
from oracles.acted_on import ActedOn
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES
from oracles.textbook import Textbook
from oracles.trees import TREES, every_moving_tree, state


def own_q(body, q):
    """The joint's own configuration, sample by sample."""
    return [list(x) if body.coupling is None else body.coupling.q(list(x)) for x in q]


def joint_frames(tree, q):
    """X_WM and X_WF of every body's joint: (samples, 4, 4)."""
    book = Textbook(tree, q)
    poses = []
    for i, body in enumerate(tree.bodies):
        to_M = np.linalg.inv(np.array(body.rotor.elements()).reshape(4, 4))
        to_F = np.array(body.placement.elements()).reshape(4, 4)
        parent = np.broadcast_to(book.bodies[body.parent].X, (len(q), 4, 4))
        poses.append((book.bodies[i].X @ to_M, parent @ to_F))
    return poses


def in_world(X, w):
    """A wrench of a frame, at the world's origin in the world's axes."""
    R, p = X[..., :3, :3], X[..., :3, 3]
    moment, force = (np.einsum("...ij,...j->...i", R, w[..., k : k + 3]) for k in (0, 3))
    return np.concatenate([moment + np.cross(p, force), force], axis=-1)


@every_moving_tree
def test_joint_wrenches_projected_on_motion_subspaces_are_joint_forces(tree):
    """τ = Σ Sᵀ w, and the internal force does no work; both are the joint's own split."""
    q, v, a = state(tree)
    f = ActedOn(tree)
    w = f.joint_wrenches(q, v, a)
    along, internal = f.joint_wrench_components(q, v, a)
    assert_close(along + internal, w, 1e-14, core=2)
    tau = np.zeros_like(v)
    for i, body in enumerate(tree.bodies):
        for n, q_n in enumerate(own_q(body, q[:, tree.q_slices[i]])):
            columns = np.array([S.elements() for S in body.joint.S(q_n).columns]).reshape(-1, 6)
            tau[n, tree.v_slices[i]] += body.ratio * (columns @ w[n, i])
            scale = max(1.0, float(np.linalg.norm(w[n, i]))) * max(1.0, float(np.linalg.norm(columns)))
            assert np.abs(columns @ internal[n, i]).max(initial=0.0) <= 1e-12 * scale
            fitted = columns.T @ np.linalg.pinv(columns.T, rcond=1e-10) @ w[n, i] if len(columns) else np.zeros(6)
            assert_close(along[n, i], fitted, 1e-10)
    assert_close(tau, f.inverse_dynamics(q, v, a), 1e-13, core=1)


@every_moving_tree
def test_joint_wrenches_on_the_world_equal_the_rate_of_momentum_less_external_wrenches(tree):
    """The wrenches across joints on the world equal the rate of momentum less weight and external wrenches."""
    q, v, a = state(tree)
    rng = np.random.default_rng(1)
    frame = next(f.name for f in tree.frames if f.body == len(tree.bodies) - 1)
    outside, gravity = rng.normal(size=(4, 6)), rng.normal(size=(4, 3))
    acting = {"wrenches": {frame: outside}, "wrenches_expressed_in": "body0", "gravity": gravity}
    w = ActedOn(tree).joint_wrenches(q, v, a, expressed_in="world", **acting)
    total = np.zeros((4, 6))
    for i, (X_WM, _) in enumerate(joint_frames(tree, q)):
        if tree.bodies[i].parent == WORLD:
            at_origin = np.concatenate([np.broadcast_to(np.eye(3), (4, 3, 3)), X_WM[:, :3, 3:]], axis=-1)
            total += in_world(at_origin, w[:, i])
    frames = [replace(f, inertia=Inertia.zero()) if f.body == WORLD else f for f in tree.frames]
    book = Textbook(replace(tree, frames=tuple(frames)), q, v, a)  # of all that moves
    mass = sum(frame.inertia.mass for frame in frames)
    rate = np.concatenate([book.angular_momentum_rate(), mass * book.center_of_mass_acceleration()], axis=-1)
    pull = mass * gravity
    weight = np.concatenate([np.cross(book._weighted("X") / mass, pull), pull], axis=-1)
    axes, at = book.pose("body0"), book.pose(frame)
    axes = np.concatenate([axes[:, :, :3], at[:, :, 3:]], axis=-1)
    assert_close(total, rate - weight - in_world(axes, outside), 1e-12, core=1)


@pytest.mark.parametrize("tree", [TREES[k] for k in ("mixed_0", "mixed_chain", "coupled_0", "rerooted_coupled")])
def test_joint_wrenches_on_parent_and_child_are_opposite_in_axes_of_any_frame(tree):
    """The reaction on the parent is opposite; axes may be of any frame."""
    q, v, a = state(tree)
    f = ActedOn(tree)
    frames, book = joint_frames(tree, q), Textbook(tree, q)
    own_wrenches = f.joint_wrenches(q, v, a)
    parts = f.joint_wrench_components(q, v, a)
    for on in ("child", "parent"):
        for E in (None, "world", "body0", f"tool{len(tree.bodies) - 1}"):
            wrenches = f.joint_wrenches(q, v, a, on=on, expressed_in=E)
            split = f.joint_wrench_components(q, v, a, on=on, expressed_in=E)
            for i, pair in enumerate(frames):
                at = pair[0] if on == "child" else pair[1]
                moved = at.copy()
                if E is not None:
                    moved[:, :3, :3] = book.pose(E)[..., :3, :3]
                sign = 1.0 if on == "child" else -1.0
                for actual, reference in zip((wrenches, *split), (own_wrenches, *parts), strict=True):
                    assert_close(
                        in_world(moved, actual[:, i]), sign * in_world(pair[0], reference[:, i]), 1e-12, core=1
                    )
    reactions = f.joint_wrenches(q, v, a, on="parent")
    for i, body in enumerate(tree.bodies):
        for n, q_n in enumerate(own_q(body, q[:, tree.q_slices[i]])):
            expected = reaction(PlacedJoint(body.joint), q_n, own_wrenches[n, i].tolist()).elements()
            assert_close(reactions[n, i], expected, 1e-13)


def test_first_joint_of_a_robot_at_rest_bears_the_robots_weight():
    """Compiled code: the wrench across the first joint carries the weight."""
    for name in ("arm7", "humanoid"):
        robot = lw.load(name, floating_base=name == "humanoid")
        q = robot.random_configuration(seed=1, size=3)
        zero = np.zeros(robot.nv)
        w = robot.joint_wrenches(q, zero, zero, expressed_in="world")
        moved = robot.mass - sum(f.inertia.mass for f in robot.tree.frames if f.body == WORLD)
        assert_close(w[:, 0, 3:], np.broadcast_to([0.0, 0.0, 9.81 * moved], (3, 3)), 1e-13, core=1)
        along, internal = robot.joint_wrench_components(q, zero, zero, expressed_in="world")
        assert_close(along + internal, w, 1e-14, core=2)
        if name == "humanoid":  # a free joint bears nothing: all of it is the joint force that is missing
            assert_close(internal[:, 0], np.zeros((3, 6)), 1e-10, core=1)


def test_joint_wrenches_of_an_accelerated_door_equal_the_closed_form():
    """A plate of 2 kg, its centre 0.5 m from a vertical hinge, rotates at 3 rad/s and accelerates by 4 rad/s²."""
    plate = lw.Link("door", mass=2.0, com=(0.5, 0.0, 0.2), inertia=(0.1, 0.2, 0.3))
    hinge = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge", parent="world", child="door")
    door = lw.Robot.build("door", [plate], [hinge])
    (w,) = door.joint_wrenches([0.7], [3.0], [4.0])
    f = np.array([-2.0 * 9.0 * 0.5, 2.0 * 4.0 * 0.5, 2.0 * 9.81])
    about = np.cross([0.5, 0.0, 0.2], f) + np.array([0.0, 0.0, 0.3 * 4.0])
    assert_close(w, [*about, *f], 1e-14)
    joint_force, internal_force = door.joint_wrench_components([0.7], [3.0], [4.0])
    assert_close(joint_force, [[0.0, 0.0, 4.0 * (0.3 + 2.0 * 0.25), 0.0, 0.0, 0.0]], 1e-14)
    assert_close(internal_force, [[about[0], about[1], 0.0, *f]], 1e-14)
    turned = door.joint("hinge").transform([0.7])[:3, :3]
    reaction_on_frame = door.joint_wrenches([0.7], [3.0], [4.0], on="parent")
    assert_close(reaction_on_frame, [[*(-turned @ w[:3]), *(-turned @ w[3:])]], 1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_joint_wrenches_equal_pinocchios(example):
    """Pinocchio's data.f is at the joint's origin in its axes."""
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    robot, oracle = example.robot(), Pinocchio(example)
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=(2, 3, robot.nv))
    q = robot.random_configuration(rng, size=3)
    names = ["root_joint" if x.joint_name == "floating_base" else x.joint_name for x in robot.tree.bodies]
    joint_ids = [oracle.model.getJointId(name) for name in names]
    theirs = []
    for state_there in zip(oracle.q(q), oracle.v(v), oracle.v(a), strict=True):
        pin.rnea(oracle.model, oracle.data, *state_there)
        theirs.append([oracle.swapped(oracle.data.f[k].vector) for k in joint_ids])
    assert_close(robot.joint_wrenches(q, v, a), np.array(theirs), 1e-12, core=2)


def test_joint_wrenches_rejects_unknown_frames_and_missing_inertias():
    robot = lw.load("double_pendulum")
    q = robot.neutral()
    with pytest.raises(ValueError, match="joint_wrenches: on: expected one of child, parent, got 'both'"):
        robot.joint_wrenches(q, q, q, on="both")
    with pytest.raises(lw.errors.UnknownNameError, match="no frame named 'tpi'; did you mean 'tip'"):
        robot.joint_wrenches(q, q, q, expressed_in="tpi")
    ignored = lw.load("double_pendulum", inertia="ignore")
    for ask in (lambda: ignored.joint_wrenches(q, q, q), lambda: ignored.newton_euler_terms(q, q)):
        with pytest.raises(ValueError, match="was loaded without inertias"):
            ask()
    assert ignored.static_torque(q, wrenches={"tip": np.ones(6)}).shape == (2,)
