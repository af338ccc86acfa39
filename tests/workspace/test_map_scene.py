"""Scene documents of workspace maps: sections, colours, the robot and limits of what is drawn."""

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.workspace import WorkspaceMap, map_scene
from linkwork.workspace.map_scene import map_document
from linkwork.workspace.voxel_counts import FIELDS, SparseCounts

IDENTITY = {
    "robot": "arm",
    "frame": "hand",
    "samples": 40,
    "relative_to": "world",
    "voxel_size": 0.5,
    "manipulability_unit": 0.25,
}


def map_of(cells, free):
    cells = np.array(cells, dtype=np.int32)
    fields = {name: np.zeros(len(cells), dtype) for name, (_, dtype) in FIELDS.items()}
    fields |= {"reached": np.array(free) + 1, "collision_free": np.array(free)}
    return WorkspaceMap._make(IDENTITY, SparseCounts(cells, fields))


def drawn(document):
    """Return the points of the map, without those of the bar of colours."""
    return next(points for points in document.points if points.layer == "map")


ROW = [[0, y, 0] for y in range(5)]


def test_sections_of_maps_leave_out_the_half_before_the_camera():
    result = map_of([[x, y, z] for x in range(4) for y in range(4) for z in range(4)], [1, 2] * 32)
    for name, (axis, side) in map_scene.SECTIONS.items():
        points = drawn(map_document(result, section=name)).points
        centers = result.points
        behind = side * centers[:, axis] <= side * centers[:, axis].mean()
        assert np.allclose(points, centers[behind]) and len(points) == 32
    assert len(drawn(map_document(result, section=None)).points) == 64
    middle = drawn(map_document(map_of(ROW, [1] * 5))).points
    assert sorted(middle[:, 1]) == [1.25, 1.75, 2.25]  # the middle layer belongs to the half that is drawn


def test_flat_maps_have_no_section_and_thick_ones_have_one():
    flat = map_of(ROW[:3], [1, 2, 3])  # centres 2 voxels apart
    thick = map_of(ROW[:4], [1, 2, 3, 4])  # centres 3 voxels apart
    assert len(drawn(map_document(flat)).points) == 3
    assert len(drawn(map_document(thick)).points) == 2
    sizes = [drawn(map_document(result)).size for result in (flat, thick)]
    assert np.allclose(sizes, [map_scene._SMALL_POINT_SIZE * 0.5, map_scene._POINT_SIZE * 0.5])


def test_voxels_without_collision_free_samples_are_neither_drawn_nor_reachable():
    result = map_of(ROW[:3], [2, 0, 5])
    document = map_document(result, section=None)
    assert len(drawn(document).points) == 2 and "2 (dark) to 5 (bright)" in document.title
    assert result.reachable(result.points).tolist() == [True, False, True] and result.volume == 2 * 0.125
    assert drawn(document).colors[0].tolist() == [43, 24, 82, 255]
    assert drawn(document).colors[1].tolist() == [250, 226, 50, 255]
    even = map_document(map_of(ROW[:2], [3, 3]), section=None)
    assert drawn(even).colors.tolist() == [[250, 226, 50, 255]] * 2  # equal values are the largest ones
    single = map_document(map_of(ROW[:1], [3]))
    (bar,) = (points for points in single.points if points.layer == "scale")
    assert np.isclose(np.ptp(bar.points[:, 2]), 1.0)  # a map without extent has a bar of one metre
    empty = map_document(map_of(ROW[:1], [0]))
    assert not empty.points and "0 (dark) to 0 (bright)" in empty.title


def test_large_maps_are_drawn_with_a_limited_number_of_points(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    result = map_of(ROW, [1, 2, 3, 4, 5])
    for most, note in ((5, None), (4, "4 of 5 voxels are drawn")):
        monkeypatch.setattr(map_scene, "_MAX_POINTS", most)
        document = map_document(result, section=None)
        points = drawn(document).points
        assert len(points) == most and (points[[0, -1]] == result.points[[0, -1]]).all()
        assert (note in document.notes) == (note is not None)


def test_configurations_that_do_not_fit_pictures_of_maps_are_refused():
    result, robot = map_of(ROW, [1] * 5), lw.load("double_pendulum")
    with pytest.raises(ValueError, match="show: q: expected the argument robot too"):
        map_document(result, q=[0.1, 0.2])
    with pytest.raises(ValueError, match=r"show: q: expected a configuration \(2,\), got an array of shape \(1, 2\)"):
        map_document(result, robot=robot, q=[[0.1, 0.2]])
    assert not map_document(result, robot=robot, q=[0.1, 0.2]).notes
    assert any("pass robot=" in note for note in map_document(result).notes)
