"""Joint forces of wrenches, and wrenches of joint forces, of full and deficient rank."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import Prismatic, Revolute
from oracles.acted_on import ActedOn
from oracles.comparison import assert_close
from oracles.trees import every_moving_tree, state

BAR = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}


def chain(*kinds, step=(0.4, 0.0, 0.0)):
    links = [lw.Link(f"link{k}", frames={f"tip{k}": (0.4, 0.0, 0.0)}, **BAR) for k in range(len(kinds))]
    joints = []
    for k, kind in enumerate(kinds):
        placement = np.eye(4)
        placement[:3, 3] = step if k else 0.0
        parent = f"link{k - 1}" if k else "world"
        joints.append(lw.Joint.of(kind, name=f"joint{k}", parent=parent, child=f"link{k}", placement=placement))
    return lw.Robot.build("chain", links, joints)


@every_moving_tree
def test_wrench_from_torque_has_the_least_norm(tree):
    """Against NumPy's pseudoinverse of the transposed Jacobian, on every tree; few move frames in all directions."""
    q, _, tau = state(tree)
    f = ActedOn(tree)
    for frame, E in ((f"tool{len(tree.bodies) - 1}", "world"), ("body0", f"tool{len(tree.bodies) - 1}")):
        w, residual = f.wrench_from_torque(q, tau, frame, expressed_in=E)
        J = f.jacobian(q, frame, expressed_in=E)
        JT = np.swapaxes(J, -1, -2)
        expected = np.einsum("nij,nj->ni", np.linalg.pinv(JT, rcond=1e-5), tau)
        size = np.linalg.norm(expected, axis=-1).max(initial=1.0)
        assert_close(w, expected, 1e-9 * size, core=1)
        assert_close(residual, tau - np.einsum("nij,nj->ni", JT, w), 1e-13 * size, core=1)
        felt = np.einsum("nij,nj->ni", J, residual)  # what is left is none of what wrenches make
        assert np.abs(felt).max(initial=0.0) <= 1e-9 * size


@every_moving_tree
def test_wrench_from_torque_reproduces_the_static_torques(tree):
    """The wrench computed from the joint forces of a wrench has the same joint forces, without a remainder."""
    q, _, _ = state(tree)
    f = ActedOn(tree)
    frame = f"tool{len(tree.bodies) - 1}"
    w = np.random.default_rng(0).normal(size=(4, 6))
    u = f.static_torque(q, wrenches={frame: w}, expressed_in="body0")
    back, residual = f.wrench_from_torque(q, u, frame, expressed_in="body0")
    assert_close(f.static_torque(q, wrenches={frame: back}, expressed_in="body0"), u, 1e-11, core=1)
    assert np.abs(residual).max(initial=0.0) <= 1e-11 * max(1.0, np.abs(u).max(initial=0.0))
    assert np.all(np.linalg.norm(back, axis=-1) <= np.linalg.norm(w, axis=-1) * (1.0 + 1e-9))


def test_power_of_a_wrench_equals_the_power_of_its_joint_forces():
    """u · v = w · V."""
    robot = lw.load("arm6")
    rng = np.random.default_rng(0)
    q, v, w = robot.random_configuration(rng, size=5), rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
    for E in ("world", "tool"):
        u = robot.static_torque(q, wrenches={"tool": w}, expressed_in=E)
        V = robot.twist(q, v, "tool", expressed_in=E)
        assert np.sum(u * v, axis=-1) == pytest.approx(np.sum(w * V, axis=-1), rel=1e-12)
    assert np.array_equal(robot.static_torque(q), np.zeros((5, 6)))


