"""Trees with another root: the same mechanism, joints and coordinates."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.joints import ALL, Floating, Prismatic, Revolute
from linkwork.model.body import WORLD, Frame
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_edits import reroot
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Pose
from oracles.comparison import assert_close
from oracles.coupling import randomly_coupled
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES
from urdf_texts import LIMIT, joint, link, robot

EXAMPLE = {example.name: example for example in (*EXAMPLES, *SHIPPED)}
MOVING = [kind for kind in ALL if kind.example(np.random.default_rng(0)).nv]


def grounded(tree):
    """The tree with a link at the world's origin, as files have one."""
    base = Frame("base", WORLD, Pose.identity(), tree.frames[0].inertia)
    return replace(tree, frames=(base, *tree.frames))


def on_one_root(seed, bodies=6, types=MOVING):
    """A random tree of many types without one that floats on the world."""
    while True:
        tree = random_tree(np.random.default_rng(seed), bodies, types=types)
        if not any(b.joint.is_floating for b in tree.bodies if b.parent == WORLD):
            return grounded(tree)
        seed += 1000


FIXED = {f"mixed_{seed}": on_one_root(seed) for seed in range(3)}
FIXED["coupled"] = randomly_coupled(on_one_root(5, 8, [Revolute, Prismatic, Floating]), 2)
every_fixed = pytest.mark.parametrize("tree", FIXED.values(), ids=FIXED)


def state(tree, seed=0, size=3):
    rng = np.random.default_rng(seed)
    return lw.Robot(tree).random_configuration(rng, size=size), *rng.normal(size=(2, size, tree.nv))


def assert_same_motions(tree_a, tree_b, q, v, a, names, q1=None):
    """Assert equal relative poses, twists and accelerations of all links, by textbook mechanics and by ours."""
    f, g = Textbook(tree_a, q, v, a), Textbook(tree_b, q if q1 is None else q1, v, a)
    h = Direct(tree_b)
    for A in names:
        for B in names:
            assert_close(g.pose(B, A), f.pose(B, A), 1e-13, core=2)
            assert_close(g.twist(B, A, A), f.twist(B, A, A), 1e-12, core=1)
            assert_close(g.acceleration(B, A, A), f.acceleration(B, A, A), 1e-11, core=1)
    A, B = names[0], names[-1]
    q1 = q if q1 is None else q1
    assert_close(h.pose(q1, B, relative_to=A), f.pose(B, A), 1e-13, core=2)
    assert_close(h.twist(q1, v, B, relative_to=A, expressed_in=A), f.twist(B, A, A), 1e-12, core=1)
    result = h.acceleration(q1, v, a, B, relative_to=A, expressed_in=A)
    assert_close(result, f.acceleration(B, A, A), 1e-11, core=1)


def assert_same_placements(tree_a, tree_b):
    assert (tree_a.nq, tree_a.nv) == (tree_b.nq, tree_b.nv)
    names = [body.joint_name for body in tree_a.bodies]
    assert sorted(names) == sorted(body.joint_name for body in tree_b.bodies)
    for name in names:
        i, j = tree_a.joint_index(name), tree_b.joint_index(name)
        assert (tree_a.q_slices[i], tree_a.v_slices[i]) == (tree_b.q_slices[j], tree_b.v_slices[j])
        parts = ("limits", "damping", "friction", "mimic", "coupling")
        assert all(getattr(tree_a.bodies[i], part) == getattr(tree_b.bodies[j], part) for part in parts)
    assert all(body.parent < i for i, body in enumerate(tree_b.bodies))


def assert_equal_but_for_rounding(tree_a, tree_b):
    shape = [(b.name, b.parent, b.joint_name, b.limits, b.coupling) for b in tree_a.bodies]
    assert [(b.name, b.parent, b.joint_name, b.limits, b.coupling) for b in tree_b.bodies] == shape
    assert [b.joint for b in tree_b.bodies] == [b.joint for b in tree_a.bodies]
    assert [(f.name, f.body, f.fixed_joint, f.inertia) for f in tree_b.frames] == [
        (f.name, f.body, f.fixed_joint, f.inertia) for f in tree_a.frames
    ]
    assert (tree_a.stacking, tree_a.gravity) == (tree_b.stacking, tree_b.gravity)
    for x, y in zip((*tree_a.bodies, *tree_a.frames), (*tree_b.bodies, *tree_b.frames), strict=True):
        assert_close(np.array(y.placement.elements()), np.array(x.placement.elements()), 1e-14)
    for x, y in zip(tree_a.bodies, tree_b.bodies, strict=True):
        assert_close(np.array(y.rotor.elements()), np.array(x.rotor.elements()), 1e-14)
        first, second = ([b.inertia.mass, *b.inertia.moment, *b.inertia.about.elements()] for b in (x, y))
        assert_close(second, first, 1e-13)


