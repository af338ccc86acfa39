"""Closed forms: every branch reaches its pose, and one branch is the configuration that the pose was computed from.
else is said to be one."""

import math
import pickle

import numpy as np
import pytest

import linkwork as lw
from helpers.closed_form_arms import FAMILIES, arm, iiwa14, kr16, on_arrays, puma560, random_arm, random_pose, ur5
from linkwork.errors import UnknownNameError
from linkwork.ik.algorithms.closed_form.arm_branches import arm_branches
from linkwork.ik.closed_form import IKBranches
from linkwork.kinematics.algorithms.forward_kinematics import pose

RIGHT = math.pi / 2


def poses_of(robot, form, q):
    return np.asarray(robot.pose(q, form.frame, relative_to=form.relative_to))


def apart(a, b):
    """The greatest difference of angles, whole turns aside."""
    between = a - b
    return np.abs(between - 2.0 * math.pi * np.round(between / (2.0 * math.pi))).max(axis=-1)


def check(robot, form, q, *, result=1e-6, compiled=True, **options):
    """Branches of the poses of q; returns them."""
    X = poses_of(robot, form, q)
    if compiled:
        branches = form.branches(X, q_init=q, position_limits=False, **options)
    else:
        values = on_arrays(robot, form, X, q)
        branches = IKBranches(*values, *np.zeros((2, *values[1].shape)))
    reached = poses_of(robot, form, branches.q)
    expected = np.broadcast_to(X[..., np.newaxis, :, :], reached.shape)
    assert np.isfinite(branches.q).all()
    assert np.abs(reached - expected)[branches.valid].max(initial=0.0) < 1e-9
    distance = np.where(branches.valid, apart(branches.q, q[..., np.newaxis, :]), np.inf)
    assert distance.min(axis=-1).max() < result
    # and no two of a pose are one
    for k in range(8):
        for n in range(k):
            twice = branches.valid[..., k] & branches.valid[..., n]
            assert (apart(branches.q[..., k, :], branches.q[..., n, :])[twice] > 1e-7).all()
    return branches


