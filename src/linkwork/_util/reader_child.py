"""Program that serves one request of `read_isolated`: it imports modules, restricts itself, and calls a function.

A module's function ``prepare_process`` is called before, for libraries that load parts of them at their first use.

Standard input has a line of JSON with what is imported, and later a line with the request and its bytes.  Standard
output has a line of JSON, and the bytes of arrays.
"""

from __future__ import annotations

import json
import os
import select
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__: list[str] = []

_SYSTEM = (
    "/usr/lib",
    "/lib",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
)


def main() -> None:
    """Read the request and write the answer."""
    lines = _Input()
    start = json.loads(lines.line(None))
    sys.path[:] = start["path"]
    for module in start["modules"]:
        if find_spec(module.partition(".")[0]) is not None:
            getattr(import_module(module), "prepare_process", lambda: None)()
    restrict, libraries = import_module("linkwork._util.sandbox").restrict, _libraries()
    request = json.loads(lines.line(start["idle"]))
    module, _, function = request["task"].partition(":")
    task = getattr(import_module(module), function)
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # what libraries print does not mix with the answer
    data = lines.rest()
    tempfile.tempdir = start["folder"]
    with open(os.path.join(start["folder"], "restricted"), "wb"):
        pass
    restrict([*request["folders"], *libraries], [start["folder"]], request["memory"], request["seconds"])
    arrays: dict[str, Any] = {}
    try:
        if len(data) != request["bytes"]:
            raise ValueError("the request ends early")
        answer, arrays = task(request["request"], data)
        listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
        head = {"data": answer, "arrays": listed}
    except Exception as error:  # of any reader: it is raised in the other process
        head = _error(error)
    output.write(json.dumps(head).encode() + b"\n")
    for array in arrays.values():
        output.write(array.tobytes())
    output.flush()
    os._exit(0)  # libraries may not end well within the limits


def _error(error: Exception) -> dict[str, Any]:
    """Return an error as JSON data."""
    issues = [
        (one.code, one.message, one.where.file, one.where.line, one.where.column, one.where.element, one.hint)
        for one in getattr(error, "issues", ())
    ]
    kind, arguments = type(error).__name__, [str(error)]
    if isinstance(error, OSError) and error.errno is not None:
        arguments = [error.errno, error.strerror, os.fsdecode(error.filename or "")]  # type: ignore[list-item]
    elif isinstance(error, MemoryError):
        print("MemoryError", file=sys.stderr, flush=True)
        os._exit(1)
    return {"error": kind, "arguments": arguments, "issues": issues}


def _libraries() -> list[str]:
    """Return the folders of Python, its packages and the system's libraries."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    found = {sysconfig.get_paths()[name] for name in names} | {*_SYSTEM, os.path.join(sys.base_prefix, "lib")}
    found |= {entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages")}
    packages = [
        module for name, module in sys.modules.copy().items() if "." not in name and hasattr(module, "__path__")
    ]
    found |= {os.path.dirname(str(module.__file__)) for module in packages if getattr(module, "__file__", None)}
    return sorted(found)


class _Input:
    """Standard input, read without a buffer of its own."""

    def __init__(self) -> None:
        self.read = b""

    def line(self, seconds: float | None) -> bytes:
        """Return a line.  The process ends if input ends, or if no line begins within ``seconds``."""
        if not self.read and seconds is not None and os.name == "posix":
            ready, _, _ = select.select([0], [], [], seconds)
            if not ready:
                os._exit(0)
        while b"\n" not in self.read:
            more = os.read(0, 1 << 16)
            if not more:
                os._exit(0)
            self.read += more
        result, _, self.read = self.read.partition(b"\n")
        return result

    def rest(self) -> bytes:
        """Return all that follows."""
        parts = [self.read]
        while more := os.read(0, 1 << 20):
            parts.append(more)
        return b"".join(parts)


if __name__ == "__main__":
    main()