# -- a joint from its other side


@pytest.mark.light
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.type_name())
def test_reversed_joint_has_the_inverse_transform_of_the_joint(kind):
    rng = np.random.default_rng(0)
    joint = kind.example(rng)
    reversed_joint = joint.reversed()
    assert reversed_joint.reversed() == joint
    no_limits = (-np.inf,) * joint.nq, (np.inf,) * joint.nq
    q, v, a = joint.random(rng, *no_limits, ()).tolist(), rng.normal(size=joint.nv).tolist(), rng.normal(size=joint.nv)
    X = np.reshape(np.array(joint.X(q).elements(), float), (4, 4))
    assert_close(np.reshape(np.array(reversed_joint.X(q).elements(), float), (4, 4)) @ X, np.eye(4), 1e-14)
    assert (reversed_joint.nq, reversed_joint.nv, reversed_joint.q_units) == (joint.nq, joint.nv, joint.q_units)
    if joint.nv:
        twist = (joint.X(q) @ -joint.twist(q, v)).elements()
        assert_close(reversed_joint.twist(q, v).elements(), twist, 1e-14)
        from linkwork.joints import JointType

        assert_close(reversed_joint.twist(q, v).elements(), (JointType.S(reversed_joint, q) @ v).elements(), 1e-13)
        assert_close(reversed_joint.bias(q, v).elements(), JointType.bias(reversed_joint, q, v).elements(), 1e-12)
    assert reversed_joint.q_dot(q, v) == joint.q_dot(q, v)
    assert a.shape == (joint.nv,)


# -- fixed to the world


@every_fixed
@pytest.mark.parametrize("link", ["body5", "tool3", "body1", "ground1"])
def test_rerooting_preserves_relative_motions_of_links(tree, link):
    edited_tree = reroot(tree, link)
    assert_same_placements(tree, edited_tree)
    q, v, a = state(tree)
    names = ["base", "ground0", "body0", "tool2", "body5", link]
    assert_same_motions(tree, edited_tree, q, v, a, names)
    assert_close(Textbook(edited_tree, q).pose(link), np.broadcast_to(np.eye(4), (3, 4, 4)), 1e-14, core=2)
    assert lw.Robot(edited_tree).mass == pytest.approx(lw.Robot(tree).mass)


@pytest.mark.costly
@every_fixed
def test_dynamics_of_a_tree_with_another_root_satisfy_the_identities(tree):
    edited_tree = reroot(tree, "tool5")
    q, v, a = state(edited_tree)
    book, f = Textbook(edited_tree, q, v, a), Direct(edited_tree)
    assert_close(f.inverse_dynamics(q, v, a), book.inverse_dynamics(), 1e-12, core=1)
    assert_close(f.mass_matrix(q), book.mass_matrix(), 1e-12, core=2)
    robot = lw.Robot(edited_tree)
    assert_close(robot.inverse_dynamics(q, v, a), book.inverse_dynamics(), 1e-12, core=1)


@pytest.mark.light
@every_fixed
@pytest.mark.parametrize("link", ["body5", "tool3"])
def test_rerooting_twice_restores_the_tree(tree, link):
    if tree.bodies[tree.frame(link).body].joint.is_floating:
        pytest.skip("the joint that then carries the rest from the world is a floating base")
    assert_equal_but_for_rounding(tree, reroot(reroot(tree, link), "base"))


