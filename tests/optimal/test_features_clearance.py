"""Distances along a path: all pairs, named pairs, per link and per robot, against `Robot.distances`."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.model.random_tree import random_tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features import Clearance

TAU = 0.05


def arm():
    robot = lw.load("arm7")
    for frame in robot.tree.frames:
        if frame.collisions:
            robot = robot.with_collisions(frame.name)
    links = [body.name for body in robot.tree.bodies]
    for link in links[1:]:
        robot = robot.with_collisions(link, shapes.Capsule(0.05, 0.15))
    robot = robot.with_collisions(links[-1], shapes.Box((0.04, 0.2, 0.12)))
    pairs = [(links[1], links[5]), (links[2], links[6]), (links[1], links[6])]
    return robot.with_collision_pairs(pairs), links


def scene():
    table_scene = lw.Scene().with_box("table", (0.4, 0.4, 0.02), lw.pose((0.5, 0.0, 0.2)))
    return table_scene.with_sphere("ball", 0.1, lw.pose((0.0, 0.5, 0.6))).with_capsule(
        "post", 0.05, 0.8, lw.pose((-0.4, 0.0, 0.5))
    )


def values_and_rows(robot, feature, q, target=()):
    w = PathWindow(robot.tree, [list(map(float, q))], [TAU])
    rows = feature.jacobian(w, list(target))
    assert len(rows.values) == len(feature.component_names) == len(feature.row_units)
    return np.array(rows.values, dtype=float), np.array(rows.rows[0], dtype=float)


@pytest.mark.slow(every=9)
def test_values_and_jacobians_of_clearance_features_equal_distances():
    (robot, links), where = arm(), scene()
    at = PathWindow(robot.tree, [[0.0] * 7], [TAU])
    every = Clearance(where, 0.03, near=np.inf).bind(robot, at)
    few = Clearance(scene=where, pairs=[(links[-1], "table"), (links[1], links[6])], near=np.inf).bind(robot, at)
    spheres = Clearance(scene=where, at_least=0.03, near=0.05).bind(robot, at)
    by_link = Clearance(scene=where, near=np.inf, per="link").bind(robot, at)
    smooth = Clearance(scene=where, per="robot", sharpness=300.0, near=np.inf).bind(robot, at)
    assert few.component_names == (f"{links[1]} - {links[6]}", f"{links[-1]} - table")
    rng, near = np.random.default_rng(0), 0
    for _ in range(12):
        q = robot.random_configuration(rng)
        exact = robot.distance_derivatives(q, where)
        assert [f"{a} - {b}" for a, b in exact.pairs] == [*every.component_names]
        values, rows = values_and_rows(robot, every, q)
        assert np.allclose(values, 0.03 - exact.distance, atol=1e-9)
        assert np.allclose(rows, -exact.gradient, atol=1e-8)
        # spheres: never more than the distance, the distance itself where it is below what is asked about
        bound, _ = values_and_rows(robot, spheres, q)
        assert (0.03 - bound <= exact.distance + 1e-9).all()
        close = exact.distance < 0.08
        near += int(close.sum())
        assert np.allclose(bound[close], values[close], atol=1e-9)
        assert ((bound <= 0.0) == (values <= 0.0)).all()
        named = dict(zip(exact.pairs, exact.distance, strict=True))
        assert np.allclose(
            values_and_rows(robot, few, q)[0], [-named[links[1], links[6]], -named[links[-1], "table"]], atol=1e-9
        )
        per = values_and_rows(robot, by_link, q)[0]
        for name, x in zip(by_link.component_names, per, strict=True):
            mine = [d for (a, b), d in zip(exact.pairs, exact.distance, strict=True) if name in (a, b)]
            assert -x >= min(mine) - 1e-9
        assert np.isclose(-per.max(), exact.distance.min())
        smallest, row = values_and_rows(robot, smooth, q)
        shares = np.exp(-300.0 * exact.distance)
        assert np.isclose(-smallest[0], -np.log(shares.sum()) / 300.0, atol=1e-9)
        assert np.allclose(-row[0], shares @ exact.gradient / shares.sum(), atol=1e-8)
    assert near > 10


def test_jacobians_of_clearance_features_between_spheres_equal_finite_differences():
    (robot, _), where = arm(), scene()
    feature = Clearance(scene=where, near=0.0, at_least=-5.0).bind(robot, PathWindow(robot.tree, [[0.0] * 7], [TAU]))
    q, h = robot.random_configuration(seed=3), 1e-6
    rows = values_and_rows(robot, feature, q)[1]
    for k in range(7):
        step = h * np.eye(7)[k]
        differences = (values_and_rows(robot, feature, q + step)[0] - values_and_rows(robot, feature, q - step)[0]) / (
            2 * h
        )
        assert np.allclose(rows[:, k], differences, atol=1e-8)


@pytest.mark.slow(every=5)
def test_clearance_features_between_time_steps_follow_the_shortest_path():
    """Fractions of the path of a body that turns in space, and their rows by both steps."""
    free = lw.Robot.build(
        "block",
        lw.Link("block", mass=1.0, inertia=(1.0, 1.0, 1.0)),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="block"),
    ).with_collisions("block", shapes.Box((0.1, 0.2, 0.3)))
    where = lw.Scene().with_sphere("ball", 0.2, lw.pose((1.0, 0.2, 0.1)))
    q0, d = free.random_configuration(seed=2), np.array([0.4, -0.3, 0.5, 0.2, 0.1, -0.2])
    at = PathWindow(free.tree, [[*q0], [*q0]], [TAU] * 2)
    feature = Clearance(scene=where, near=np.inf, between=2).bind(free, at)
    assert feature.depth == 1 and feature.component_names[1] == "block - ball, 1/3 of the way"

    def values(before, after):
        w = PathWindow(free.tree, [[*after], [*before]], [TAU] * 2)
        return np.array(feature.values(w, ()), dtype=float), feature.jacobian(w, ())

    q1 = free.integrate(q0, d)
    known, rows = values(q0, q1)
    assert np.allclose(known, rows.values)
    displacements = np.array([1.0, 1 / 3, 2 / 3])[:, None] * d
    assert np.allclose(known, -free.distances(free.integrate(q0, displacements), where).distance[..., 0], atol=1e-9)
    h = 1e-6
    for back, J in enumerate(rows.rows):
        for k in range(6):
            moved = []
            for sign in (h, -h):
                step = sign * np.eye(6)[k]
                ends = [free.integrate(q, step if end == back else 0.0 * step) for end, q in enumerate((q1, q0))]
                moved.append(values(ends[1], ends[0])[0])
            assert np.allclose([row[k] for row in J], (moved[0] - moved[1]) / (2 * h), atol=1e-7)


@pytest.mark.slow(every=5)
def test_clearance_feature_at_the_first_step_without_a_start_uses_its_configuration():
    """No path leads to it: its clearance is its own for every solver, also if it is the only one."""
    joint = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass")
    mass = lw.Robot.build("mass", lw.Link("mass", mass=1.0), joint).with_collisions("mass", shapes.Sphere(0.1))
    where = lw.Scene().with_sphere("ball", 0.2, lw.pose((0.0, 0.0, 0.0)))
    for at, solver in ((None, "augmented"), (0, "augmented"), (None, "ipopt")):
        if solver == "ipopt":
            pytest.importorskip("casadi")
        problem = lw.TrajectoryProblem(mass, num_steps=3, duration=1.0).add("acceleration", "least_squares", scale=0.01)
        problem = problem.add("configuration", "least_squares", steps=0, target=[0.25])
        problem = problem.add(Clearance(scene=where, between=np.int64(2)), "inequality", name="clear", steps=at)
        result = problem.solve(initial_guess=[0.5], solver=solver)
        assert result.success and abs(result.q[0, 0] - 0.3) < 2e-6, (at, solver)
        pressed = result.multipliers["clear"][0]
        assert np.allclose(pressed, [0.05, 0.0, 0.0], atol=1e-3)
        assert result.residuals["clear"].shape == ((1, 3) if at == 0 else (3, 3))
    moved = problem.solve(initial_guess=[0.5], tolerance=1e-9).derivative("configuration").q
    assert abs(moved[0, 0, 0]) < 1e-9  # the clearance holds it


def test_clearances_are_independent_of_the_parameters_of_the_path():
    joint = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass")
    mass = lw.Robot.build("mass", lw.Link("mass", mass=1.0), joint).with_collisions("mass", shapes.Sphere(0.1))
    where = lw.Scene().with_sphere("ball", 0.2, lw.pose((0.0, 0.0, 0.0)))
    w = PathWindow(mass.tree, [[0.5]], [TAU], parameters={"duration": [TAU], "length": [0.7, 0.2]})
    rows = Clearance(scene=where, near=np.inf).bind(mass, w).jacobian(w, ())
    assert np.allclose([*map(float, rows.values)], [-0.2]) and np.allclose(np.array(rows.rows[0], float), [[-1.0]])
    assert np.array_equal(rows.parameters, np.zeros((1, 3)))


def test_target_of_a_clearance_feature_may_be_a_scene():
    (robot, _), where = arm(), scene()
    feature = Clearance(scene=where, near=np.inf).bind(robot, PathWindow(robot.tree, [[0.0] * 7], [TAU]))
    moved_scene = where.with_pose("table", lw.pose((0.3, 0.3, 0.4)))
    q = robot.random_configuration(seed=1)
    assert np.allclose(
        values_and_rows(robot, feature, q, feature.target_for(moved_scene))[0],
        -robot.distance_derivatives(q, moved_scene).distance,
    )
    with pytest.raises(ValueError, match="feature 'clearance': expected a scene of capacities"):
        feature.target_for(lw.Scene().with_sphere("one", 0.1))


def test_invalid_clearance_features_are_refused():
    (robot, links), where = arm(), scene()
    at = PathWindow(robot.tree, [[0.0] * 7], [TAU])
    for make, message in (
        (lambda: Clearance(at_least=np.nan), "at_least: expected a finite number"),
        (lambda: Clearance(near=-1.0), "near: expected a number >= 0"),
        (lambda: Clearance(sharpness=0.0), "sharpness: expected a finite positive number"),
        (lambda: Clearance(between=-1), "between: expected an integer"),
        (lambda: Clearance(per="joint"), "per: expected one of 'pair', 'link', 'robot', got 'joint'"),
        (lambda: Clearance(scene="table"), "scene: expected a linkwork.Scene"),
        (lambda: Clearance(scene=where, pairs=[(links[-1], "tabel")]), "table"),
        (lambda: Clearance(scene=where, pairs=[("ball", "table")]), "are both obstacles"),
    ):
        with pytest.raises((ValueError, TypeError, KeyError), match=message):
            make().bind(robot, at)
    bare = lw.Robot(random_tree(np.random.default_rng(0), 2))
    with pytest.raises(ValueError, match="no collision shapes"):
        Clearance().bind(bare, PathWindow(bare.tree, [[*bare.neutral()]], [TAU]))
