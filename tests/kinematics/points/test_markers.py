"""Points and directions on bodies: every function, on trees of all joint types, relative to any frame in any axes.

The reference differentiates the pose X_AB(t) itself: a point of B is X r, see `oracles.textbook`.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork import Robot
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.body import Direction, Point
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Vec3
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_tree, few_trees, robot_of, state

MANY = 6  # markers of a frame: so many share a matrix


def flat(result: Any) -> list[Any]:
    return list(itertools.chain.from_iterable(map(flat, result))) if isinstance(result, list) else [result]


def marker_function(tree, name, arrays, names, vectors=None, **options):
    """Evaluate a function on batches of floats, with markers as arrays (np, 3) or names."""
    row, batch = ROBOT[name], np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    if vectors is not None:
        options[row.optional[0]] = np.ravel(vectors).tolist()
    values = flat(row.compute(tree, *(list(np.moveaxis(x, -1, 0)) for x in arrays), names, **options))
    full = np.array([np.broadcast_to(x, batch) for x in values], dtype=float).reshape(len(values), *batch)
    full = np.moveaxis(full, 0, -1)
    return full.reshape(*batch, len(names), 3, *([tree.nv] if name.endswith("jacobian") else []))


def views(tree):
    """Markers of some frames, many and few, and a few choices of A and E: the world, on the way, and elsewhere."""
    rng = np.random.default_rng(len(tree.frames))
    frames = [frame.name for frame in tree.frames]
    chosen = [frames[-1], frames[len(frames) // 2], "world", frames[0]]
    sets = {name: rng.normal(size=(MANY if k % 2 == 0 else 2, 3)) for k, name in enumerate(dict.fromkeys(chosen))}
    seen_by = [("world", "world"), (frames[len(frames) // 3], "world"), (frames[-2], frames[len(frames) // 2])]
    return sets, [*seen_by, (chosen[0], chosen[0]), ("world", frames[1])]


def expected(book, sets, A, E, directions=False):
    """Return positions, velocities, accelerations and Jacobians of all sets."""
    jets = [book.marks(name, r, A, E, directions=directions) for name, r in sets.items()]
    derivatives = [np.concatenate([getattr(jet, part) for jet in jets], axis=-2) for part in ("X", "rate", "second")]
    J = [book.marks_jacobian(name, r, A, E, directions=directions) for name, r in sets.items()]
    return [*derivatives, np.concatenate(J, axis=-3)]


@pytest.mark.slow
@every_tree
def test_kinematics_of_points_and_directions_equal_the_textbooks(tree):
    q, v, a = state(tree, size=2)
    book, (sets, seen_by) = Textbook(tree, q, v, a), views(tree)
    names = [name for name, r in sets.items() for _ in r]
    vectors = np.concatenate([*sets.values()])
    for A, E in seen_by:
        view = {"relative_to": A, "expressed_in": E}
        x, rate, second, J = expected(book, sets, A, E)
        assert_close(marker_function(tree, "point_position", (q,), names, vectors, **view), x, 1e-13, f"{view}", core=2)
        assert_close(
            marker_function(tree, "point_velocity", (q, v), names, vectors, **view), rate, 1e-12, f"{view}", core=2
        )
        acceleration = marker_function(tree, "point_acceleration", (q, v, a), names, vectors, **view)
        assert_close(acceleration, second, 1e-12, f"{view}", core=2)
        acceleration = marker_function(tree, "point_jacobian", (q,), names, vectors, **view)
        assert_close(acceleration, J, 1e-12, f"{view}", core=3)
        assert_close(np.einsum("nkij,nj->nki", acceleration, v), rate, 1e-12, f"{view}", core=2)
        x, rate, second, J = expected(book, sets, A, E, directions=True)
        turned = marker_function(tree, "direction_vector", (q,), names, vectors, expressed_in=E)
        assert_close(turned, x, 1e-13, f"{view}", core=2)
        assert_close(
            marker_function(tree, "direction_velocity", (q, v), names, vectors, **view), rate, 1e-12, f"{view}", core=2
        )
        acceleration = marker_function(tree, "direction_acceleration", (q, v, a), names, vectors, **view)
        assert_close(acceleration, second, 1e-12, f"{view}", core=2)
        assert_close(np.einsum("nki,nki->nk", turned, rate), 0.0 * turned[..., 0], 1e-12, f"{view}", core=1)
        acceleration = marker_function(tree, "direction_jacobian", (q,), names, vectors, **view)
        assert_close(acceleration, J, 1e-12, f"{view}", core=3)
        assert_close(np.einsum("nkij,nj->nki", acceleration, v), rate, 1e-12, f"{view}", core=2)


@few_trees
def test_named_markers_equal_markers_passed_as_arrays(tree):
    """Named points and directions, origins and axes of frames, in any order, and a single name."""
    q, v, a = state(tree, size=2)
    rng = np.random.default_rng(1)
    frames = [frame.name for frame in tree.frames]
    where = [frames[k] for k in rng.integers(len(frames), size=7)]
    r = rng.normal(size=(7, 3))
    points = tuple(Point(f"p{k}", name, Vec3.of(x)) for k, (name, x) in enumerate(zip(where, r.tolist(), strict=True)))
    marks = tuple(Direction(f"u{p.name}", p.frame, p.position) for p in points)
    named, f = replace(tree, points=points, directions=marks), Direct(tree)
    view = {"relative_to": frames[1], "expressed_in": frames[-1]}
    for name, arrays in (("velocity", (q, v)), ("acceleration", (q, v, a)), ("jacobian", (q,))):
        for kind, prefix in (("point", ""), ("direction", "u")):
            function = f"{kind}_{name}"
            names = [f"{prefix}p{k}" for k in range(7)]
            by_names = getattr(Direct(named), function)(*arrays, tuple(names), **view)
            core = by_names.ndim - 1
            assert_close(
                by_names, marker_function(tree, function, arrays, where, r, **view), 1e-13, function, core=core
            )
            back = getattr(Direct(named), function)(*arrays, tuple(names[::-1]), **view)
            assert_close(back, by_names[:, ::-1], 1e-13, function, core=core)
            by_single_name = getattr(Direct(named), function)(*arrays, names[3], **view)
            assert_close(by_single_name, by_names[:, 3], 1e-13, function, core=core - 1)
    tool = frames[-1]
    assert_close(f.point_jacobian(q, tool, **view), f.jacobian(q, tool, **view)[:, 3:], 1e-13, core=2)
    assert_close(f.point_velocity(q, v, tool, **view), f.twist(q, v, tool, **view)[:, 3:], 1e-13, core=1)
    acceleration_of_origin = f.acceleration(q, v, a, tool, **view)[:, 3:]
    assert_close(f.point_acceleration(q, v, a, tool, **view), acceleration_of_origin, 1e-12, core=1)
    axes = tuple(f"{tool}.{axis}" for axis in "xyz")
    R = f.pose(q, tool, relative_to=frames[1])[:, :3, :3]
    assert_close(np.swapaxes(f.direction_vector(q, axes, expressed_in=frames[1]), -1, -2), R, 1e-13, core=2)
    assert_close(f.point_position(q, tool, relative_to=tool, expressed_in=frames[1]), np.zeros((2, 3)), 1e-14, core=1)


def test_kinematics_of_a_point_equal_those_of_a_frame_at_the_point():
    """Frames at points, and the Jacobian and twist of a body at them."""
    tree = TREES["mixed_0"]
    robot = Robot(tree).with_frame("here", tree.frames[-2].name, (0.3, -0.2, 0.5)).with_point("p", "here", (0, 1, 0))
    robot = robot.with_frame("p_too", "here", (0, 1, 0))
    q, v, a = state(tree)
    f, body = Direct(robot.tree), tree.frames[-2].name
    assert_close(f.point_position(q, "p"), f.pose(q, "p_too")[:, :3, 3], 1e-13, core=1)
    for view in ({}, {"relative_to": tree.frames[3].name, "expressed_in": tree.frames[1].name}):
        assert_close(f.point_jacobian(q, "p", **view), f.jacobian(q, body, point="p_too", **view)[:, 3:], 1e-13, core=2)
        assert_close(
            f.point_velocity(q, v, "p", **view), f.twist(q, v, body, point="p_too", **view)[:, 3:], 1e-13, core=1
        )
        frame_acceleration = f.acceleration(q, v, a, "p_too", **view)[:, 3:]
        assert_close(f.point_acceleration(q, v, a, "p", **view), frame_acceleration, 1e-12, core=1)


@few_trees
def test_velocities_and_accelerations_of_points_equal_finite_differences(tree):
    """Along a path with velocity v and acceleration a at t = 0, by the compiled functions."""
    (q,), (v,), (a,) = state(tree, size=1)
    robot, h = robot_of(tree), 1e-5
    frames = [tree.frames[-1].name] * 2
    for kind, first in (("point", "position"), ("direction", "vector")):
        f = {name: getattr(robot, f"{kind}_{name}") for name in (first, "velocity", "acceleration")}
        names = frames if kind == "point" else [f"{name}.y" for name in frames]
        ahead, behind = (robot.integrate(q, t * v + 0.5 * t * t * a) for t in (h, -h))
        rate = (f[first](ahead, names) - f[first](behind, names)) / (2 * h)
        assert_close(f["velocity"](q, v, names), rate, 1e-8, kind)
        second = (f["velocity"](ahead, v + h * a, names) - f["velocity"](behind, v - h * a, names)) / (2 * h)
        assert_close(f["acceleration"](q, v, a, names), second, 1e-7, kind)


def test_points_on_the_observers_body_do_not_move_relative_to_it():
    """Columns of joints that are not between A and the point are exactly zero, too."""
    tree = TREES["mixed_star"]
    q, v, a = state(tree)
    f, book = Direct(tree), Textbook(tree, q, v, a)
    names = [tree.bodies[2].name] * MANY
    vectors = np.random.default_rng(0).normal(size=(MANY, 3))
    for kind in ("point", "direction"):
        for name, arrays in (("velocity", (q, v)), ("acceleration", (q, v, a)), ("jacobian", (q,))):
            rate = marker_function(
                tree, f"{kind}_{name}", arrays, names, vectors, relative_to=f"tool{2}", expressed_in="tool1"
            )
            assert not rate.any(), (kind, name)
    J = f.point_jacobian(q, "tool2", relative_to=tree.bodies[3].name)
    fixed_columns = np.ones(tree.nv, dtype=bool)
    fixed_columns[[*range(tree.nv)[tree.v_slices[2]], *range(tree.nv)[tree.v_slices[3]]]] = False
    assert not J[..., fixed_columns].any() and J[..., ~fixed_columns].any()
    assert_close(J, book.marks_jacobian("tool2", np.zeros((1, 3)), tree.bodies[3].name)[..., 0, :, :], 1e-12, core=2)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["arm7", "humanoid"])
def test_each_further_point_costs_18_operations(name):
    """9 products and 9 sums; also for markers in a frame that is rotated on its body."""
    import linkwork as lw

    robot = lw.load(name, floating_base=name == "humanoid")
    robot = robot.with_frame("turned", robot.bodies[-1], lw.pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)))
    of = robot_owner(robot.tree)

    def count(function, frame, n):
        argument_name = "vectors" if function.startswith("direction") else "positions"
        request = read_request(of, (function, [frame] * n, {argument_name: True}))
        return trace_requests(of, function, {function: request}).arithmetic

    for frame in (robot.bodies[-1], "turned"):
        for function in ("point_position", "point_velocity", "point_acceleration"):
            assert count(function, frame, 40) - count(function, frame, 30) == 180, (function, frame)
        for function in ("direction_vector", "direction_velocity", "direction_acceleration"):
            assert count(function, frame, 40) - count(function, frame, 30) == 150, (function, frame)
        for function in ("point_velocity", "point_acceleration", "direction_velocity", "direction_acceleration"):
            steps = [count(function, frame, n) for n in range(1, 9)]
            assert all(y - x <= 72 for x, y in itertools.pairwise(steps)), (function, frame, steps)
