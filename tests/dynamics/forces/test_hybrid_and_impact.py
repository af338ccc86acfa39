"""Hybrid dynamics: accelerations of some joints and forces of the others; and velocities after impulses."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SingularInertiaError, UnknownNameError
from oracles.acted_on import ActedOn
from oracles.comparison import assert_close, solving_bound
from oracles.example_robots import EXAMPLES
from oracles.textbook import Textbook
from oracles.trees import TREES, every_moving_type, state

OPTIONS = ({}, {"passive": True}, {"passive": True, "friction": "coulomb"})


def moved_by(tree, joints):
    """Return the velocity indices of the named joints."""
    mask = np.zeros(tree.nv, dtype=bool)
    for joint in joints:
        mask[tree.v_slices[tree.joint_index(joint)]] = True
    return mask


@every_moving_type
def test_hybrid_dynamics_recovers_unknown_accelerations_and_forces(tree):
    """Any half of the accelerations and forces gives the other half; unused inputs may have any value."""
    if any(b.drive.static_friction for b in tree.bodies):  # with it more than one motion may obey Coulomb's law
        bodies = [replace(b, drive=replace(b.drive, static_friction=())) for b in tree.bodies]
        tree = replace(tree, bodies=tuple(bodies))
    q, v, a = state(tree)
    v = v * (np.random.default_rng(1).random(v.shape) < 0.7)  # some joints are at rest
    f = ActedOn(tree)
    frame = f"tool{len(tree.bodies) - 1}"
    acting = {"wrenches": {frame: np.ones((4, 6))}, "expressed_in": "body0", "gravity": np.array([1.0, 2.0, 3.0])}
    names = [body.joint_name for _, body in tree.stacked() if body.joint.nv]
    for options in OPTIONS:
        tau = f.inverse_dynamics(q, v, a, **acting, **options)
        M, h = f.mass_matrix(q, passive=bool(options)), f.bias_force(q, v, **acting)
        for joints in ([], names[::2], names[1::2], names[0], names):
            indices = moved_by(tree, [joints] if isinstance(joints, str) else joints)
            found_a, found_tau = f.hybrid_dynamics(
                q, v, np.where(indices, a, 7.0), np.where(indices, 9.0, tau), joints, **acting, **options
            )
            bound = solving_bound(M, (tau, h), a)
            assert np.array_equal(found_a[:, indices], a[:, indices])
            assert np.array_equal(found_tau[:, ~indices], tau[:, ~indices])
            assert_close(found_a, a, bound, f"{joints}", core=1)
            size = max(1.0, float(np.abs(M).max()) * max(1.0, float(np.abs(a).max())))
            assert_close(found_tau, tau, min(1e-10, bound * size), f"{joints}", core=1)


@pytest.mark.slow(every=5)
def test_hybrid_dynamics_of_no_or_all_prescribed_joints_is_forward_or_inverse_dynamics():
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    q, (v, a, tau) = robot.random_configuration(rng, size=3), rng.normal(size=(3, 3, 7))
    names = [joint.name for joint in robot.joints]
    result = robot.hybrid_dynamics(q, v, a, tau, [])
    assert result._fields == ("a", "tau")
    assert np.array_equal(result.tau, tau)
    assert_close(result.a, robot.forward_dynamics(q, v, tau), 1e-11, core=1)
    result = robot.hybrid_dynamics(q, v, a, tau, names)
    assert np.array_equal(result.a, a)
    assert np.array_equal(result.tau, robot.inverse_dynamics(q, v, a))
    result = robot.hybrid_dynamics(q, v, a, tau, names[0], passive=True)
    again = robot.compile(("hybrid_dynamics", names[0], {"passive": True}))(q, v, a, tau)
    assert all(map(np.array_equal, result, again))
    by_tuple, by_list = (robot.hybrid_dynamics(q, v, a, tau, x) for x in ((names[2], names[4]), [names[4], names[2]]))
    assert_close(by_tuple, by_list, 1e-13)
    alone = robot.compile(("hybrid_dynamics", names[:3])).arithmetic
    assert alone < robot.compile("forward_dynamics").arithmetic  # what is given is eliminated nowhere


def test_hybrid_dynamics_rejects_unknown_and_coupled_joints():
    tree = TREES["coupled_chain"]
    robot = lw.Robot(tree)
    q, v, a = state(tree, size=1)
    follower, master = next((b.joint_name, b.coupling.joint) for b in tree.bodies if b.coupling is not None)
    with pytest.raises(ValueError, match=f"{follower!r} has no acceleration of its own: it follows joint {master!r}"):
        robot.hybrid_dynamics(q, v, a, a, [follower])
    robot.hybrid_dynamics(q, v, a, a, [master])
    with pytest.raises(UnknownNameError, match="no joint named 'jont0'; did you mean 'joint0'"):
        robot.hybrid_dynamics(q, v, a, a, "jont0")
    with pytest.raises(TypeError, match=r"expected a joint's name or a list of them, got \{\}"):
        robot.hybrid_dynamics(q, v, a, a, [{}])
    with pytest.raises(TypeError, match="joints"):
        robot.hybrid_dynamics(q, v, a, a)


@every_moving_type
def test_impulses_change_velocities_by_the_inverse_mass_matrix(tree):
    """M (v⁺ − v) = Σ Jᵀ p, with the textbook's Jacobian; the energy is that of the mean velocity."""
    q, v, _ = state(tree)
    f = ActedOn(tree)
    frame = f"tool{len(tree.bodies) - 1}"
    p = np.random.default_rng(2).normal(size=(4, 6))
    J = Textbook(tree, q).jacobian(frame, E="body0")
    u = np.einsum("nij,ni->nj", J, p)
    for passive in (False, True):
        M = f.mass_matrix(q, passive=passive)
        after = f.impact(q, v, impulses={frame: p}, expressed_in="body0", passive=passive)
        expected = v + np.linalg.solve(M, u[..., None])[..., 0]
        assert_close(after, expected, solving_bound(M, (u,), after - v), core=1)
        energy = 0.5 * (np.einsum("ni,nij,nj->n", after, M, after) - np.einsum("ni,nij,nj->n", v, M, v))
        assert_close(energy, np.sum(0.5 * (v + after) * u, axis=-1), 1e-9, core=0)
    assert np.array_equal(f.impact(q, v), v)


