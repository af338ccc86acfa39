"""Program that expands one xacro file: a process of its own, because such a file can run code.

Standard input is a JSON object: "file", "arguments" by name, "packages" (null, folders, or folders by name) and "path",
the modules' search path.  Standard output is a JSON object: "text" with "unused", the names of arguments that the file
did not ask for, or "error" with "file" and "line".
"""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType
from typing import Any

__all__: list[str] = []


def main() -> None:
    """Read the request, expand the file, and write the answer."""
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    answer, sys.stdout = sys.stdout, sys.stderr  # messages of the file do not mix with the answer
    print(json.dumps(_expanded(request)), file=answer)


class _Arguments(dict[str, str]):
    """Values of arguments, and the names of the arguments that the file used."""

    names_tried: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        self.names_tried |= {str(name)}
        return super().__contains__(name)


def _expanded(request: dict[str, Any]) -> dict[str, Any]:
    import xacro

    _find_packages(request)
    arguments = _Arguments(request["arguments"])
    try:
        document = xacro.process_file(request["file"], mappings=arguments, verbosity=0)
        unused = [name for name in request["arguments"] if name not in arguments.names_tried]
        return {"text": document.toprettyxml(indent="  "), "unused": unused}
    except (Exception, SystemExit) as raised:
        error: Any = raised
        if type(cause := getattr(error, "exc", None)).__name__ == "FileSearchError":
            error = cause  # without the names of classes that xacro adds
        text = str(error) or type(error).__name__
        stack = [file for file in xacro.filestack or [] if file]
        file = os.path.abspath(stack[-1] if stack else request["file"])
        return {"error": text, "kind": type(error).__name__, "file": file, "line": getattr(error, "lineno", None)}


def _find_packages(request: dict[str, Any]) -> None:
    """Make ``$(find package)`` of xacro search packages as meshes are searched, by replacing the module of ROS."""

    def folder_of(package: str) -> str:
        from linkwork.formats.resource_paths import resource_paths

        return resource_paths(request["file"], request["packages"]).package(package)

    packages = ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = folder_of  # type: ignore[attr-defined]
    sys.modules["ament_index_python"] = ModuleType("ament_index_python")
    sys.modules["ament_index_python.packages"] = packages


if __name__ == "__main__":
    main()
