"""The pages on MJCF list what MuJoCo has and what was read."""

from pathlib import Path

import pytest

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.mjcf_files import HEADER, rows, summary, table  # noqa: E402

DOCS = Path(__file__).parents[3] / "docs"
LOOKS = {"", "none", "undefined", "ngeomtypes", "arrow", "arrow1", "arrow2", "line", "linebox", "label", "triangle"}


def test_the_page_names_every_kind_of_mujoco():
    text = (DOCS / "mjcf.md").read_text(encoding="utf-8")
    for name in ("mjtJoint", "mjtGeom", "mjtEq", "mjtTrn", "mjtGain", "mjtBias", "mjtDyn", "mjtSensor"):
        words = {member.partition("_")[2].lower() for member in getattr(mujoco, name).__members__}
        missing = [word for word in words - LOOKS if word not in text]
        assert missing == [], (name, missing)


def test_files_of_the_package_are_read_as_the_page_says(tmp_path):
    """The page's rows of the package mujoco, as far as this version of it has the same files."""
    page = (DOCS / "mjcf_files.md").read_text(encoding="utf-8").splitlines()
    listed = {line.split(" | ")[0].removeprefix("| "): line for line in page if line.startswith("| ")}
    assert len(listed) > 100 and f"| {' | '.join(HEADER)} |" in page
    found = [*rows(Path(mujoco.__file__).parent, 2)]
    assert found and {one.outcome for one in found} == {"equal"}
    if mujoco.__version__ == "4.0.0":
        for one in found:
            counts = " | ".join(one.cells()[:7])
            assert listed[one.file].startswith(f"| {counts} |")
    assert "linkwork loads" in summary(found) and len(table(found)) == len(found) + 2
    (tmp_path / "whole.xml").write_text(
        '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    (tmp_path / "part.xml").write_text('<mujoco><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>')
    part, whole = rows(tmp_path, 1)
    assert part.outcome == "not compiled by MuJoCo:" and whole.outcome == "equal"
    assert summary([part, whole]).startswith(f"2 files; MuJoCo {mujoco.__version__} compiles 1; linkwork loads 1")
