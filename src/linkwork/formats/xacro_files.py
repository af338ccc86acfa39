"""Expansion of xacro files with the package xacro of ROS, in a process of its own.

A xacro file is a program: it evaluates expressions of Python, and includes any file that it names.  Expand only files
that you trust.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkwork._util.child_process import run_program
from linkwork._util.file_search import Folders, read_folders
from linkwork._util.messages import quoted
from linkwork._util.validation import shown
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.file_reading import XacroArguments, path_text, read_start, require_path

__all__ = ["expanded_xacro", "xacro_arguments"]

_MOST_SECONDS = 120.0  # of the expansion of one file
_MOST_TEXT = 4000  # characters of an error


def expanded_xacro(
    path: str | os.PathLike[str], arguments: XacroArguments | None = None, package_dirs: Folders | None = None
) -> tuple[str, list[Issue]]:
    """Return the XML text to which a xacro file expands, and warnings of arguments that it does not use.

    ``arguments`` are the values of its ``<xacro:arg>``.  ``$(find package)`` is searched like the files of a robot:
    around the file, in ``package_dirs``, and in the folders of ROS's environment variables.

    Raises ImportError without the package xacro, ModelError (XACRO, XML_SYNTAX, NOT_A_FILE) for a file that cannot be
    expanded, TypeError for invalid arguments, ValueError for folders that do not exist, and the errors of the operating
    system.
    """
    values = xacro_arguments(arguments)
    if package_dirs is not None:
        read_folders("load: package_dirs", package_dirs)
    if find_spec("xacro") is None:
        message = 'load: xacro: expanding a file needs the package xacro: pip install "linkwork[xacro]"'
        raise ImportError(message, name="xacro")
    require_path(path)
    read_start(path, 1)  # a regular file that can be read
    file = os.path.abspath(path_text(path))
    request = {"file": file, "arguments": values, "packages": _plain(package_dirs)}
    where = Location(path_text(path))
    answer = _answer(request, where)
    if "text" in answer:
        unused = [f"the file does not use the argument {quoted(name)}" for name in answer["unused"]]
        return str(answer["text"]), [Issue("XACRO", message, where) for message in unused]
    raise ModelError(_issue(answer, where, file))


def _answer(request: Mapping[str, Any], where: Location) -> dict[str, Any]:
    """Run the program that expands a file, and return its answer. Raises ModelError (XACRO) if there is none."""
    text = json.dumps({**request, "path": [os.path.abspath(entry) for entry in sys.path]})
    command = [sys.executable, "-P", "-W", "ignore", str(Path(__file__).with_name("xacro_child.py"))]
    ended = run_program(command, text.encode(), _MOST_SECONDS)
    if ended is None:
        problem = f"it did not end within {_MOST_SECONDS:g} s"
    elif ended.code:
        lines = ended.errors.decode("utf-8", "replace").strip()[-_MOST_TEXT:]
        problem = f"it ended with code {ended.code}: {lines}".strip(": ")
    else:
        try:
            answer: dict[str, Any] = json.loads(ended.output)
            return answer
        except ValueError:
            problem = "it wrote another answer"
    raise ModelError(Issue("XACRO", f"the process that expands the file failed: {problem}", where))


def _issue(answer: Mapping[str, Any], where: Location, file: str) -> Issue:
    """Return xacro's error as an issue, located in the file that xacro was reading."""
    inside = where.file if os.path.realpath(answer["file"]) == os.path.realpath(file) else answer["file"]
    text, hint = " ".join(str(answer["error"]).split())[:_MOST_TEXT], None
    if answer["kind"] == "FileSearchError" or "not found" in text:
        hint = "name the folders that contain packages: load(path, package_dirs=[...])"
    elif "Undefined substitution argument" in text or answer["kind"] == "ArgException":
        hint = "state its value: load(path, xacro=True, arguments={...})"
    code = "XML_SYNTAX" if answer["kind"] == "ExpatError" else "XACRO"
    return Issue(code, f"xacro cannot expand the file: {text}", Location(inside, answer["line"]), hint)


def xacro_arguments(arguments: XacroArguments | None) -> dict[str, str]:
    """Convert the values of arguments to text for xacro: True becomes "true". Raises TypeError for other types."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise TypeError(f"load: arguments: expected a dict by name, got {shown(arguments)}")
    result = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"load: arguments: expected names as strings, got {shown(name)}")
        if isinstance(value, bool):
            result[name] = "true" if value else "false"
        elif isinstance(value, str) or (isinstance(value, (int, float)) and math.isfinite(value)):
            result[name] = str(value)
        else:
            expected = "expected a string, a finite number or a bool"
            raise TypeError(f"load: arguments: {quoted(name)}: {expected}, got {shown(value)}")
    return result


def _plain(folders: Folders | None) -> Any:
    """Return folders as JSON data, with absolute paths, as the other process may have another working folder."""
    if folders is None:
        return None
    if isinstance(folders, Mapping):
        return {str(name): os.path.abspath(os.path.expanduser(folder)) for name, folder in folders.items()}
    if isinstance(folders, (str, os.PathLike)):
        folders = [folders]
    return [os.path.abspath(os.path.expanduser(os.fspath(folder))) for folder in folders]
