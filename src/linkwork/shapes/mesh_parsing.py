"""Triangles of mesh files from their bytes: binary STL is read here, other formats by trimesh (the `mesh` extra).

trimesh reads the bytes of an untrusted file in another process.
"""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_budget import Budget
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated

__all__ = ["extra", "parsed_triangles", "triangles_of_request"]

_STL_HEAD = 84  # bytes of a binary STL file before its triangles
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_WITHOUT_SHAPE = (b"usemtl", b"mtllib", b"o", b"g", b"s", b"vn", b"vt")  # lines of OBJ; trimesh is slow with many


def parsed_triangles(
    file: Path, kind: str, data: bytes, budget: Budget, trusted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (n, 3) and the triangles (m, 3) of a mesh file of a kind, such as ".obj", from its bytes.

    Raises ValueError for a file that cannot be read, ImportError without trimesh.
    """
    if (
        kind == ".stl"
        and len(data) >= _STL_HEAD
        and len(data) == _STL_HEAD + 50 * int.from_bytes(data[80:84], "little")
    ):
        corners = np.frombuffer(data, _STL_TRIANGLE, offset=_STL_HEAD)["corners"]
        return corners.reshape(-1, 3).astype(float), np.arange(3 * len(corners)).reshape(-1, 3)
    request = {"kind": kind}
    try:
        if trusted:
            _, arrays = triangles_of_request(request, data)
        else:
            arrays = read_isolated(
                ("trimesh", __name__), f"{__name__}:triangles_of_request", request, budget=budget, data=data
            ).arrays
        points, triangles = arrays["points"], arrays["triangles"]
        if points.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            raise ValueError(f"expected points and triangles, got shapes {points.shape} and {triangles.shape}")
    except ReaderError as error:
        raise ValueError(f"{file}: not a readable {kind[1:].upper()} file: {error}") from None
    except ReaderEnded as error:
        raise ValueError(f"{file}: the process that reads the file failed: {error}") from None
    except ImportError:
        raise
    except Exception as error:  # readers may raise anything
        raise ValueError(f"{file}: not a readable {kind[1:].upper()} file: {error}") from error
    return points, triangles


def triangles_of_request(request: dict[str, Any], data: bytes) -> tuple[None, dict[str, np.ndarray]]:
    """Return the points and the triangles in the bytes of a file of the kind of a request."""
    trimesh = extra("trimesh", "mesh", "load_mesh")
    if request["kind"] == ".obj":
        lines = data.replace(b"\\\n", b" ").splitlines()
        data = b"\n".join(line for line in lines if line.lstrip().split(maxsplit=1)[:1] not in _NO_SHAPE)
    loaded = trimesh.load_mesh(io.BytesIO(data), file_type=request["kind"][1:], process=False)
    points = np.ascontiguousarray(loaded.vertices, dtype=float)
    return None, {"points": points, "triangles": np.ascontiguousarray(loaded.faces, dtype=np.int64)}


_NO_SHAPE = [[word] for word in _WITHOUT_SHAPE]


def extra(module: str, extra: str, caller: str) -> Any:
    """Return a package outside of linkwork.  Raises ImportError, with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        remedy = f'pip install "linkwork[{extra}]"'
        raise ImportError(f"{caller} requires {module}, which is not installed: {remedy}") from error
