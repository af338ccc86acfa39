"""The command `linkwork precompile`: functions, methods and functions in files, compiled into the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_precompile_command_compiles_functions_into_the_cache(linkwork, cache: Path, tmp_path: Path) -> None:
    law = tmp_path / "law.py"
    lines = ["import linkwork as lw", "def law(robot):", "    q = robot.neutral()"]
    law.write_text("\n".join([*lines, "    lw.control.PD(robot, 1.0, 0.1)(0.0, q, q, target_q=q)"]))
    ran = linkwork("precompile", "double_pendulum", "--functions", "mass_matrix", "pose:tip", "simulate", f"{law}:law")
    assert ran.code == 0, ran.err
    assert "double_pendulum: 4 functions compiled in" in ran.out and str(cache) in ran.out
    assert any(cache.iterdir())
    again = linkwork("precompile", "double_pendulum", "--functions", "mass_matrix", "--json")
    assert json.loads(again.out)["functions"] == ["mass_matrix"]


def test_precompile_command_rejects_unknown_functions_and_a_disabled_cache(
    linkwork, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, said in (
        ("pose:tipp", "did you mean 'tip'"),
        ("mass_matrx", "did you mean 'mass_matrix'"),
        ("inverse_kinematics", "inverse_kinematics"),
        (f"{tmp_path}/none.py:law", "No such file"),
    ):
        ran = linkwork("precompile", "double_pendulum", "--functions", text)
        assert ran.code == 2 and said in ran.err, ran.err
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    ran = linkwork("precompile", "double_pendulum", "--functions", "mass_matrix")
    assert ran.code == 1 and "switched off by LINKWORK_CACHE" in ran.err
