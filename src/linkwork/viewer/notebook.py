"""Pictures in notebooks: the self-contained page of a robot or a result, in an iframe.

The page is part of the notebook's file and needs no server, so the picture also works in a viewer of notebooks and in
exported HTML.  The iframe has an origin of its own: scripts of the page reach neither the notebook nor the network.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

from linkwork._util.file_search import FileSearchError
from linkwork._util.html_tables import tag
from linkwork._util.messages import escaped, label
from linkwork.errors import PictureWarning
from linkwork.formats.description import tree_paths
from linkwork.model import Tree
from linkwork.shapes import Compound, Mesh, Shape
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.scenes.document_of import document_of

__all__ = ["inline_picture", "result_html"]

_HEIGHT = 420  # [px]
_MAX_PAGE = 4_000_000  # [bytes] of a page in a notebook
_MAX_BODIES = 300
_MAX_MESH_BYTES = 25_000_000  # of a robot's mesh files; reading more takes seconds
_MAX_LINES = 20  # of a result's text
_STYLE = f"width:100%;height:{_HEIGHT}px;border:1px solid #8884;border-radius:6px"


def result_html(contents: Any, index: tuple[int, ...] | None = None) -> str:
    """Return HTML of a result: its text, and in an iframe the page that its method ``show`` shows.

    A trajectory of plain coordinates, without a robot, is its text alone. ``index`` selects what is shown of a batch.
    """
    lines = str(contents).splitlines()
    more = [f"… and more: {len(lines)} lines in all"] if len(lines) > _MAX_LINES else []
    text = escape("\n".join(map(escaped, [*lines[:_MAX_LINES], *more])))
    shown = tag("pre", text, style="line-height: 1.2")
    motion = contents if hasattr(contents, "robot") else getattr(contents, "trajectory", None)
    robot = getattr(motion, "robot", None)
    if robot is None and hasattr(motion, "robot"):
        return tag("div", shown)  # a motion of plain coordinates
    selection = {"index": index} if index else {}
    document = partial(document_of, contents, **selection)
    picture = inline_picture(type(contents).__name__, document, getattr(robot, "tree", None))
    caption = tag("div", escape(f"of the batch, the result with the index {index} is shown")) if index else ""
    return tag("div", shown, picture, caption)


def inline_picture(name: str, document: Callable[[], SceneDocument], tree: Tree | None = None) -> str:
    """Return an iframe with the page of a document, or a note on why it is missing.

    ``tree`` is the robot of the document: one with many bodies or large mesh files has no picture, so that the display
    of a notebook's cell does not take seconds.  Errors become notes, too.
    """
    reason = "" if tree is None else _too_large(tree)
    if reason:
        return _note(reason)
    from linkwork.viewer.html.page import page_text

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PictureWarning)  # the page lists what it does not show
            page = page_text(document())
    except Exception as error:  # the display of a notebook's cell has no other place for it
        return _note(f"{type(error).__name__}: {error}")
    size = len(page.encode())
    if size > _MAX_PAGE:
        return _note(f"its page has {1e-6 * size:.1f} MB; show(html=...) writes it to a file")
    title = f"picture of {label(name)}"
    return tag("iframe", srcdoc=page, title=title, sandbox="allow-scripts", loading="lazy", style=_STYLE)


def _note(reason: str) -> str:
    return tag("div", tag("i", escape(f"no picture: {escaped(reason)}")))


def _too_large(tree: Tree) -> str:
    """Return the reason why a robot is not drawn in a notebook; "" if it is drawn."""
    if len(tree.bodies) > _MAX_BODIES:
        return f"the robot has {len(tree.bodies)} moving links, more than {_MAX_BODIES}; show() shows it"
    size = _mesh_bytes(tree)
    if size > _MAX_MESH_BYTES:
        return f"its mesh files have {1e-6 * size:.0f} MB, more than {1e-6 * _MAX_MESH_BYTES:.0f} MB; show() shows it"
    return ""


def _mesh_bytes(tree: Tree) -> int:
    """Return the total size of a robot's mesh files, of those that are found [bytes]."""
    shapes = [geometry.shape for frame in tree.frames for geometry in (*frame.visuals, *frame.collisions)]
    uris = {uri for shape in shapes for uri in _uris(shape)}
    if not uris:
        return 0
    search = tree_paths(tree)
    total = 0
    for uri in uris:
        try:
            total += os.path.getsize(search.find(uri))
        except (FileSearchError, OSError):
            continue
    return total


def _uris(shape: Shape) -> list[str]:
    if isinstance(shape, Compound):
        return [uri for part in shape.parts for uri in _uris(part.shape)]
    return [shape.uri] if isinstance(shape, Mesh) else []
