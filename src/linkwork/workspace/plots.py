"""Plots of workspace maps with matplotlib: a value in three planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import pyplot

__all__ = ["plot_slices"]

_PLANES = ((0, 2, 1), (1, 2, 0), (0, 1, 2))  # horizontal axis, vertical axis, normal
_SIZE = (12.0, 4.2)  # [in]


def plot_slices(
    values: np.ndarray, corner: np.ndarray, size: float, point: np.ndarray | None, title: str, axes: Any
) -> Any:
    """Draw voxels (nx, ny, nz) in the planes through a point, one on each of three axes, and return these.

    ``corner`` is the lower corner of the voxels and ``size`` their side [m].
    """
    plt = pyplot()
    if axes is None:
        axes = plt.figure(figsize=_SIZE, layout="constrained").subplots(1, 3)
    middle = corner + 0.5 * size * np.array(values.shape)
    at = middle if point is None else point
    cells = np.floor(at * (1.0 / size)).astype(int) - np.rint(corner / size).astype(int)
    shown = np.where(values > 0, values.astype(float), np.nan)
    largest = float(values.max())
    image = None
    for axis, (right, up, normal) in zip(np.ravel(axes), _PLANES, strict=True):
        k = cells[normal]
        inside = 0 <= k < values.shape[normal]
        plane = np.take(shown, k, axis=normal) if inside else np.full(np.delete(values.shape, normal), np.nan)
        ends = [corner[right], corner[right] + size * values.shape[right]]
        ends += [corner[up], corner[up] + size * values.shape[up]]
        image = axis.imshow(
            plane.T, origin="lower", extent=ends, vmin=0.0, vmax=largest, interpolation="nearest", cmap="viridis"
        )
        axis.set(xlabel=f"{'xyz'[right]} [m]", ylabel=f"{'xyz'[up]} [m]")
        axis.set_title(f"{'xyz'[normal]} = {at[normal]:.3g} m")
    figure = np.ravel(axes)[0].get_figure(root=False)
    figure.colorbar(image, ax=[*np.ravel(axes)], label=title, shrink=0.8)
    return axes
