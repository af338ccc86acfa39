"""Contents of robots and files as values of results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.errors import ModelError

__all__ = ["content", "noted", "outcome", "placeless", "texts"]

TESTS = Path(__file__).parents[1]


def noted(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result of a call and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    return value, [f"{x.category.__name__}: {x.message}" for x in caught]


def content(robot: lw.Robot) -> dict[str, Any]:
    """Return the text of each section of a robot's JSON file, and its report."""
    robot.save("content.json")
    sections = json.loads(Path("content.json").read_text(encoding="utf-8"))
    written = {name: json.dumps(x, ensure_ascii=False) for name, x in sections.items()}
    return placeless({**written, "report": str(robot.report)})


def outcome(call: Callable[[], lw.Robot]) -> dict[str, Any]:
    """Return the content of the robot that a call gives and its warnings, or the text of the error that it raises."""
    try:
        robot, messages = noted(call)
    except (ModelError, ValueError) as error:
        return placeless({"error": f"{type(error).__name__}: {error}"})
    return {**content(robot), "warnings": placeless(messages)}


def texts(folder: Path, pattern: str = "*") -> dict[str, str]:
    """Return the texts of the files of a folder, by name."""
    paths = sorted(path for path in folder.glob(pattern) if path.is_file() and path.name != "content.json")
    return placeless({path.name: path.read_text(encoding="utf-8") for path in paths})


def placeless(value: Any) -> Any:
    """Return a value whose texts have placeholders of the working folder and the folder of the tests."""
    if isinstance(value, str):
        return value.replace(str(Path.cwd()), "FOLDER").replace(str(TESTS), "TESTS")
    if isinstance(value, dict):
        return {key: placeless(item) for key, item in value.items()}
    return [placeless(item) for item in value] if isinstance(value, list) else value
