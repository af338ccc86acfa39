"""Assembly of mechanisms: closed forms, limits and preferences, derivatives, and failures."""

import pickle

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel
from helpers.linkages import (
    SLIDER,
    five_bar,
    freudenstein,
    linkage,
    spatial_slider_crank,
    three_leg_angles,
    three_legs,
)
from linkwork.expr import adjoint
from linkwork.kinematics.algorithms.coordinates import unit_steps


def wrapped(x):
    return np.abs((np.asarray(x) + np.pi) % (2 * np.pi) - np.pi)


def angle_to_nearest(angles, expected):
    """Return differences of angles from the nearest of several."""
    return wrapped(angles[..., np.newaxis] - expected).min(axis=-1)


def test_freudensteins_linkage_is_assembled_over_the_full_turn_of_its_crank():
    """Both branches, to rounding, from near and far guesses."""
    robot, angle = linkage(), np.linspace(0.0, 2 * np.pi, 361)
    expected = freudenstein(angle)
    for branch in (0, 1):
        guess = np.stack([-angle, 0.0 * angle, -expected[:, branch] + 0.2], axis=-1)
        guess[:, 1] = (
            robot.drive_mechanism({"crank": -angle}, q_init=[0.0, *_knee(branch), 0.0]).q[:, 1] if branch else 0.0
        )
        assembled = robot.assemble(guess, hold={"crank": -angle})
        assert assembled.success.all() and (assembled.status == "solved").all()
        assert assembled.error.max() < 1e-13
        np.testing.assert_array_equal(assembled.q[:, 0], -angle)
        assert angle_to_nearest(-assembled.q[:, 2], expected).max() < 1e-12
    assembled = robot.assemble(robot.random_configuration(seed=0, size=361), hold={"crank": -angle})
    assert assembled.success.all() and angle_to_nearest(-assembled.q[:, 2], expected).max() < 1e-12
    assert assembled.iterations.mean() < 12


def _knee(branch):
    return [0.4 if branch else -0.4]


def test_assembled_slider_crank_and_three_legged_platform_equal_closed_forms():
    robot, angle = spatial_slider_crank(), np.linspace(0.0, 6.0, 50)
    assembled = robot.assemble([0.0, 1.0], hold={"crank": angle})
    x, z = SLIDER["crank"] * np.cos(angle), -SLIDER["crank"] * np.sin(angle)
    np.testing.assert_allclose(
        assembled.q[:, 1], x + np.sqrt(SLIDER["rod"] ** 2 - SLIDER["aside"] ** 2 - z**2), rtol=0, atol=1e-12
    )
    robot = three_legs()
    for pose in ((1.4, 0.8, 0.2), (1.5, 1.0, -0.4)):
        q = robot.assemble(hold=dict(zip(("x", "z", "turn"), pose, strict=True))).q
        legs = q[3:].reshape(3, 1, 2)
        assert np.abs(wrapped(legs - three_leg_angles(*pose)).max(axis=-1).min(axis=-1)).max() < 1e-12


def test_assembled_configurations_are_the_nearest_to_the_preferred_configuration():
    """The displacement is orthogonal to the permitted directions, in the stated weights."""
    robot, rng = five_bar(), np.random.default_rng(0)
    guess = rng.uniform(-2.0, 2.0, (60, 4))
    for weights in (None, [1.0, 0.1, 2.0, 0.5]):
        assembled = robot.assemble(guess, weights=weights)
        assert assembled.success.all()
        W = np.ones(4) if weights is None else np.array(weights)
        left = []
        for q, start in zip(assembled.q, guess, strict=True):
            kernel = np.linalg.svd(robot.constraint_jacobian(q))[2][2:]
            left.append(np.abs(kernel @ (W * (q - start))).max())
        assert np.median(left) < 1e-9 and np.quantile(left, 0.9) < 1e-4  # rest: nearest in singular positions
    assembled = robot.assemble([0.5, -1.0, 0.4, -0.6], prefer={"left_hip": -1.2}, weights={"left_hip": 1e4})
    assert abs(assembled.q[0] + 1.2) < 1e-3 and assembled.error < 1e-14
    robot.assemble([0.5, -1.0, 0.4, -0.6], hold={"left_hip": -1.2}, prefer={"left_knee": 0.5})


