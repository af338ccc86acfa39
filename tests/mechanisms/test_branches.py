"""Assembly branches compared with independent counts, and mechanisms that follow a driver from state to state."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel
from helpers.linkages import LEG_RODS, LEG_ROOTS, LEG_TIPS, five_bar, freudenstein, linkage, three_legs
from helpers.mechanisms import standing


@pytest.mark.slow(every=5)
def test_four_bar_has_two_assembly_branches():
    robot, angle = linkage(), np.linspace(0.1, 6.0, 12)
    branches = robot.branches({"crank": -angle})
    assert (branches.count == 2).all() and branches.min_hits.min() > 10
    assert (branches.sign.sum(axis=-1) == 0).all() and (np.abs(branches.sign) == 1).all()
    psi = -branches.q[..., 2]
    for k in range(12):
        between = np.abs(np.exp(1j * psi[k][:, np.newaxis]) - np.exp(1j * freudenstein(angle[k]))).min(axis=0)
        assert between.max() < 1e-12
    result = robot.assemble(hold={"crank": -angle}, branches=4)
    assert set(result.branch) <= {0, 1}
    for k in range(12):
        np.testing.assert_allclose(np.exp(1j * result.q[k]), np.exp(1j * branches.q[k, result.branch[k]]), atol=1e-6)
        assert result.sign[k] == branches.sign[k, result.branch[k]]
    again = robot.branches({"crank": -angle})
    np.testing.assert_array_equal(branches.q, again.q)
    assert "2 branches" in str(robot.branches({"crank": -0.3})) and "more may exist" in str(branches)


def real_solutions(elbows, samples=200_000, corners=LEG_TIPS, rods=(LEG_RODS[1],) * 3):
    """Count the poses of a platform with corners at a rod's length from three points, by roots in its rotation.

    At a given turn two differences of the three circles are linear in its place; the third circle is then a function of
    the turn, whose sign changes are counted.
    """
    t = np.linspace(-np.pi, np.pi, samples)
    c, s = np.cos(t), np.sin(t)
    b = rods[0]
    d = [np.stack([x * c + z * s - e[0], -x * s + z * c - e[1]]) for (x, z), e in zip(corners, elbows, strict=True)]
    rows = [2 * (d[k] - d[0]) for k in (1, 2)]
    right = [(d[0] ** 2).sum(0) - (d[k] ** 2).sum(0) + rods[k] ** 2 - b**2 for k in (1, 2)]
    det = rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    x = right[0] * rows[1][1] - right[1] * rows[0][1]
    z = rows[0][0] * right[1] - rows[1][0] * right[0]
    f = (x + d[0][0] * det) ** 2 + (z + d[0][1] * det) ** 2 - (b * det) ** 2
    return int((np.sign(f[1:]) != np.sign(f[:-1])).sum())


@pytest.mark.slow(every=5)
def test_all_assembly_branches_of_a_platform_with_three_legs_are_returned():
    robot, branch_keys = three_legs(), set()
    inverse = robot.branches({"x": 1.4, "z": 0.8, "turn": 0.2})
    assert inverse.count == 8 and sorted(inverse.sign) == [-1] * 4 + [1] * 4
    rng = np.random.default_rng(6)
    poses = rng.uniform([0.9, 0.4, -2.0], [2.1, 1.4, 2.0], (14, 3))
    start = robot.assemble(hold=dict(zip(("x", "z", "turn"), poses.T, strict=True)))
    hips = start.q[start.success][:, 3::2]
    branches = robot.branches({f"hip{k}": hips[:, k] for k in range(3)}, num_starts=256)
    for k, angles in enumerate(hips):
        elbows = LEG_ROOTS + LEG_RODS[0] * np.stack([np.cos(angles), -np.sin(angles)], axis=-1)
        assert branches.count[k] == real_solutions(elbows), k
        branch_keys.add(int(branches.count[k]))
    assert max(branch_keys) >= 4 and 2 in branch_keys


def platform(joint, base, corners, lengths):
    """A platform at given distances of its corners from points of the base."""
    link = lw.Link("platform", mass=1.0, inertia=np.eye(3))
    robot = lw.Robot.build("platform", link, lw.Joint.of(joint, name="free", parent="world", child="platform"))
    for k, (a, b) in enumerate(zip(base, corners, strict=True)):
        robot = robot.with_frame(f"a{k}", "world", lw.pose(a)).with_frame(f"b{k}", "platform", lw.pose(b))
    legs = [lw.constraints.Distance(f"a{k}", f"b{k}", x, name=f"leg{k}") for k, x in enumerate(lengths)]
    return robot.with_constraints(*legs)


FORTY_BASE = """0 0 0  1.107915 0 0  0.549094 0.756063 0  0.735077 -0.223935 0.525991  0.514188 -0.526063 -0.368418
    0.590473 0.094733 -0.205018"""
FORTY_CORNERS = """0 0 0  0.542805 0 0  0.956919 -0.528915 0  0.665885 -0.353482 1.402538  0.478359 1.158742 0.107672
    -0.137087 -0.235121 0.353913"""
FORTY_LEGS = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])


@pytest.mark.slow(every=9)
def test_dietmaiers_stewart_gough_platform_has_forty_assembly_branches():
    """Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures, 1998; in other units too."""
    base, corners = (np.array(text.split(), float).reshape(6, 3) for text in (FORTY_BASE, FORTY_CORNERS))
    for length in (1.0, 1e-3):
        robot = platform(lw.joints.Floating(), base * length, corners * length, FORTY_LEGS * length)
        for tolerance in (1e-10, 1e-8, 1e-7):
            branches = robot.branches(num_starts=4000, tolerance=tolerance)
            assert branches.count == 40 and branches.min_hits > 1, (length, tolerance)
            assert np.abs(robot.constraint_error(branches.q)).max() < 1e-13 * length
        assert branches.sign.sum() == 0  # as many of each orientation: the degree of the map to the lengths is 0


@pytest.mark.slow(every=3)
def test_spatial_platform_with_three_legs_has_up_to_six_assembly_branches():
    base, corners = [(0, 0), (15.91, 0), (0, 10)], [(0, 0), (17.04, 0), (13, 16)]
    placed = [[(*x, 0.0) for x in points] for points in (base, corners)]
    branch_keys = set()
    for legs in ((24.23314387, 19.49579882, 15.82453711), (23.97, 11.24, 13.47), (15.24, 24.01, 7.88)):
        count = real_solutions(np.array(base, float), corners=np.array(corners, float), rods=legs)
        branches = platform(lw.joints.Planar(), *placed, legs).branches(num_starts=512)
        assert branches.count == count and branches.sign.sum() == 0
        branch_keys.add(count)
    assert branch_keys == {6, 4, 2}


def test_two_assembly_branches_meet_at_a_dead_centre():
    """One assembly at the rocker's extreme; two near it, at a distance of the root of the remaining angle."""
    robot = linkage()
    extreme = float(np.arccos((4 + 9 - 3.5**2) / 12) - np.pi)
    away = -np.array([-1e-6, 0.0, 1e-11, 1e-9, 1e-7, 1e-3])
    branches = robot.branches({"rocker": extreme + away})
    assert branches.count.tolist() == [0, 1, 2, 2, 2, 2]
    apart = np.abs(branches.q[2:, 0, 0] - branches.q[2:, 1, 0])
    rate = apart / np.sqrt(-away[2:])
    np.testing.assert_allclose(rate[:3], rate[2], rtol=1e-2)


