"""Mobility: degrees of freedom and redundant, inconsistent or dependent rows of known mechanisms."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel, rod
from helpers.linkages import linkage
from helpers.overconstrained import bennett, bennett_angles, bricard

OUT_OF_PLANE = ("rotation x", "rotation z", "translation y")


def rods(gap, joint=HINGE):
    """Two unit rods on the ground, so far apart, pinned tip to tip: a truss."""
    tip = lw.pose((1.0, 0, 0))
    robot = lw.Robot.build(
        "rods",
        *(rod("left"), lw.Joint.of(HINGE, name="a", parent="world", child="left")),
        *(rod("right"), lw.Joint.of(HINGE, name="b", parent="world", child="right", placement=lw.pose((gap, 0, 0)))),
        *(rod("swing"), lw.Joint.of(HINGE, name="c", parent="left", child="swing", placement=tip)),
    )
    robot = robot.with_frame("left tip", "left", tip).with_frame("right tip", "right", tip)
    return robot.with_loop("pin", "left tip", "right tip", joint)


def test_planar_four_bar_in_space_has_three_redundant_constraints():
    robot = fourbars(1)
    q, _ = parallel(robot, 0.7)
    report = robot.mobility(q)
    assert (report.rank, report.dof, report.mobility, report.counted) == (2, 1, 1, -2)
    assert report.redundant == tuple(f"C1: {row}" for row in OUT_OF_PLANE) and not report.singular
    assert report.assembled and not report.inconsistent and not report.locked and not report.untouched
    (motion,) = report.motions
    assert report.independent == ("A0",) and motion == pytest.approx({"A0": 1.0, "B1": -1.0, "A1": 1.0}, abs=1e-12)
    assert robot.mobility(q).redundant == report.redundant  # the same every time
    text = str(report)
    assert "1 degree of freedom" in text and "redundant (dependent everywhere): C1: rotation x" in text
    assert "C1: translation x  independent" in report.table and "C1: rotation z     redundant" in report.table


@pytest.mark.slow(every=3)
def test_folded_four_bars_are_each_reported_as_singular():
    for count in (2, 12):
        robot = fourbars(count)
        q, _ = parallel(robot, 0.9)
        up, flat = robot.mobility(q), robot.mobility(robot.neutral())
        assert up.rank == 2 * count and up.dof == 1 and not up.singular and len(up.redundant) == 3 * count
        assert flat.rank == count and flat.dof == count + 1 and flat.mobility == 1
        assert set(flat.redundant) == {f"C{i}: {row}" for i in range(1, count + 1) for row in OUT_OF_PLANE}
        assert len(flat.singular) == count and "in generic configurations: 1 degree of freedom" in str(flat)
        assert flat.is_singular and "of velocity, in a singular configuration" in str(flat)
        G = robot.constraint_jacobian(q)
        for motion in up.motions:
            v = np.array([motion.get(name, 0.0) for name in robot.v_names])
            assert np.abs(G @ v).max() < 1e-12


def test_overconstrained_loops_of_bennett_and_bricard_have_one_degree_of_freedom():
    robot = bennett()
    for angle in (0.4, 1.3, -2.0):
        q = bennett_angles(angle)
        assert np.abs(robot.constraint_error(q)).max() < 1e-12
        report = robot.mobility(q)
        assert (report.dof, report.mobility, report.counted, len(report.redundant)) == (1, 1, -2, 3)
        assert report.gap[0] > 0.1 and report.gap[1] < 1e-12
        step = 1e-6
        slope = (bennett_angles(angle + step) - bennett_angles(angle - step)) / (2 * step)
        (motion,) = robot.mobility(q).motions
        v = np.array([motion[name] for name in robot.v_names])
        np.testing.assert_allclose(v / v[0], slope, atol=1e-8)
    for report in (bricard().mobility(), bricard().mobility([1.5, -1.5, 1.5, -1.5, 1.5])):
        assert (report.dof, report.mobility, report.counted, len(report.redundant)) == (1, 1, 0, 1)
        assert np.abs(bricard().constraint_error(report.q)).max() < 1e-12


def test_truss_is_rigid_and_a_stretched_truss_has_an_infinitesimal_motion():
    report = rods(1.2).mobility()
    assert report.dof == 1 and report.locked == ("a", "b") and report.untouched == ("c",) and len(report.redundant) == 3
    stretched = rods(2.0).mobility([0.0, 0.0, np.pi] if rods(2.0).v_names == ("a", "c", "b") else [0.0, np.pi, 0.0])
    assert stretched.dof == 2 and stretched.mobility == 1 and stretched.singular and len(stretched.redundant) == 3


def test_mobility_reports_constraints_that_cannot_be_satisfied_as_inconsistent():
    report = rods(2.3).mobility()
    assert not report.assembled and {*report.inconsistent} == {"pin: translation x"}
    assert abs(report.inconsistent["pin: translation x"]) == pytest.approx(0.3, abs=1e-6)
    assert str(report).startswith("rods: inconsistent\n  pin: translation x: ")
    turning = fourbars(1).with_constraints(
        lw.constraints.Pfaffian("slow", lambda k: k.v("A0") - 1.0),
        lw.constraints.Pfaffian("fast", lambda k: k.v("A1") - 2.0),
    )
    q, _ = parallel(turning, 0.8)
    report = turning.mobility(q)
    assert report.inconsistent and {"slow", "fast"} <= {name[:4] for name in report.inconsistent}


def test_mobility_reports_the_length_scale_of_angles():
    robot = fourbars(1)
    q, _ = parallel(robot, 0.7)
    usual, tiny = robot.mobility(q), robot.mobility(q, length=1e-3)
    assert usual.length == pytest.approx(1.0) and tiny.length == 1e-3 and tiny.rank == usual.rank
    assert tiny.gap[0] > usual.gap[0] and "angles times 0.001 m" in str(tiny)
    moved = robot.mobility(q + 1e-3)
    assert moved.rank == 2 and 0 < moved.moved < 5e-3 and "m from the given q" in str(moved)


def test_mobility_reports_state_their_configuration_and_parameters():
    """A loop of four equal bars is folded in its neutral configuration; with a longer bar it is a four-bar."""
    robot = fourbars(1)
    flat = robot.mobility()
    assert (flat.start, flat.moved, flat.is_singular) == ("neutral", 0.0, True) and flat.dof > flat.mobility
    assert "  at the neutral configuration" in str(flat).splitlines()
    q, _ = parallel(robot, 0.7)
    up = robot.mobility(q)
    assert not up.is_singular and "  at the given q" in str(up).splitlines()
    values = {"placement:B1": [0.0, 0.0, 0.0, 0.2, 0.0, 0.0]}
    edited = robot.with_parameters(values)
    report, known = robot.mobility(q, parameters=values), edited.mobility(q)
    np.testing.assert_allclose(report.q, known.q, rtol=0, atol=1e-9)
    assert np.abs(edited.constraint_error(report.q)).max() < 1e-9 < np.abs(robot.constraint_error(report.q)).max()
    assert report.motions[0] == pytest.approx(known.motions[0], abs=1e-8)


def report_values(report):
    """Take the numbers that rounding changes out of a report."""
    motions = [x for motion in report.pop("motions") for x in motion.values()]
    errors = report.pop("inconsistent")
    report["inconsistent"] = [*errors]
    return [*report.pop("q"), *report.pop("gap"), report.pop("moved"), *motions, *errors.values()]


@pytest.mark.slow(every=9)
def test_mobility_of_a_batch_equals_that_of_each_mechanism():
    """Four-bars whose hinges are parallel, or not and so jammed; robots without constraints; times that contradict."""
    robot, offsets = lw.load("fourbar"), np.zeros((2, 3, 6))
    offsets[..., 3:] = np.random.default_rng(0).normal(0.0, 1e-3, (2, 3, 3)) * [1.0, 0.0, 1.0]
    offsets[1, :2, 0] = 1e-3, 0.02  # angles of the hinge
    crossed = lw.constraints.Prescribed("crank_hinge", lambda t: 0.1 * t * t)
    driven = robot.with_constraints(crossed, lw.constraints.Prescribed("rocker_hinge", lambda t: 0.0 * t))
    for which, options in (
        (robot, {"parameters": {"placement:coupler_hinge": offsets}}),
        (robot, {"parameters": {"placement:coupler_hinge": offsets}, "q": robot.neutral() + 1e-3}),
        (robot.without_constraints(), {"parameters": {"placement:coupler_hinge": offsets}}),
        (driven, {"time": [0.0, 0.3]}),
    ):
        report = which.mobility(**options)
        for index in np.ndindex(report.shape):
            parameters = {name: x[index] for name, x in options.get("parameters", {}).items()}
            alone = which.mobility(
                options.get("q"), parameters=parameters, time=options["time"][index[0]] if "time" in options else None
            )
            single = report[index]
            known, got = alone.as_dict(), single.as_dict()
            np.testing.assert_allclose(report_values(known), report_values(got), rtol=1e-6, atol=1e-12)
            assert (
                known | {"undetermined_pins": None} == got and str(single).splitlines()[0] == str(alone).splitlines()[0]
            )
            assert (alone.dof, alone.mobility, alone.rank) == (
                report.dof[index],
                report.mobility[index],
                report.rank[index],
            )
            assert alone.assembled == report.assembled[index] and alone.is_singular == report.is_singular[index]
        assert report.q.shape == (*report.shape, which.nq) and len(report) == len([*report]) == report.dof.size
    jams = robot.mobility(parameters={"placement:coupler_hinge": offsets})
    assert jams.assembled.tolist() == [[True] * 3, [False, False, True]] and (jams.dof[jams.assembled] == 1).all()
    assert "fourbar: 6 mechanisms: 4 with 1 degree of freedom, 2 inconsistent" in str(jams)
    with pytest.raises(IndexError, match=r"expected an index of one mechanism of the shape \(2, 3\), got \(1,\)"):
        jams[1]
    empty = robot.mobility(parameters={"placement:coupler_hinge": offsets[:0]})
    assert empty.q.shape == (0, 3, 3) and len(empty) == len([*empty]) == 0


def test_mobility_accepts_open_robots_and_refuses_invalid_arguments():
    weld = lw.Joint.of(lw.joints.Fixed(), name="weld", parent="world", child="body")
    fixed = lw.Robot.build("fixed", lw.Link("body", mass=1.0), weld)
    assert fixed.mobility().dof == 0 and fixed.equilibrium(np.zeros((2, 0))).stability.tolist() == ["stable"] * 2
    free = fourbars(1).without_constraints()
    report = free.mobility()
    assert report.dof == report.counted == 3 and report.untouched == free.v_names and not report.rows
    robot = fourbars(1)
    for arguments, message in (
        (([0.0, 0.0],), r"one configuration \(3,\)"),
        (([np.nan, 0.0, 0.0],), "expected finite values"),
        ((None, -1.0), "positive number"),
    ):
        with pytest.raises(ValueError, match=message):
            robot.mobility(arguments[0], length=arguments[1] if len(arguments) > 1 else None)


@pytest.mark.slow(every=5)
def test_rocker_at_its_dead_centre_has_zero_velocity():
    robot = linkage()  # crank and coupler in one line, 3.5 long, over a rocker of 2 and a ground of 3
    crank, rocker = np.arccos((3.5**2 + 9 - 4) / 21), np.arccos((4 + 9 - 3.5**2) / 12)
    report = robot.mobility({"crank": -crank, "knee": 0.0, "rocker": rocker - np.pi})
    assert report.locked_here == ("rocker",) and not report.locked and report.dof == report.mobility == 1
    assert "locked only here: rocker" in str(report)


def test_report_of_a_singular_assembly_far_from_the_start_advises_to_pass_a_configuration():
    """The configuration of such a report is one that the analysis chose."""
    analysis = lw.load("fourbar").mobility()
    singular = analysis._replaced(rank=analysis.rank - 1)
    away = singular._replaced(moved=1.9)
    advice = "for another configuration pass q"
    assert [advice in str(report) for report in (analysis, singular, away, analysis._replaced(moved=1.9))] == [
        False,
        False,
        True,
        False,
    ]