def test_assembly_satisfies_joint_limits_or_fails():
    """Invariant 60."""
    free, angle = linkage(), np.linspace(0.0, 2 * np.pi, 90)
    bounded = linkage(lower=-2.0, upper=-1.4)
    rng = np.random.default_rng(1)
    guess = rng.uniform(-3.0, 3.0, (90, 3))
    assembled = bounded.assemble(guess, hold={"crank": -angle})
    turned = freudenstein(angle) % (2 * np.pi)
    possible = ((turned > 1.4) & (turned < 2.0)).any(axis=-1)
    np.testing.assert_array_equal(assembled.success, possible)
    assert 10 < possible.sum() < 80
    solved = assembled.q[assembled.success]
    assert (
        (solved[:, 2] >= -2.0).all()
        and (solved[:, 2] <= -1.4).all()
        and assembled.error[assembled.success].max() < 1e-13
    )
    assert set(assembled.status[~assembled.success]) == {"at_limits"}
    i = int(np.flatnonzero(~possible)[0])
    assert "'rocker'" in assembled.explain(i) and "limits" in assembled.explain(i)
    assert bounded.assemble(guess, hold={"crank": -angle}, position_limits=False).success.all()
    assert free.assemble(guess, hold={"crank": -angle}).success.all()
    with pytest.raises(ValueError, match=r"joint 'rocker' = 0.3 is beyond its limits \[-2, -1.4\]"):
        bounded.assemble(hold={"rocker": [-1.5, 0.3]})


@pytest.mark.slow(every=5)
def test_failed_assemblies_state_the_remaining_error():
    robot = linkage()
    with pytest.raises(lw.errors.AssemblyError, match=r"1\.5 m of 'pin: trans") as caught:
        robot.assemble(hold={"rocker": 0.0})
    result = pickle.loads(pickle.dumps(caught.value)).result
    assert not result.success and result.status == "infeasible" and abs(result.errors["pin"] - 1.5) < 1e-6
    with pytest.raises(lw.errors.AssemblyError, match="'rocker', 'crank' determine each other"):
        robot.assemble(hold={"rocker": -1.0, "crank": 0.5})
    assembled = robot.assemble(hold={"rocker": [0.0, -1.7, 0.1]}, check=False)
    assert assembled.success.tolist() == [False, True, False] and "2 of 3 infeasible, 1 solved" in str(assembled)
    assert assembled.explain(1).startswith("solved: 'linkage' is assembled, with rocker = -1.7")
    consistent = robot.assemble(hold={"crank": 0.5, "rocker": robot.assemble(hold={"crank": 0.5}).q[2]})
    assert consistent.success
    # rods that cannot meet: constraints that contradict each other
    apart = linkage(crank=0.3, coupler=0.4, rocker=0.5)
    with pytest.raises(lw.errors.AssemblyError, match="infeasible: 'linkage' is not assembled"):
        apart.assemble()
    with pytest.raises(lw.errors.AssemblyError, match="project: the configuration cannot be projected"):
        apart.project(np.zeros(3))


def test_results_of_assembly_have_errors_poses_and_a_sentence_for_each_state():
    """The rods are 1.5 m apart with the rocker at 0: closed there with a loop of rods in line."""
    robot = linkage()
    single = robot.assemble(hold={"crank": 0.5})
    assert single.branch == -1 and single.errors.keys() == {"pin"} and single.errors["pin"] <= 1e-9
    assert str(single).startswith("solved: 'linkage' is assembled, with crank = 0.5: largest error")
    assert np.array_equal(single.pose("coupler"), robot.pose(single.q, "coupler"))
    both = robot.assemble(hold={"rocker": [0.0, -1.7]}, max_starts=1, check=False)
    assert both.success.tolist() == [False, True] and str(both) == "'linkage', 1 of 2 infeasible, 1 solved"
    assert both.errors["pin"] == pytest.approx([1.5, 0.0], abs=1e-6)
    assert "1.5 m of 'pin: trans" in both.explain(0) and "infeasible" in both.explain(0)
    assert both.pose("coupler", relative_to="rocker").shape == (2, 4, 4)
    lost = both._replaced(q=np.full((2, 3), np.nan))
    assert np.isnan(lost.pose("coupler")).all()
    partly = both._replaced(q=np.stack([np.full(3, np.nan), both.q[1]])).pose("coupler")
    assert np.isnan(partly[0]).all() and np.array_equal(partly[1], both.pose("coupler")[1])
    two = fourbars(2).assemble(parallel(fourbars(2), 0.8)[0])
    two = two._replaced(residual=np.array([1.0, -3.0, 2.0, 0.0, 0.5, 0.1, 7.0, -9.0, 0.2, 0.3]))
    assert two.errors == {"C1": 3.0, "C2": 9.0}
    with pytest.raises(lw.errors.UnknownNameError, match="'couplr'; did you mean 'coupler'"):
        lost.pose("couplr")