def test_assembly_branches_are_computed_with_all_joints_fixed_and_without_constraints():
    robot = linkage()
    q = robot.assemble(hold={"crank": -0.5}).q
    whole = dict(zip(robot.v_names, q, strict=True))
    assert robot.branches(whole).count == 1 and robot.branches(whole | {"knee": q[1] + 1e-7}).count == 0
    free = linkage().without_constraints().with_loop("none", "end", "tip", lw.joints.Floating())
    with pytest.raises(ValueError, match="the mechanism has 2 degrees of freedom"):
        free.branches({"crank": 0.0})


def test_assembly_branches_of_a_mechanism_with_free_motions_are_refused():
    with pytest.raises(ValueError, match="with these joints fixed, the mechanism has 1 degree of freedom"):
        five_bar().branches({"left_hip": -0.5})
    with pytest.raises(ValueError, match="the mechanism has 2 degrees of freedom"):
        five_bar().branches()
    assert linkage().branches({"rocker": 0.0}).count == 0
    with pytest.raises(ValueError, match="starts: expected an integer"):
        linkage().branches({"crank": 0.0}, num_starts=0)


@pytest.mark.slow(every=3)
def test_driven_motion_of_a_crank_continues_through_full_turns():
    robot = linkage()
    angle = np.linspace(0.0, 4 * np.pi, 33)
    for branch in (0, 1):
        start = robot.branches({"crank": 0.0}).q[branch]
        driven = robot.drive_mechanism({"crank": -angle}, q_init=start)
        assert driven.reached.all() and driven.status == "solved" and not driven.singular
        assert len(set(driven.sign)) == 1
        np.testing.assert_allclose(driven.q[16] - driven.q[0], [-2 * np.pi, 2 * np.pi, 0.0], rtol=0, atol=1e-12)
        expected = freudenstein(angle)
        away = np.abs(np.exp(-1j * driven.q[:, 2:]) - np.exp(1j * expected))
        assert away.min(axis=-1).max() < 1e-12
        assert len(set(away.argmin(axis=-1))) == 1  # on one branch throughout


