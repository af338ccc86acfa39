"""The page of robot files that were read: its rows are those of the command that makes them."""

from pathlib import Path

import pytest

import linkwork as lw

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.formats.robot_files import HEADER, TESTS, TOTALS_HEADER, Row, main, markdown, row, rows, summary, totals  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs" / "robot_files_read.md").read_text(encoding="utf-8").splitlines()
LISTED = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE if line.startswith("| ")}


def as_listed(one: Row) -> bool:
    """Whether a row is on the page with the same counts and outcome; deviations depend on the machine."""
    return LISTED[one.file].startswith(f"| {' | '.join(one.cells()[:8])} |")


def test_the_projects_own_robot_files_are_read_as_the_page_states():
    assert len(LISTED) > 200 and f"| {' | '.join(HEADER)} |" in PAGE and f"| {' | '.join(TOTALS_HEADER)} |" in PAGE
    folder = Path(lw.robots.path("double_pendulum")).parents[1]
    found = [*rows(folder, 1), *(one for path in TESTS[:2] for one in rows(path, 1))]
    assert len(found) > 20 and all(one.loads for one in found)
    for one in found:
        expected = "equal" if one.beside else "loads"
        assert one.outcome == expected and (as_listed(one) or (not one.beside and one.format == "urdf")), one.file
    assert {one.format for one in found} == {"urdf", "sdf", "linkwork"}


def test_mujocos_model_files_are_read_as_the_page_states(tmp_path: Path):
    """The page's rows of the package, as far as this version of it has the same files."""
    mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
    found = [one for one in rows(Path(mujoco.__file__).parent, 2) if one.format == "mjcf"]
    assert found and {one.outcome for one in found} == {"equal"}
    if mujoco.__version__ == "4.0.0":
        assert all(map(as_listed, found))
    (tmp_path / "whole.xml").write_text(
        '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    (tmp_path / "part.xml").write_text('<mujoco><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>')
    part, whole = rows(tmp_path, 1)
    assert part.outcome == "not compiled by MuJoCo" and not part.is_counted and whole.outcome == "equal"
    assert summary([part, whole]).startswith("1 files, and 1 that are not counted; linkwork loads 1 (100.0 %)")


def test_refused_files_are_counted_and_files_without_a_robot_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name, text in (
        ("bad.urdf", "<robot"),
        ("launch.xml", "<launch/>"),
        ("package.xml", "<package/>"),
        ("loops.json", '{"version": 1}'),
        ("mesh.stl", "solid"),
    ):
        (tmp_path / name).write_text(text)
    (one,) = rows(tmp_path, 1)
    assert (one.outcome, one.code, one.loads) == ("refused", "XML_SYNTAX", False)
    assert totals([one])[-1][2:5] == ("1", "0", "0.0 %") and len(markdown([one])) == 10
    assert row(tmp_path / "bad.urdf", tmp_path, 1) == one
    assert main([str(tmp_path), "--json"]) == 1
    assert '"code": "XML_SYNTAX"' in capsys.readouterr().out
