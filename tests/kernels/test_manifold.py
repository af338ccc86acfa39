"""Functions of robots at configurations off their manifold, and at singular coordinates."""

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ConfigurationWarning
from linkwork.joints import (
    Composite,
    FloatingEuler,
    JointType,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    UnboundedRevolute,
    Universal,
)
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Pose, Rotation, Vec3

SHAPES = [(), (1,), (2,), (3,), (40,), (2, 5)]


@pytest.fixture(scope="module")
def humanoid():
    return lw.load("humanoid", floating_base=True)


def states(robot, shape):
    q = robot.random_configuration(seed=0, size=shape or None)
    return q, np.ones((*shape, robot.nv)), np.ones((*shape, robot.nv))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_quaternions_of_slightly_wrong_length_are_normalized_with_a_warning(humanoid, shape, dtype):
    q, v, a = (x.astype(dtype) for x in states(humanoid, shape))
    expected = humanoid.inverse_dynamics(q, v, a)
    off = q.copy()
    off[(0,) * len(shape)][:4] *= 1.0005
    before = off.copy()
    with pytest.warns(ConfigurationWarning, match="joint 'floating_base'.* of length 1, got .* of length 1.000"):
        torque = humanoid.inverse_dynamics(off, v, a)
    assert np.array_equal(off, before)
    assert np.allclose(
        torque, expected, rtol=1e-12 if dtype is np.float64 else 1e-3, atol=1e-9 if dtype is np.float64 else 0.1
    )
    with pytest.warns(ConfigurationWarning):
        written = humanoid.inverse_dynamics(off, v, a, out=np.empty_like(torque))
    assert np.array_equal(written, torque)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_quaternions_of_wrong_length_are_refused(humanoid, shape):
    q, v, a = states(humanoid, shape)
    bad = q.copy()
    bad[(-1,) * len(shape)][:4] = [0.0, 0.0, 2.0, 0.0]
    out = np.full(v.shape, 7.0)
    for call in (lambda: humanoid.inverse_dynamics(bad, v, a), lambda: humanoid.inverse_dynamics(bad, v, a, out=out)):
        with pytest.raises(ValueError, match=r"joint 'floating_base'.* got \[0.0, 0.0, 2.0, 0.0\] of length 2"):
            call()
    assert (out == 7.0).all()
    with pytest.raises(ValueError, match="of length 2"):
        humanoid.difference(q, bad)
    assert np.allclose(np.linalg.norm(humanoid.normalize(bad)[..., :4], axis=-1), 1.0)