def test_static_torques_of_a_planar_arm_equal_the_closed_form():
    """Two hinges and bars of 0.4 m, straight along x: a force f_y at the tip makes the torques 0.8 f_y and 0.4 f_y."""
    robot = chain(Revolute((0, 0, 1)), Revolute((0, 0, 1)))
    q = np.zeros(2)
    assert_close(robot.static_torque(q, wrenches={"tip1": [0, 0, 0, 7.0, 5.0, 3.0]}), [4.0, 2.0], 1e-15)
    w, residual = robot.wrench_from_torque(q, [4.0, 2.0], "tip1")
    assert_close(w, [0, 0, 0, 0, 5.0, 0], 1e-13)
    assert_close(residual, [0, 0], 1e-13)
    # bent, a moment too; the shortest wrench is compared with all others in NumPy
    w, residual = robot.wrench_from_torque([0.3, 0.9], [4.0, 2.0], "tip1")
    assert_close(w, np.linalg.lstsq(robot.jacobian([0.3, 0.9], "tip1").T, [4.0, 2.0], rcond=None)[0], 1e-12)
    # a hinge and a slide along its axis: no force along x moves either, and nothing but a moment holds the hinge
    slide = chain(Revolute((0, 0, 1)), Prismatic((0, 0, 1)), step=(0, 0, 0))
    w, residual = slide.wrench_from_torque([0.5, 0.2], [3.0, 2.0], "link1")
    assert_close(w, [0, 0, 3.0, 0, 0, 2.0], 1e-13)
    # of two hinges on one axis, no wrench on the end makes different torques
    twice = chain(Revolute((0, 0, 1)), Revolute((0, 0, 1)), step=(0, 0, 0.1))
    w, residual = twice.wrench_from_torque([0.5, 0.2], [3.0, 1.0], "link1")
    assert_close(residual, [1.0, -1.0], 1e-13)
    assert_close(w, [0, 0, 2.0, 0, 0, 0], 1e-13)


def test_wrench_from_torque_in_float32_treats_a_rank_deficient_jacobian_as_float64_does():
    """A planar arm's Jacobian has rank 3."""
    robot = chain(*[Revolute((0, 0.6, 0.8))] * 4)
    rng = np.random.default_rng(0)
    q, tau = rng.normal(size=(2, 20, 4))
    w, residual = robot.wrench_from_torque(q, tau, "link3")
    few, remainder = robot.wrench_from_torque(np.float32(q), np.float32(tau), "link3")
    assert few.dtype == np.float32
    J = robot.jacobian(q, "link3")
    rank = np.linalg.matrix_rank(J, tol=1e-5)
    assert set(rank) == {3}
    smallest = np.linalg.svd(J, compute_uv=False)[:, 2]
    error = np.linalg.norm(few - w, axis=-1) / np.maximum(1.0, np.linalg.norm(w, axis=-1))
    assert np.all(error <= 1e-5 / np.minimum(1.0, smallest) ** 2)
    assert_close(remainder, residual, 1e-4, core=1)


def test_wrench_from_torque_at_fixed_frames_is_zero_and_unknown_frames_are_refused():
    robot = lw.load("double_pendulum")
    w, residual = robot.wrench_from_torque([0.1, 0.2], [1.0, 2.0], "world")
    assert np.array_equal(w, np.zeros(6)) and np.array_equal(residual, [1.0, 2.0])
    with pytest.raises(UnknownNameError, match="did you mean 'tip'"):
        robot.wrench_from_torque([0.1, 0.2], [1.0, 2.0], "tpi")
    with pytest.raises(ValueError, match="wrench_from_torque: tau: expected an array"):
        robot.wrench_from_torque([0.1, 0.2], [1.0, 2.0, 3.0], "tip")


def test_derivatives_of_wrench_from_torque_equal_finite_differences():
    robot = lw.load("arm6")
    q, tau = robot.random_configuration(seed=3), np.arange(6.0)

    def wrench(q):
        return robot.wrench_from_torque(q, tau, "tool").wrench

    moving = seeded(q.tolist(), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    rates = [parts(x, moving[0].level)[1] for x in wrench(moving)]
    step = 1e-6 * np.eye(6)[1]
    differences = (wrench(q + step) - wrench(q - step)) / 2e-6
    assert_close(rates, differences, 1e-6)
