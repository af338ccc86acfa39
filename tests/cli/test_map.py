"""The command `linkwork map`: its output is the result of `Robot.workspace_map`."""

from __future__ import annotations

import json

import pytest

import linkwork as lw
from linkwork.workspace import WorkspaceMap


@pytest.mark.slow(every=5)
def test_map_command_prints_and_writes_the_workspace_map(linkwork, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "map.npz"
    common = ("map", "arm7", "--frame", "hand", "--samples", "2e3", "--voxel-size", "0.2", "--workers", "1")
    data = json.loads(linkwork(*common, "--output", str(path), "--json").out)
    result = lw.load("arm7").workspace_map("hand", samples=2000, voxel_size=0.2)
    assert WorkspaceMap.load(path) == result
    assert data["voxels"] == len(result) and data["volume"] == result.volume and data["samples"] == 2000
    ran = linkwork(*common, "--output", str(path))
    assert ran.code == 2 and "exists already; pass --force" in ran.err
    ran = linkwork(*common, "--output", str(path), "--force", "--plot", str(tmp_path / "map.png"))
    assert ran.code == 0 and "orientation coverage" in ran.out and (tmp_path / "map.png").stat().st_size > 1000
    for arguments, message in (
        (("--frame", "hnd"), "hand"),
        (("--samples", "1.5"), "expected an integer"),
        (("--position-limits", "elbw=0:1"), "elbow"),
        (("--output", str(tmp_path / "map.txt")), "ends in .npz, .zarr, .csv, .html, .glb or .png"),
        (("--plot", str(tmp_path / "map.txt")), "--plot: expected a file that ends in ."),
    ):
        ran = linkwork(*common, *arguments)
        assert ran.code == 2 and message in ran.err
