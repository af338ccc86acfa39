"""Results of `Robot.workspace_map`: measures by voxel, queries, files and plots."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_access import MODEL, Budget
from linkwork._util.file_search import Folders
from linkwork._util.messages import number
from linkwork._util.pictures import Output, Shown, show
from linkwork._util.plotting import Panels, pyplot
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import finite_array, one_of
from linkwork.kernels import Array, RobotBase
from linkwork.workspace.chunk_ledger import about_path
from linkwork.workspace.map_files import map_path, read_map, write_map
from linkwork.workspace.voxel_counts import NUM_DIRECTIONS, SparseCounts, bin_centers, sum_bits

__all__ = ["VALUES", "WorkspaceMap"]

VALUES = {
    "reached": "samples",
    "collision_free": "collision-free samples",
    "orientation_coverage": "orientation coverage",
    "mean_manipulability": "mean manipulability",
    "max_manipulability": "maximum manipulability",
    "mean_inverse_condition": "mean inverse condition number",
    "max_inverse_condition": "maximum inverse condition number",
    "limit_margin": "margin to joint limits",
}
"""Names of the values of a voxel, with their titles."""
_PLANES = ((0, 2, 1), (1, 2, 0), (0, 1, 2))  # horizontal axis, vertical axis, normal
_SIZE = (12.0, 4.2)  # [in]


@public
class WorkspaceMap(Shown, ReturnedValue):
    """Reachability and manipulability map of a frame: values of all voxels that random configurations reach.

    A voxel is a cube of side ``voxel_size`` [m]; the corners of voxels are multiples of it.  Arrays have one entry for
    each voxel that contains a sample, in ascending order of `cells`.  All values except `reached` are computed from
    collision-free samples, and are 0 for voxels without such samples. Without collision checks they are computed from
    all samples.
    """

    __slots__ = ("__dict__", "_fields", "_identity", "cells")

    cells: np.ndarray
    """Indices (n, 3) of the voxels: a voxel extends from ``cells * voxel_size`` to ``(cells + 1) * voxel_size``."""
    _identity: dict[str, Any]
    _fields: dict[str, np.ndarray]
    _of: tuple[Any, Any] = None, None  # robot and scene; None for a map from a file

    @classmethod
    def _make(cls, identity: dict[str, Any], counts: SparseCounts) -> Self:
        result = object.__new__(cls)
        result._identity, result.cells, result._fields = identity, counts.cells, counts.fields
        for array in (counts.cells, *counts.fields.values()):
            array.flags.writeable = False
        return result

    # -- description

    @property
    def robot(self) -> str:
        """Name of the robot."""
        return str(self._identity["robot"])

    @property
    def frame(self) -> str:
        """Name of the frame whose positions are mapped."""
        return str(self._identity["frame"])

    @property
    def relative_to(self) -> str:
        """Name of the frame in which positions and directions are expressed."""
        return str(self._identity["relative_to"])

    @property
    def samples(self) -> int:
        """Number of configurations that were drawn."""
        return int(self._identity["samples"])

    @property
    def seed(self) -> int:
        """Seed of the random numbers."""
        return int(self._identity["seed"])

    @property
    def voxel_size(self) -> float:
        """Side of a voxel [m]."""
        return float(self._identity["voxel_size"])

    @property
    def approach_axis(self) -> str:
        """Axis of the frame whose directions are counted, such as "z" or "-x"."""
        return str(self._identity["approach_axis"])

    @property
    def part(self) -> str:
        """Rows of the Jacobian whose manipulability is mapped: "position", "angular" or "all"."""
        return str(self._identity["part"])

    @property
    def collision(self) -> bool:
        """True if collisions were checked."""
        return bool(self._identity["collision"])

    # -- values of voxels

    @cached_property
    def points(self) -> np.ndarray:
        """Centres of the voxels (n, 3) in the axes of ``relative_to`` [m]."""
        return _constant((self.cells + 0.5) * self.voxel_size)

    @property
    def reached(self) -> np.ndarray:
        """Number of samples in each voxel (n,), with and without collisions."""
        return self._fields["reached"]

    @property
    def collision_free(self) -> np.ndarray:
        """Number of collision-free samples in each voxel (n,)."""
        return self._fields["collision_free"]

    @cached_property
    def directions(self) -> np.ndarray:
        """Directions of the approach axis that occur in each voxel, bools (n, 64) in the order of `direction_axes`."""
        bits = np.arange(NUM_DIRECTIONS, dtype=np.uint64)
        return _constant(self._fields["direction_bits"][:, np.newaxis] >> bits & np.uint64(1) > 0)

    @property
    def direction_axes(self) -> np.ndarray:
        """Unit vectors (64, 3) at the middle of the regions of equal area into which directions are divided."""
        return bin_centers()

    @cached_property
    def orientation_coverage(self) -> np.ndarray:
        """Fraction of the 64 directions of the approach axis that occur in each voxel (n,), from 0 to 1."""
        return _constant(self.directions.sum(axis=1) / NUM_DIRECTIONS)

    @cached_property
    def mean_manipulability(self) -> np.ndarray:
        """Mean of Yoshikawa's manipulability in each voxel (n,), in the unit of `Robot.manipulability`."""
        return self._mean("manipulability_sum", float(self._identity["manipulability_unit"]))

    @property
    def max_manipulability(self) -> np.ndarray:
        """Maximum of Yoshikawa's manipulability in each voxel (n,)."""
        return self._fields["manipulability_max"]

    @cached_property
    def mean_inverse_condition(self) -> np.ndarray:
        """Mean ratio of the smallest to the largest singular value of the Jacobian in each voxel (n,), from 0 to 1."""
        return self._mean("inverse_condition_sum", 2.0 ** -sum_bits(self.samples))

    @property
    def max_inverse_condition(self) -> np.ndarray:
        """Maximum ratio of the smallest to the largest singular value of the Jacobian in each voxel (n,)."""
        return self._fields["inverse_condition_max"]

    @property
    def limit_margin(self) -> np.ndarray:
        """Best margin to the joint limits in each voxel (n,), from 0 to 1.

        The margin of a configuration is the smallest distance of a joint from its limits, relative to half the width of
        its range: 0 at a limit, 1 if all joints are in the middle.  Joints without limits do not count.
        """
        return self._fields["limit_margin_max"]

    @cached_property
    def values(self) -> Mapping[str, np.ndarray]:
        """All values by name, (n,) each: "reached", "collision_free", "orientation_coverage", "limit_margin" and so on.

        >>> import linkwork as lw
        >>> result = lw.load("double_pendulum").workspace_map("tip", samples=1000, voxel_size=0.2)
        >>> list(result.values)[:3]
        ['reached', 'collision_free', 'orientation_coverage']
        """
        return MappingProxyType({name: getattr(self, name) for name in VALUES})

    def _mean(self, name: str, unit: float) -> np.ndarray:
        return _constant(self._fields[name] * unit / np.maximum(self.collision_free, 1))

    # -- queries

    @property
    def volume(self) -> float:
        """Volume of all voxels with a collision-free sample [m³]."""
        return int((self.collision_free > 0).sum()) * self.voxel_size**3

    def reachable(self, points: ArrayLike) -> np.ndarray:
        """Return True for points (..., 3) [m] in voxels with a collision-free sample; bools (...).

        A point in a voxel without samples may still be reachable: the fraction of such voxels falls with more samples.
        """
        return self.at("collision_free", points) > 0

    def at(self, name: str, points: ArrayLike) -> np.ndarray:
        """Return a value of the voxels that contain points (..., 3) [m], by its name in `values`; (...).

        The value is 0 outside of all voxels with samples.
        """
        values = self.values[one_of("WorkspaceMap.at", "name", name, VALUES)]
        x = finite_array("WorkspaceMap.at", "points", points, shape=("...", 3))
        cells = np.floor(x.reshape(-1, 3) * (1.0 / self.voxel_size))
        result = np.zeros(len(cells), values.dtype)
        if len(self.cells):
            low, high = self.cells.min(axis=0), self.cells.max(axis=0)
            inside = ((cells >= low) & (cells <= high)).all(axis=1)
            shape = (high - low + 1).astype(np.int64)
            cell_indices = _row_index(self.cells - low, shape)
            index = _row_index(cells[inside] - low, shape)
            row = np.minimum(np.searchsorted(cell_indices, index), len(cell_indices) - 1)
            result[inside] = np.where(cell_indices[row] == index, values[row], 0)
        return result.reshape(x.shape[:-1])

    def grid(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the value ``name`` as a dense array (nx, ny, nz) over all voxels, and the lower corner (3,) [m].

        Voxels without samples are 0.
        """
        values = self.values[one_of("WorkspaceMap.grid", "name", name, VALUES)]
        if not len(self.cells):
            return np.zeros((0, 0, 0), values.dtype), np.zeros(3)
        low, high = self.cells.min(axis=0), self.cells.max(axis=0)
        result = np.zeros(high - low + 1, values.dtype)
        result[tuple((self.cells - low).T)] = values
        return result, low * self.voxel_size

    # -- files and plots

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map to ``path``: a NumPy archive (.npz), or a Zarr store (.zarr) in chunks of 65536 voxels.

        An existing file is replaced when the new one is complete.  Zarr needs ``pip install "linkwork[map]"``.
        """
        write_map(map_path("WorkspaceMap.save", path), self._identity, SparseCounts(self.cells, self._fields))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: bool = True, budget: Budget | None = None) -> WorkspaceMap:
        """Read a map that `save` or `Robot.workspace_map` wrote to ``path``.

        With ``trusted=False``, for a file from a stranger, another process reads a Zarr store, within the memory and
        the time of ``budget``, a `linkwork.formats.Budget`.

        Raises ValueError, with the file's name, for a damaged file and for files of other kinds.
        """
        file = map_path("WorkspaceMap.load", path)
        with about_path("WorkspaceMap.load"):
            identity, counts = read_map(file, trusted=trusted, budget=MODEL if budget is None else budget)
        return cls._make(identity, counts)

    def plot(self, name: str = "collision_free", *, point: ArrayLike | None = None, axes: Any = None) -> Any:
        """Draw a value in the three planes through a point with matplotlib, and return the three axes.

        ``name`` is one of `values`; ``point`` (3,) [m] is by default the middle of the map.  ``axes`` are three
        matplotlib axes; by default those of a new figure.  Needs matplotlib: ``pip install "linkwork[figures]"``.
        """
        values, corner = self.grid(one_of("WorkspaceMap.plot", "name", name, VALUES))
        if not values.size:
            raise ValueError("WorkspaceMap.plot: expected a map with samples, got an empty one")
        at = None if point is None else finite_array("WorkspaceMap.plot", "point", point, shape=(3,), unit="m")
        return _plot_slices(values, corner, self.voxel_size, at, VALUES[name], axes)

    def show(
        self,
        name: str = "collision_free",
        *,
        robot: RobotBase | None = None,
        q: Array | None = None,
        section: str | None = "y",
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show a point for each voxel with a collision-free sample, coloured by a value, with the scales.

        ``name`` is one of `values`.  ``robot`` is shown with the map, in the configuration ``q`` (nq,), by default the
        neutral one; for a map relative to a frame, the points are where the frame is in q.  A map that
        `Robot.workspace_map` computed has its robot and its scene; for one from a file, pass the robot.  A ``section``
        "x", "y" or "z" shows the inside of the map: it leaves out the half towards the camera.  For "x" and "z" this
        is the half with larger coordinates, for "y" the half with smaller ones.  None shows all voxels, as small
        points, and so does a section across the map of a planar robot.  ``meshes`` are folders of mesh files, and
        ``title`` is the title of the page.  Returns the `linkwork.viewer.View` of a live page, or the path of a file;
        see `Robot.show` for the other arguments and the errors.
        """
        return show(self, output, name, robot=robot, q=q, section=section, meshes=meshes, title=title)

    def __len__(self) -> int:
        return len(self.cells)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkspaceMap):
            return NotImplemented
        return (
            self._identity == other._identity
            and np.array_equal(self.cells, other.cells)
            and all(np.array_equal(x, other._fields[name]) for name, x in self._fields.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._identity, self.cells, self._fields)

    def __repr__(self) -> str:
        title = f"{self.frame!r} of {self.robot!r}"
        return f"<WorkspaceMap of {title}: {self.samples} samples, {len(self)} voxels, {number(self.volume)} m³>"


def _restored(identity: dict[str, Any], cells: np.ndarray, fields: dict[str, np.ndarray]) -> WorkspaceMap:
    return WorkspaceMap._make(identity, SparseCounts(cells, fields))


def _row_index(cells: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return the flat indices (n,) of voxels (n, 3) in an array of this shape."""
    index = cells.astype(np.int64)
    result: np.ndarray = (index[:, 0] * shape[1] + index[:, 1]) * shape[2] + index[:, 2]
    return result


def _constant(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _plot_slices(
    values: np.ndarray, corner: np.ndarray, size: float, point: np.ndarray | None, title: str, axes: Any
) -> Any:
    """Draw voxels (nx, ny, nz) in the three coordinate planes through a point; return the three axes.

    ``corner`` is the lower corner of the voxels and ``size`` their side [m].
    """
    plt = pyplot()
    if axes is None:
        axes = Panels.of(plt.figure(figsize=_SIZE, layout="constrained").subplots(1, 3))
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
