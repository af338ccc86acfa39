"""Program that writes binary layers of USD anew: a process of its own, because a damaged file can stop it.

Standard input is a JSON object: "files", pairs of a path to read and a path to write, "depth" of prims, "bytes" of
memory, "seconds" of processor time, and "path", the modules' search path.  Standard output has a line for each file:
null, or the text of an error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

__all__ = ["written_anew"]


def main() -> None:
    """Read the request, and write each layer anew."""
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    _limit(request["bytes"], request["seconds"])
    os.environ["PXR_WORK_THREAD_LIMIT"] = "1"  # each thread would take address space
    from pxr import UsdUtils

    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    for source, target in request["files"]:
        print(json.dumps(written_anew(source, target, request["depth"])), flush=True)
    delegate.TakeUncoalescedDiagnostics()


def _limit(memory: int, seconds: int) -> None:
    """Limit the memory and the processor time of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):  # a smaller limit is set
            continue


def written_anew(source: str, target: str, depth: int) -> str | None:
    """Return None after the layer was written anew, or what is wrong with it."""
    from pxr import Sdf

    try:
        opened = Sdf.Layer.OpenAsAnonymous(source)
        if not opened:
            return "the layer cannot be read"
        if _depth(opened) > depth:
            return f"prims or names of a path are nested more than {depth} levels deep"
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
    """Return the largest number of names in a path to which a relationship or a connection of the layer refers."""
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


if __name__ == "__main__":
    main()
