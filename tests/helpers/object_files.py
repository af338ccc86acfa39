"""Object files that LLVM made in earlier runs of the tests, by the text that they were made of.

linkwork's own cache is valid for one state of linkwork's source.  Most edits leave most programs as they are, and LLVM
need not repeat its work.  A run without these files, such as the first, gives the same results.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_BYTES = 512 << 20
_SUFFIX = ".object"
_DIGEST_SIZE = hashlib.sha256().digest_size


class ObjectFiles:
    """Object files in a folder, which several processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_used = True

    def install(self) -> None:
        """Let linkwork compile only modules of which the folder has no object file."""
        from linkwork.compiler.codegen import jit

        jit._emit_one = self.compiling_once(jit._emit_one)

    def compiling_once(self, compile_module: Callable[..., bytes]) -> Callable[..., bytes]:
        """Return a function that compiles a module as another does, unless the folder has its object file."""
        import llvmlite.binding as llvm

        versions = llvm.llvm_version_info, llvm.__file__, os.stat(llvm.__file__).st_mtime_ns

        def compile_once(text: str, target: Any, max_effort: int, *, assembly: bool) -> bytes:
            if assembly or not self.is_used:
                return compile_module(text, target, max_effort, assembly=assembly)
            made_by = repr((versions, target, max_effort))
            name = hashlib.sha256(f"{made_by}\n{text}".encode()).hexdigest()
            file = self.folder / f"{name}{_SUFFIX}"
            code = _read(file)
            if code is None:
                code = compile_module(text, target, max_effort, assembly=False)
                _write(file, code)
            return code

        return compile_once

    def trim(self, max_bytes: int = MAX_BYTES) -> None:
        """Remove the files that were unused longest, until the others fit."""
        states = []
        for file in self.folder.glob(f"*{_SUFFIX}*"):
            with contextlib.suppress(FileNotFoundError):  # another run beside this one
                states.append((file.stat(), file))
        total = sum(state.st_size for state, _ in states)
        for state, file in sorted(states, key=lambda item: item[0].st_mtime_ns):
            if total <= max_bytes:
                break
            file.unlink(missing_ok=True)
            total -= state.st_size


def _read(file: Path) -> bytes | None:
    """Return the content of a file, and count it as used now; None if it is missing or damaged."""
    try:
        data = file.read_bytes()
        os.utime(file)
    except OSError:
        return None
    code = data[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == data[:_DIGEST_SIZE] else None


def _write(file: Path, code: bytes) -> None:
    """Write a file at once, so that no other process reads half of it."""
    part = file.with_name(f"{file.name}.{os.urandom(8).hex()}")
    with contextlib.suppress(OSError):
        part.write_bytes(hashlib.sha256(code).digest() + code)
        part.replace(file)