def test_assembly_without_a_proof_ends_at_the_local_minimum_of_the_errors():
    """A block on a slide along x, pinned to a point beside the slide: nearest where x is equal."""
    slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="block")
    robot = lw.Robot.build("slider", lw.Link("block", mass=1.0), slide)
    robot = robot.with_frame("peg", "world", (0.2, 0.3, 0.4)).with_loop("pin", "peg", "block", lw.joints.Spherical())
    result = robot.assemble(check=False)
    assert result.status == "local_minimum" and not result.success
    assert result.q == pytest.approx([0.2], abs=1e-6) and result.errors["pin"] == pytest.approx(0.4, abs=1e-9)
    assert "the errors are at a local minimum and cannot be reduced from there" in str(result)


def test_projections_that_cannot_reach_the_constraints_name_the_worst_state():
    apart = linkage(crank=0.3, coupler=0.4, rocker=0.5)
    with pytest.raises(lw.errors.AssemblyError, match="project: the configuration cannot be projected") as caught:
        apart.project(np.zeros(3))
    error = np.abs(apart.constraint_error(caught.value.result.q)).max()
    assert f"constraints: {error:.3g} m of 'pin: translation" in str(caught.value)
    with pytest.raises(lw.errors.AssemblyError, match=r"project: state \[0, 0\] of 4, and 3 more cannot be projected"):
        apart.project(np.zeros((2, 2, 3)))


def test_invalid_arguments_of_assembly_are_refused_with_their_names():
    robot = linkage()
    for arguments, message in (
        ({"hold": {"crank": np.nan}}, "hold: joint 'crank': .*got nan"),
        ({"q_init": [0.0, np.nan, 0.0]}, r"q_init\[1\] is NaN"),
        ({"q_init": [0.0, 0.0]}, r"expected an array of shape \(..., 3\)"),
        ({"hold": {"crank": "left"}}, "joint 'crank': expected a number"),
        ({"hold": {"pin": 0.0}}, "'pin' is a constraint"),
        ({"hold": {"crank": [1, 2]}, "prefer": {"knee": [1, 2, 3]}}, "do not broadcast"),
        ({"hold": {"crank": 0.0}, "prefer": {"crank": 0.0}}, "is fixed by hold"),
        ({"weights": [1.0, 0.0, 1.0]}, "weights: expected numbers > 0, got 0"),
        ({"tolerance": 0.0}, "tolerance: expected a positive number"),
        ({"max_starts": 0}, "max_starts: expected how many starts"),
        ({"time": "now"}, r"time: expected an array of finite numbers \[s\]"),
        ({"tolerance": "tight"}, "tolerance: expected a positive number, got 'tight'"),
        ({"hold": {"crank": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], "knee": [[0.1, 0.2]] * 2}}, "do not broadcast"),
        ({"parameters": {"mass:coupler": 1.0}, "branches": 2}, "parameters: cannot be combined with branches"),
    ):
        with pytest.raises(ValueError, match=message):
            robot.assemble(**arguments)
    with pytest.raises(TypeError, match="hold: expected a dict by joint"):
        robot.assemble(hold=[0.3])
    with pytest.raises(lw.errors.UnknownNameError, match="crank"):
        robot.assemble(hold={"crnk": 0.3})
    with pytest.raises(ValueError, match="no holonomic constraints"):
        robot.without_constraints().assemble()
    with pytest.raises(ValueError, match='weights: expected "mass" or "plain"'):
        robot.project(np.zeros(3), weights="heavy")
    with pytest.raises(ValueError, match="hold: joint 'knee' follows joint 'crank'"):
        robot.with_couplings({"knee": ("crank", 2.0)}).assemble_configuration(
            np.zeros(2), np.zeros(2), np.ones(2), hold="knee"
        )


