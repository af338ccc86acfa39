"""The script for type checkers (`mypy` and `pyright` at the repository's root) also runs."""

import runpy
from importlib.resources import files
from pathlib import Path


def test_script_for_type_checkers_runs(capsys):
    runpy.run_path(str(Path(__file__).with_name("user_script.py")), run_name="__main__")
    assert "frame tipp" in capsys.readouterr().out


def test_linkwork_package_declares_that_it_is_typed():
    assert files("linkwork").joinpath("py.typed").is_file()
