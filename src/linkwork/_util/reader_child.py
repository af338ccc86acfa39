"""Program that serves requests of `read_isolated`: it imports modules, and calls a function in a restricted process.

On Linux this process forks a child for each request; the child restricts itself, and its crash does not affect this
process.  On other systems this process restricts itself, and ends after one request.  Before requests,
``prepare_process`` of each module is called: it loads parts of libraries that would otherwise be loaded at their first
use.

Standard input has one JSON text with the modules to import.  For each request, a JSON text and the request's data
follow.  Each JSON text is preceded by its length in bytes.  Standard output has a line when a request begins, and a
line with the exit code of its process.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

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
_SET_DEATH_SIGNAL = 1  # of prctl


def main() -> None:
    """Serve requests until the input ends."""
    start = _message(None)
    sys.path[:] = start["path"]
    for module in start["modules"]:
        if find_spec(module.partition(".")[0]) is not None:
            getattr(import_module(module), "prepare_process", lambda: None)()
    libraries = _libraries()
    import_module("linkwork._util.sandbox")
    gc.freeze()  # or a collection would copy all pages of a new process
    while True:
        request = _message(start["idle"])
        os.write(1, b"begins\n")
        process = os.fork() if _can_fork() else 0
        if process == 0:
            _serve(request, libraries)
        _, status = os.waitpid(process, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))


def _can_fork() -> bool:
    """Return True if this process has one thread, so that a fork of it is a whole process."""
    return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1


def _serve(request: dict[str, Any], libraries: list[str]) -> NoReturn:
    """Restrict this process, write the answer to a request, and end."""
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        os.dup2(2, 1)  # output of libraries is not an answer
        data = _bytes(request["bytes"])  # another process never has them in its memory
        os.close(0)
        _answer(request, data, libraries)
    except MemoryError:
        os.write(2, b"MemoryError")
        os._exit(1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)  # libraries may not end well within the limits


def _answer(request: dict[str, Any], data: bytes, libraries: list[str]) -> None:
    module, _, function = request["task"].partition(":")
    task = getattr(import_module(module), function)
    tempfile.tempdir = folder = request["folder"]
    os.environ.clear()
    os.environ.update(request["environment"])
    try:
        os.chdir(request["directory"])
    except OSError:  # it was deleted: relative paths lead to no file
        os.chdir(folder)
    with open(os.path.join(folder, "answer"), "r+b") as output:
        restrict = import_module("linkwork._util.sandbox").restrict
        restrict([*request["folders"], *libraries], [folder], request["memory"], request["seconds"])
        arrays: dict[str, Any] = {}
        try:
            answer, arrays = task(request["request"], data)
            listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
            head = {"data": answer, "arrays": listed}
        except MemoryError:
            raise
        except Exception as error:  # of any reader: it is raised in the other process
            head = _error(error)
        output.write(json.dumps(head).encode() + b"\n")
        for array in arrays.values():
            output.write(array.tobytes())


def _error(error: Exception) -> dict[str, Any]:
    """Return an exception as JSON data: class name, arguments, and the issues and warnings of a ModelError."""
    issues, warnings = (
        [
            (x.code, x.message, x.where.file, x.where.line, x.where.column, x.where.element, x.hint)
            for x in getattr(error, name, ())
        ]
        for name in ("issues", "warnings")
    )
    kind, arguments = type(error).__name__, [str(error)]
    if isinstance(error, OSError) and error.errno is not None:
        arguments = [error.errno, error.strerror, os.fsdecode(error.filename or "")]  # type: ignore[list-item]
    return {"error": kind, "arguments": arguments, "issues": issues, "warnings": warnings}


def _libraries() -> list[str]:
    """Return the folders of Python, of its installed packages and of the system's libraries."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_paths()[name] for name in names} | {*_SYSTEM, os.path.join(sys.base_prefix, "lib")}
    folders |= {entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages")}
    packages = [
        module for name, module in sys.modules.copy().items() if "." not in name and hasattr(module, "__path__")
    ]
    folders |= {os.path.dirname(str(module.__file__)) for module in packages if getattr(module, "__file__", None)}
    return sorted(folders)


def _message(seconds: float | None) -> Any:
    """Return the next JSON value of the input.  The process ends if input ends, or if none begins in ``seconds``."""
    if seconds is not None and os.name == "posix" and not select.select([0], [], [], seconds)[0]:
        os._exit(0)
    return json.loads(_bytes(int.from_bytes(_bytes(8), "big")))


def _bytes(count: int) -> bytes:
    """Return the next bytes of the input, and read no further.  The process ends if input ends."""
    parts = []
    while count:
        parts.append(os.read(0, min(count, 1 << 20)) or os._exit(0))
        count -= len(parts[-1])
    return b"".join(parts)


if __name__ == "__main__":
    main()
