"""Parts of the analysis of mechanisms on both sides of their limits, without compilation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.errors import AssemblyError, Status, UnknownNameError
from linkwork.mechanisms.algorithms.assembly_derivative import with_assembly_derivative
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_accelerations
from linkwork.mechanisms.algorithms.constraint_forces import constrained_joint_wrench
from linkwork.mechanisms.assembly.assembly_branches import _SAME_TOL, Branches
from linkwork.mechanisms.assembly.assembly_search import _refuse_contradictions
from linkwork.mechanisms.assembly.driven_output import DrivenOutput, _implied_times
from linkwork.mechanisms.assembly.reactions import _largest, _plane_normal, frames_of_wrenches
from linkwork.mechanisms.assembly.result import Assembly, sign_of
from linkwork.mechanisms.assembly.state_inputs import VariedRobot
from linkwork.mechanisms.assembly.targets import ClosedMechanism, FixedJoints, check_limits, read_joints
from linkwork.mechanisms.equilibrium import Equilibrium, _bounded_step
from linkwork.mechanisms.induced_motions import _motion_text
from linkwork.mechanisms.integrability.frobenius_analysis import Combination, _normalized
from linkwork.mechanisms.integrability.lie_brackets import _independent_brackets
from linkwork.mechanisms.integrability.recovered_constraints import Position, _sums
from linkwork.mechanisms.mobility.coordinate_selection import _Chooser, assembled_at
from linkwork.mechanisms.mobility.length_scaling import Ranked, _ranks, chosen_rows, motions_of, ranked
from linkwork.mechanisms.mobility.minimal_coordinates import CLOSED, MinimalCoordinates
from linkwork.mechanisms.mobility.mobility_analysis import MOST, Mobility
from linkwork.mechanisms.mobility.mobility_batch import Mobilities, _contradicting, _velocity_errors

FOURBAR = lw.load("fourbar")
TURN = np.linalg.qr(np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 2.0], [0.5, 0.2, -1.0]]))[0]


def record(**values: Any) -> Any:
    """Return an object with these attributes."""
    return SimpleNamespace(**values)


def test_largest_force_is_that_of_the_first_state_up_to_rounding() -> None:
    sizes = np.array([[0.1, 0.4], [0.4 * (1.0 + 0.5e-9), 0.2]])
    assert _largest(sizes, 0.4) == ("0.4", "0, 1") or _largest(sizes, 0.4)[0] == "0.4"
    assert _largest(np.array([0.1, 0.4, 0.4 * (1.0 + 3e-9)]), 1.0)[1] == "2"
    assert _largest(np.array([0.1, 0.4, 0.4 * (1.0 + 0.5e-9)]), 1.0)[1] == "1"
    assert _largest(np.array([0.1, 0.4]), 0.41e9) == ("0", "-") and _largest(np.array([0.1, 0.4]), 0.39e9)[0] == "0.4"
    assert _largest(np.array([-1.0, -1.0]), 5.0) == _largest(np.zeros(0), 5.0) == ("-", "-")


def test_planar_mechanisms_have_parallel_hinges_and_sliders_across() -> None:
    n, across = TURN[2], TURN[0]
    for angle, planar in ((0.0, True), (0.5e-6, True), (3e-6, False)):
        tilted = math.cos(angle) * n + math.sin(angle) * across
        leaning = math.cos(angle) * across + math.sin(angle) * n
        for pins in ([([n], []), ([tilted], [])], [([n], []), ([], [leaning])], [([n], []), ([-tilted], [leaning])]):
            normal = _plane_normal(pins)
            assert (normal is not None) is planar and (normal is None or np.array_equal(normal, n))
    assert _plane_normal([([n], []), None]) is None and _plane_normal([([], [across])]) is None


def test_axes_of_wrenches_are_of_frames_with_wrenches() -> None:
    robot, w = lw.load("double_pendulum"), np.zeros(6)
    assert frames_of_wrenches("f", robot, {"tip": w}, {"tip": "base"}) == {"tip": "base"}
    both = frames_of_wrenches("f", robot, {"tip": w, "upper_rod": w}, {"tip": "base"})
    assert both == {"tip": "base", "upper_rod": "world"}
    with pytest.raises(UnknownNameError, match="f: expressed_in: no wrench named 'tipp'"):
        frames_of_wrenches("f", robot, {"tip": w}, {"tipp": "base"})
    with pytest.raises(TypeError, match="f: wrenches: expected a dict by frame"):
        frames_of_wrenches("f", robot, [w], "world")


def test_values_of_joints_have_their_shape_and_are_of_free_joints() -> None:
    links = [lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.3)) for name in "abc"]
    axis = lw.joints.Revolute((0.0, 1.0, 0.0))
    arm = lw.Robot.build(
        "arm",
        *links,
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="a"),
        lw.Joint.of(axis, name="first", parent="a", child="b"),
        lw.Joint.of(axis, name="second", parent="b", child="c", mimic=("first", -0.5)),
    )
    fixed = read_joints(arm, "f", "hold", {"first": [0.1, 0.2], "ball": [1.0, 0.0, 0.0, 0.0]})
    assert fixed.names == ("first", "ball") and fixed.values["first"].shape == (2, 1)
    for value, words in (
        ({"second": 0.1}, "f: hold: joint 'second' follows joint 'first': name that joint"),
        (
            {"ball": [1.0, 0.0, 0.0]},
            r"f: hold: joint 'ball': expected an array of shape \(\.\.\., 4\), got shape \(3,\)",
        ),
        ({"ball": 1.0}, r"f: hold: joint 'ball': expected an array of shape \(\.\.\., 4\), got shape \(\)"),
        ({"first": math.nan}, "f: hold: joint 'first': expected a number, or an array of any shape, got nan"),
        ({"first": [0.1, 0.2], "ball": np.ones((3, 4)) / 2.0}, "the leading dimensions do not broadcast"),
    ):
        with pytest.raises(ValueError, match=words):
            read_joints(arm, "f", "hold", value)


def test_branches_differ_by_their_distance() -> None:
    mechanism = ClosedMechanism(FOURBAR, "branches")
    n = FOURBAR.nq
    q = np.array([[0.1] * n, [0.6] * n, [math.nan] * n])
    no_fixed = FixedJoints((), {})
    branches = Branches._make(q, np.array(2), np.array([1, -1, 0]), np.array([5, 3, 0]), 8, 0, no_fixed, mechanism)
    states = np.stack([q[0], q[1], q[1] + 1e-9, q[1] + 0.01, q[0] - 0.3])
    index = np.array([int(branches.index(x)) for x in states])
    assert index.tolist() == [0, 1, 1, -1, -1] and _SAME_TOL == 1e-6
    assert [int(branches.index(q[0] + x)) for x in (0.5e-6, 4e-6, 1e-4)] == [0, 0, -1]
    assert int(branches.min_hits) == 3
    empty = Branches._make(
        np.zeros((2, 0, n)), np.zeros(2, dtype=int), np.zeros((2, 0)), np.zeros((2, 0)), 8, 0, no_fixed, mechanism
    )
    assert empty.index(np.zeros((2, n))).tolist() == [-1, -1] and empty.min_hits.tolist() == [8, 8]


def test_joints_may_be_fixed_at_their_limits_and_not_beyond() -> None:
    mechanism = ClosedMechanism(FOURBAR, "assemble")
    for value in (-1.6, 1.6, 0.0, 1.6 + 1e-12):
        check_limits(mechanism, FixedJoints(("rocker_hinge",), {"rocker_hinge": np.array([value])}))
    for value in (-1.6001, 1.6001):
        with pytest.raises(ValueError, match=r"assemble: hold: joint 'rocker_hinge' = .* is beyond its limits"):
            check_limits(mechanism, FixedJoints(("rocker_hinge",), {"rocker_hinge": np.array([value])}))


def test_reasons_of_unassembled_mechanisms_name_the_joints() -> None:
    for names, words in ((("a",), "the fixed joint 'a' cannot move"), (("a", "b"), "'a', 'b' determine each other")):
        assert words in Assembly._why(record(dependent=names), Status.DEPENDENT_JOINTS, ())
    assert Assembly._why(record(), Status.NOT_FINITE, ()) == "a value became NaN during the iteration"
    assert Assembly._why(record(), Status.NOT_CONVERGED, ()) == "the iteration did not converge"
    block = np.array([[2.0, 1.0], [0.5, 3.0]])
    assert [int(sign_of(x * block)) for x in (1.0, 1e-6)] == [1, 1] and int(sign_of(block[::-1])) == -1
    assert int(sign_of(np.array([[0.0, 0.0], [1.0, 2.0]]))) == 0 and np.asarray(sign_of(np.ones((2, 3)))).item() == 0


def test_times_of_a_driven_motion_follow_from_its_rates() -> None:
    t = np.array([0.0, 0.1, 0.25, 0.3, 0.5])
    y = np.stack([0.3 + 2.0 * t + 1.5 * t * t, 0.1 - 0.5 * t], axis=1)
    v = np.stack([2.0 + 3.0 * t, np.full_like(t, -0.5)], axis=1)
    a = np.stack([np.full_like(t, 3.0), np.zeros_like(t)], axis=1)
    assert np.abs(_implied_times("trajectory", y, v, a) - t).max() < 1e-12
    for wrong in ((y[::-1], v, a), (y, 0.0 * v, a), (y, v, -a), (np.repeat(y[:1], 5, axis=0), v, a)):
        with pytest.raises(ValueError, match="trajectory: the velocities and accelerations of the drivers do not fit"):
            _implied_times("trajectory", *wrong)


def test_outputs_of_motions_that_drivers_do_not_determine_are_empty_or_refused() -> None:
    lost = np.full((3, 2), math.nan)
    pins: Any = DrivenOutput.__dict__["undetermined_pins"]
    assert (pins.func if hasattr(pins, "func") else pins.fget)(record(v=lost)) == ()
    assert DrivenOutput._force_lines(record(_loaded=lambda *_: None), (), lost, lost) == []
    t, q = np.arange(3.0), np.zeros((3, 2))

    def motion(count: int) -> Any:
        v = lost.copy()
        v[:count] = 0.0
        robot = record(spline=lambda t, q, kind, **more: (len(t), kind))
        return record(_timed=lambda *_: (robot, t, q, v, v), _drivers=record(names=("a",)))

    plain: Any = getattr(DrivenOutput.trajectory, "__wrapped__", DrivenOutput.trajectory)
    assert plain(motion(2), 0) == (2, "quintic") and plain(motion(3), 0) == (3, "quintic")
    with pytest.raises(ValueError, match="trajectory: expected at least two states that the drivers determine, got 1"):
        plain(motion(1), 0)


def test_equilibria_are_stable_neutral_or_unstable_by_their_stiffness() -> None:
    for stiffness, scale, expected in (
        ([2.0, 5.0], 1.0, "stable"),
        ([-2.0, 5.0], 1.0, "unstable"),
        ([5e-12, 5.0], 1.0, "neutral"),  # 10⁻¹² of the largest
        ([-5e-12, 5.0], 1.0, "neutral"),
        ([6e-12, 5.0], 1.0, "stable"),
        ([-6e-12, 5.0], 1.0, "unstable"),
        ([6e-12, 5.0], 8.0, "neutral"),
        ([0.0, 0.0], 0.0, "neutral"),
    ):
        state = record(stiffness=np.array(stiffness), scale=scale, success=True)
        assert Equilibrium.stability.fget(state) == expected
    lost = record(stiffness=np.array([2.0]), scale=1.0, success=False)
    assert Equilibrium.stability.fget(lost) == "unknown"


def test_steps_within_the_trust_region_are_newton_steps() -> None:
    gradient, sizes = np.array([[0.5, -1.0]]), np.array([[2.0, 4.0]])
    newton, basis = -gradient / sizes, np.eye(2)[None]
    for radius, bounded in ((0.25, False), (0.3, False), (0.24, True), (0.1, True)):
        x, is_bounded = _bounded_step(gradient, sizes, basis, np.array([radius]))
        assert bool(is_bounded[0]) is bounded and np.abs(x).max() <= radius
        assert np.abs(x).max() > 0.99 * min(radius, 0.25) and np.array_equal(x, newton) is not bounded


def test_mobilities_have_an_index_of_one_mechanism() -> None:
    batch = record(shape=(2, 3))
    for index in (1, (1,), (1, 1, 1), ()):
        with pytest.raises(IndexError, match=r"expected an index of one mechanism of the shape \(2, 3\)"):
            Mobilities.__getitem__(batch, index)
    ranks = record(rank=np.array([1, 2, 3]), generic_rank=np.array([2, 2, 3]))
    assert Mobilities.is_singular.fget(ranks).tolist() == [True, False, False]
    for count in (MOST, MOST + 1):
        lines = Mobility._contradictions(record(inconsistent={f"row{k}": 0.1 + k for k in range(count)}))
        assert len(lines) == MOST + (count > MOST) and ("and 1 more rows" in lines[-1]) is (count > MOST)
    assert lines[0] == f"  row{MOST}: error {MOST + 0.1:.4g}"


def test_rows_of_small_errors_are_not_named() -> None:
    scales = record(errors=np.array([True, False, True, True]), rows=np.array([1.0, 1.0, 2.0, 0.5]))
    errors = np.array([0.4, 0.4 * 0.5e-6, -0.4 * 3e-6])
    named = _contradicting(("a", "b", "c", "d"), scales, errors)
    assert named == {"a": 0.4, "d": errors[2] / 0.5}
    G = ranked(np.zeros((3, 2)))
    for drift, expected in (
        ([0.4, 0.4 * 0.5e-6, 0.4 * 3e-6], [0.4, 0.0, 0.4 * 3e-6]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.3, 0.2, 0.1], [0.3, 0.2, 0.1]),
    ):
        assert np.abs(_velocity_errors(np.array(drift), G) - expected).max() < 1e-15
    # A drift that a velocity balances up to 5e-10 is consistent, and up to 3e-9 it is not.
    G = ranked(np.array([[1.0], [0.0]]))
    for size, zero in ((0.5e-9, True), (3e-9, False)):
        for scale in (0.1, 10.0):
            assert bool((_velocity_errors(scale * np.array([1.0, size]), G) == 0.0).all()) is zero


def test_ranks_are_at_the_largest_ratio_of_singular_values() -> None:
    for values, rank in (
        ([0.5, 0.2, 1e-12], 2),
        ([0.5, 0.2, 0.1], 3),
        ([1e-12, 1e-14], 0),
        ([0.0, 0.0], 0),
        ([], 0),
        ([5.0, 1e-9], 1),
    ):
        assert int(_ranks(np.array(values), 3)) == rank, values
    of = ranked(TURN @ np.diag([0.5, 0.2, 1e-12]))
    assert of.rank == 2 and abs(of.least - 0.2) < 1e-12 and abs(of.rest - 1e-12) < 1e-15
    assert ranked(TURN).rest == 0.0 and Ranked(0, np.zeros(0), np.eye(2), np.eye(2)).least == 0.0
    small = 0.3 * np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    assert chosen_rows(small, 2, range(3)) in ([0, 2], [2, 0]) and len(chosen_rows(small, 3, range(3))) == 2
    assert chosen_rows(np.zeros((2, 2)), 1, range(2)) == []
    robot = lw.load("double_pendulum")
    scales = record(velocities=np.array([0.5, 0.5]))
    for by, names in ((0.5e-9, 1), (3e-9, 2)):
        null = np.array([[1.0], [by]]) / math.hypot(1.0, by)
        (motion,) = motions_of(robot.tree, null, scales)[1]
        assert len(motion) == names and abs(next(iter(motion.values())) - 1.0) < 1e-15


def test_combinations_of_rows_are_written_with_their_weights() -> None:
    for weights, text in (
        ((1.0, -0.5), "(a) - 0.5 (b)"),
        ((-1.0, 0.5), "-(a) + 0.5 (b)"),
        ((-2.0, 1.0 + 0.5e-9), "-2 (a) + (b)"),
        ((1.0 + 5e-9, -1.0), "1 (a) - (b)"),
        ((0.25, 0.75), "0.25 (a) + 0.75 (b)"),
    ):
        assert Combination(("a", "b"), weights, ())._sum() == text
    assert Combination(("a",), (0.5,), ())._sum() == "a"
    G = np.array([[0.3, 0.4], [0.0, 0.0], [30.0, 40.0]])
    assert np.allclose(_normalized(G), [[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]], atol=1e-15)


def test_constant_sums_of_positions_need_more_states_than_positions() -> None:
    def position(name: str, gradient: tuple[float, float], size: float | None = None) -> Position:
        differentials = np.tile(np.array(gradient), (4, 1))
        return Position(name, differentials, float(np.linalg.norm(gradient)) if size is None else size)

    x, y = position("x", (0.2, 0.0)), position("y", (0.4, 0.1))
    closures = np.tile(np.array([[0.6, 0.3]]), (4, 1, 1))  # dx = 0.12 and dy = 0.27 along the motion
    (total,) = _sums([x, y], closures)
    weights = total.differentials @ np.array([0.6, 0.3])
    assert np.abs(weights).max() < 1e-12 and np.abs(total.differentials).max() > 0.04 and "x" in total.name
    assert _sums([], closures) == _sums([position("z", (0.0, 0.0))], closures) == []
    few = [Position(p.name, p.differentials[:2], p.size) for p in (x, y)]
    assert _sums(few, closures[:2]) == []
    three = [Position(p.name, p.differentials[:3], p.size) for p in (x, y)]
    assert len(_sums(three, closures[:3])) == 1


def test_brackets_are_independent_above_rounding() -> None:
    have = np.array([[1.0, 0.0, 0.0]])
    for size, chosen in ((0.5e-7, []), (3e-7, [0])):
        bracket = np.array([[1.0, size, 0.0]]) / math.hypot(1.0, size)
        indices, margin = _independent_brackets(have, bracket, 2)
        assert indices == chosen and (margin > 1e7 if not chosen else margin == np.inf)
    indices, margin = _independent_brackets(have, np.array([[0.3, 0.4, 0.0], [0.0, 0.0, 1e-9]]), 3)
    assert indices == [0] and abs(margin - 0.4e9) < 1e3
    assert _independent_brackets(have, np.eye(3), 1)[0] == [1]


def test_motions_in_messages_have_at_most_six_components() -> None:
    names = tuple("abcdefgh")
    assert _motion_text(np.array([0.2, -0.4, 0.03]), names) == "b 1, a -0.5"
    for count in (6, 7):
        text = _motion_text(np.linspace(0.5, 1.0, count), names)
        assert text.count(" ") == 11 + (count > 6) and text.endswith(", ...") is (count > 6)


def test_choice_of_coordinates_without_dependent_ones_has_full_margin() -> None:
    robot = lw.load("double_pendulum")
    chooser = _Chooser(record(robot=robot, scales=record(velocities=np.ones(2))), 0.5)
    G = np.array([[0.5, 2.0]])
    assert chooser.margin("independent", G, [0, 1]) == 1.0 and chooser.margin("independent", G, [0]) == 2.0
    assert chooser.margin("independent", G, [1]) == 0.5
    with pytest.raises(ValueError, match=r"independent: .* they hardly determine the others: margin 0.4"):
        chooser.margin("independent", np.array([[0.4, 2.0]]), [1])
    with pytest.raises(ValueError, match="they hardly determine the others: margin 0,"):
        chooser.margin("independent", G, [])
    assembled = record(closed=np.array([True]), q=np.array([[0.1, 0.2]]))
    assert assembled_at(record(), assembled, None).tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match=r"no configuration that satisfies the constraints was found: see robot.mob"):
        assembled_at(record(), record(closed=np.array([False]), q=np.zeros((1, 2))), None)
    for text, by in (("is 2 ", 2.0), ("cannot move", 0.0)):
        null = np.array([[1.0], [by]])
        loose = _Chooser(chooser.mechanism, 0.1)
        (problem,) = loose._too_many([0, 1], record(right=null / np.linalg.norm(null)))
        assert text in problem and (robot.v_names[0] in problem) is (by > 0.0)


def test_arguments_of_minimal_coordinates_are_checked() -> None:
    plain: Any = getattr(MinimalCoordinates.expand, "__wrapped__", MinimalCoordinates.expand)
    coordinates = record(_time=None, _configuration=lambda y, near, timed: y, _robot=record(nv=3))
    assert plain(coordinates, [0.1]) == [0.1]
    with pytest.raises(ValueError, match="expand: y_ddot: accelerations depend on velocities: pass y_dot also"):
        plain(coordinates, [0.1], None, [0.2])
    assert MinimalCoordinates._all(coordinates, "v", np.ones((2, 3))).shape == (2, 3)
    for wrong in (1.0, np.ones(2), np.ones((3, 2)), np.ones(4)):
        with pytest.raises(ValueError, match=r"v: expected an array of shape \(\.\.\., 3\), got"):
            MinimalCoordinates._all(coordinates, "v", wrong)
    near = record(_text=lambda y: "a 0.1", _robot=record(constraints=(), tree=record(constraints=())))
    y = np.array([0.1])
    for error in (0.0, 0.9e-9, CLOSED):
        with pytest.raises(ValueError, match=r"a 0\.1 do not determine the others, because the configuration is sing"):
            MinimalCoordinates._raise_unsolved(near, np.array(True), y, y, np.array(error), {}, y)


def test_robots_with_varied_parameters_can_be_unpickled() -> None:
    empty = VariedRobot.__new__(VariedRobot)
    with pytest.raises(AttributeError, match="robot"):
        _ = empty.robot


def test_constrained_robots_have_one_method_of_forward_dynamics() -> None:
    tree, n = FOURBAR.tree, FOURBAR.nv
    q = [0.3, *[0.1] * (FOURBAR.nq - 1)]
    with pytest.raises(ValueError, match="forward_dynamics: method: 'mass_matrix' is only for robots without constrai"):
        constrained_accelerations(tree, q, [0.0] * n, [0.0] * n, method="mass_matrix")
    arm = lw.load("double_pendulum").tree
    M = np.array(mass_matrix(arm, [0.3, 0.7]), dtype=float)
    wrench = constrained_joint_wrench(arm, "shoulder", [0.3, 0.7], [0.0, 0.0], [0.4, -0.2], [])
    at_rest = constrained_joint_wrench(arm, "shoulder", [0.3, 0.7], [0.0, 0.0], [0.0, 0.0], [])
    change = np.array(wrench, dtype=float) - np.array(at_rest, dtype=float)
    assert np.abs(change[:3]).max() > 0.0 and np.abs(abs(change[:3]).max() - abs(M[0] @ [0.4, -0.2])) < 1e-12


def test_solutions_without_symbols_need_no_derivative_rule() -> None:
    q: Any = [0.1, 0.2]
    unused: Any = None
    assert with_assembly_derivative(FOURBAR.tree, q, [1.0], q, unused) == (q, [1.0])


def test_velocities_that_contradict_constraints_are_refused_above_rounding() -> None:
    count, nv = sum(len(c.component_names) for c in FOURBAR.constraints), FOURBAR.nv
    G = np.zeros((count, nv))
    G[0, 0], G[1, 1] = 2.0, -0.5
    for left, accepted in ((0.7e-6, True), (3e-6, False)):
        for scale in (0.1, 10.0):
            v = np.zeros(nv)
            v[0], drift = scale, np.zeros(count)
            drift[0] = -2.0 * scale * (1.0 - 2.0 * left)
            robot: Any = record(
                tree=FOURBAR.tree,
                constraints=FOURBAR.constraints,
                constraint_jacobian=lambda q: G,
                constraint_drift=lambda q, drift=drift: drift,
            )
            if accepted:
                _refuse_contradictions(robot, v, v, v, None)
            else:
                with pytest.raises(
                    AssemblyError, match=r"project: no velocity satisfies all constraints: .* contradict"
                ):
                    _refuse_contradictions(robot, v, v, v, None)