@pytest.mark.slow(every=5)
def test_assembly_of_a_batch_treats_each_configuration_independently():
    robot, rng = linkage(), np.random.default_rng(3)
    guess, angle = rng.uniform(-3, 3, (37, 3)), rng.uniform(-3, 3, 37)
    rocker = np.where(np.arange(37) % 5 == 0, 0.0, -1.7)  # every fifth cannot be
    together = robot.assemble(guess, hold={"rocker": rocker})
    for i in (0, 5, 11, 36):
        alone = robot.assemble(guess[i], hold={"rocker": rocker[i]}, check=False)
        np.testing.assert_array_equal(alone.q, together.q[i])
        assert alone.status == together.status[i] and alone.success == together.success[i]
    grid = robot.assemble(hold={"crank": angle.reshape(37, 1)}, q_init=guess[:2])
    assert grid.q.shape == (37, 2, 3) and grid.success.all()
    assert robot.assemble(np.zeros((0, 3))).q.shape == (0, 3)
    redundant = fourbars(1).with_loop("again", "end1", "tip1", robot.constraints["pin"].joint)
    assert redundant.assemble(hold={"A0": -0.7}).error < 1e-13


def test_derivatives_of_assembly_by_driven_joints_equal_finite_differences():
    """Invariant 64: differences of repeated assemblies, and the closed form."""
    robot, angle = linkage(), 0.7
    q = robot.assemble([-angle, 0.0, -1.6], hold={"crank": -angle}).q
    K = robot.assembly_derivatives(q, hold="crank")
    h = 1e-5
    again = robot.assemble(q, hold={"crank": -angle + np.array([h, -h])}).q
    np.testing.assert_allclose(K[:, 0], (again[0] - again[1]) / (2 * h), rtol=0, atol=1e-8)
    crank, coupler, rocker = -q[0], -q[0] - q[1], -q[2]
    exact = np.sin(crank - coupler) / (2.0 * np.sin(rocker - coupler))  # ratio of rates, the crank's length 1 by 2
    assert abs(K[2, 0] - exact) < 1e-12 and not K[:, 1:].any()
    robot = three_legs()
    names = ["x", "z", "turn"]
    hold = {"x": 1.4, "z": 0.8, "turn": 0.2}
    q = robot.assemble(hold=hold).q
    K = robot.assembly_derivatives(q, hold=names)
    for k, name in enumerate(names):
        again = robot.assemble(q, hold=hold | {name: hold[name] + np.array([h, -h])}).q
        np.testing.assert_allclose(K[:, k], (again[0] - again[1]) / (2 * h), rtol=0, atol=1e-7)
    assert np.abs(robot.constraint_jacobian(q) @ K).max() < 1e-13


@pytest.mark.slow(every=3)
def test_derivatives_of_assembly_by_geometry_equal_finite_differences():
    """dq = −G_f⁺ φ_p, φ_p by a kernel with the parameter as an input."""
    robot = linkage()
    q = robot.assemble([-0.7, 0.0, -1.6], hold={"crank": -0.7}).q
    kernel = robot.compile("constraint_error", parameters=["placement:rocker"])
    by_offset = kernel.jacobian("placement_rocker")(q, np.zeros(6))[:, 3]  # moved along x
    G = robot.constraint_jacobian(q)[:, 1:]
    dq = -np.linalg.pinv(G) @ by_offset
    h = 1e-5
    assembled = [linkage(ground=3.0 + s).assemble(q, hold={"crank": -0.7}).q[1:] for s in (h, -h)]
    np.testing.assert_allclose(dq, (assembled[0] - assembled[1]) / (2 * h), rtol=0, atol=1e-7)


def test_assembly_inside_of_compiled_functions_can_be_differentiated():
    """Forward, in reverse and twice, by driven joints and geometry, without the iterations."""
    robot = linkage()

    def angles(angle, offset):
        q = np.array([angle, 0.0 * angle, 0.0 * angle - 1.6])
        moved = robot.with_parameters({"placement:rocker": [0.0, 0.0, 0.0, offset, 0.0, 0.0]})
        return moved.assemble_configuration(q, q, np.ones(3), hold="crank").q

    kernel = lw.compile(angles, angle=(), offset=())
    q = kernel(-0.7, 0.0)
    K = robot.assembly_derivatives(q, hold="crank")[:, 0]
    np.testing.assert_allclose(kernel.jacobian("angle")(-0.7, 0.0), K, rtol=0, atol=1e-13)
    by_offset = robot.compile("constraint_error", parameters="placement:rocker").jacobian("placement_rocker")
    expected = -np.linalg.pinv(robot.constraint_jacobian(q)[:, 1:]) @ by_offset(q, np.zeros(6))[:, 3]
    np.testing.assert_allclose(kernel.jacobian("offset")(-0.7, 0.0)[1:], expected, rtol=0, atol=1e-13)

    def gradient(angle, offset):
        return adjoint([angles(angle, offset)[2]], [angle, offset], [1.0])

    reverse = lw.compile(gradient, angle=(), offset=())
    np.testing.assert_allclose(reverse(-0.7, 0.0), [K[2], expected[1]], rtol=0, atol=1e-13)
    h = 1e-5
    differences = (reverse(-0.7 + h, 0.0) - reverse(-0.7 - h, 0.0)) / (2 * h)
    np.testing.assert_allclose(reverse.jacobian("angle")(-0.7, 0.0), differences, rtol=0, atol=1e-8)


