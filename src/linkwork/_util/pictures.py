"""Methods ``show`` of all classes: a live page in the browser, or a file of the type that an argument names.

`linkwork.viewer` makes pictures; it is imported when something is shown.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

from linkwork._util.unknown_names import option_hint
from linkwork._util.validation import boolean, integer

__all__ = [
    "OUTPUT_ARGUMENTS",
    "Output",
    "Shown",
    "check_output",
    "figure",
    "notebook_html",
    "own_arguments",
    "show",
    "show_document",
]

PathText = str | os.PathLike[str]
Point = Sequence[float]


class Output(TypedDict, total=False):
    """Arguments of all ``show`` methods that choose the output; at most one of the four files.

    ``html`` is the path of a self-contained page, ``glb`` of a glTF file, ``png`` of a picture and ``mp4`` of a film.
    Pictures and films have a ``camera`` (a view such as "front", or its position and target (3,) [m]), a ``size``
    (width, height) [pixels] and a ``theme``, "light" or "dark".  A picture shows one ``time`` [s]; a film has ``fps``
    frames a second, at ``speed`` times real time.

    Without a file, a live page is served on 127.0.0.1: ``open_browser`` opens it, and ``port`` is its TCP port, by
    default a free one.
    """

    html: PathText | None
    glb: PathText | None
    png: PathText | None
    mp4: PathText | None
    camera: str | tuple[Point, Point]
    size: tuple[int, int]
    theme: str
    time: float
    fps: float
    speed: float
    open_browser: bool
    port: int | None


_WRITERS = {  # by argument: suffixes, module, function, options
    "html": ((".html", ".htm"), "linkwork.viewer.html.page", "write_page", ()),
    "glb": ((".glb",), "linkwork.viewer.gltf", "write_glb", ()),
    "png": ((".png",), "linkwork.viewer.pictures", "write_png", ("camera", "size", "theme", "time")),
    "mp4": ((".mp4",), "linkwork.viewer.pictures", "write_mp4", ("camera", "size", "theme", "fps", "speed")),
}
_LIVE = ("open_browser", "port")
_OPTIONS = (*dict.fromkeys(name for writer in _WRITERS.values() for name in writer[3]), *_LIVE)
OUTPUT_ARGUMENTS = (*_WRITERS, *_OPTIONS)
_MAX_PORT = 65535
PICTURE_GHOSTS = 6  # transparent copies in a picture of a whole motion


class Shown:
    """Base of objects with a method ``show``: notebooks show their text and their picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return notebook_html(self)


def ghost_count(ghosts: int | None, output: Mapping[str, Any]) -> int:
    """Return the number of transparent copies of a robot that show a motion: ``ghosts``, or else a default.

    The default is `PICTURE_GHOSTS` for a picture of the whole motion, without ``time``, and 0 for other outputs.
    """
    if ghosts is not None:
        return ghosts
    return PICTURE_GHOSTS if output.get("png") is not None and output.get("time") is None else 0


def notebook_html(contents: Any, index: tuple[int, ...] | None = None) -> str:
    """Return HTML of an object with a method ``show``; see `linkwork.viewer.notebook.result_html`."""
    text: str = import_module("linkwork.viewer.notebook").result_html(contents, index)
    return text


def show(contents: Any, output: Mapping[str, Any], *selection: Any, **options: Any) -> Any:
    """Show an object in place of its method ``show``: return the `View` of a live page, or the path of a file.

    ``selection`` and ``options`` are the arguments of the object's scene, ``output`` the arguments of `Output`.  Raises
    the errors of `show_document`.
    """
    check_output("show", output, contents.show)
    document = import_module("linkwork.viewer.scenes.document_of").document_of(contents, *selection, **options)
    return show_document(document, **output)


def figure(module: str, name: str, *arguments: Any, **options: Any) -> Any:
    """Return the result of a function of `linkwork.viewer.figures`: the axes of a Matplotlib figure."""
    return getattr(import_module(f"linkwork.viewer.figures.{module}"), name)(*arguments, **options)


def check_output(caller: str, output: Mapping[str, Any], method: Callable[..., Any] | None = None) -> None:
    """Raise an error for output arguments that `show_document` does not accept, before a document is made.

    ``method`` is the function that received them; the error for an unknown argument lists this function's own
    arguments.

    Raises TypeError for an unknown argument and a value of another type, ValueError for two files, a file with options
    of the live page, a path with another suffix, and a port outside of 0 ... 65535.
    """
    for name in output:
        if name not in OUTPUT_ARGUMENTS:
            known = (*own_arguments(method), *OUTPUT_ARGUMENTS)
            raise TypeError(f"{caller}: no option {name!r}; {option_hint(caller, name, known)}")
    files = [name for name in _WRITERS if output.get(name) is not None]
    if len(files) > 1:
        raise ValueError(f"{caller}: {files[1]}: expected one file, got {files[0]} too; call {caller} for each file")
    for name in files:
        _checked_path(caller, name, output.get(name))
    taken = _WRITERS[files[0]][3] if files else _LIVE
    for option in _OPTIONS:
        if output.get(option) is not None and option not in taken:
            takers = [name for name, writer in _WRITERS.items() if option in writer[3]]
            expected = (
                f"only together with {' or '.join(takers)}" if takers else f"no option of the live page with {files[0]}"
            )
            raise ValueError(f"{caller}: {option}: expected {expected}, got {output.get(option)!r}")
    boolean(caller, "open_browser", output.get("open_browser", True))
    if output.get("port") is not None:
        integer(caller, "port", output["port"], least=0, most=_MAX_PORT)


def show_document(document: Any, *, caller: str = "show", **output: Any) -> Any:
    """Show a `SceneDocument`: return the `View` of a live page, or the path of the file that was written.

    ``output`` are the arguments of `Output`.  Raises the errors of `check_output`, OSError for a file that cannot be
    written, and ImportError with the name of the extra that is not installed.
    """
    check_output(caller, output)
    for name, (_, module, function, options) in _WRITERS.items():
        if output.get(name) is not None:
            path = _checked_path(caller, name, output[name])
            chosen = {option: output[option] for option in options if output.get(option) is not None}
            getattr(import_module(module), function)(document, path, **chosen)
            return path
    live = {name: output[name] for name in _LIVE if output.get(name) is not None}
    return import_module("linkwork.viewer.live.view").open_view(document, **live)


def own_arguments(method: Callable[..., Any] | None, *, indices: bool = False) -> list[str]:
    """Return the names of a method's arguments besides ``**output``, and with ``indices`` also that of ``*indices``."""
    parameters = {} if method is None else inspect.signature(method).parameters
    excluded = (inspect.Parameter.VAR_KEYWORD, *(() if indices else (inspect.Parameter.VAR_POSITIONAL,)))
    return [name for name, parameter in parameters.items() if parameter.kind not in excluded]


def _checked_path(caller: str, name: str, value: Any) -> Path:
    suffixes = _WRITERS[name][0]
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{caller}: {name}: expected the path of a file, got {value!r}")
    path = Path(os.fsdecode(value)).expanduser()
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{caller}: {name}: expected a path that ends in {suffixes[0]}, got {os.fspath(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{caller}: {name}: no directory {os.fspath(path.parent)!r}; create it first")
    return path