def test_rod_hit_at_its_centre_of_percussion_leaves_the_hinge_unloaded():
    """A rod on a hinge, hit at its centre of percussion: the hinge exerts no impulse."""
    m, length = 2.0, 0.9
    inertia = (0.0, m * length**2 / 12.0, m * length**2 / 12.0)
    percussion = 2.0 * length / 3.0
    rod = lw.Link("rod", mass=m, com=(length / 2.0, 0, 0), inertia=inertia, frames={"hit": (percussion, 0, 0)})
    hinge = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge", parent="world", child="rod")
    robot = lw.Robot.build("rod", [rod], [hinge])
    v = robot.impact([0.3], [1.0], impulses={"hit": [0, 0, 0, 0, 5.0, 0]}, expressed_in="rod")
    assert_close(v, [1.0 + 5.0 * percussion / (m * length**2 / 3.0)], 1e-14)
    moved = np.array([v[0] - 1.0])
    # the hinge's impulse, of the same step of velocities without weight and velocity
    w = robot.joint_wrenches(
        [0.3], [0.0], moved, gravity=[0, 0, 0], wrenches={"hit": [0, 0, 0, 0, 5.0, 0]}, wrenches_expressed_in="rod"
    )
    assert np.abs(w).max() <= 1e-13
    kernel = robot.compile(("impact", {"impulses": {"hit": "rod"}}))
    assert [port.name for port in kernel.inputs] == ["q", "v", "impulse_hit_in_rod"]
    for options, message in (
        ({"impulses": [1.0]}, r"impulses: expected a dict by frame"),
        ({"wrenches": {"hit": np.zeros(6)}}, "no option named 'wrenches'"),
    ):
        with pytest.raises(TypeError, match=message):
            robot.impact([0.3], [1.0], **options)
    with pytest.raises(ValueError, match=r"impulse_hit: expected an array of shape \(\.\.\., 6\), the impulse"):
        robot.impact([0.3], [1.0], impulses={"hit": [1.0]})


@pytest.mark.slow(every=5)
def test_hybrid_dynamics_of_joints_without_inertia_requires_prescribed_accelerations():
    """A hinge that moves no inertia has no acceleration under a force."""
    base = lw.Link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    joints = [
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="heavy", parent="world", child="arm"),
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="light", parent="arm", child="flag"),
    ]
    robot = lw.Robot.build("flagged", [base, lw.Link("flag")], joints)
    q, v, a = [0.3, 0.4], [1.0, 2.0], [3.0, 4.0]
    for ask in (
        lambda: robot.hybrid_dynamics(q, v, a, a, "heavy"),
        lambda: robot.hybrid_dynamics(q, v, a, a, []),
        lambda: robot.impact(q, v, impulses={"arm": np.zeros(6)}),
    ):
        with pytest.raises(SingularInertiaError, match="joint 'light' moves bodies without inertia"):
            ask()
    result = robot.hybrid_dynamics(q, v, a, [5.0, 6.0], "light")
    assert result.a[1] == 4.0 and result.tau[0] == 5.0 and abs(result.tau[1]) <= 1e-15
    assert_close(robot.inverse_dynamics(q, v, result.a), result.tau, 1e-14)


@pytest.mark.slow
def test_velocity_changes_by_impulses_equal_pinocchios(drawn):
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import ALIGNED, Pinocchio

    for example in drawn(EXAMPLES):
        robot, oracle = example.robot(), Pinocchio(example)
        rng = np.random.default_rng(4)
        q, v, p = robot.random_configuration(rng, size=2), rng.normal(size=(2, robot.nv)), rng.normal(size=(2, 6))
        velocity = robot.impact(q, v, impulses={example.frames[0]: p})
        J = oracle.jacobian(q, example.frames[0], ALIGNED)
        M = oracle.mass_matrix(q)
        u = np.einsum("nij,ni->nj", J, p)
        expected = v + np.linalg.solve(M, u[..., None])[..., 0]
        assert_close(velocity, expected, solving_bound(M, (u,), expected - v), example.name, core=1)
