"""Opens a live page of a document in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.document_checks import check_document
from linkwork.viewer.live.view import View

__all__ = ["open_view"]

_MAX_PORT = 65535


@public
def open_view(document: SceneDocument, *, port: int | None = None, open_browser: bool = True) -> View:
    """Serve a live page of a document on 127.0.0.1, open it in the browser, and return its `View`.

    ``port`` is by default, and for 0, the first free one from 8080 on.  ``open_browser=False`` opens no window:
    `View.url` is the address.  On Linux without a display, none is opened either.

    Raises ImportError, with the installation command, without viser; OSError for a port that is in use; ValueError
    for a port outside of 0 to 65535, and for a document with invalid arrays.
    """
    if port is not None:
        port = integer("show", "port", port, least=0, most=_MAX_PORT) or None
    check_document("show", document)
    view = View(document, port=port)
    if open_browser and _has_display():
        webbrowser.open(view.url)
    return view


def _has_display() -> bool:
    """Return False on Linux without a display, where a browser in the terminal would stop the program."""
    if sys.platform.startswith(("win", "darwin")):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