def test_rerooting_at_the_root_link_returns_the_same_tree():
    tree = FIXED["mixed_0"]
    assert reroot(tree, "base") == tree == reroot(tree, "world")
    walker = lw.load("quadruped", floating_base=True)
    assert walker.with_root(walker.bodies[0]) == walker


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "link"), [("panda", "panda_hand"), ("arm7_gripper", "hand"), ("pr2", "head_pan_link")]
)
def test_arms_rerooted_at_the_hand_equal_floating_arms_with_a_fixed_hand(name, link):
    """The floating robot has its hand at the world's origin."""
    fixed = EXAMPLE[name].load(floating_base=False)
    rerooted, floating = fixed.with_root(link), EXAMPLE[name].load(floating_base=True).with_root(link)
    rng = np.random.default_rng(0)
    q, v, a = fixed.neutral() + rng.uniform(-1, 1, (3, fixed.nq)), *rng.normal(size=(2, 3, fixed.nv))
    base = np.broadcast_to(floating.neutral()[:7], (3, 7))
    Q, V, A = np.concatenate([base, q], -1), *(np.concatenate([np.zeros((3, 6)), x], -1) for x in (v, a))
    assert_close(rerooted.mass_matrix(q), floating.mass_matrix(Q)[:, 6:, 6:], 1e-12, core=2)
    tau = floating.inverse_dynamics(Q, V, A)[:, 6:]
    assert_close(rerooted.inverse_dynamics(q, v, a), tau, 1e-12, core=1)
    assert_close(rerooted.forward_dynamics(q, v, tau), a, 1e-7, core=1)
    root = next(f.name for f in fixed.tree.frames if f.body == WORLD and f.fixed_joint is None)
    assert_equal_but_for_rounding(fixed.tree, rerooted.with_root(root).tree)
    assert [j.name for j in rerooted.joints] == [j.name for j in fixed.joints]
    assert [j.q_slice for j in rerooted.joints] == [j.q_slice for j in fixed.joints]
    assert pickle.loads(pickle.dumps(rerooted)) == rerooted != fixed


@pytest.mark.slow(every=5)
def test_platform_of_a_parallel_robot_can_become_the_root():
    """The joint of the platform then carries the base, in the same coordinates."""
    rng = np.random.default_rng(3)
    for name in ("stewart", "delta"):
        old = lw.load(name)
        new = old.with_root("platform")
        assert (new.joint("carried").parent, new.joint("carried").child) == ("world", "base")
        q = old.integrate(old.neutral(), 0.3 * rng.normal(size=(3, old.nv)))
        assert_close(new.constraint_error(q), old.constraint_error(q), 1e-13, core=1)
        X = np.linalg.inv(old.pose(q, "platform"))
        for frame in ("base", *old.constraints[0].references.frames):
            assert_close(new.pose(q, frame), X @ old.pose(q, frame), 1e-13, core=2)
        assert_equal_but_for_rounding(new.with_root("base").tree, old.tree)
        assert old.with_root("base") == old
    walker = lw.load("quadruped", floating_base=True).with_frame("stand", "world", lw.pose((0.2, 0.1, -0.3)))
    standing = walker.with_loop("ground", "stand", "front_left_foot", lw.joints.Spherical())
    assert standing.with_root("front_left_foot").joint("floating_base").parent == "world"


@pytest.mark.parametrize("placement", [lw.pose(), lw.pose((0.3, 0.1, -0.2), rpy=(0.3, -0.4, 0.7))])
def test_rerooting_keeps_constraints_with_the_world_at_the_former_base(placement):
    """The base is the link "stand", which is fixed to the world at the placement."""
    revolute, Joint = lw.joints.Revolute, lw.Joint
    old = lw.Robot.build(
        "arm",
        *(lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.25)) for name in ("stand", "upper", "fore")),
        Joint.of(lw.joints.Fixed(), name="weld", parent="world", child="stand", placement=placement),
        Joint.of(revolute((0.6, 0, 0.8)), name="a", parent="stand", child="upper", placement=(0.1, 0.2, 0.4)),
        Joint.of(revolute((0, 0.8, 0.6)), name="b", parent="upper", child="fore", placement=(0.3, -0.1, 0.2)),
    )
    old = old.with_frame("tip", "fore", (0.2, 0.1, 0.3)).with_constraints(lw.constraints.Distance("tip", "world", 0.9))
    q = np.random.default_rng(4).normal(size=(3, 2))
    assert_close(old.with_root("fore").constraint_error(q), old.constraint_error(q), 1e-14, core=1)


