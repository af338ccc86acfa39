"""The page of robot files that were read: its rows are those of the command that makes them."""

from pathlib import Path

import pytest

import linkwork as lw

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.formats.robot_files import HEADER, TESTS, TOTALS_HEADER, Row, main, markdown, row, rows, summary, totals  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs" / "robot_files_read.md").read_text(encoding="utf-8").splitlines()
LISTED = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE if line.startswith("| ")}


def as_listed(row: Row) -> bool:
    """Return True if a row is on the page with the same counts and outcome; deviations depend on the machine."""
    return LISTED[row.file].startswith(f"| {' | '.join(row.cells()[:8])} |")


@pytest.mark.slow(every=3)
def test_bundled_robot_files_are_read_as_the_page_of_robot_files_states():
    assert len(LISTED) > 200 and f"| {' | '.join(HEADER)} |" in PAGE and f"| {' | '.join(TOTALS_HEADER)} |" in PAGE
    folder = Path(lw.robots.path("double_pendulum")).parents[1]
    results = [*rows(folder, 1), *(file_row for path in TESTS[:2] for file_row in rows(path, 1))]
    assert len(results) > 20 and all(file_row.loads for file_row in results)
    for file_row in results:
        expected = "equal" if file_row.beside else "loads"
        assert file_row.outcome == expected and (
            as_listed(file_row) or (not file_row.beside and file_row.format == "urdf")
        ), file_row.file
    assert {file_row.format for file_row in results} == {"urdf", "sdf", "linkwork"}


def test_models_in_the_mujoco_package_are_read_as_the_page_of_robot_files_states(tmp_path: Path):
    """The page's rows of the package, as far as this version of it has the same files."""
    mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
    results = [row for row in rows(Path(mujoco.__file__).parent, 2) if row.format == "mjcf"]
    assert results and {row.outcome for row in results} == {"equal"}
    if mujoco.__version__ == "4.0.0":
        assert all(map(as_listed, results))
    (tmp_path / "whole.xml").write_text(
        '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    (tmp_path / "part.xml").write_text('<mujoco><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>')
    part, whole = rows(tmp_path, 1)
    assert part.outcome == "not compiled by MuJoCo" and not part.is_counted and whole.outcome == "equal"
    assert summary([part, whole]).startswith("1 files, and 1 that are not counted; linkwork loads 1 (100.0 %)")


def test_page_of_robot_files_counts_refused_files_and_omits_files_without_a_robot(
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
    (only_row,) = rows(tmp_path, 1)
    assert (only_row.outcome, only_row.code, only_row.loads) == ("refused", "XML_SYNTAX", False)
    assert totals([only_row])[-1][2:5] == ("1", "0", "0.0 %") and len(markdown([only_row])) == 10
    assert row(tmp_path / "bad.urdf", tmp_path, 1) == only_row
    assert main([str(tmp_path), "--json"]) == 1
    assert '"code": "XML_SYNTAX"' in capsys.readouterr().out
