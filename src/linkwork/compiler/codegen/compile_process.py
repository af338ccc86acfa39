"""Program of a process that compiles LLVM IR for `background_emit`: modules come in, object files go out.

It is run as a script and imports only llvmlite.  A request is a line of JSON (``triple``, ``options`` of LLVM's target
machine, and ``sizes`` of the modules in bytes) and the modules' compressed texts.  A reply is a line of JSON (``sizes``
of the object files, or ``error``) and the object files. The first line states the versions, which must equal the
caller's. The process ends when its standard input ends, even while it compiles.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import zlib
from typing import IO, Any

import llvmlite
import llvmlite.binding as llvm

__all__ = ["versions"]


def versions() -> list[str]:
    """Return the versions of llvmlite and of LLVM, on which machine code depends."""
    return [llvmlite.__version__, repr(llvm.llvm_version_info)]


def _object_files(request: dict[str, Any], modules: list[bytes]) -> list[bytes]:
    result = []
    for packed in modules:
        text = zlib.decompress(packed).decode()
        machine = llvm.Target.from_triple(request["triple"]).create_target_machine(**request["options"])
        module = llvm.parse_assembly(text, llvm.create_context())
        module.data_layout = str(machine.target_data)
        result.append(machine.emit_object(module))
        module.close()
    return result


def _serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Compile the modules of each request from ``source`` and write the replies to ``sink``, until ``source`` ends."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _send(sink, {"versions": versions()}, [])
    requests: queue.SimpleQueue[tuple[dict[str, Any], list[bytes]]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(source, requests), daemon=True).start()
    while True:
        request, modules = requests.get()
        try:
            objects = _object_files(request, modules)
        except RuntimeError as error:
            _send(sink, {"error": str(error)}, [])
        else:
            _send(sink, {"sizes": [*map(len, objects)]}, objects)


def _receive(source: IO[bytes], requests: queue.SimpleQueue[tuple[dict[str, Any], list[bytes]]]) -> None:
    """Read requests; end the process when the source ends, which happens when the process that writes to it ends."""
    try:
        while line := source.readline():
            request = json.loads(line)
            requests.put((request, [source.read(size) for size in request["sizes"]]))
    finally:
        os._exit(0)


def _send(sink: IO[bytes], head: dict[str, Any], parts: list[bytes]) -> None:
    sink.write(json.dumps(head).encode() + b"\n")
    for part in parts:
        sink.write(part)
    sink.flush()


if __name__ == "__main__":
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
