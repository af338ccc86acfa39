"""Units, margins and boxes of the voxels of a block of samples."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from linkwork._util import own_code
from linkwork.workspace import block_evaluation, voxel_counts
from linkwork.workspace.voxel_counts import VoxelCounts, sum_bits


def test_boxes_of_voxels_have_a_largest_size(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    for most in (125, 124):  # a voxel and two more on each side
        monkeypatch.setattr(voxel_counts, "MAX_CELLS", most)
        counts = VoxelCounts()
        if most == 125:
            counts._index(np.array([[4], [-7], [2]]))
        else:
            with pytest.raises(voxel_counts.BoxTooLargeError, match="over 125 voxels, more than the limit of 124"):
                counts._index(np.array([[4], [-7], [2]]))


def test_units_of_manipulability_follow_from_the_first_block(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})

    @dataclass(frozen=True)
    class Job:
        samples: int = 100
        manipulability_unit: float = 9.0

    def unit(scale):
        block = SimpleNamespace(
            configurations=lambda k: None, measures=lambda q: SimpleNamespace(scale=np.array(scale))
        )
        monkeypatch.setattr(block_evaluation, "BlockEvaluator", lambda job: block)
        return block_evaluation.with_unit(Job()).manipulability_unit

    assert (
        unit([0.0, 0.0]) == 1.0
        and unit([0.1, 0.3]) == 2.0 ** (-1 - sum_bits(100))
        and unit([3.0]) == 2.0 ** (2 - sum_bits(100))
    )


def test_margins_are_of_sampled_coordinates_with_a_range():
    tree = SimpleNamespace(q_slices=[slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 4)])
    job = SimpleNamespace(robot=SimpleNamespace(tree=tree), moving_bodies=(0, 1, 3))
    job.lower, job.upper = (-1.0, 0.5, -2.0, -np.inf), (0.5, 0.5, 2.0, 1.0)
    center, inverse = block_evaluation._limits(job)
    assert center.tolist() == [-0.25, 0.0, 0.0, 0.0] and np.allclose(inverse, [2.0 / 1.5, 0.0, 0.0, 0.0])