def test_rounding_errors_of_quaternions_cause_no_warning(humanoid):
    q, v, a = states(humanoid, (20,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        humanoid.inverse_dynamics(q * (1.0 + 5e-7), v, a)
        humanoid.inverse_dynamics(q[0] * (1.0 - 5e-7), v[0], a[0])
        humanoid.forward_kinematics(q.astype(np.float32))
        lw.Robot(humanoid.tree).compile("inverse_dynamics")(2.0 * q, v, a)  # kernels take what they are given


def test_only_quaternions_beyond_rounding_are_normalized(humanoid):
    q, v, a = states(humanoid, (20,))
    q[:, :4] *= 1.0 + 5e-7
    alone = humanoid.inverse_dynamics(q, v, a)
    assert not np.array_equal(alone, humanoid.inverse_dynamics(humanoid.normalize(q), v, a))
    assert np.array_equal(humanoid.inverse_dynamics(q, v, a, out=np.empty_like(alone)), alone)
    q[7, :4] *= 1.0005
    with pytest.warns(ConfigurationWarning):
        torque = humanoid.inverse_dynamics(q, v, a)
    assert np.array_equal(np.delete(torque, 7, 0), np.delete(alone, 7, 0))


def test_robot_methods_check_configurations_of_every_joint_with_unit_length_coordinates():
    tree = random_tree(np.random.default_rng(3), 6, types=[Spherical, UnboundedRevolute], shape="chain")
    robot = lw.Robot(tree)
    q = robot.random_configuration(seed=1, size=9)
    for joint in robot.joints:
        bad = q.copy()
        bad[4, joint.q_slice] *= 3.0
        with pytest.raises(ValueError, match=f"joint '{joint.name}'"):
            robot.mass_matrix(bad)
        with pytest.raises(ValueError, match=f"joint '{joint.name}'"):
            robot.mass_matrix({joint.name: bad[4, joint.q_slice]})


@pytest.mark.parametrize("joint_type", [SphericalEuler, FloatingEuler])
def test_forward_dynamics_warns_at_gimbal_lock(joint_type):
    tree = random_tree(np.random.default_rng(5), 1, types=[joint_type], shape="chain")
    robot = lw.Robot(tree)
    joint = robot.joints[0]
    q = np.zeros((3, robot.nq))
    q[:] = robot.random_configuration(seed=2)
    singular = next(x for x in (0.0, np.pi / 2) if joint.regularity([0.3, x, 0.1, *[0.0] * (robot.nq - 3)]) < 1e-9)
    v = np.ones(robot.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.forward_dynamics(q, v, v)
    q[1, 1] = singular
    for configuration in (q, {joint.name: q}, q[1]):
        with pytest.warns(ConfigurationWarning, match=f"forward_dynamics: joint '{joint.name}' .* singular at"):
            robot.forward_dynamics(configuration, v, v)


SLIDES = Composite((Prismatic((1, 0, 0)), Revolute((0, 0, 1)), Prismatic((1, 0, 0))))
WRIST = Composite((Revolute((0, 0, 1)), Revolute((0, 1, 0)), Revolute((0, 0, 1))))


@pytest.mark.parametrize(
    ("joint", "regular", "meeting"),
    [
        (WRIST, [0.3, 1e-5, 0.2], [[0.3, 0.0, 0.2], [0.3, 1e-9, 0.2], [0.1, -np.pi, 0.2]]),
        (WRIST.reversed(), [0.3, -1e-5, 0.2], [[0.3, 0.0, 0.2]]),
        (SLIDES, [1.0, 1e-5, 0.2], [[1.0, 0.0, 0.2]]),
    ],
    ids=["wrist", "reversed", "slides"],
)
def test_forward_dynamics_warns_of_dependent_joint_axes(joint, regular, meeting):
    """A composite whose axes meet in some configurations, for one state, batches, float32 and ``out=``."""
    ball = lw.Joint.of(joint, name="wrist", parent="arm", child="hand")
    rod = {"mass": 1.0, "com": (0.1, 0.2, -0.5), "inertia": (0.08, 0.09, 0.01)}
    hinge = lw.Joint.of(Revolute((0, 1, 0)), name="hinge", parent="world", child="arm")
    robot = lw.Robot.build("r", lw.Link("arm", **rod), lw.Link("hand", **rod), hinge, ball)
    v = np.ones(robot.nv)
    q = np.tile([0.4, *regular], (9, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for configuration in (q, q[0], q.astype(np.float32)):
            assert np.isfinite(
                robot.forward_dynamics(configuration, v.astype(configuration.dtype), v.astype(configuration.dtype))
            ).all()
        robot.mass_matrix([0.4, *meeting[0]])
        robot.compile("forward_dynamics")([0.4, *meeting[0]], v, v)  # kernels say nothing
    for bend in meeting:
        q[5, 1:] = bend
        expected = rf"forward_dynamics: joint 'wrist' .* singular at \[{float(bend[0])!r}, .*motions are linearly dep"
        for configuration in (q, q[5], {"hinge": 0.4, "wrist": q[:, 1:]}):
            with pytest.warns(ConfigurationWarning, match=expected):
                robot.forward_dynamics(configuration, v, v)
            with pytest.warns(ConfigurationWarning, match=expected):
                robot.forward_dynamics(configuration, v, v, out=np.empty((9, robot.nv)))
    with pytest.warns(ConfigurationWarning, match="joint 'wrist' .* singular at"):
        robot.forward_dynamics(q.astype(np.float32), v.astype(np.float32), v.astype(np.float32))


class Swivelling(JointType):
    """Two hinges, of which the second stands still at zero: written by its transform alone."""

    nq, nv = 2, 2
    q_units, v_units = ("rad",) * 2, ("rad/s",) * 2

    @classmethod
    def example(cls, rng):
        return cls()

    def X(self, q):
        return Pose(Rotation.about(Vec3(0, 0, 1), q[0]) @ Rotation.about(Vec3(1, 0, 0), q[1] * q[1]), Vec3.zero())


def test_singular_configurations_of_users_joints_cause_a_warning():
    rod = lw.Link("rod", mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.08, 0.09, 0.01))
    robot = lw.Robot.build("r", rod, lw.Joint.of(Swivelling(), name="elbow", parent="world", child="rod"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.forward_dynamics([0.3, 0.4], [0, 0], [1, 1])
    with pytest.warns(ConfigurationWarning, match=r"joint 'elbow' \(swivelling\): .* singular at \[0.3, 0.0\]"):
        robot.forward_dynamics([0.3, 0.0], [0, 0], [1, 1])


def test_joints_without_singularities_have_no_singularity_guards():
    for joint in (Universal((1, 0, 0), (0, 1, 0)), Composite((Revolute((0, 0, 1)), Prismatic((0, 0, 1))))):
        rod = lw.Link("rod", mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.08, 0.09, 0.01))
        robot = lw.Robot.build("r", rod, lw.Joint.of(joint, name="hinge", parent="world", child="rod"))
        assert robot.compile("forward_dynamics").program.guards == 0
