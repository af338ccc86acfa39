"""The page on MJCF lists what MuJoCo has."""

from pathlib import Path

import pytest

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
DOCS = Path(__file__).parents[3] / "docs"
LOOKS = {"", "none", "undefined", "ngeomtypes", "arrow", "arrow1", "arrow2", "line", "linebox", "label", "triangle"}


def test_mjcf_page_names_every_element_kind_of_mujoco():
    text = (DOCS / "mjcf.md").read_text(encoding="utf-8")
    for name in ("mjtJoint", "mjtGeom", "mjtEq", "mjtTrn", "mjtGain", "mjtBias", "mjtDyn", "mjtSensor"):
        words = {member.partition("_")[2].lower() for member in getattr(mujoco, name).__members__}
        missing = [word for word in words - LOOKS if word not in text]
        assert missing == [], (name, missing)