def test_driven_motion_ends_at_a_turning_point_of_the_mechanism():
    """The rocker of a crank and rocker turns back where crank and coupler are in line."""
    robot = linkage()
    start = robot.assemble([-0.7, 0.0, -1.6], hold={"crank": -0.7}).q
    with pytest.raises(lw.errors.AssemblyError, match="turning point"):
        robot.drive_mechanism({"rocker": start[2] + np.linspace(0.0, 2.0, 21)}, q_init=start)
    driven = robot.drive_mechanism({"rocker": start[2] + np.linspace(0.0, 2.0, 21)}, q_init=start, check=False)
    assert driven.status == "turning_point" and 0 < driven.reached.sum() < 21
    assert np.isnan(driven.q[~driven.reached]).all()
    # lengths 1 + 2.5 in line, or 2.5 − 1: the rocker's extreme angles
    extremes = [np.pi - np.arccos((4 + 9 - r**2) / 12) for r in (3.5, 1.5)]
    assert min(abs(-driven.last[2] - x) for x in extremes) < 1e-5


def test_driven_motions_pass_flat_positions_of_a_parallelogram_with_a_message():
    """A parallelogram stays a parallelogram."""
    robot = fourbars(1)
    angle = 0.5 - np.linspace(0.0, 1.0, 12)  # not flat at any state
    start, _ = parallel(robot, angle[0])
    driven = robot.drive_mechanism({"A0": -angle}, q_init=start)
    assert driven.reached.all() and len(driven.singular) == 1
    assert angle[driven.singular[0] - 1] > 0.0 > angle[driven.singular[0]]
    for q, at in zip(driven.q, angle, strict=True):
        np.testing.assert_allclose(q, parallel(robot, at)[0], rtol=0, atol=1e-10)


def test_invalid_drivers_of_mechanisms_are_refused():
    robot = linkage()
    for drivers, message in (
        ({}, "expected a dict by joint"),
        ({"crank": 0.3}, "expected one value per state"),
        ({"crank": [0.0, np.inf]}, "got inf"),
        ({"crank": [0.0, 0.1], "knee": [0.0]}, "expected one number of states for all"),
    ):
        with pytest.raises(ValueError, match=message):
            robot.drive_mechanism(drivers)
    for option in ("velocity", "acceleration"):
        for value in (np.nan, [0.1, 0.2, 0.3], "fast"):
            with pytest.raises(ValueError, match=rf"{option}: joint 'crank': expected finite numbers, one for all"):
                robot.drive_mechanism({"crank": [0.0, 0.1]}, **{option: {"crank": value}})
    afloat, _, _ = standing()
    base = afloat.joints[0]
    with pytest.raises(
        ValueError, match=rf"joint {base.name!r} .* has no coordinates that can be interpolated linearly"
    ):
        afloat.drive_mechanism({base.name: np.array([afloat.neutral()[:7]] * 2)})
