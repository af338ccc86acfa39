"""The method of `Robot` that maps the workspace of a frame."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from linkwork import Scene, workspace
from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.progress import Progress
from linkwork.kernels import Array, RobotBase

__all__ = ["WorkspaceMethods"]


class WorkspaceMethods(RobotBase):
    """The method of `Robot` that maps the workspace of a frame (see the page on workspace maps)."""

    __slots__ = ()

    @public(seed=unchecked, samples=unchecked, chunk=unchecked)
    def workspace_map(
        self,
        frame: str,
        scene: Scene | None = None,
        *,
        samples: int = 1_000_000,
        voxel_size: float = 0.05,
        relative_to: str = "world",
        approach_axis: Literal["x", "y", "z", "-x", "-y", "-z"] = "z",
        part: Literal["position", "angular", "all"] = "position",
        collision: bool | None = None,
        margin: float = 0.0,
        position_limits: Any = None,
        configuration: Array | str | None = None,
        seed: int = 0,
        workers: int | None = None,
        scheduler: Any = None,
        path: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        chunk: int | None = None,
        progress: bool | Callable[[Progress], Any] | None = False,
    ) -> workspace.WorkspaceMap:
        """Map the positions and directions that a frame reaches, by random configurations within the joint limits.

        Each configuration is counted in the voxel that contains the frame's position: a cube of side ``voxel_size``
        [m] in the axes of ``relative_to``.  The result has, for each voxel, the numbers of configurations and of
        collision-free ones, the directions of the ``approach_axis`` that occur, mean and maximum of the manipulability
        and of the inverse condition number, and the best margin to the joint limits.

        - ``samples``: number of configurations, up to 2^34.
        - ``part``: rows of the Jacobian for manipulability and condition number: "position", "angular" or "all".
        - ``collision``: check collisions between links, and with the ``scene``.  The default is True for a robot with
          collision shapes.  ``margin`` [m] is the smallest distance that counts as free.
        - ``position_limits``: (lower, upper) or a dict of pairs by name, in addition to the robot's.  Angles without
          limits are drawn from [-π, π]; lengths need limits.
        - ``configuration`` (nq,): values of the joints that do not move the frame; neutral by default.
        - ``seed``: the same seed gives the same map, bit by bit, for any number of workers, chunks and order.
        - ``workers``: number of processes; by default one for each processor, if there are enough samples.
        - ``scheduler``: address of a Dask scheduler, or a ``distributed.Client``, whose workers compute the map.
        - ``path``: file of the map, .npz or .zarr.  Chunks are stored in the folder ``path + ".chunks"`` until the map
          is complete.  A call with the same arguments continues a map that was stopped, and reads a complete one.
          ``overwrite`` first deletes the file and the chunks.
        - ``chunk``: number of samples of a chunk, rounded up to a multiple of 16384; by default about 5 s of
          computation.
        - ``progress``: True shows a bar on standard error, or a function of a `linkwork.Progress`, in samples.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7")
        >>> result = arm.workspace_map("hand", samples=20_000, voxel_size=0.1)
        >>> result.reachable([[0.5, 0.0, 0.5], [3.0, 0.0, 0.0]]).tolist()
        [True, False]

        Raises ValueError and TypeError for invalid arguments, for robots with kinematic loops, and for files of other
        maps; UnknownNameError for an unknown frame; ImportError, with the installation command, for a missing package;
        ConnectionError without a scheduler; RuntimeError if worker processes end early.
        """
        from linkwork.workspace.map_job import read_job
        from linkwork.workspace.map_run import run_map

        job = read_job(
            self,
            frame,
            scene,
            samples=samples,
            seed=seed,
            voxel_size=voxel_size,
            relative_to=relative_to,
            approach_axis=approach_axis,
            part=part,
            collision=collision,
            margin=margin,
            position_limits=position_limits,
            configuration=configuration,
        )
        result = run_map(
            job,
            workers=workers,
            scheduler=scheduler,
            path=path,
            overwrite=overwrite,
            chunk=chunk,
            progress=progress,
        )
        result._of = self, job.scene  # for pictures; not stored in files
        return result
