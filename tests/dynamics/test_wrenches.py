"""External wrenches on any frames, in any axes, and gravity as an argument, in every function that takes them.

The reference is Jᵀ w with the Jacobians of `oracles.textbook`, which knows of neither wrenches nor motion subspaces.
"""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import Robot
from linkwork.errors import UnknownNameError
from linkwork.kernels.function_kernels import _content
from linkwork.kernels.function_request import read_request
from linkwork.model.body import WORLD, Frame
from linkwork.robot.robot_table import robot_owner
from linkwork.spatial import Inertia, Pose, Rotation, Vec3
from oracles.acted_on import ActedOn
from oracles.comparison import assert_close, solving_bound
from oracles.example_robots import EXAMPLES
from oracles.textbook import Textbook
from oracles.trees import TREES, every_moving_tree, state

ARM = lw.load("arm7")


def frames_of(tree):
    """Two frames on one body, the ends of two branches, and frames to express in: of the world and of moving bodies."""
    on = [frame.name for frame in tree.frames if frame.body != WORLD]
    last = len(tree.bodies) - 1
    acted = dict.fromkeys([f"tool{last}", f"body{last}", "body0", on[len(on) // 2]])
    return list(acted), ["world", "ground0", on[0], f"body{last}", on[-1]]


def random_wrenches(tree, seed=0, size=4):
    """Wrenches, the axes of each, and the Σ Jᵀ w that they make at q."""
    rng = np.random.default_rng(seed)
    acted, axes = frames_of(tree)
    w = {frame: rng.normal(size=(size, 6)) for frame in acted}
    return w, {frame: axes[(seed + k) % len(axes)] for k, frame in enumerate(acted)}


def pulled(tree, q, wrenches, axes):
    """Σ Jᵀ w, by the textbook's Jacobians."""
    book = Textbook(tree, q)
    J = {frame: book.jacobian(frame, E=axes[frame]) for frame in wrenches}
    return sum(np.einsum("nij,ni->nj", J[frame], w) for frame, w in wrenches.items())


@pytest.mark.slow(every=9)
@every_moving_tree
def test_external_wrenches_act_as_joint_forces_of_the_transposed_jacobian(tree):
    q, v, a = state(tree)
    f = ActedOn(tree)
    for seed in range(3):
        w, axes = random_wrenches(tree, seed)
        acting = {"wrenches": w, "expressed_in": axes}
        u = pulled(tree, q, w, axes)
        assert_close(f.static_torque(q, **acting), u, 1e-13, core=1)
        tau = f.inverse_dynamics(q, v, a)
        for method in ("newton_euler", "jacobian_sum"):
            assert_close(f.inverse_dynamics(q, v, a, method=method, **acting), tau - u, 1e-13, core=1)
        assert_close(f.bias_force(q, v, **acting), f.bias_force(q, v) - u, 1e-13, core=1)
        assert_close(f.gravity_force(q, **acting), f.gravity_force(q) - u, 1e-13, core=1)
        M = f.mass_matrix(q)
        for method in ("articulated_bodies", "mass_matrix"):
            expected = f.forward_dynamics(q, v, tau + u)
            bound = min(1e-11, solving_bound(M, (tau, u, f.bias_force(q, v)), expected))
            acceleration = f.forward_dynamics(q, v, tau, method=method, **acting)
            assert_close(acceleration, expected, bound, method, core=1)


@pytest.mark.costly
@every_moving_tree
def test_gravity_passed_as_an_argument_has_the_effect_of_the_robots_own_gravity(tree):
    q, v, a = state(tree)
    f = ActedOn(tree)
    gravity = np.random.default_rng(1).normal(size=(4, 3)) * 5.0
    w, axes = random_wrenches(tree)
    for name, arrays in (
        ("inverse_dynamics", (q, v, a)),
        ("bias_force", (q, v)),
        ("gravity_force", (q,)),
        ("forward_dynamics", (q, v, a)),
        ("joint_wrenches", (q, v, a)),
    ):
        acting = {"wrenches": w, ("wrenches_expressed_in" if name == "joint_wrenches" else "expressed_in"): axes}
        actual = getattr(f, name)(*arrays, gravity=gravity, **acting)
        for n, g in enumerate(gravity):
            under = ActedOn(replace(tree, gravity=Vec3.of(g.tolist())))
            expected = getattr(under, name)(*arrays, **acting)
            assert np.array_equal(actual[n], expected[n]), name


@pytest.mark.parametrize("tree", [TREES["mixed_0"], TREES["coupled_0"], TREES["rerooted_coupled"]])
def test_rotating_the_world_rotates_gravity_and_wrenches_in_world_axes(tree):
    """Wrenches in a body's axes stay; wrenches in the world's axes and gravity rotate."""
    q, v, a = state(tree)
    turn = Rotation.from_rpy(0.3, -0.7, 1.1)
    turned = replace(
        tree,
        bodies=tuple(
            replace(b, placement=Pose(turn, Vec3.zero()) @ b.placement) if b.parent == WORLD else b for b in tree.bodies
        ),
        frames=tuple(
            replace(f, placement=Pose(turn, Vec3.zero()) @ f.placement) if f.body == WORLD else f for f in tree.frames
        ),
    )
    matrix = np.array(turn.rows())
    rng = np.random.default_rng(2)
    acted, _ = frames_of(tree)
    w = {frame: rng.normal(size=(4, 6)) for frame in acted}
    for E in ("world", f"body{len(tree.bodies) - 1}"):
        rotated_wrenches = w
        if E == "world":
            rotated_wrenches = {
                k: np.concatenate([x[:, :3] @ matrix.T, x[:, 3:] @ matrix.T], axis=-1) for k, x in w.items()
            }
        torque = ActedOn(turned).inverse_dynamics(
            q, v, a, gravity=matrix @ np.array([*tree.gravity]), wrenches=rotated_wrenches, expressed_in=E
        )
        expected = ActedOn(tree).inverse_dynamics(q, v, a, wrenches=w, expressed_in=E)
        assert_close(torque, expected, 1e-12, E, core=1)


def test_several_external_wrenches_act_together_in_compiled_code():
    """Two on one body, axes of other moving bodies, batches that broadcast, any order of the dict, float32."""
    robot = ARM
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random_configuration(rng, size=(3, 1)), rng.normal(size=(2, 1, 4, 7))
    w = {"tool": rng.normal(size=(4, 6)), "hand": rng.normal(size=6), "forearm_distal": rng.normal(size=(3, 1, 6))}
    axes = {"tool": "hand", "forearm_distal": "wrist"}
    gravity = rng.normal(size=(4, 3))
    tau = robot.inverse_dynamics(q, v, a, wrenches=w, expressed_in=axes, gravity=gravity)
    assert tau.shape == (3, 4, 7)
    u = robot.static_torque(q, wrenches=w, expressed_in=axes)
    direct = sum(
        np.einsum("...ij,...i->...j", robot.jacobian(q, frame, expressed_in=axes.get(frame, "world")), x)
        for frame, x in w.items()
    )
    assert_close(u, direct, 1e-13, core=1)
    assert_close(tau, robot.inverse_dynamics(q, v, a, gravity=gravity) - u, 1e-12, core=1)
    backwards = dict(reversed(w.items()))
    again = robot.inverse_dynamics(q, v, a, wrenches=backwards, expressed_in=axes, gravity=gravity)
    assert np.array_equal(again, tau)
    single = [np.float32(x) for x in (q, v, a)]
    acting = {frame: np.float32(x) for frame, x in w.items()}
    torque = robot.inverse_dynamics(*single, wrenches=acting, expressed_in=axes, gravity=np.float32(gravity))
    assert torque.dtype == np.float32
    assert_close(torque, tau, 1e-5, core=1)
    into = np.empty_like(tau)
    assert robot.inverse_dynamics(q, v, a, wrenches=w, expressed_in=axes, gravity=gravity, out=into) is into
    assert np.array_equal(into, tau)


def test_kernels_of_dynamics_accept_wrenches_gravity_and_passive_forces():
    kernel = ARM.compile(
        [
            ("inverse_dynamics", {"wrenches": ["hand"], "gravity": True, "passive": True}),
            ("forward_dynamics", {"wrenches": {"hand": "world", "tool": "forearm_distal"}}),
        ]
    )
    assert [port.name for port in kernel.inputs] == [
        *("q", "v", "a", "tau", "gravity", "wrench_hand", "wrench_tool_in_forearm_distal"),
    ]
    rng = np.random.default_rng(0)
    q, v, a, tau = rng.normal(size=(4, 5, 7))
    g, hand, tool = rng.normal(size=3), rng.normal(size=(5, 6)), rng.normal(size=6)
    results = kernel(q, v, a, tau, g, hand, tool)
    first = ARM.inverse_dynamics(q, v, a, wrenches={"hand": hand}, gravity=g, passive=True)
    assert_close(results.inverse_dynamics, first, 1e-13, core=1)
    second = ARM.forward_dynamics(
        q, v, tau, wrenches={"hand": hand, "tool": tool}, expressed_in={"tool": "forearm_distal"}
    )
    assert_close(results.forward_dynamics, second, 1e-11, core=1)


def test_external_wrenches_and_gravity_may_be_symbols_and_are_differentiated():
    """They are computed in the traced function and differentiated."""
    q, v = ARM.random_configuration(seed=0), np.linspace(-1.0, 1.0, 7)

    def pushed(q, v, f):
        w = np.stack([0.0 * f, 0.0 * f, 0.0 * f, f, 2.0 * f, q[0] * f])
        g = np.stack([0.0 * f, f, -9.81 + f])
        return ARM.forward_dynamics(q, v, v, wrenches={"hand": w, "tool": 2.0 * w}, expressed_in="hand", gravity=g)

    acceleration = lw.compile(pushed, q=7, v=7, f=())(q, v, 0.7)
    w = np.array([0.0, 0.0, 0.0, 0.7, 1.4, 0.7 * q[0]])
    acting = {"wrenches": {"hand": w, "tool": 2.0 * w}, "expressed_in": "hand", "gravity": [0.0, 0.7, -9.11]}
    assert_close(acceleration, ARM.forward_dynamics(q, v, v, **acting), 1e-12)


def unusual_frame_names(tree):
    """Return a tree with frame names that are no identifiers, two of which give the same one."""
    more = [Frame(name, 6, Pose(turn, Vec3(0.1 * k, 0.2, 0.3))) for k, (name, turn) in enumerate(UNUSUAL_NAMES.items())]
    return replace(tree, frames=(*tree.frames, *more))


UNUSUAL_NAMES = {
    name: Rotation.from_rpy(0.3 * k, 0.2, 0.1)
    for k, name in enumerate(("left hand", "left-hand", "手", "left_hand", "left_hand_in_手", "3"))
}


def test_external_wrenches_can_act_on_frames_with_any_names():
    robot = Robot(unusual_frame_names(ARM.tree))
    q = robot.random_configuration(seed=0)
    w = dict(zip(UNUSUAL_NAMES, np.random.default_rng(0).normal(size=(len(UNUSUAL_NAMES), 6)), strict=True))
    axes = {"left_hand": "手", "3": "left-hand"}
    torque = robot.static_torque(q, wrenches=w, expressed_in=axes)
    expected = sum(robot.jacobian(q, k, expressed_in=axes.get(k, "world")).T @ x for k, x in w.items())
    assert_close(torque, expected, 1e-13)
    kernel = robot.compile(("static_torque", {"wrenches": {k: axes.get(k, "world") for k in w}}))
    names = [port.name for port in kernel.inputs]
    assert len(set(names)) == 1 + len(w) and all(name.isidentifier() for name in names)
    assert_close(kernel(q, *(w[k] for k in sorted(w))), expected, 1e-13)
    with pytest.raises(
        ValueError, match=r"wrench_left_hand would act on 'left hand' \(in 'world'\) and on 'left-hand'"
    ):
        robot.compile([("static_torque", {"wrenches": ["left hand"]}), ("gravity_force", {"wrenches": ["left-hand"]})])


def test_cached_dynamics_kernels_depend_on_frames_axes_gravity_and_options_of_wrenches():
    """Frames that a request does not name do not matter."""
    subject, moved = robot_owner(ARM.tree), robot_owner(unusual_frame_names(ARM.tree))
    requests = [
        {},
        {"wrenches": ["hand"]},
        {"wrenches": ["tool"]},
        {"wrenches": {"hand": "tool"}},
        {"wrenches": {"hand": "forearm_distal"}},
        {"wrenches": ["hand", "tool"]},
        {"wrenches": ["hand"], "gravity": True},
        {"wrenches": ["hand"], "passive": True},
        {"wrenches": ["hand"], "method": "jacobian_sum"},
    ]
    contents = []
    for options in requests:
        request = read_request(subject, ("inverse_dynamics", options))
        contents.append(compile_content(subject, request))
        same = read_request(subject, ("inverse_dynamics", dict(reversed(options.items()))))
        assert compile_content(subject, same) == contents[-1]
        moved_request = read_request(moved, ("inverse_dynamics", options))  # frames that nobody asks about
        assert compile_content(moved, moved_request) == contents[-1]
    assert len(set(contents)) == len(requests)
    elsewhere = replace(
        ARM.tree,
        frames=tuple(
            replace(f, placement=Pose(f.placement.rotation, Vec3(1.0, 0.0, 0.0)), inertia=Inertia.zero())
            if f.name == "tool"
            else f
            for f in ARM.tree.frames
        ),
    )
    request = read_request(robot_owner(elsewhere), ("inverse_dynamics", {"wrenches": ["tool"]}))
    assert compile_content(robot_owner(elsewhere), request) not in contents


def compile_content(subject, request):
    return _content(subject, {request.label: request})


def test_invalid_external_wrenches_are_refused():
    q = ARM.neutral()
    w = np.zeros(6)
    bad = (
        ({"wrenches": {"hnad": w}}, UnknownNameError, "no frame named 'hnad'; did you mean 'hand'"),
        ({"wrenches": {"hand": w}, "expressed_in": "hnad"}, UnknownNameError, "no frame named 'hnad'"),
        ({"wrenches": {"hand": w}, "expressed_in": {"tool": "hand"}}, UnknownNameError, "no wrench named 'tool'"),
        (
            {"wrenches": {"world": w}},
            ValueError,
            "wrenches: frame .world. is fixed to the world, so a wrench",
        ),
        ({"wrenches": {"base": w}}, ValueError, "frame 'base' is fixed to the world"),
        ({"wrenches": w}, TypeError, r"wrenches: expected a dict by frame, as in \{\"hand\": w\}, got array"),
        ({"wrenches": {"hand": np.zeros(3)}}, ValueError, r"wrench_hand: expected an array of shape \(\.\.\., 6\)"),
        ({"wrenches": {"hand": np.zeros((6, 1))}}, ValueError, r"drop its last dimension, wrench_hand\[\.\.\., 0\]"),
        ({"wrenches": {"hand": None}}, ValueError, "wrench_hand: expected an array"),
        ({"wrenches": {"hand": "up"}}, ValueError, "wrench_hand: expected an array"),
        ({"wrenches": {"hand": w * np.nan}}, ValueError, r"wrench_hand\[0\] is NaN"),
        ({"wrenches": {"hand": [0, 0, np.inf, 0, 0, 0]}}, ValueError, r"wrench_hand\[2\] is inf"),
        ({"wrenches": {3: w}}, TypeError, "expected frames' names, got 3"),
        ({"wrenches": {3: w, "hand": w}}, TypeError, "expected frames' names, got 3"),
        (
            {"wrenches": {"hand": w}, "expressed_in": None},
            TypeError,
            "expected a frame's name, or a dict of such names by frame, got None",
        ),
        ({"wrenches": {"hand": w}, "expressed_in": {"hand": 3}}, TypeError, "expected frames' names, got 3"),
        ({"gravity": 9.81}, ValueError, r"gravity: expected an array of shape \(\.\.\., 3\)"),
        ({"gravity": [0.0, 0.0, np.nan]}, ValueError, r"gravity\[2\] is NaN"),
        ({"wrenches": {"hand": np.zeros((2, 6)), "tool": np.zeros((3, 6))}}, ValueError, "do not broadcast"),
    )
    for options, error, message in bad:
        with pytest.raises(error, match=message):
            ARM.gravity_force(q, **options)
    for options_of_request, error, message in (
        ({"wrenches": "hand"}, TypeError, "wrenches: expected frames, as in"),
        ({"wrenches": ["world"]}, ValueError, "fixed to the world"),
        ({"wrenches": {"hand": None}}, TypeError, "expected frames' names, got None"),
        ({"wrenches": [3]}, TypeError, "expected frames' names, got 3"),
        ({"impulses": ["hand"]}, TypeError, "gravity_force: expected"),
    ):
        with pytest.raises(error, match=message):
            ARM.compile(("gravity_force", options_of_request))
    with pytest.raises(TypeError, match="mass_matrix: expected"):
        ARM.compile(("mass_matrix", {"wrenches": ["hand"]}))
    assert np.array_equal(ARM.gravity_force(q, wrenches={}), ARM.gravity_force(q))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_dynamics_with_external_wrenches_equal_pinocchios(example):
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    robot, oracle = example.robot(), Pinocchio(example)
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=(2, 5, robot.nv))
    q = robot.random_configuration(rng, size=5)
    w = {frame: rng.normal(size=(5, 6)) * 10.0 for frame in example.frames}

    def forces(n, q):
        """Wrenches by joint there, from those on our frames in the world's axes."""
        model, data = oracle.model, oracle.data
        pin.forwardKinematics(model, data, q)
        forces_by_joint = [pin.Force.Zero() for _ in range(model.njoints)]
        for name, wrench in w.items():
            frame = model.frames[oracle.frame(name)]
            R = pin.updateFramePlacement(model, data, oracle.frame(name)).rotation.T
            forces_by_joint[frame.parentJoint] += frame.placement.act(pin.Force(R @ wrench[n, 3:], R @ wrench[n, :3]))
        return forces_by_joint

    states = [oracle.q(q), oracle.v(v)]
    for name, compute in (("inverse_dynamics", pin.rnea), ("forward_dynamics", pin.aba)):
        x = a if name == "inverse_dynamics" else robot.inverse_dynamics(q, v, a)
        samples = zip(*states, oracle.v(x), strict=True)
        theirs = [
            compute(oracle.model, oracle.data, *state, forces(n, state[0])).copy() for n, state in enumerate(samples)
        ]
        theirs = oracle.ours(np.array(theirs))
        forces_by_joint = getattr(robot, name)(q, v, x, wrenches=w)
        bound = 1e-12
        if name == "forward_dynamics":
            solved = (x, robot.bias_force(q, v), robot.static_torque(q, wrenches=w))
            bound = solving_bound(robot.mass_matrix(q), solved, theirs)
        assert_close(forces_by_joint, theirs, bound, name, core=1)
