"""Benchmarks that measure nothing are errors: programs without output, tables without rows, invalid words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.tables.rows import NoRowsError, programs, table

import linkwork as lw
from linkwork.cli import output

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_benchmark_table_without_rows_raises_an_error() -> None:
    header, rows = ["robot", "time"], [["arm6", "1.5"], ["arm7", "2"]]
    assert table(header, rows) == output.table(header, rows)
    assert table(header, rows, markdown=True)[:3] == ["| robot | time |", "| :-- | --: |", "| arm6 | 1.5 |"]
    for markdown in (False, True):
        with pytest.raises(NoRowsError, match="nothing was measured: no rows for the table of robot, time"):
            table(header, [], markdown=markdown)


def test_all_benchmarks_print_tables_through_the_function_that_checks_for_rows() -> None:
    for path in FOLDER.rglob("*.py"):
        imported = re.search(
            r"from linkwork\.(cli\.output|_util\.messages) import .*\btable\b", path.read_text("utf-8")
        )
        assert imported is None, f"{path.name}: import table from benchmarks.tables.rows"


def test_benchmarks_compare_statuses_with_enum_members_instead_of_strings() -> None:
    words = {str(status) for status in lw.errors.Status}
    for path in FOLDER.rglob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            compared = re.search(r"\bstatus\w*\)? (?:==|!=|is|in|not in) (.*)", line)
            match = set(re.findall(r'"(\w+)"', compared[1])) if compared else set()
            assert not match, f"{path.name}: compare with members of Status, not with {match}, of which {words & match}"


@pytest.mark.slow(every=5)
def test_benchmark_program_that_prints_no_rows_exits_with_an_error() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)

    assert not {"compiler.rollouts", "distance.peers", "ik.peers", "motion.planning_peers"} & {*programs()}
    assert {"", "ik", "optimal.quadratic"} <= {*programs()}
    process = run("benchmarks.tables.targets")
    assert process.returncode == 1 and not process.stdout
    assert (
        process.stderr.startswith("benchmarks.tables.targets: no rows were printed") and ", optimal, " in process.stderr
    )
    process = run("benchmarks.ik", "--help")
    assert process.returncode == 0 and process.stdout and not process.stderr
