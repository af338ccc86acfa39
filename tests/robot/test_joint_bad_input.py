"""Invalid configurations, velocities and wrenches of a joint: errors that name the joint and the value."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY
from linkwork.errors import ConfigurationWarning, JointMethodError, ModelError

HINGE = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="elbow")
FREE = lw.Joint.of(lw.joints.Floating(), name="base")


def test_joint_configurations_of_the_wrong_length_are_refused() -> None:
    message = r"joint 'elbow': transform: q: expected an array of shape \(\.\.\., 1\), the configuration \[.*\]; "
    with pytest.raises(ValueError, match=message + r"got shape \(2,\): \[0.1, 0.2\]"):
        HINGE.transform([0.1, 0.2])
    with pytest.raises(ValueError, match=message + r"got shape \(5, 3\)"):
        HINGE.transform(np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"joint 'base': twist: v: expected an array of shape \(\.\.\., 6\)"):
        FREE.twist(FREE.zero_configuration(), np.zeros(5))
    with pytest.raises(ValueError, match=r"torque: wrench: expected an array of shape \(\.\.\., 6\)"):
        HINGE.torque([0.1], np.zeros(3))
    with pytest.raises(ValueError, match=r"link_pose: parent_pose: expected an array of shape \(\.\.\., 4, 4\)"):
        HINGE.link_pose([0.1], np.zeros(3))
    with pytest.raises(ValueError, match="do not broadcast"):
        HINGE.twist(np.zeros((2, 1)), np.zeros((3, 1)))
    for wrong in ("up", None, [1j], ["1"]):
        with pytest.raises(ValueError, match="joint 'elbow': transform: q"):
            HINGE.transform(wrong)
    fixed = EVERY["fixed"]
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 0\)"):
        fixed.transform([1.0])


def test_nan_in_joint_configurations_and_velocities_is_refused() -> None:
    with pytest.raises(ValueError, match=r"joint 'elbow': twist: v\[0\] is NaN"):
        HINGE.twist([0.1], [np.nan])
    with pytest.raises(ValueError, match=r"joint 'elbow': twist: q\[1, 0\] is NaN"):
        HINGE.twist([[0.1], [np.nan]], [0.0], out=np.zeros((2, 6)))
    q = np.stack([FREE.zero_configuration()] * 2)
    q[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"joint 'base': transform: q\[1, 2\] is NaN"):
        FREE.transform(q)


def test_joint_quaternion_far_from_unit_length_is_refused() -> None:
    q = FREE.zero_configuration()
    q[0] = 1.01
    with pytest.raises(
        ValueError,
        match=r"joint 'base' \(floating\): expected \(qw, .*\) of length 1, got \[1.01, .* of length 1.01",
    ):
        FREE.transform(q)
    many = np.stack([FREE.zero_configuration(), q])
    with pytest.raises(ValueError, match=r"joint 'base' .* got \[1.01"):
        FREE.twist(many, np.zeros(6))
    with pytest.raises(ValueError, match=r"joint 'base' .* of length 0"):
        FREE.motion_subspace(np.zeros(7))
    with pytest.raises(
        ValueError, match=r"joint 'base': motion_subspace: q\[0\] is inf; 7 elements that are not finite"
    ):
        FREE.motion_subspace(np.full(7, np.inf))
    with pytest.raises(ValueError, match="has no nearest configuration"):
        FREE.normalize_configuration(np.zeros(7))


def test_joint_types_that_declare_unit_lengths_need_no_method_normalize() -> None:
    """A type that declares them, without ``normalize`` and names of coordinates."""

    class Ball(lw.joints.Spherical):
        normalize, q_names = lw.joints.JointType.normalize, ()

        def __post_init__(self) -> None:
            pass

    joint = lw.Joint.of(Ball(), name="hip")
    assert joint.normalize_configuration([0.0, 3.0, 0.0, 4.0]).tolist() == [0.0, 0.6, 0.0, 0.8]
    for call in (joint.normalize_configuration, joint.transform):
        with pytest.raises(
            ValueError, match=r"joint 'hip'.*no nearest configuration|length 1, got \[0.0, 0.0, 0.0, 0.0\]"
        ):
            call(np.zeros(4))


def test_joint_quaternion_of_nearly_unit_length_is_normalised_with_a_warning() -> None:
    q = FREE.random_configuration(seed=0)
    off = q.copy()
    off[:4] *= 1.0 + 5e-4
    with pytest.warns(ConfigurationWarning, match=r"joint 'base' .* of length 1.0005: normalised") as caught:
        X = FREE.transform(off)
    assert caught[0].filename == __file__
    assert np.max(np.abs(X - FREE.transform(q))) <= 1e-15


def test_rounding_errors_of_joint_quaternions_cause_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = FREE.random_configuration(seed=0, size=20)
        FREE.transform(q.astype(np.float32))
        FREE.transform(q * (1.0 + 1e-9))
        FREE.normalize_configuration(3.0 * q)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_joint_quaternions_with_wrong_length_are_refused_or_normalized_with_a_warning(sign: float) -> None:
    """Lengths that differ from 1 by more than 1e-3 are refused, by more than 1e-6 normalised with a warning."""

    def off(difference: float) -> np.ndarray:
        return FREE.random_configuration(seed=0) * np.array([1.0 + sign * difference] * 4 + [1.0] * 3)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FREE.transform(off(0.98e-6))
    for difference in (1.02e-6, 0.98e-3):
        with pytest.warns(ConfigurationWarning, match="of length"):
            FREE.transform(off(difference))
    with pytest.raises(ValueError, match=r"joint 'base' .* of length (1\.001|0\.998)"):
        FREE.transform(off(1.02e-3))


def test_poses_that_are_not_rigid_transforms_are_refused_by_joints() -> None:
    """A rotation within 1e-6, right-handed, and the last row 0 0 0 1."""
    warped = [
        2.0 * np.eye(4),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.diag([1.0, 1.0, 1.0 + 1e-5, 1.0]),
        np.full((4, 4), np.inf),
    ]
    warped.append(np.eye(4) + np.outer([0, 0, 0, 1.0], [0, 1.0, 0, 0]))
    twist, q = np.zeros(6), [0.1]
    for X in (*warped, np.stack([np.eye(4), warped[1]])):
        for call in (
            lambda X=X: HINGE.split_wrench(q, twist, world_pose=X),
            lambda X=X: HINGE.link_pose(q, X),
            lambda X=X: HINGE.link_motion(q, [0.0], [0.0], X, twist, twist),
        ):
            with pytest.raises(ValueError, match=r"joint 'elbow': .*_pose: expected poses, with a rotation \(within"):
                call()
    near = np.eye(4) + 1e-7 * np.random.default_rng(0).normal(size=(4, 4)) * [[1.0], [1.0], [1.0], [0.0]]
    assert np.max(np.abs(HINGE.link_pose([0.0], near.astype(np.float32)) - near)) <= 1e-6
    for X in warped:
        with pytest.raises(ValueError, match="joint 'elbow': placement: expected a pose"):
            HINGE.with_placements(X)


def test_masked_arrays_of_poses_are_refused_by_joints() -> None:
    joint = lw.load("arm7").joint("elbow")
    masked = np.ma.masked_array(np.eye(4), mask=np.eye(4, dtype=bool))
    for call in (
        lambda: joint.split_wrench([0.1], np.ones(6), world_pose=masked),
        lambda: joint.link_pose([0.1], masked),
    ):
        with pytest.raises(ValueError, match=r"joint 'elbow': .*pose: expected an array of .* got a masked array"):
            call()


def test_joints_with_values_beyond_the_bounds_are_refused_by_robots() -> None:
    """Products of such values overflow: an edited joint is checked as a joint that is read."""
    robot = lw.load("arm7")
    elbow = robot.joint("elbow")
    for joint, title in (
        (elbow.with_placements(placement=(1e200, 0.0, 0.0)), "its placement's offset"),
        (elbow.with_placements(rotor=(0.0, 1e200, 0.0)), "its rotor's offset"),
        (elbow.with_damping(1e200), "damping"),
        (elbow.with_position_limits(-1e200, 1.0), "lower limits"),
    ):
        with pytest.raises(ModelError, match=rf"joint 'elbow': {title}: .* is beyond 1e\+20") as caught:
            robot.with_joint(joint)
        assert caught.value.code == "MAGNITUDE"


def test_invalid_names_and_links_of_a_joint_are_refused() -> None:
    hinge = lw.joints.Revolute((0, 0, 1))
    for wrong in ({"name": ""}, {"name": " "}, {"name": 3}, {"parent": ""}, {"child": None}):
        with pytest.raises(ValueError, match=r"expected (a name|the name of a link|a string), got"):
            lw.Joint.of(hinge, **wrong)
    with pytest.raises(ValueError, match="joint 'elbow': expected two links, got 'arm' twice"):
        lw.Joint.of(hinge, name="elbow", parent="arm", child="arm")
    for links in (("a", "a"), ("", "b"), ("a", 3)):
        with pytest.raises(ValueError, match="joint 'elbow': "):
            HINGE.with_links(*links)


def test_impossible_limits_damping_and_velocities_of_joints_are_refused() -> None:
    hinge = lw.joints.Revolute((0, 0, 1))
    for lower, upper in ((1.0, -1.0), (np.inf, np.inf), (-np.inf, -np.inf)):
        with pytest.raises(ValueError, match=r"joint 'elbow': lower limit .* of coordinate 0 exceeds upper limit"):
            lw.Joint.of(hinge, name="elbow", lower=lower, upper=upper)
    for name in ("damping", "friction"):
        for value in (np.inf, np.nan, np.ma.masked_array([1.0], [True])):
            with pytest.raises(ValueError, match=f"joint 'elbow': {name}: expected a finite number"):
                lw.Joint.of(hinge, name="elbow", **{name: value})
            with pytest.raises(ValueError, match=f"joint 'elbow': {name}: expected a finite number"):
                getattr(HINGE, f"with_{name}")(value, dof=0)
    for value in (["fast"], None, np.ma.masked_array([1.0], [True]), 1.0, [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"'elbow': passive_torque: v: expected an array of shape \(\.\.\., 1\)"):
            HINGE.with_damping(1.0).passive_torque(value)
    for value in ([np.nan], [np.inf]):
        with pytest.raises(ValueError, match=r"joint 'elbow': passive_torque: v\[0\] is"):
            HINGE.with_damping(1.0).passive_torque(value)
    whole = lw.Robot.build("r", lw.Link("forearm"), HINGE.with_damping(2.0).with_links("world", "forearm"))
    for joint in (whole, whole.joint("elbow")):
        for number_value in (
            [True],
            np.array([1], np.int8),
            np.float32([1.0]),
        ):  # numbers of any kind, as compiled functions do
            assert (
                joint.passive_torque(number_value).tolist() == [-2.0]
                and joint.passive_torque(number_value).dtype == np.float64
            )
    for value in (np.nan, "fast", np.ma.masked_array([1.0], [True])):
        with pytest.raises(ValueError, match="joint 'elbow': velocity: expected a number"):
            HINGE.with_velocity_limit(value)
    for axis in ("abc", "001", [0, 0], [0, 0, 0], [0, np.nan, 1], ["0", "0", "1"], None):
        with pytest.raises(ValueError, match="joint 'elbow': axis: expected three numbers"):
            HINGE.with_axis(axis)
    with pytest.raises(ValueError, match="expected a degree of freedom from 0 to 0"):
        HINGE.with_damping(1.0, dof=True)
    for q in (np.ma.masked_array([1.0], [True]), [1j], np.array([1j]), ["1"], [True], None):
        with pytest.raises(
            ValueError,
            match=r"'elbow' .*: expected a configuration of 1 numbers",
        ):
            HINGE.regularity(q)


class Faulty(lw.joints.Revolute):
    """Joint type with a transform that fails for symbols."""

    def X(self, q):
        return super().X([abs(float(q[0]))])


def test_exception_in_a_users_joint_type_is_raised_with_the_joint_and_the_method() -> None:
    joint = lw.Joint.of(Faulty((0, 0, 1)), name="elbow")
    robot = lw.load("arm7")
    robot = robot.with_joint(robot.joint("elbow").with_type(Faulty((0, 0, 1))))
    message = r"joint 'elbow': Faulty\.X raised TypeError: .* in Faulty\.X, line \d+: return super\(\)\.X"
    for call in (
        lambda: joint.transform([0.1]),
        lambda: joint.link_pose([0.1], np.eye(4)),
        lambda: robot.mass_matrix(robot.neutral()),
        lambda: robot.pose(robot.neutral(), robot.frames[-1]),
    ):
        with pytest.raises(JointMethodError, match=message) as caught:
            call()
        assert isinstance(caught.value.__cause__, TypeError)
        assert (caught.value.joint, caught.value.type, caught.value.method) == ("elbow", "Faulty", "X")


class Wheel(lw.joints.UnboundedRevolute):
    """Joint type with one method of its manifold that fails."""

    failing = ""

    def _fail_if_named(self, method: str) -> None:
        if type(self).failing == method:
            raise ZeroDivisionError(f"in {method}")

    def zero(self):
        self._fail_if_named("zero")
        return super().zero()

    def q_dot(self, q, v):
        self._fail_if_named("q_dot")
        return super().q_dot(q, v)

    def velocity_from_rate(self, q, q_dot):
        self._fail_if_named("velocity_from_rate")
        return super().velocity_from_rate(q, q_dot)

    def integrate(self, q, phi):
        return super().integrate(q, phi)

    def difference(self, q, q1):
        return super().difference(q, q1)

    def normalize(self, q):
        self._fail_if_named("normalize")
        return super().normalize(q)

    def distance(self, q):
        self._fail_if_named("distance")
        return super().distance(q)

    def random(self, rng, lower, upper, size):
        self._fail_if_named("random")
        return super().random(rng, lower, upper, size)


@pytest.mark.filterwarnings("ignore::linkwork.errors.ConfigurationWarning")
def test_exception_in_a_users_joint_manifold_is_raised_with_the_joint_and_the_method() -> None:
    elbow = lw.Joint.of(Wheel((0, 0, 1)), name="elbow", parent="world", child="rod")
    robot = lw.Robot.build("r", lw.Link("rod", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1)), elbow)
    q, v, off = [1.0, 0.0], [0.0], [1.0005, 0.0]
    robot.mass_matrix(q)  # traced before anything fails: what is off its manifold is looked at later
    calls = {
        "zero": (robot.neutral, lambda: robot.mass_matrix({}), robot.joint("elbow").zero_configuration),
        "q_dot": (lambda: robot.velocity_to_configuration_derivative(q, v),),
        "velocity_from_rate": (lambda: robot.configuration_derivative_to_velocity(q, q),),
        "normalize": (lambda: robot.normalize(q), lambda: robot.mass_matrix(off)),
        "distance": (lambda: robot.gravity_force(q), lambda: robot.mass_matrix(off)),
        "random": (robot.random_configuration, robot.joint("elbow").random_configuration),
    }
    try:
        for method, of_it in calls.items():
            for call in of_it:
                Wheel.failing = method
                with pytest.raises(JointMethodError, match=rf"joint 'elbow': Wheel\.{method} raised Zero.*in {method}"):
                    call()
                Wheel.failing = ""
    finally:
        Wheel.failing = ""


def test_invalid_joints_are_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a joint type with its parameters, .* got <class"):
        lw.Joint.of(lw.joints.Floating)
    with pytest.raises(ValueError, match="joint 'x': lower: expected a number or 7 of them"):
        lw.Joint.of(lw.joints.Floating(), name="x", lower=[1.0, 2.0])
    with pytest.raises(ValueError, match="joint 'joint': effort: expected a number, non-negative"):
        lw.Joint.of(lw.joints.Revolute((1, 0, 0)), effort=-1.0)


@pytest.mark.parametrize("argument", ["placement", "rotor"])
def test_invalid_placements_of_a_joint_and_of_its_rotor_are_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=rf"Joint\.of: joint 'elbow': {argument}: expected a pose, .*, got 'up'"):
        lw.Joint.of(lw.joints.Revolute("z"), name="elbow", **{argument: "up"})  # type: ignore[arg-type]
