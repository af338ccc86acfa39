"""Views on robots among obstacles: hidden points by linear equations, walls of cells, pages and plots."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.html.scene_data import Arrays, Functions, scene_data
from linkwork.viewer.view_direction import PERSPECTIVE, VEIL, clear_document, clear_view


def back_of(angles):
    azimuth, elevation = angles
    return np.array(
        [math.cos(azimuth) * math.cos(elevation), math.sin(azimuth) * math.cos(elevation), math.sin(elevation)]
    )


def is_hidden(point, eye, corners):
    """Return True if the segment from a point to the eye meets a triangle, by the equations of its plane."""
    a, b, c = corners
    u, v, t = np.linalg.solve(np.stack([b - a, c - a, point - eye], axis=1), point - a)
    return bool(u >= 0.0 and v >= 0.0 and u + v <= 1.0 and 0.0 < t < 1.0)


def share_hidden(points, obstacles, angles, distance):
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    eye = middle + distance * back_of(angles)
    return np.mean([any(is_hidden(p, eye, corners) for x in obstacles for corners in x) for p in points])


@pytest.mark.parametrize("distance", [4.0, 1e6])
def test_view_turns_only_where_random_obstacles_hide_a_quarter_of_the_points(distance):
    rng = np.random.default_rng(3)
    turned = 0
    for _ in range(12):
        points = rng.normal(scale=0.3, size=(40, 3))
        obstacles = [rng.normal(size=(1, 3, 3)) + back_of(rng.uniform(-1.0, 1.0, 2)) for _ in range(4)]
        start = (float(rng.uniform(-3.0, 3.0)), 0.3)
        view, hiding = clear_view(points, obstacles, start, math.inf if distance > 1e3 else distance)
        before = share_hidden(points, obstacles, start, distance)
        after = share_hidden(points, obstacles, view, distance)
        assert after <= before and (view == start or before > 0.25)
        assert after < before or before <= 0.25 or view == start
        for k, obstacle in enumerate(obstacles):
            is_among = after > 0.25 and share_hidden(points, [obstacle], view, distance) > 0.05
            assert (k in hiding) == is_among
        turned += view != start
    assert 3 <= turned < 12


def cell(directions, roof=False):
    """Return a scene with walls around the origin at azimuths, and a roof."""
    scene = lw.Scene()
    for k, azimuth in enumerate(directions):
        position = (0.7 * math.cos(azimuth), 0.7 * math.sin(azimuth), 0.8)
        scene = scene.with_box(f"wall{k}", (0.05, 1.6, 1.6), lw.pose(position, rpy=(0.0, 0.0, azimuth)))
    return scene.with_box("roof", (2.0, 2.0, 0.02), lw.pose((0.0, 0.0, 1.75))) if roof else scene


ALL_SIDES = (0.0, 0.5 * math.pi, math.pi, 1.5 * math.pi)


def colors_of(document):
    return {prop.name: prop.color[3] for prop in document.props}


def test_page_begins_with_a_view_on_the_side_of_the_robot_without_a_wall():
    arm = lw.load("arm7")
    for azimuth in np.arange(8) * 0.25 * math.pi:
        scene = cell([azimuth])
        document, view = clear_document(lw.viewer.scene_document(arm, scene=scene))
        assert set(colors_of(document).values()) == {1.0}
        wall = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
        assert back_of(view) @ wall < 0.5
        is_free = back_of(PERSPECTIVE) @ wall < 0.2
        assert not is_free or view == PERSPECTIVE
        data = scene_data(lw.viewer.scene_document(arm, scene=scene), Arrays(), Functions())
        assert data["perspective"] == view
    plain = lw.viewer.scene_document(arm)
    assert clear_document(plain) == (plain, PERSPECTIVE)


def test_view_on_a_cell_is_from_above_and_walls_and_roof_of_a_closed_cell_are_transparent():
    arm = lw.load("arm7")
    document, view = clear_document(lw.viewer.scene_document(arm, scene=cell(ALL_SIDES)))
    assert view[1] > PERSPECTIVE[1] and set(colors_of(document).values()) == {1.0}
    document, view = clear_document(lw.viewer.scene_document(arm, scene=cell(ALL_SIDES, roof=True)))
    opacities = colors_of(document)
    before = {name for name, x in opacities.items() if x == VEIL}
    assert before and {*opacities.values()} == {VEIL, 1.0}
    for k, azimuth in enumerate(ALL_SIDES):  # walls behind the robot stay as they are
        if back_of(view) @ (math.cos(azimuth), math.sin(azimuth), 0.0) < 0.0:
            assert f"wall{k}" not in before


def test_view_of_a_moving_robot_counts_its_whole_motion():
    arm = lw.load("arm7")
    start, end = np.asarray(arm.neutral()), np.asarray(arm.neutral())
    end[1] = 1.4  # the arm lies down towards +x, behind a low wall for the view in perspective
    wall = lw.Scene().with_box("wall", (0.8, 0.02, 1.0), lw.pose((0.75, -0.25, 0.5)))
    upright, lying = (arm.spline([0.0, 1.0], [start, q]) for q in (start, end))
    documents = [lw.viewer.scene_document(x, scene=wall) for x in (upright, lying)]
    views = [clear_document(document)[1] for document in documents]
    assert views[0] == PERSPECTIVE != views[1]


def test_views_of_new_plots_are_on_the_side_of_the_robot_without_a_wall():
    pytest.importorskip("matplotlib").use("Agg")
    arm = lw.load("arm7")
    axes = [arm.plot(scene=cell([azimuth])) for azimuth in (math.radians(-60.0), math.radians(120.0))]
    assert axes[0].azim != axes[1].azim == -60.0
    assert [len(x.collections) for x in axes] == [1, 1]
    closed = arm.plot(scene=cell(ALL_SIDES, roof=True))
    closed.figure.canvas.draw()
    (surfaces, veil) = closed.collections
    assert set(surfaces.get_facecolor()[:, 3]) == {1.0} and set(veil.get_facecolor()[:, 3]) == {VEIL}
    assert veil.zorder > surfaces.zorder
    arm.plot(scene=cell([math.radians(-60.0)]), axes=axes[1])  # the view of the user's axes stays
    assert axes[1].azim == -60.0 and len(axes[1].collections) == 1
