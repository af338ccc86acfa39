"""One HTML file that shows a scene document: it has all data and code in it, and requests nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork._util.file_access import replaced
from linkwork._util.messages import escaped
from linkwork.viewer.bounds import near_origin
from linkwork.viewer.document import SceneDocument, check_document
from linkwork.viewer.html.javascript import HELPERS
from linkwork.viewer.html.scene_data import Arrays, Functions, scene_data

__all__ = ["page_text", "write_page"]

_SCRIPTS = (
    *("poses", "kinematics", "camera", "shaders", "renderer", "data", "surfaces", "actors", "scene"),
    *("elements", "sliders", "time_bar", "plots", "main"),
)

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app">
<main id="left">
<div id="stage">
<canvas id="view" tabindex="0" aria-label="3D view: drag to turn, shift and drag to move, wheel to zoom"></canvas>
<div id="labels"></div>
<div id="hint" role="tooltip" hidden></div>
<div id="top"></div>
</div>
<div id="time" role="group" aria-label="Playback" hidden></div>
</main>
<aside id="panel" aria-label="Panel" hidden></aside>
</div>
<noscript>This page shows a robot with JavaScript, which is switched off.</noscript>
<script type="application/json" id="scene">{scene}</script>
<script type="text/plain" id="arrays">{arrays}</script>
<script>{script}</script>
</body>
</html>
"""


@public
def write_page(document: SceneDocument, path: str | os.PathLike[str]) -> Path:
    """Write the document as one HTML file and return its path.

    The file needs no server, no network and no other file.  An existing file is replaced when the new one is complete.
    Raises ArgumentError and ValueError for a document that cannot be shown, and OSError if the file cannot be written.
    """
    text = page_text(document, caller="write_page")
    with replaced(path, text=True) as file:
        file.write(text)
    return Path(path)


def page_text(document: SceneDocument, *, caller: str = "page_text") -> str:
    """Return the text of the HTML file that `write_page` writes; it also works as ``srcdoc`` of an iframe."""
    check_document(caller, document)
    arrays, functions = Arrays(), Functions()
    document, origin = near_origin(document)
    scene = scene_data(document, arrays, functions) | {"origin": origin.tolist()}
    style, script = _resource("page.css"), _script(functions.source)
    text = _PAGE.format(
        policy=_policy(style, script),
        title=html.escape(escaped(document.title)),
        style=style,
        scene=_json(scene),
        arrays=arrays.text,
        script=script,
    )
    return text.encode("utf-8", "replace").decode("utf-8")  # names may have lone surrogates


def _printable(value: Any) -> Any:
    """Return ``value``, with unprintable characters of its strings as backslash escapes."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {escaped(key): _printable(content) for key, content in value.items()}
    return [_printable(content) for content in value] if isinstance(value, list | tuple) else value


def _json(scene: object) -> str:
    """Return ``scene`` as JSON that is safe inside of HTML: strings cannot end a script or a comment."""
    text = json.dumps(_printable(scene), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script(functions: str) -> str:
    parts = "\n".join(_resource(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{HELPERS}{functions}{parts}\n}})();\n'


@cache
def _resource(name: str) -> str:
    return files("linkwork.viewer.html").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the page's security policy: it runs only its own script and style, and sends no requests."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "img-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