# -- floating


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "link"), [("talos", "leg_left_6_link"), ("quadruped", "front_left_foot"), ("g1", "left_rubber_hand")]
)
def test_dynamics_of_a_walker_with_another_base_link_equal_those_in_new_coordinates(name, link):
    """M, h and joint forces are those before, after the change of the base's coordinates."""
    old = EXAMPLE[name].robot()
    new = old.with_root(link)
    base = new.joint("floating_base")
    assert (base.parent, base.q_slice, base.v_slice) == ("world", slice(0, 7), slice(0, 6))
    assert_same_placements(old.tree, new.tree)
    rng = np.random.default_rng(1)
    q = old.neutral() + np.concatenate([np.zeros((2, 7)), rng.uniform(-0.5, 0.5, (2, old.nq - 7))], -1)
    q = old.integrate(q, np.concatenate([rng.normal(size=(2, 6)), np.zeros((2, old.nv - 6))], -1))
    v, a = rng.normal(size=(2, 2, old.nv))
    q_new = q.copy()
    q_new[:, :7] = [_configuration(X) for X in old.pose(q, link)]
    for frame in (link, old.bodies[0], old.frames[-1]):
        assert_close(new.pose(q_new, frame), old.pose(q, frame), 1e-13, core=2)
    J = old.jacobian(q, link, expressed_in=link)
    T = np.broadcast_to(np.eye(old.nv), (2, old.nv, old.nv)).copy()  # v there = T v here
    T[:, :6] = J
    v_there = np.einsum("nij,nj->ni", T, v)
    T_inv = np.linalg.inv(T)
    M = np.swapaxes(T_inv, -1, -2) @ old.mass_matrix(q) @ T_inv
    assert_close(new.mass_matrix(q_new), M, 1e-12, core=2)
    for frame in (old.bodies[0], old.frames[-1]):
        assert_close(new.twist(q_new, v_there, frame), old.twist(q, v, frame), 1e-12, core=1)
    # the same accelerations: spatial accelerations of the base, in its own axes, are ∂v/∂t + nothing: v is spatial
    moved = old.acceleration(q, v, a, link, expressed_in=link)
    w, u = v_there[:, :3], v_there[:, 3:6]
    a_there = a.copy()
    a_there[:, :6] = moved
    a_there[:, 3:6] -= np.cross(w, u)  # the rate of the velocity in the body's axes
    tau, tau_there = old.inverse_dynamics(q, v, a), new.inverse_dynamics(q_new, v_there, a_there)
    assert_close(np.einsum("nij,ni->nj", T, tau_there), tau, 1e-11, core=1)
    power = np.einsum("ni,ni->n", tau, v)
    assert_close(np.einsum("ni,ni->n", tau_there, v_there), power, 1e-11, core=0)
    assert_equal_but_for_rounding(old.tree, new.with_root(old.bodies[0]).tree)


