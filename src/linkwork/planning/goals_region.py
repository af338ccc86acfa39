"""A box of poses that a frame may end in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork.kernels.array_arguments import real_array
from linkwork.spatial.arguments import given_pose

__all__ = ["PoseRegion"]


@public
class PoseRegion:
    """Poses X · (a pose within bounds) of a frame: a task-space region.

    ``lower`` and ``upper`` are of six numbers in X's axes: roll, pitch and yaw [rad], x, y and z [m]; equal bounds fix
    one.  A cup that may stand anywhere on a board, turned anyhow about its axis, has z, roll and pitch fixed.

    Source: Berenson, Srinivasa and Kuffner, Task space regions, 2011.

    >>> import linkwork as lw
    >>> low, high = [0, 0, -3.1, -0.2, -0.2, 0], [0, 0, 3.1, 0.2, 0.2, 0]
    >>> anywhere = lw.motion.PoseRegion("hand", lw.pose((0.5, 0, 0.3)), low, high)
    >>> anywhere.sampled(5, seed=0).shape
    (5, 4, 4)
    """

    __slots__ = ("X", "frame", "lower", "upper")

    def __init__(self, frame: str, X: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Raises ValueError for what is no pose, and bounds that are no numbers or leave nothing."""
        self.frame = frame
        self.X = np.array(given_pose(X, "PoseRegion: X").elements(), dtype=float).reshape(4, 4)
        self.lower, self.upper = _six("lower", lower), _six("upper", upper)
        if (self.lower > self.upper).any():
            k = int(np.flatnonzero(self.lower > self.upper)[0])
            raise ValueError(f"PoseRegion: expected lower ≤ upper, got {self.lower[k]} and {self.upper[k]} at {k}")

    def sampled(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Poses (count, 4, 4) drawn evenly from it, by its six numbers; the same for a seed."""
        u = np.random.default_rng([seed, 5]).uniform(size=(count, 6))
        x = self.lower + u * (self.upper - self.lower)
        found: np.ndarray = self.X @ _poses(x)
        return found

    def __repr__(self) -> str:
        return f"<PoseRegion of {self.frame!r}>"


def _six(name: str, x: Any) -> np.ndarray:
    expected = f"PoseRegion: {name}: expected six finite numbers: roll, pitch, yaw [rad], x, y, z [m]"
    found = np.asarray(real_array(expected, x), dtype=float)
    if found.shape != (6,) or not np.isfinite(found).all():
        raise ValueError(f"{expected}; got {x!r}")
    return found


def _poses(x: np.ndarray) -> np.ndarray:
    """Of (n, 6) numbers: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    found = np.tile(np.eye(4), (len(x), 1, 1))
    (a, b, c), (i, j, k) = np.cos(x[:, :3]).T, np.sin(x[:, :3]).T
    found[:, 0, :3] = np.stack([c * b, c * j * i - k * a, c * j * a + k * i], axis=-1)
    found[:, 1, :3] = np.stack([k * b, k * j * i + c * a, k * j * a - c * i], axis=-1)
    found[:, 2, :3] = np.stack([-j, b * i, b * a], axis=-1)
    found[:, :3, 3] = x[:, 3:]
    return found
