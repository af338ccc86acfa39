"""Maps of a few voxels without a robot: values, slices, plots, and files with invalid descriptions."""

import numpy as np
import pytest

from helpers.stored_maps import IDENTITY
from linkwork.workspace import WorkspaceMap, map_files
from linkwork.workspace.voxel_counts import FIELDS, SparseCounts

CELLS = np.array([[-1, 2, 0], [0, -1, 5], [3, 0, 1]], dtype=np.int32)
FREE = np.array([4, 7, 2])


def small_map(cells=CELLS, **identity):
    fields = {name: np.zeros(len(cells), dtype) for name, (_, dtype) in FIELDS.items()}
    fields |= {"reached": 2 * FREE[: len(cells)], "collision_free": FREE[: len(cells)]}
    fields["manipulability_sum"] = np.array([8, 28, 6])[: len(cells)]
    return WorkspaceMap._make({**IDENTITY, **identity}, SparseCounts(cells.copy(), fields))


def test_values_of_a_map_are_those_of_its_voxels_and_zero_between_them():
    result = small_map()
    assert (result.frame, result.approach_axis, result.part, len(result)) == ("hand", "-x", "angular", 3)
    assert result.mean_manipulability.tolist() == [0.5, 1.0, 0.75] and result.volume == 3 * 0.125
    points = 0.5 * (CELLS + np.array([0.1, 0.5, 0.9]))
    assert result.at("collision_free", points).tolist() == FREE.tolist() and result.reachable(points).all()
    assert result.at("reached", [[0.1, 0.1, 0.1], [9.0, 9.0, 9.0], [-0.6, 0.4, 0.4]]).tolist() == [0, 0, 0]
    values, corner = result.grid("collision_free")
    assert corner.tolist() == [-0.5, -0.5, 0.0] and values.shape == (5, 4, 6) and values.sum() == FREE.sum()
    assert [values[tuple(cell)] for cell in CELLS - [-1, -1, 0]] == FREE.tolist()
    assert np.allclose(np.linalg.norm(result.direction_axes, axis=1), 1.0)
    assert result != small_map(seed=4) and result == small_map() and result != "map"
    empty = small_map(CELLS[:0])
    assert empty.grid("reached")[0].shape == (0, 0, 0) and (empty.grid("reached")[1] == 0.0).all()
    assert not empty.reachable(points).any()
    with pytest.raises(ValueError, match=r"WorkspaceMap.plot: expected a map with samples, got an empty one"):
        empty.plot()


def test_plots_of_a_map_show_the_voxels_in_planes_through_a_point():
    result = small_map()
    point = [0.2, -0.4, 2.6]  # in the second voxel
    axes = np.ravel(result.plot("reached", point=point))
    figure = axes[0].get_figure()
    normals = set()
    for axis in axes:
        normal = "xyz".index(axis.get_title()[0])
        right, up = ("xyz".index(label[0]) for label in (axis.get_xlabel(), axis.get_ylabel()))
        assert {right, up, normal} == {0, 1, 2} and axis.get_title() == f"{'xyz'[normal]} = {point[normal]:g} m"
        (image,) = axis.get_images()
        plane = np.ma.filled(image.get_array(), np.nan)
        low = np.array([-1, -1, 0])
        assert image.get_extent() == [0.5 * x for k in (right, up) for x in (low[k], low[k] + (5, 4, 6)[k])]
        expected = {tuple((cell - low)[[up, right]]) for cell in CELLS if cell[normal] == CELLS[1][normal]}
        assert {(int(i), int(k)) for i, k in np.argwhere(np.isfinite(plane))} == expected
        assert plane[tuple((CELLS[1] - low)[[up, right]])] == 14.0 and image.get_clim() == (0.0, 14.0)
        normals.add(normal)
    assert normals == {0, 1, 2} and len(figure.axes) == 4  # with the scale
    outside = np.ravel(result.plot(point=[9.0, 9.0, 9.0], axes=axes))
    assert all(np.isnan(np.ma.filled(axis.get_images()[-1].get_array(), np.nan)).all() for axis in outside)
    middle = {axis.get_title() for axis in np.ravel(result.plot(axes=axes))}
    assert middle == {"x = 0.75 m", "y = 0.5 m", "z = 1.5 m"}


def test_files_of_maps_with_invalid_descriptions_and_paths_are_refused(tmp_path):
    path = tmp_path / "map.npz"
    small_map().save(path)
    assert WorkspaceMap.load(path) == small_map() == WorkspaceMap.load(str(path))
    for change, words in (
        ({"frame": 3}, "frame: expected str, got 3"),
        ({"seed": 1.0}, "seed: expected int, got 1.0"),
        ({"collision": 1}, "collision: expected bool, got 1"),
        ({"margin": np.inf}, "margin: expected float, got inf"),
        ({"voxel_size": 0.0}, "voxel_size: expected a positive number, got 0.0"),
        ({"manipulability_unit": -0.25}, "manipulability_unit: expected a positive number, got -0.25"),
        ({"samples": 0}, "samples: expected a positive number, got 0"),
        ({"more": 0}, "expected a dict with the keys version, robot, "),
    ):
        with pytest.raises(ValueError, match=words):
            map_files._checked_identity({**IDENTITY, **change})
        small_map(**change).save(path)
        with pytest.raises(ValueError, match=r"WorkspaceMap.load: path: .*map.npz"):
            WorkspaceMap.load(path)
    for value in (None, [1], {name: x for name, x in IDENTITY.items() if name != "seed"}):
        with pytest.raises(ValueError, match="expected a dict with the keys version, robot, "):
            map_files._checked_identity(value)
    with pytest.raises(TypeError, match=r"WorkspaceMap.load: path: expected the path of a file, got 3"):
        WorkspaceMap.load(3)
    with pytest.raises(ValueError, match=r"expected a path that ends in .npz or .zarr, got 'map.npy'"):
        map_files.map_path("WorkspaceMap.load", "map.npy")
    with pytest.raises(FileNotFoundError, match=r"path: no directory .*missing'; create it first"):
        map_files.map_path("WorkspaceMap.save", tmp_path / "missing" / "map.npz")
    with pytest.raises(FileNotFoundError, match=r"map.zarr: no such Zarr store"):
        map_files.read_map(tmp_path / "map.zarr")
    store = tmp_path / "map.zarr"
    store.mkdir()
    (store / "thesis.txt").write_text("text")
    with pytest.raises(ValueError, match=r"map.zarr: expected a Zarr store, got another folder; pass another path"):
        map_files.remove_map(store)
    (store / "zarr.json").write_text("{}")
    map_files.remove_map(store)
    map_files.remove_map(path)
    map_files.remove_map(path)  # it does not exist
    assert [*tmp_path.iterdir()] == []