def _configuration(X):
    """(w x y z, x y z) of a pose."""
    R = X[:3, :3]
    w, k = np.linalg.eig(R)
    axis = np.real(k[:, np.argmin(abs(w - 1.0))])
    cosine = 0.5 * (np.trace(R) - 1.0)
    sine = 0.5 * axis @ [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    half = 0.5 * np.arctan2(sine, cosine)
    return np.concatenate([[np.cos(half)], np.sin(half) * axis, X[:3, 3]])


@pytest.mark.slow
def test_joint_accelerations_of_floating_robots_do_not_depend_on_the_root_link():
    """The base's wrench is zero; equal joint forces give equal joint accelerations."""
    old = lw.load("quadruped", floating_base=True, gravity=(0.0, 0.0, 0.0))
    new = old.with_root("hind_right_foot")
    rng = np.random.default_rng(2)
    q, zero = old.neutral(), np.zeros(old.nv)
    q[7:] = rng.uniform(-0.5, 0.5, old.nq - 7)
    tau = np.concatenate([np.zeros(6), rng.normal(size=old.nv - 6)])
    q_new = new.neutral()
    q_new[7:] = q[7:]
    accelerations = old.forward_dynamics(q, zero, tau)[6:]
    assert_close(new.forward_dynamics(q_new, zero, tau)[6:], accelerations, 1e-10)


def test_rerooting_preserves_joint_couplings():
    old = lw.load("arm7_gripper", mimic="coupled")
    new = old.with_root("right_finger")
    assert_same_placements(old.tree, new.tree)
    assert new.nv == old.nv
    q, v, a = state(new.tree)
    book = Textbook(new.tree, q, v, a)
    tau = book.inverse_dynamics()
    assert_close(new.inverse_dynamics(q, v, a), tau, 1e-12, core=1)
    assert_close(new.forward_dynamics(q, v, tau), a, 1e-9, core=1)
    again = lw.load("arm7_gripper").with_root("right_finger")
    assert again.with_couplings({"right_finger_slide": "left_finger_slide"}).tree.bodies == new.tree.bodies


# -- names


def test_unknown_root_names_are_refused():
    with pytest.raises(UnknownNameError, match="no frame named 'foot'"):
        lw.load("arm7").with_root("foot")


def test_rerooting_leaves_a_massless_link_named_world_behind():
    """One without mass or shapes is the world itself, and stays behind; one with mass cannot move by this name."""
    joints = joint("weld", "world", "base", "fixed"), joint("j", "base", "arm", inner=LIMIT)
    plain = lw.Robot.from_urdf_string(robot(link("world", ""), link("base"), link("arm"), *joints))
    rerooted = plain.with_root("arm")
    assert rerooted.frames == ("base", "arm") and rerooted.bodies == ("base",)
    assert rerooted.mass == plain.mass
    heavy = lw.Robot.from_urdf_string(robot(link("world"), link("base"), link("arm"), *joints))
    with pytest.raises(ValueError, match="link 'world' with mass or shapes is fixed to the world; rename it"):
        heavy.with_root("arm")


def test_rerooting_adds_a_link_named_ground_for_the_former_base():
    """A new link "ground" moves then, with the same relative poses; a frame of that name keeps it."""
    tree = random_tree(np.random.default_rng(0), 2, types=[MOVING[0]], shape="chain")
    old = lw.Robot(replace(tree, frames=tuple(f for f in tree.frames if f.body != WORLD)))
    new = old.with_root("body1")
    q = old.random_configuration(np.random.default_rng(1))
    assert_close(new.pose(q, "ground"), np.linalg.inv(old.pose(q, "body1")), 1e-12)
    assert new.mass == pytest.approx(old.mass, rel=1e-12)
    assert_close(new.with_root("ground").pose(q, "body0"), old.pose(q, "body0"), 1e-12)
    ground = Frame("ground", 0, Pose.identity(), welded_to="body0")
    taken = lw.Robot(replace(old.tree, frames=(*old.tree.frames, ground))).with_root("body1")
    assert set(taken.frames) >= {"ground", "ground_"} and "ground_" in taken.bodies


@pytest.mark.slow
def test_long_chains_can_be_rerooted():
    tree = grounded(random_tree(np.random.default_rng(0), 3000, types=[MOVING[0]], shape="chain"))
    edited_tree = reroot(tree, "body2999")
    assert [b.joint_name for b in edited_tree.bodies[:2]] == ["joint2999", "joint2998"]
    assert edited_tree.stacking[:2] == (2999, 2998)
    assert all(TREES[name].stacking for name in ("rerooted", "rerooted_coupled"))


def frames_of(rooted, q):
    """The poses of all frames in the world, without compilation."""
    poses = ROBOT["forward_kinematics"].compute(rooted.tree, [*q])
    frames = [frame for frame in rooted.tree.frames if frame.body != WORLD]
    return {f.name: np.array((poses[f.body] @ f.placement).elements(), dtype=float) for f in frames}


def advanced(rooted, state, step):
    """The configuration after a step of a named configuration's velocity."""
    tree, q, v = rooted.tree, state.q.copy(), np.zeros(rooted.nv) if state.v is None else state.v
    for body, at, along in zip(tree.bodies, tree.q_slices, tree.v_slices, strict=True):
        if body.coupling is None:
            q[at] = body.joint.integrate(state.q[at].tolist(), (step * v[along]).tolist())
    return q


def test_named_configurations_of_floating_robots_are_the_same_states_with_another_root():
    """Joints that a configuration does not state are at zero and at rest; a follower moves with its master."""
    old = lw.load("quadruped", floating_base=True)
    old = old.with_couplings({"front_left_knee": ("front_left_hip_flexion", -0.5, 0.1)})
    base = [0.48, 0.36, -0.64, 0.48, 0.3, -0.2, 0.7]
    q = {"front_left_hip_abduction": 0.2, "front_left_hip_flexion": -0.4}
    moving = {"front_left_hip_flexion": 0.7, "floating_base": [0.1, -0.2, 0.3, 0.4, -0.5, 0.6]}
    for name, stated, v in (
        ("default", {}, None),
        ("still", {"floating_base": base} | q, None),
        ("moving", {"floating_base": base} | q, moving),
        ("turning", {"front_left_hip_abduction": 0.2}, {"front_left_hip_abduction": -0.8}),
    ):
        old = old.with_named_configuration(name, stated, v=v)
    new = old.with_root("front_left_shank")
    for before, after in zip(old.named_configurations, new.named_configurations, strict=True):
        poses, same = frames_of(old, before.q), frames_of(new, after.q)
        assert all(np.abs(poses[link] - same[link]).max() < 1e-14 for link in poses), before.name
        rates = []
        for rooted, state in ((old, before), (new, after)):
            ahead, behind = (frames_of(rooted, advanced(rooted, state, h)) for h in (1e-6, -1e-6))
            rates.append({link: (ahead[link] - behind[link]) / 2e-6 for link in poses})
        assert all(np.abs(rates[0][link] - rates[1][link]).max() < 1e-8 for link in poses), before.name
