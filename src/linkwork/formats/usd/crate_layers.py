"""Conversion of binary USD layers in another process, because a damaged file can crash the process.

USD reads some damaged files with very much memory, without end, or stops the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import Budget
from linkwork._util.reader_process import ReaderEnded, read_isolated
from linkwork._util.sandbox import is_restricted
from linkwork.formats.usd.stage_size import MAX_DEPTH

__all__ = ["layers_anew", "layers_of_request"]

_BYTES, _GROWTH = 1 << 30, 20  # [bytes] of memory of the process, and for each byte of layers
_SECONDS, _SPEED = 25, 5 << 20  # [s] least limit of its time, [bytes/s] of layers that extend it


def layers_anew(layers: Sequence[bytes], budget: Budget) -> list[bytes | str]:
    """Return each binary layer as rewritten by another process, or the message of a failure."""
    request, data = {"sizes": [*map(len, layers)]}, b"".join(layers)
    if is_restricted():  # this process reads an untrusted file: it starts no other one
        problems, arrays = layers_of_request(request, data)
    else:
        memory, seconds = _BYTES + _GROWTH * len(data), float(_SECONDS + len(data) // _SPEED)
        memory, seconds = max(memory, budget.max_memory), max(seconds, budget.max_seconds)
        larger = replace(budget, max_memory=memory, max_seconds=seconds)
        modules, task = ("linkwork.formats.usd.usd_reader", __name__), f"{__name__}:layers_of_request"
        try:
            answer = read_isolated(modules, task, request, budget=larger, data=data)
        except ReaderEnded as error:
            return [f"the process that reads the layer failed: {error}"] * len(layers)
        problems, arrays = answer.data, answer.arrays
    return [str(problem) if problem else arrays[str(k)].tobytes() for k, problem in enumerate(problems)]


def layers_of_request(request: dict[str, Any], data: bytes) -> tuple[list[str | None], dict[str, np.ndarray]]:
    """Rewrite the binary layers in ``data``.

    Return an error message or None for each layer, and the bytes of the rewritten layers.
    """
    problems: list[str | None] = []
    arrays: dict[str, np.ndarray] = {}
    begin = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "read.usdc"), Path(folder, "written.usdc")
        for k, size in enumerate(request["sizes"]):
            source.unlink(missing_ok=True)
            source.write_bytes(data[begin : begin + size])
            problems.append(_written_anew(str(source), str(target)))
            if problems[-1] is None:
                arrays[str(k)] = np.frombuffer(target.read_bytes(), np.uint8)
            begin += size
    return problems, arrays


def _written_anew(source: str, target: str) -> str | None:
    """Read the layer ``source`` and write it to ``target``; return None, or the message of the failure."""
    from pxr import Sdf

    try:
        opened = Sdf.Layer.OpenAsAnonymous(source)
        if not opened:
            return "the layer cannot be read"
        if _depth(opened) > MAX_DEPTH:
            return f"prims or names of a path are nested more than {MAX_DEPTH} levels deep"
        layer: Any = Sdf.Layer.CreateAnonymous("layer.usdc")
        layer.TransferContent(opened)
        if not layer.Export(target):
            return "the layer cannot be copied"
    except Exception as error:  # Tf.ErrorException, MemoryError
        return str(error) or type(error).__name__
    return None


def _depth(layer: Any) -> int:
    deepest, waiting = 0, [(layer.pseudoRoot, 0)]
    while waiting:
        spec, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in spec.nameChildren]
    return max(deepest, _longest_path(layer))


def _longest_path(layer: Any) -> int:
    """Return the largest number of names in a path that a relationship or connection of the layer refers to."""
    longest = 0

    def visit(path: Any) -> None:
        nonlocal longest
        spec = layer.GetPropertyAtPath(path) if path.IsPropertyPath() else None
        for key in ("targetPaths", "connectionPaths"):
            edits = spec.GetInfo(key) if spec is not None and spec.HasInfo(key) else None
            lists = () if edits is None else (edits.explicitItems, edits.prependedItems, edits.addedItems)
            for items in (*lists, *(() if edits is None else (edits.appendedItems, edits.deletedItems))):
                longest = max(longest, *(target.pathElementCount for target in items), 0)

    layer.Traverse("/", visit)
    return longest
