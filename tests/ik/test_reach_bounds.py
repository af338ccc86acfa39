"""Bounds of reach against samples, contradictory targets, bounds of rates, and texts of results, without kernels."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork._util import own_code
from linkwork.errors import Status
from linkwork.ik import result as ik_result
from linkwork.ik.algorithms.joint_bounds import Changes, most_along
from linkwork.ik.arguments import check_tasks
from linkwork.ik.impossibility import _joint_out_of_limits, are_contradictory
from linkwork.ik.reach_bounds import Chain, UnreachableCertificate, _Link, _rotating_joint, _RotatingJoint
from linkwork.ik.result import IKResult, _reason_sentence
from linkwork.ik.velocity_result import VelocityResult

RNG = np.random.default_rng(4)
A, B = np.array([0.3, -0.5, 0.4]), np.array([-0.2, 0.6, 0.7])
AXIS = np.array([0.48, -0.6, 0.64])


def test_lengths_of_links_with_slides_contain_all_samples_and_are_attained():
    slides = ((AXIS, -0.3, 0.9), (np.array([0.6, 0.64, 0.48]), -0.5, 0.2))
    for count in (0, 1, 2):
        link = _Link(A, slides[:count])
        steps = np.meshgrid(*(np.linspace(low, high, 301) for _, low, high in slides[:count]), indexing="ij")
        lengths = np.linalg.norm(
            A + sum(x[..., None] * axis for x, (axis, _, _) in zip(steps, slides, strict=False)), axis=-1
        )
        assert link.longest == pytest.approx(lengths.max(), abs=1e-9)
        assert link.shortest <= lengths.min() + 1e-12
        if count < 2:
            assert link.shortest == pytest.approx(lengths.min(), abs=1e-4)
    assert _Link(A, ((AXIS, -np.inf, 0.9),)).longest == np.inf
    assert _Link(A, ((AXIS, 0.4, 0.9),)).shortest == pytest.approx(np.linalg.norm(A + 0.4 * AXIS))


def test_lengths_of_two_links_at_a_joint_contain_all_samples_and_are_attained():
    plain = _Link(A, ()), _Link(B, ())
    for low, high in ((-np.inf, np.inf), (-0.4, 0.7), (1.5, 2.5), (-3.0, -2.2), (-np.inf, -1.0)):
        ends = (low, high) if np.isfinite([low, high]).all() else (-np.pi, np.pi)
        angles = np.linspace(*ends, 20001)
        lengths = np.linalg.norm(A + Rotation.from_rotvec(angles[:, None] * AXIS).apply(B), axis=1)
        result = Chain._two_link_lengths(_RotatingJoint(np.zeros(3), AXIS, low, high), *plain)
        assert result == pytest.approx((lengths.min(), lengths.max()), abs=1e-7)
    ball = _RotatingJoint(np.zeros(3), None, -np.inf, np.inf)
    a, b = np.linalg.norm(A), np.linalg.norm(B)
    assert Chain._two_link_lengths(ball, *plain) == pytest.approx((abs(a - b), a + b))
    sliding = _Link(B, ((AXIS, -0.1, 0.3),))
    low, high = Chain._two_link_lengths(ball, plain[0], sliding)
    assert (low, high) == pytest.approx((max(sliding.shortest - a, a - sliding.longest, 0.0), a + sliding.longest))
    low, high = Chain._two_link_lengths(ball, _Link(5.0 * A, ()), sliding)
    assert (low, high) == pytest.approx((5.0 * a - sliding.longest, 5.0 * a + sliding.longest)) and low > 1.0


def test_points_of_rotating_joints_follow_from_their_jacobian_columns():
    center, p = np.array([0.2, -0.7, 0.4]), np.array([1.1, 0.3, -0.6])
    R = Rotation.random(random_state=3).as_matrix()
    columns = np.concatenate([R, np.cross(R.T, p - center).T])
    ball = _rotating_joint(columns, p, -1.0, 1.0, False)
    assert np.abs(ball.point - center).max() < 1e-12 and ball.axis is None and ball.high == np.inf
    w = 1.7 * AXIS
    hinge = _rotating_joint(np.concatenate([w, np.cross(w, p - center)])[:, None], p, -1.0, 2.0, True)
    assert np.abs(np.cross(hinge.point - center, AXIS)).max() < 1e-12 and abs((hinge.point - p) @ AXIS) < 1e-12
    assert np.abs(hinge.axis - AXIS).max() < 1e-12 and (hinge.low, hinge.high) == (-1.0, 2.0)


def test_certificates_of_unreachable_targets_state_the_required_and_the_possible_value():
    def text(kind, limited=False, joint=""):
        where = ("hand", "world")
        return str(UnreachableCertificate._make(kind, 1.25, 0.75, np.array([0.1, 0.0, 2.0]), *where, limited, joint))

    at, any_positions = "(0.1, 0, 2) of 'world'", "for any joint positions"
    assert (
        text("far") == f"too far: the target needs a reach of 1.25 m from {at}, the maximum is 0.75 m {any_positions}"
    )
    assert text("far", True, "wrist") == (
        f"too far: with its orientation, the target needs joint 'wrist' at a reach of 1.25 m from {at}, the maximum is "
        "0.75 m within the joint limits"
    )
    assert text("near") == (
        f"too near: the target needs a distance of 1.25 m from {at}, the minimum is 0.75 m {any_positions}"
    )
    assert text("aside") == (
        f"it needs 1.25 m along {at}, parallel to all axes, only 0.75 m is possible {any_positions}"
    )
    assert text("turned") == (
        f"it needs to rotate {at} by 1.25 rad, whose direction in 'hand' is constant {any_positions}"
    )


def test_targets_of_one_quantity_contradict_each_other_beyond_their_tolerances():
    arm = lw.load("arm7")
    joint = arm.joints[1].name
    tasks = check_tasks(
        "test",
        arm,
        [
            lw.ik.PoseTask("hand", name="pose"),
            lw.ik.PositionTask("hand", name="position"),
            lw.ik.OrientationTask("hand", name="orientation"),
            lw.ik.JointTask(joint, name="first"),
            lw.ik.JointTask(joint, name="second"),
        ],
    )
    problem = SimpleNamespace(tasks=tasks, robot=arm, lower=arm.lower, upper=arm.upper)
    counts = [len(task.component_names) for task in tasks]
    tolerances = np.concatenate([np.full(n, 0.01 / np.sqrt(n if n < 6 else 3)) for n in counts])
    X = np.asarray(lw.pose((0.4, -0.2, 0.7), rpy=(0.3, -0.8, 1.9)))
    turn, less = (X[:3, :3] @ Rotation.from_rotvec(x * AXIS).as_matrix() for x in (0.021, 0.019))
    for names, values, expected in (
        (
            ("pose", "position"),
            (X, X[:3, 3] + [0.0, 0.012, 0.0159]),
            False,
        ),  # 0.02 m apart, as the tolerances permit together
        (("pose", "position"), (X, X[:3, 3] + [0.0, 0.012, 0.0161]), True),
        (("pose", "orientation"), (X, turn), True),
        (("pose", "orientation"), (X, less), False),
        (("position", "orientation"), ([1.0, 2.0, 3.0], turn), False),
        (("first", "second"), ([0.5], [0.5201]), True),
        (("first", "second"), ([0.5], [0.5199]), False),
        (("first", "position"), ([0.5], [1.0, 2.0, 3.0]), False),
    ):
        targets = {name: np.array(value) for name, value in zip(names, values, strict=True)}
        assert are_contradictory(problem, names, targets, tolerances) == expected, (names, values)
    k = arm.q_names.index(joint)
    ends = arm.lower[k], arm.upper[k]
    for value, expected in (
        (ends[1] + 0.0099, False),
        (ends[1] + 0.0101, True),
        (ends[0] - 0.0099, False),
        (ends[0] - 0.0101, True),
    ):
        task = tasks[3]
        assert _joint_out_of_limits(problem, task, {"first": np.array([value])}, np.array([0.01])) == expected
    assert not _joint_out_of_limits(problem, tasks[0], {"pose": X}, tolerances[:6])


def test_bounds_along_rows_are_those_of_their_entries():
    row, step, horizon = [2.0, 0.0, -0.5], 0.1, 0.3
    changes = Changes([1.0, 7.0, 4.0], step)
    assert changes.along(row, horizon) == pytest.approx(
        ((2.0 * step**2 + 0.02 * horizon**2) * 4.0, (2.0 * step + 0.02 * horizon) * 4.0)
    )
    assert most_along(row, [3.0, 0.1, 5.0]) == pytest.approx(1.5 * 4.25)  # a = 1.5 r has |a| <= (3, 0.75)
    assert most_along(row, [np.inf, 0.1, 5.0]) == pytest.approx(10.0 * 4.25)
    assert most_along(row, [np.inf, 0.1, np.inf]) == np.inf == most_along([0.0, 0.0], [1.0, 2.0])


def test_remaining_errors_of_soft_tasks_are_the_largest_norms_of_their_lengths_and_angles():
    tasks = [SimpleNamespace(row_units=("rad",) * 3 + ("m",) * 3), SimpleNamespace(row_units=("m", "m", "1"))]
    soft = SimpleNamespace(counted=np.array([True, True, False, True, False, True, True, True, True]))
    errors = np.array([[0.3, 0.4, 9.0, 0.6, 9.0, 0.8, 0.5, 1.2, 7.0], [0.0, 0.0, 9.0, 0.0, 9.0, 0.0, 0.3, 0.4, 7.0]])
    for unit, expected in (("m", [1.3, 0.5]), ("rad", [0.5, 0.0])):
        batch = SimpleNamespace(errors=errors, problem=SimpleNamespace(tasks=tasks, soft=soft))
        assert IKResult._soft_left(batch, unit) == pytest.approx(expected)
        batch.errors = errors[0]
        assert IKResult._soft_left(batch, unit) == pytest.approx(expected[0])


def test_sentences_of_results_state_remaining_errors_and_solutions_beyond_limits(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(ik_result, "_too_few_joints", lambda reason, problem: "")
    facts = {"position_error": 0.25, "orientation_error": 0.5, "iterations": 12, "reached": 0.0, "cost": 3.0}
    arm = SimpleNamespace(tasks=[SimpleNamespace(hard=True, own=False)] * 2, locked=())
    left = "0.25 m and 0.5 rad"

    def reason(status, **more):
        fields = {"tasks": ("reach",), "starts": 3, "limits": (), "proof": None}
        return SimpleNamespace(status=status, **{**fields, **more})

    limits = ("'elbow' is 2.1", "'wrist' is -0.3")
    for why, change, sentence in (
        (reason(Status.SOLVED), {}, f"remaining error {left} after 12 iterations"),
        (
            reason(Status.LOCAL_MINIMUM, tasks=("a", "b")),
            {"reached": 1.0},
            f"hard tasks are satisfied, remaining error {left} of soft 'a' and 'b', at a cost of 3, "
            "the lowest of 3 starts",
        ),
        (
            reason(Status.LOCAL_MINIMUM, starts=1),
            {"reached": 1.0},
            f"hard tasks are satisfied, remaining error {left} of soft 'reach', at a cost of 3, stationary from q_init",
        ),
        (
            reason(Status.LOCAL_MINIMUM, starts=2),
            {"reached": 1.0},
            f"hard tasks are satisfied, remaining error {left} of soft 'reach', at a cost of 3, the lowest of 2 starts",
        ),
        (reason(Status.NOT_FINITE), {}, "errors of 'reach' are NaN at every configuration tried"),
        (
            reason(Status.AT_LIMITS, limits=limits),
            {},
            f"solutions exist only without position limits, in one {'; '.join(limits)}; within limits the nearest "
            f"configuration found is {left} away",
        ),
        (
            reason(Status.NOT_FOUND, limits=limits),
            {},
            f"'reach': no solution within limits from 3 starts; without limits there is one, in which "
            f"{'; '.join(limits)}; the nearest configuration found is {left} away",
        ),
    ):
        assert _reason_sentence(why, arm, {**facts, **change}) == sentence
    single = SimpleNamespace(active=np.zeros(2), at_limits=("elbow",), after=np.array([0.25, -0.75]))
    assert VelocityResult._sentence(single, ()) == "joints at limits: 'elbow'; largest remaining error 0.75 [rad, m]"
    both = SimpleNamespace(active=np.zeros((2, 2)), after=np.array([[0.25, -0.75], [0.5, 0.0]]))
    both.at_limits = np.empty(2, dtype=object)
    both.at_limits[:] = ("elbow", "wrist"), ()
    assert VelocityResult._sentence(both, (1,)) == "joints at limits: no joint; largest remaining error 0.5 [rad, m]"
    assert VelocityResult._sentence(both, (0,)).startswith("joints at limits: 'elbow', 'wrist'; ")
    for at_limits, text in ((("elbow", "wrist"), "elbow, wrist"), ((), "none")):
        result = SimpleNamespace(v=np.zeros(7), status="tasks_not_met", at_limits=at_limits)
        assert VelocityResult.__repr__(result) == f"<VelocityResult: tasks_not_met; at limits: {text}>"
    several = SimpleNamespace(v=np.zeros((3, 7)), success=np.array([True, False, True]))
    assert VelocityResult.__repr__(several) == "<VelocityResult: 2 of 3 solved>"
