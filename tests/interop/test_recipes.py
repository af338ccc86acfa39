"""The scripts on the page about clusters run, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"
EVERY = {"cluster": 9, "ray": 9}  # these take more than two seconds
LIBRARIES = {"joblib": "joblib", "processes": "numpy", "cluster": "distributed", "ray": "ray"}


def scripts() -> dict[str, str]:
    return dict(re.findall(r"```python\n# (\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow(every=EVERY.get(name, 3))) for name in LIBRARIES]
)
def test_scripts_of_the_cluster_page_run(name: str, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    path = tmp_path / f"{name}_script.py"
    path.write_text(scripts()[name], encoding="utf-8")
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if name == "cluster":
        assert 0.5 < float(done.stdout) < 2.0


def test_cluster_page_has_a_script_for_each_library() -> None:
    result = scripts()
    assert result.keys() == LIBRARIES.keys()
    for name, script in result.items():
        compile(script, name, "exec")
        assert 'if __name__ == "__main__":' in script  # processes that are started import the script