def test_closed_form_ik_of_published_arms_finds_every_branch():
    for robot, family, most in (
        (puma560(), "spherical wrist, first and second axis intersect, second and third axis parallel", 8),
        (kr16(), "spherical wrist, second and third axis parallel", 8),
        (ur5(), "three parallel axes, the last two intersect", 8),
    ):
        form = robot.closed_form("link6")
        assert form.family == family
        assert form.redundant is None
        assert form.joints == tuple(f"joint{k}" for k in range(1, 7))
        q = np.random.default_rng(0).uniform(-math.pi, math.pi, (300, 6))
        branches = check(robot, form, q)
        assert (branches.count % 2 == 0).all()
        assert branches.count.max() == most
        assert (
            max(branches.orientation_error[branches.valid].max(), branches.position_error[branches.valid].max()) < 1e-13
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_closed_form_ik_of_random_arms_finds_every_branch(family):
    """Bases and tools at random poses."""
    rng = np.random.default_rng(len(family))
    robot = random_arm(family, rng, base=random_pose(rng), tool=random_pose(rng))
    form = robot.closed_form("tool")
    assert form.family == FAMILIES[family]
    q = rng.uniform(-math.pi, math.pi, (300, 6))
    counts = check(robot, form, q, compiled=False).count
    assert (counts % 2 == 0).all()
    assert counts.max() >= 4


def test_branches_of_arms_with_parallel_axes_reach_their_poses_on_floats():
    """A configuration of each family with parallel axes is one of the branches of its pose."""
    for family in (family for family in FAMILIES if "three parallel" in family or "hand parallel" in family):
        rng = np.random.default_rng(len(family))
        robot = random_arm(family, rng)
        tree, q = robot.tree, rng.uniform(-3.0, 3.0, 6)
        form = robot.closed_form(robot.frames[-1])
        assert form.family == FAMILIES[family]
        ends = tree.frame(form.relative_to), tree.frame(form.frame)
        X = pose(tree, [*q], form.frame, form.relative_to)
        branches = [x for x in arm_branches(tree, *ends, form._arm, X, [*q], None, False) if x.valid]
        assert 2 <= len(branches) <= 8 and len(branches) % 2 == 0
        assert min(apart(np.array(branch.q), q) for branch in branches) < 1e-9
        for branch in branches:
            reached = pose(tree, branch.q, form.frame, form.relative_to)
            assert np.abs(np.array(reached.elements()) - X.elements()).max() < 1e-9


@pytest.mark.slow(every=5)
def test_closed_form_ik_exists_for_the_base_relative_to_the_hand():
    """A spherical shoulder is a spherical wrist relative to the hand."""
    rng = np.random.default_rng(3)
    for family in ("wrist parallel 2", "three parallel intersect 5"):
        robot = random_arm(family, rng, base=random_pose(rng), tool=random_pose(rng))
        form = robot.closed_form("base", relative_to="tool")
        assert form.family == FAMILIES[family] + ", from the hand to the base"
        assert form.joints == tuple(f"joint{k}" for k in range(6, 0, -1))
        check(robot, form, rng.uniform(-math.pi, math.pi, (200, 6)), compiled=False)


@pytest.mark.slow(every=3)
def test_closed_form_ik_of_seven_axis_arms_can_be_parametrised_by_the_elbow_angle():
    robot = iiwa14()
    form = robot.closed_form("link7")
    assert form.redundant == "elbow angle"
    q = np.random.default_rng(1).uniform(-2.9, 2.9, (200, 7))
    psi = form.redundant_angle(q)
    branches = check(robot, form, q, elbow=psi)
    assert (branches.count == 8).all()
    # the angle of each branch is the one that was asked for, and by default it is the seed's
    assert apart(form.redundant_angle(branches.q)[..., np.newaxis], psi[:, np.newaxis, np.newaxis]).max() < 1e-7
    again = form.branches(poses_of(robot, form, q), q_init=q, position_limits=False)
    assert np.array_equal(again.q, branches.q)
    # elsewhere on the circle the pose is the same, and the elbow is where the angle says: turned about shoulder-wrist
    X = poses_of(robot, form, q)
    turned = form.branches(X, q_init=q, position_limits=False, elbow=psi + 0.5)
    assert (turned.count == 8).all()
    assert np.abs(poses_of(robot, form, turned.q) - X[:, np.newaxis]).max() < 1e-12
    shoulder, wrist = (np.asarray(robot.pose(q, link))[:, :3, 3] for link in ("link2", "link5"))
    elbow = np.asarray(robot.pose(branches.q[:, 0], "link3"))[:, :3, 3] - shoulder
    moved = np.asarray(robot.pose(turned.q[:, 0], "link3"))[:, :3, 3] - shoulder
    axis = (wrist - shoulder) / np.linalg.norm(wrist - shoulder, axis=-1, keepdims=True)
    beside = [x - (x * axis).sum(-1, keepdims=True) * axis for x in (elbow, moved)]
    sine = (np.cross(*beside) * axis).sum(-1)
    assert np.abs(np.arctan2(sine, (beside[0] * beside[1]).sum(-1)) - 0.5).max() < 1e-7


def test_closed_form_ik_of_seven_axis_arms_can_be_parametrised_by_a_locked_joint():
    robot = lw.load("arm7")
    form = robot.closed_form("hand")
    assert form.redundant == "wrist_roll"
    q = np.random.default_rng(1).uniform(-2.9, 2.9, (200, 7))
    branches = check(robot, form, q, locked=q[:, 6])
    assert (branches.q[..., 6] == q[:, np.newaxis, 6]).all()
    assert robot.closed_form("hand", locked="wrist_roll").redundant == "wrist_roll"
    assert robot.closed_form("hand", locked="elbow") is None


def test_closed_form_ik_branches_are_shifted_by_full_turns_into_limits():
    """Each angle is shifted by whole turns into its limits, nearest to the seed."""
    rows = [
        dict(zip(("a", "alpha", "d"), row, strict=True))
        for row in (
            (0.0, RIGHT, 0.09),
            (-0.4, 0.0, 0.0),
            (-0.4, 0.0, 0.0),
            (0.0, RIGHT, 0.1),
            (0.0, -RIGHT, 0.1),
            (0.0, 0.0, 0.1),
        )
    ]
    ranges = ((-6.3, 6.3), (-2.0, 1.0), (-3.0, 3.0), (3.0, 9.0), (0.0, 3.0), (-math.inf, math.inf))
    for row, (lower, upper) in zip(rows, ranges, strict=True):
        row |= {"lower": lower, "upper": upper} if math.isfinite(lower) else {}
    robot = lw.Robot.from_dh("limited", rows, convention="standard")
    form = robot.closed_form("link6")
    rng = np.random.default_rng(0)
    low, high = (np.clip(x, -10.0, 10.0) for x in (robot.lower, robot.upper))
    q = rng.uniform(low, high, (500, 6))
    X = poses_of(robot, form, q)
    branches = form.branches(X, q_init=q)
    assert (branches.q >= robot.lower)[branches.valid].all() and (branches.q <= robot.upper)[branches.valid].all()
    assert np.where(branches.valid, np.abs(branches.q - q[:, np.newaxis]).max(-1), np.inf).min(-1).max() < 1e-6
    # what is left out has no turns that would be within
    free = form.branches(X, q_init=q, position_limits=False)
    turns = np.arange(-4, 5)[:, np.newaxis, np.newaxis, np.newaxis] * 2.0 * math.pi
    candidates = free.q + turns
    valid = ((candidates >= robot.lower) & (candidates <= robot.upper)).any(axis=0).all(axis=-1)
    assert np.array_equal(branches.valid, free.valid & valid)
    assert (free.valid & ~valid).sum() > 0
    # nearest to the seed of those that are
    far = np.where(
        (candidates >= robot.lower) & (candidates <= robot.upper), np.abs(candidates - q[:, np.newaxis]), 99.0
    )
    assert np.abs(far.min(axis=0) - np.abs(branches.q - q[:, np.newaxis]))[branches.valid].max() < 1e-9
    # an angle at its limit is within, to the bit
    edge = np.array([6.3, 1.0, 3.0, 3.0, 3.0, 0.4])
    at = form.branches(poses_of(robot, form, edge), q_init=edge)
    assert (at.q[at.valid] == edge).sum(axis=-1).max() >= 3


def test_closed_form_ik_in_float32_finds_the_branches_of_float64():
    """Singular configurations included; poses are reached within float32's accuracy."""
    for robot in (lw.load("arm6"), ur5()):
        form = robot.closed_form("tool" if robot.name == "arm6" else "link6")
        q = np.random.default_rng(5).uniform(-2.0, 2.0, (100, 6))
        X = poses_of(robot, form, q)
        expected, (outputs, valid, *_) = form.kernel(X, q), form.kernel(X.astype(np.float32), q.astype(np.float32))
        assert np.mean(valid == expected[1]) > 0.98 and np.isfinite(outputs).all()
        reached, expected_pose = (
            poses_of(robot, form, outputs.astype(float)),
            np.broadcast_to(X[:, None], (100, 8, 4, 4)),
        )
        assert np.abs(reached - expected_pose)[valid == 1.0].max() < 1e-4


def test_closed_form_ik_branches_of_unreachable_poses_are_invalid_and_finite():
    for robot in (puma560(), ur5(), iiwa14()):
        hand = f"link{robot.nq}"
        form = robot.closed_form(hand)
        X = np.broadcast_to(np.eye(4), (50, 4, 4)).copy()
        X[:, :3, 3] = np.random.default_rng(0).normal(size=(50, 3)) + np.array([9.0, 0.0, 0.0])
        branches = form.branches(X, position_limits=False)
        assert not branches.valid.any() and (branches.count == 0).all()
        for values in (branches.q, branches.orientation_error, branches.position_error):
            assert np.isfinite(values).all()
        assert branches.position_error.min() > 1.0


def test_coincident_closed_form_ik_branches_at_singularities_count_once():
    """Wrist in line, elbow stretched, wrist above the base: all values are finite."""
    rng = np.random.default_rng(7)
    for robot, singular in (
        (puma560(), {"wrist": {4: 0.0}, "elbow": {2: -math.atan2(0.4318, 0.0203) + RIGHT - RIGHT}}),
        (ur5(), {"wrist": {4: 0.0}, "elbow": {2: 0.0}}),
        (kr16(), {"wrist": {4: 0.0}}),
        (iiwa14(), {"elbow": {3: 0.0}, "wrist": {5: 0.0}, "shoulder": {1: 0.0}, "all": {1: 0.0, 3: 0.0, 5: 0.0}}),
    ):
        form = robot.closed_form(f"link{robot.nq}")
        for values in singular.values():
            for off in (0.0, 1e-9, 1e-7, 1e-5):
                q = rng.uniform(-2.5, 2.5, (40, robot.nq))
                for k, value in values.items():
                    q[:, k] = value + off
                X = poses_of(robot, form, q)
                branches = form.branches(X, q_init=q, position_limits=False)
                assert np.isfinite(branches.q).all()
                assert (branches.count >= 1).all()
                reached = poses_of(robot, form, branches.q)
                assert np.abs(reached - X[:, np.newaxis])[branches.valid].max() < 1e-8
    # in line: half of the branches; near it: all
    form = puma560().closed_form("link6")
    q = np.array([0.3, 0.4, -0.7, 0.2, 0.0, 0.5])
    at, near = (
        form.branches(poses_of(puma560(), form, q + x * np.eye(6)[4]), position_limits=False).count for x in (0.0, 1e-4)
    )
    assert near == 8 and at < 8


def test_closed_form_ik_has_branches_for_poses_with_the_wrist_above_the_base():
    level = arm(
        "level",
        (0.0, RIGHT, 0.0, 0.0),
        (0.4, 0.0, 0.0, 0.0),
        (0.0, -RIGHT, 0.0, 0.0),
        (0.0, RIGHT, 0.4, 0.0),
        (0.0, -RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.1, 0.0),
    )
    above = level.closed_form("link6")
    q = np.array([0.4, 0.3, 0.0, 0.3, 0.8, 0.1])
    q[2] = -RIGHT - 2.0 * (q[1] - RIGHT)
    X = poses_of(level, above, q)
    assert abs(np.linalg.norm(np.asarray(level.pose(q, "link4"))[:2, 3])) < 1e-12
    outputs, valid = on_arrays(level, above, X[np.newaxis], q[np.newaxis])
    assert np.isfinite(outputs).all() and valid.any()
    assert np.abs(poses_of(level, above, outputs[valid]) - X).max() < 1e-9


def test_closed_form_ik_branches_of_a_single_pose_equal_those_of_a_batch_exactly():
    """Seeds broadcast, and joints outside of the chain stay as they are in the seed."""
    robot = lw.load("arm7_gripper")
    form = robot.closed_form("hand")
    q = robot.random_configuration(seed=2, size=37)
    X = poses_of(robot, form, q)
    many = form.branches(X, q_init=q)
    for k in (0, 17, 36):
        single = form.branches(X[k], q_init=q[k])
        assert np.array_equal(single.q, many.q[k]) and np.array_equal(single.valid, many.valid[k])
        assert single.q.shape == (8, robot.nq)
    names = [name for name in robot.q_names if name not in (*form.joints, form.redundant)]
    indices = robot.q_index(names)
    assert names and (many.q[..., indices] == q[:, np.newaxis, indices]).all()
    grid = form.branches(X[:, np.newaxis], q_init=q[:3])
    assert grid.q.shape == (37, 3, 8, robot.nq) and grid.count.shape == (37, 3)
    outputs = form.kernel(X[0], q[0], q[0, robot.q_index([form.redundant])[0]])
    assert np.array_equal(outputs.q, many.q[0])


def test_closed_form_ik_in_python_equals_the_compiled_kernel():
    """Without compilation, on batches of numbers, it computes the same as the kernel."""
    robot = ur5()
    form = robot.closed_form("link6")
    q = np.random.default_rng(3).uniform(-3.0, 3.0, (100, 6))
    X = poses_of(robot, form, q)
    compiled = form.branches(X, q_init=q, position_limits=False)
    outputs, valid = on_arrays(robot, form, X, q)
    assert np.array_equal(valid, compiled.valid)
    assert apart(outputs, compiled.q)[valid].max() < 1e-9


def test_closed_form_ik_supports_angles_as_sine_and_cosine():
    """A joint whose configuration is (sin, cos) rotates as a joint with an angle."""
    rows = [(0.0, RIGHT, 0.1), (0.4, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, RIGHT, 0.1), (0.0, -RIGHT, 0.1), (0.0, 0.0, 0.1)]
    frames, parts = "base", [lw.Link("base")]
    for k, (a, alpha, d) in enumerate(rows):
        placement = np.eye(4)
        c, s = math.cos(alpha), math.sin(alpha)
        rotor = np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, 0.0], [0.0, s, c, d], [0.0, 0.0, 0.0, 1.0]])
        kind = lw.joints.UnboundedRevolute if k % 2 else lw.joints.Revolute
        parts += [
            lw.Joint.of(
                kind(lw.spatial.Vec3(0.0, 0.0, 1.0)),
                name=f"j{k}",
                parent=frames,
                child=f"l{k}",
                placement=placement,
                rotor=rotor,
            ),
            lw.Link(f"l{k}", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        ]
        frames = f"l{k}"
    robot = lw.Robot.build("mixed", *parts)
    form = robot.closed_form("l5")
    assert robot.nq == 9
    q = robot.random_configuration(seed=0, size=100)
    X = poses_of(robot, form, q)
    branches = form.branches(X, q_init=q)
    assert np.abs(poses_of(robot, form, branches.q) - X[:, np.newaxis])[branches.valid].max() < 1e-12
    assert np.where(branches.valid, np.abs(branches.q - q[:, np.newaxis]).max(-1), np.inf).min(-1).max() < 1e-7


def test_closed_form_is_none_for_arms_without_a_closed_form_solution():
    """General arms, too few joints, slides or coupled joints: None; unknown names are errors."""
    rng = np.random.default_rng(0)
    general = arm("general", *zip(*rng.uniform(0.2, 0.9, (4, 6)), strict=True))
    assert general.closed_form("link6") is None
    assert general.closed_form("link5") is None
    assert general.closed_form("link6", relative_to="link6") is None
    assert puma560().closed_form("link6", locked="joint1") is None
    following = ur5().with_couplings({"joint6": ("joint5", 1.0, 0.0)})
    assert following.closed_form("link6") is None
    rows = [{"a": 0.3}, {"a": 0.2}, {"prismatic": True}, {"a": 0.1}, {"alpha": 1.0, "d": 0.2}, {"a": 0.3}]
    assert lw.Robot.from_dh("sliding", rows, convention="standard").closed_form("link6") is None
    for wrong in ({"frame": "hnd"}, {"frame": "link6", "relative_to": "wrld"}, {"frame": "link6", "locked": "joint9"}):
        with pytest.raises(UnknownNameError, match=f"no .* named '{[*wrong.values()][-1]}'"):
            ur5().closed_form(**wrong)


def test_invalid_arguments_of_closed_form_ik_are_refused():
    form, seven = ur5().closed_form("link6"), iiwa14().closed_form("link7")
    X = np.eye(4)
    for target in (np.eye(3), 2.0 * X, np.full((4, 4), np.nan), np.diag([1.0, 1.0, -1.0, 1.0])):
        with pytest.raises(ValueError, match="X_target: expected poses"):
            form.branches(target)
    for arguments, words in (
        ({"elbow": 0.1}, "not redundant"),
        ({"locked": 0.1}, "not redundant"),
        ({"q_init": np.zeros(5)}, "q_init: expected an array of shape"),
        ({"q_init": np.full(6, np.nan)}, "ClosedForm.branches: q_init"),
    ):
        with pytest.raises(ValueError, match=words):
            form.branches(X, **arguments)
    with pytest.raises(ValueError, match="redundant is"):
        seven.branches(X, locked=0.1)
    with pytest.raises(ValueError, match="expected angles"):
        seven.branches(X, elbow=np.nan)
    with pytest.raises(ValueError, match="expected a redundant arm"):
        form.redundant_angle(np.zeros(6))


def test_closed_form_ik_and_its_branches_have_a_descriptive_repr():
    form = ur5().closed_form("link6")
    assert ur5().closed_form("link6") is form
    branches = form.branches(np.asarray(ur5().pose([0.1, -1.0, 1.2, 0.4, 0.9, -0.3], "link6")), position_limits=False)
    assert str(branches).startswith("8 branches\n  0: q = ")
    assert "three parallel axes" in repr(form)
    assert str(form.branches(np.eye(4)[np.newaxis], position_limits=False)).startswith("1 poses: ")


def test_closed_form_ik_of_a_chain_through_the_root_has_the_same_branches():
    """The arm hangs from its third link: some joints of the chain lead to the root and some away from it."""
    robot = puma560()
    rerooted = robot.with_root("link3")
    form, same = (x.closed_form("link6", relative_to="base") for x in (robot, rerooted))
    assert same.family == form.family and same.joints == form.joints
    q = np.random.default_rng(4).uniform(-3.0, 3.0, (50, 6))
    X = poses_of(robot, form, q)
    angles = dict(zip(form.joints, q.T, strict=True))
    configurations = np.stack([angles[name] for name in rerooted.q_names], axis=-1)
    assert np.abs(poses_of(rerooted, same, configurations) - X).max() < 1e-12
    outputs, valid = on_arrays(robot, form, X, q)
    again, valid_again = on_arrays(rerooted, same, X, configurations)
    order = [rerooted.q_names.index(name) for name in robot.q_names]
    assert np.array_equal(valid, valid_again)
    assert apart(outputs, again[..., order])[valid].max() < 1e-8


def test_joints_that_only_rotate_are_recognised_for_closed_form_ik_by_their_transforms():
    """The functions decide, not the joint's type."""
    from linkwork.ik.algorithms.closed_form.axis_geometry import turns_only

    z = lw.spatial.Vec3(0.0, 0.0, 1.0)
    turning = {joint for joint in lw.joints.ALL if turns_only(joint.example(np.random.default_rng(0)))}
    assert {lw.joints.Revolute, lw.joints.UnboundedRevolute} <= turning
    assert not turning & {lw.joints.Prismatic, lw.joints.Helical, lw.joints.Universal, lw.joints.Fixed}
    assert turns_only(lw.joints.Revolute(z).reversed())


def test_closed_form_ik_accepts_empty_batches_and_symbols():
    form = ur5().closed_form("link6")
    empty = form.branches(np.zeros((0, 4, 4)), position_limits=False)
    assert empty.q.shape == (0, 8, 6) and empty.count.shape == (0,)
    assert str(empty) == "0 poses: 0 to 0 branches"

    def reported(angle):
        robot = ur5().with_parameters({"placement:joint2": [angle, 0.0, 0.0, 0.0, 0.0, 0.0]})
        return robot.closed_form("link6")

    with pytest.raises(TypeError, match="has symbolic parameters; give them values"):
        lw.compile(reported, angle=())
    # the kernel in another: the first branch, moved on
    q = np.array([0.1, -1.0, 1.2, 0.4, 0.9, -0.3])
    X = poses_of(ur5(), form, q)
    first = lw.compile(lambda X: form.kernel(X, np.zeros(6)).q[0], X=(4, 4))
    assert np.array_equal(first(X), form.branches(X).q[0])


def test_closed_form_ik_can_be_pickled():
    """A closed form unpickled in another process gives the same branches."""
    form = lw.load("arm7").closed_form("hand")
    again = pickle.loads(pickle.dumps(form))
    assert (again.family, again.redundant, again.joints) == (form.family, form.redundant, form.joints)


def test_ranges_of_the_elbow_angle_contain_the_branches_within_limits():
    """A branch inside of a range is within limits; at its ends a joint is at a limit."""
    twists = (-RIGHT, RIGHT, RIGHT, -RIGHT, -RIGHT, RIGHT, 0.0)
    offsets, bounds = (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126), (2.96, 2.09, 2.96, 2.09, 2.96, 2.09, 3.05)
    rows = [
        {"alpha": alpha, "d": d, "lower": -bound, "upper": bound}
        for alpha, d, bound in zip(twists, offsets, bounds, strict=True)
    ]
    robot = lw.Robot.from_dh("limited", rows, convention="standard")
    form = robot.closed_form("link7")
    for q in np.random.default_rng(8).uniform(-1.9, 1.9, (4, 7)):
        X = poses_of(robot, form, q)
        ranges = form.redundant_ranges(X)
        psi = np.linspace(-math.pi, math.pi, 1500, endpoint=False)
        valid = form.branches(X, elbow=psi).valid
        assert valid.any() and not valid.all()
        for k, interval in enumerate(ranges):
            within = np.zeros(len(psi), dtype=bool)
            for start, stop in interval:
                assert -math.pi <= start < math.pi and start < stop <= start + 2.0 * math.pi
                within |= (psi - start) % (2.0 * math.pi) <= stop - start
                if (start, stop) != (-math.pi, math.pi):
                    ends = form.branches(X, elbow=np.array([start, stop]), position_limits=False).q[:, k]
                    assert np.abs(np.abs(ends) - bounds).min(axis=-1).max() < 1e-6
            assert (within != valid[:, k]).sum() <= 2 * len(interval)
    with pytest.raises(ValueError, match="expected a redundant arm"):
        ur5().closed_form("link6").redundant_ranges(np.eye(4))
    for wrong in ({"X_target": np.eye(3)}, {"X_target": np.eye(4), "samples": 2}):
        with pytest.raises(ValueError, match="expected"):
            form.redundant_ranges(**wrong)


def test_closed_form_ik_branches_are_sorted_by_distance_and_accept_rounded_targets():
    form = ur5().closed_form("link6")
    q = np.random.default_rng(5).uniform(-3.0, 3.0, (30, 6))
    X = poses_of(ur5(), form, q)
    branches = form.branches(X, q_init=q, position_limits=False)
    ordered = branches.nearest_first(q)
    assert np.array_equal(ordered.count, branches.count)
    far = np.linalg.norm(ordered.q - q[:, np.newaxis], axis=-1)
    for k, many in enumerate(branches.count):
        assert ordered.valid[k, :many].all() and not ordered.valid[k, many:].any()
        assert (np.diff(far[k, :many]) >= 0.0).all() and far[k, 0] < 1e-6
        assert {x.tobytes() for x in ordered.q[k]} == {x.tobytes() for x in branches.q[k]}
    # seven digits: a rotation within 1e-6, of which the nearest is taken
    rounded = form.branches(X.round(7), q_init=q, position_limits=False)
    assert (rounded.count >= 1).mean() > 0.9
    assert apart(rounded.q, branches.q)[rounded.valid & branches.valid].max() < 1e-3
    assert np.abs(poses_of(ur5(), form, rounded.q) - X[:, np.newaxis])[rounded.valid].max() < 1e-6


@pytest.mark.slow(every=5)
def test_closed_form_ik_branches_of_any_finite_target_are_finite():
    """At the base, on axes, far away, half turns: valid branches are right."""
    turns = [np.eye(3), np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0]), np.eye(3)[[2, 0, 1]]]
    positions = (
        [0, 0, 0],
        [0, 0, 1e-300],
        [1e-9, 0, 0],
        [0, 0, 0.5],
        [1, 1, 1],
        [0, 0, -1],
        [1e6, 0, 0],
        [1e15, -1e15, 1],
    )
    X = np.zeros((len(turns) * len(positions), 4, 4))
    X[:, 3, 3] = 1.0
    X[:, :3, :3] = np.repeat(turns, len(positions), axis=0)
    X[:, :3, 3] = np.tile(positions, (len(turns), 1))
    rng = np.random.default_rng(11)
    for robot in (puma560(), ur5(), kr16(), iiwa14(), *(random_arm(family, rng) for family in list(FAMILIES)[::2])):
        form = robot.closed_form(f"link{robot.nq}")
        parameter = None if form.redundant is None else np.linspace(-math.pi, math.pi, len(X))
        with np.errstate(all="raise", under="ignore"):
            outputs, valid = on_arrays(robot, form, X, np.zeros((len(X), robot.nq)), parameter)
        assert np.isfinite(outputs).all()
        away = np.abs(poses_of(robot, form, outputs) - X[:, np.newaxis]).max(axis=(-2, -1))
        assert away[valid].max(initial=0.0) < 1e-8
        assert (away[~valid] > 1e-12).any()