@pytest.mark.slow(every=5)
def test_derivatives_of_projections_onto_constraints_are_projectors():
    """I − A G at closed configurations, in the metric, with quaternion joints."""
    ball = lw.Robot.build(
        "hung",
        lw.Link("body", mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.3, 0.4, 0.5)),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body"),
    )
    ball = ball.with_point("hook", "body", (0.3, -0.2, 0.4))
    ball = ball.with_constraints(lw.constraints.Holonomic("rope", lambda k: k.point("hook").dot(k.point("hook")) - 1.0))
    for robot, start in ((ball, ball.random_configuration(seed=1)), (five_bar(), [0.5, -1.2, 2.4, -2.6])):
        for metric in ("mass", "plain"):
            q = robot.project(robot.project(start, weights=metric), weights=metric)
            space = robot.configuration_space
            kernel = lw.compile(lambda q, m=metric, r=robot: r.project(q, weights=m), q=space)
            G = robot.constraint_jacobian(q)
            G = G[np.abs(G).max(1) > 0]
            lengths = np.diag(np.array(unit_steps(robot.tree)) ** 2)
            W = np.linalg.inv(robot.mass_matrix(q)) if metric == "mass" else lengths
            P = np.eye(robot.nv) - W @ G.T @ np.linalg.solve(G @ W @ G.T, G)
            v = np.random.default_rng(0).normal(size=robot.nv)
            h = 1e-6
            ends = robot.project(robot.integrate(q, h * np.array([v, -v])), weights=metric)
            moved = robot.difference(ends[1], ends[0]) / (2 * h)
            np.testing.assert_allclose(moved, P @ v, rtol=0, atol=1e-8)
            N = robot.velocity_to_configuration_derivative(q, np.eye(robot.nv)).T
            np.testing.assert_allclose(kernel.jacobian("q")(q), N @ P, rtol=0, atol=1e-11)
            weights = np.random.default_rng(1).normal(size=robot.nq)
            np.testing.assert_allclose(kernel.vjp("q")(q, weights), weights @ N @ P, rtol=0, atol=1e-11)


@pytest.mark.slow(every=5)
def test_assembly_satisfies_limits_of_loop_joints() -> None:
    """One of two assemblies of a four-bar is within the bounds of its pin; without any, an error is raised."""
    free = fourbars(1).without_constraints()
    branches = free.with_loop("pin", "tip1", "end1", HINGE).branches(hold={"A0": -1.0})
    angles = [
        float(free.with_loop("pin", "tip1", "end1", HINGE).loops["pin"].configuration_from_pose(q)[0])
        for q in branches.q
    ]
    assert len(angles) == 2 and abs(angles[0] - angles[1]) > 0.1
    for angle in angles:
        bounded = free.with_loop("pin", "tip1", "end1", HINGE, lower=angle - 0.05, upper=angle + 0.05)
        q = bounded.assemble(hold={"A0": -1.0}).q
        assert abs(bounded.loops["pin"].configuration_from_pose(q)[0] - angle) < 0.05
    nowhere = free.with_loop("pin", "tip1", "end1", HINGE, lower=max(angles) + 0.1, upper=max(angles) + 0.2)
    with pytest.raises(lw.errors.AssemblyError, match=r"closed it with loop joints beyond their limits only: 'pin'"):
        nowhere.assemble(hold={"A0": -1.0})
    assert not nowhere.assemble(hold={"A0": [-1.0, -1.0]}, check=False).success.any()
    assert bool(nowhere.assemble(hold={"A0": -1.0}, position_limits=False).success)
