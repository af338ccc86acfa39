"""Widths of `linkwork info` and `linkwork bench`: tables fit the terminal; a pipe gets full rows."""

from __future__ import annotations

import io
from functools import partial

import pytest

from linkwork.cli.commands import bench
from linkwork.cli.function_timings import Effort
from linkwork.cli.main import main
from linkwork.cli.output import folded, width
from oracles.example_robots import EXAMPLES, SHIPPED

ROBOTS = [*SHIPPED, *(e for e in EXAMPLES if e.name in ("panda", "tiago", "pr2", "talos", "icub", "allegro"))]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch):
    """Return a function that runs a command in a terminal of some columns and returns its lines."""

    def run(columns: int, *arguments: str) -> list[str]:
        screen = Screen()
        monkeypatch.setattr("sys.stdout", screen)
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(arguments) == 0
        return screen.getvalue().splitlines()

    return run


@pytest.mark.parametrize("example", ROBOTS, ids=str)
def test_info_fits_its_tables_to_the_width_of_the_terminal(shown, urdf, example):
    """Names shorter than three fifths of 80 columns, and all numbers, are printed in full."""
    path = urdf(example.text(), "a_robot_in_a_file_with_a_name_that_is_itself_longer_than_fifty_characters.urdf")
    options = ("--floating-base",) if example.floating else ()
    for columns in (50, 80, 133):
        lines = shown(columns, "info", path, *options)
        assert max(map(width, lines)) <= columns
    robot, text = example.robot(), "\n".join(shown(80, "info", path, *options))
    tables = text[text.index("\njoint ") :]
    names = [*(joint.name for joint in robot.joints), *robot.frames]
    assert all(f"\n{name} " in tables for name in names if len(name) <= 48)
    limits = [f"{x:.6g}" for joint in robot.joints for x in (*joint.velocity, *joint.effort) if 0.0 < x < 1e300]
    words = set(tables.split())
    assert words.issuperset(limits)


def test_info_does_not_fold_its_tables_in_a_wide_terminal_or_a_pipe(shown, linkwork, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    piped = linkwork("info", "arm7_gripper").out.splitlines()
    assert max(map(width, piped)) > 100
    assert shown(300, "info", "arm7_gripper") == piped
    assert sum(line.startswith("elbow ") for line in piped) == 1


def test_info_tree_of_a_long_chain_fits_the_terminal(shown, urdf):
    links = "".join(f'<link name="a_link_of_a_chain_{k}"/>' for k in range(60))
    joints = "".join(
        f'<joint name="the_joint_before_link_{k}" type="fixed"><parent link="a_link_of_a_chain_{k - 1}"/>'
        f'<child link="a_link_of_a_chain_{k}"/></joint>'
        for k in range(1, 60)
    )
    lines = shown(80, "info", urdf(f'<robot name="{"chain" * 60}">{links}{joints}</robot>'))
    assert max(map(width, lines)) <= 80


def test_bench_fits_its_table_to_the_width_of_the_terminal(shown, monkeypatch):
    monkeypatch.setattr(bench, "Effort", partial(Effort, at_least=1e-5))
    for columns in (60, 80):
        lines = shown(columns, "bench", "double_pendulum", "--batch", "2")
        assert max(map(width, lines)) <= columns
        assert sum(line.startswith("function ") for line in lines) > 1


def test_wide_printed_tables_are_folded():
    header = ["name", "a", "b", "none", "long"]
    rows = [["x", "1", "22", "-", "c" * 30], ["yy" * 20, "3", "4", "", "-"]]
    assert folded(header, rows, None)[0].split() == header
    wide = folded(header, rows, 90)
    assert wide[0].split() == ["name", "a", "b", "long"]
    narrow = folded(header, rows, 20, together=[(1, 2)])
    assert narrow == [
        "name          a   b",
        "------------  -  --",
        "x             1  22",
        "yyyyyyyyyyy…  3   4",
        "",
        "name    long",
        "----  ------",
        "x     ccccc…",
    ]
