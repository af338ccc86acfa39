"""Lines of an inclined ground in pictures of environments."""

from types import SimpleNamespace

import numpy as np

from linkwork.environments import rendered_frames


def test_lines_of_the_ground_are_a_grid_in_its_plane_below_all_that_is_shown():
    lines = []
    axes = SimpleNamespace(
        get_xlim=lambda: (-1.0, 3.0),
        get_ylim=lambda: (0.0, 2.0),
        get_zlim=lambda: (0.5, 1.5),
        plot=lambda *x, **options: lines.append((np.array(x).T, options["zorder"])),
    )
    middle = np.array([1.0, 1.0, 1.0])
    for normal, height in (([0.48, -0.6, 0.64], 0.3), ([0.0, 0.0, 1.0], -0.2)):
        lines.clear()
        normal = np.array(normal)
        rendered_frames._draw_ground(axes, normal, height)
        ends = np.array([line for line, _ in lines])
        assert np.abs(ends @ normal - height).max() < 1e-12 and len(lines) == 2 * rendered_frames._GROUND_LINES
        half = 0.6 * 4.0  # of the widest range
        directions = ends[:, 1] - ends[:, 0]
        assert np.abs(np.linalg.norm(directions, axis=1) - 2.0 * half).max() < 1e-12
        first, second = directions[: len(lines) // 2], directions[len(lines) // 2 :]
        assert np.abs(first @ second.T).max() < 1e-12 and np.abs(first - first[0]).max() < 1e-12
        below = middle - (normal @ middle - height) * normal
        assert np.abs(ends.mean(axis=(0, 1)) - below).max() < 1e-12
        gaps = np.diff(ends[: len(lines) // 2].mean(axis=1), axis=0)
        assert np.abs(gaps - gaps[0]).max() < 1e-12 and abs(np.abs(gaps).max()) > 0.0
        assert np.abs(ends[: len(lines) // 2].mean(axis=1)[[0, -1]] - below).max() <= half + 1e-12
        assert all(zorder < 1.0 for _, zorder in lines)
