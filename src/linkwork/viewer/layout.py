"""Several scene documents in one: side by side in a grid, with one clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.pictures import OUTPUT_ARGUMENTS, own_arguments
from linkwork._util.unknown_names import option_hint
from linkwork._util.validation import integer, name, optional, positive
from linkwork.viewer.bounds import document_bounds, moved
from linkwork.viewer.document import PATH_AXIS, Actor, Part, Prop, SceneDocument, Surface, Text
from linkwork.viewer.scenes.document_of import document_of, has_document

__all__ = ["scene_document", "side_by_side"]

_MARGIN = 1.3  # distance of documents relative to the largest
_MIN_SPACING = 0.1  # [m]
_MAX_DOCUMENTS = 100


@public
def scene_document(contents: Any, **options: Any) -> SceneDocument:
    """Return the scene document of ``contents``, a robot, a scene or a result: the content that its ``show`` shows.

    ``options`` are those of its ``show`` method without the output, such as ``frames``.  A document is returned
    unchanged.

    >>> import linkwork as lw
    >>> document = lw.viewer.scene_document(lw.load("arm7"), frames="hand")
    >>> document.title, len(document.actors[0].q)
    ('arm7', 1)

    Raises TypeError for an object that cannot be shown, and the errors of ``show``.
    """
    return _document("scene_document", "contents", contents, options)


@public(spacing=optional(positive))
def side_by_side(
    contents: Iterable[Any],
    *,
    titles: Sequence[str] | None = None,
    spacing: float | None = None,
    columns: int | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Place several robots, results or documents in a grid, and return one document with a common time bar.

    Args:
        contents: objects with a method ``show``, or documents.
        titles: labels, one for each; by default the titles of the documents.
        spacing: distance of neighbours in the grid [m]; by default a little more than the size of the largest item.
        columns: number of neighbours along y; by default all are in one line.
        title: title of the page.

    A motion that ends earlier keeps its last state.

    >>> import linkwork as lw
    >>> robots = [lw.load(name) for name in ("arm6", "arm7")]
    >>> document = lw.viewer.side_by_side(robots, spacing=1.0)
    >>> [actor.offsets[0, 1, 3].item() for actor in document.actors]
    [-0.5, 0.5]

    Raises ValueError for no contents, more than 100, and another number of titles; TypeError for an object that cannot
    be shown.
    """
    if isinstance(contents, (str, SceneDocument)) or has_document(contents):
        raise TypeError(f"side_by_side: contents: expected a list of objects to show, got {contents!r}")
    documents = [_document("side_by_side", f"contents[{k}]", content, {}) for k, content in enumerate(contents)]
    if not 1 <= len(documents) <= _MAX_DOCUMENTS:
        expected = f"1 to {_MAX_DOCUMENTS} objects"
        raise ValueError(f"side_by_side: contents: expected {expected} to show, got {len(documents)}")
    if titles is not None:
        if isinstance(titles, str) or len(titles) != len(documents):
            raise ValueError(f"side_by_side: titles: expected {len(documents)} titles, got {titles!r}")
        names = [name("side_by_side", f"titles[{k}]", title) for k, title in enumerate(titles)]
    else:
        names = [document.title for document in documents]
    bounds = [document_bounds(document) for document in documents]
    if spacing is None:
        spacing = max(_MIN_SPACING, _MARGIN * max(float((high - low)[:2].max()) for low, high in bounds))
    across = len(documents) if columns is None else integer("side_by_side", "columns", columns, least=1)
    rows = -(-len(documents) // across)
    documents = _on_common_axis(documents)
    times = _common_times(documents)
    merged = _MergedDocument()
    for k, document in enumerate(documents):
        row, column = divmod(k, across)
        in_row = min(across, len(documents) - row * across)
        shift = np.array([(0.5 * (rows - 1) - row) * spacing, (column - 0.5 * (in_row - 1)) * spacing, 0.0])
        merged.add(_resampled(document, times), shift, names[k])
        top = float(bounds[k][1][2])
        merged.texts.append(Text(names[k], shift + np.array([0.0, 0.0, top + 0.08 * spacing]), "titles"))
    heading = ", ".join(dict.fromkeys(names)) if title is None else title
    return merged.document(heading, times, documents)


def _document(caller: str, argument: str, contents: Any, options: dict[str, Any]) -> SceneDocument:
    """Return the scene document of an object. Raises TypeError for objects without one, and for unknown options."""
    if isinstance(contents, SceneDocument):
        if options:
            raise TypeError(f"{caller}: {next(iter(options))}: expected no options with a document")
        return contents
    if not has_document(contents):
        expected = "an object with a method show, such as a Robot"
        raise TypeError(f"{caller}: {argument}: expected {expected}, got {contents!r}")
    known = own_arguments(contents.show, indices=True)
    for option in options:
        if option in OUTPUT_ARGUMENTS:
            raise TypeError(f"{caller}: {option}: expected no argument of the output; pass it to show of the document")
        if option not in known:
            raise TypeError(f"{caller}: no option {option!r}; {option_hint('show', option, known)}")
    return document_of(contents, **options)


def _on_common_axis(documents: list[SceneDocument]) -> list[SceneDocument]:
    """Return documents with a common time axis: playing time [s], if the axes of moving documents differ."""
    moving = [document for document in documents if len(document.times) > 1] or documents
    axes = {("" if document.is_timed else document.axis, document.pace) for document in moving}
    axis, pace = next(iter(axes)) if len(axes) == 1 else ("time of playing [s]", 1.0)
    meaning: dict[str, Any] = {"is_timed": not axis, "axis": axis or PATH_AXIS, "pace": pace}
    return [
        replace(document, times=document.times if len(axes) == 1 else document.seconds, **meaning)
        for document in documents
    ]


def _common_times(documents: Sequence[SceneDocument]) -> np.ndarray:
    """Return the union of the times of all moving documents, sorted."""
    moving = [document.times for document in documents if len(document.times) > 1]
    return np.unique(np.concatenate(moving)) if moving else np.zeros(1)


def _resampled(document: SceneDocument, times: np.ndarray) -> SceneDocument:
    """Return a document with frames at ``times``; each shows the last frame of the document at or before that time."""
    if len(times) == len(document.times) and (times == document.times).all():
        return document
    count = len(document.times)
    index = np.clip(np.searchsorted(document.times, times, side="right") - 1, 0, count - 1)

    def at(x: np.ndarray, dimensions: int) -> np.ndarray:
        """Return an array at the new times; an array with only ``dimensions`` axes does not change with time."""
        if x.ndim == dimensions:
            return x
        return np.broadcast_to(x, (len(times), *x.shape[1:])) if count == 1 else x[index]

    return replace(
        document,
        times=times,
        actors=tuple(replace(a, q=at(a.q, 2), poses=at(a.poses, 3)) for a in document.actors),
        props=tuple(replace(p, pose=at(p.pose, 2)) for p in document.props),
        lines=tuple(replace(line, points=at(line.points, 2)) for line in document.lines),
        points=tuple(replace(p, points=at(p.points, 2)) for p in document.points),
        arrows=tuple(
            replace(a, starts=at(a.starts, 2), vectors=at(a.vectors, 2), visible=at(a.visible, 1))
            for a in document.arrows
        ),
        frames=tuple(replace(f, poses=at(f.poses, 2)) for f in document.frames),
        texts=tuple(replace(t, position=at(t.position, 1)) for t in document.texts),
        plots=tuple(replace(p, values=at(p.values, 1)) for p in document.plots),
    )


class _MergedDocument:
    """Content of several documents, each moved by a shift (3,) [m]."""

    def __init__(self) -> None:
        self.surfaces: list[Surface] = []
        self.actors: list[Actor] = []
        self.props: list[Prop] = []
        self.items: dict[str, list[Any]] = {key: [] for key in ("lines", "points", "arrows", "frames", "plots")}
        self.texts: list[Text] = []
        self._index: dict[int, int] = {}
        self._names: set[str] = set()

    def add(self, document: SceneDocument, shift: np.ndarray, title: str) -> None:
        """Add a document, moved by ``shift`` (3,) [m]; ``title`` is added to names that are already in use."""
        index = [self._of(surface) for surface in document.surfaces]
        document = moved(document, shift)

        def part(drawn_part: Part) -> Part:
            return replace(drawn_part, surface=index[drawn_part.surface])

        self.actors += [
            replace(actor, name=self._new_name(actor.name, title), parts=tuple(map(part, actor.parts)))
            for actor in document.actors
        ]
        self.props += [replace(p, surface=index[p.surface]) for p in document.props]
        for key in ("lines", "points", "arrows", "frames"):
            self.items[key] += getattr(document, key)
        self.items["plots"] += [replace(x, title=f"{title}: {x.title}") for x in document.plots]
        self.texts += document.texts

    def _of(self, surface: Surface) -> int:
        if id(surface) not in self._index:
            self._index[id(surface)] = len(self.surfaces)
            self.surfaces.append(surface)
        return self._index[id(surface)]

    def _new_name(self, actor: str, title: str) -> str:
        choices = [actor, f"{title}: {actor}"]
        choices += [f"{choices[-1]} ({k})" for k in range(2, _MAX_DOCUMENTS + 2)]
        result = next(choice for choice in choices if choice not in self._names)
        self._names.add(result)
        return result

    def document(self, title: str, times: np.ndarray, documents: Sequence[SceneDocument]) -> SceneDocument:
        notes = dict.fromkeys(note for document in documents for note in document.notes)
        return SceneDocument(
            title=title,
            times=times,
            surfaces=tuple(self.surfaces),
            actors=tuple(self.actors),
            props=tuple(self.props),
            texts=tuple(self.texts),
            hidden=frozenset.intersection(*(document.hidden for document in documents)),
            notes=tuple(notes),
            is_timed=documents[0].is_timed,
            axis=documents[0].axis,
            pace=documents[0].pace,
            **{key: tuple(values) for key, values in self.items.items()},
        )
