"""What is asked for: functions of the table, with their frames and other options named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..algorithms.row import Row
from ..errors import UnknownNameError
from .subjects import Subject

__all__ = ["Request", "labelled", "read_request"]


@dataclass(frozen=True, slots=True)
class Request:
    """A function of the table, its options, and which of its optional inputs are given."""

    row: Row
    options: tuple[tuple[str, str | None], ...] = ()  # those that are not as they are by default
    given: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*self.row.inputs, *self.given)

    @property
    def label(self) -> str:
        """The function's name and, where it has one, its frame's: letters, digits and underscores."""
        text = "_".join([self.row.name, *(str(value) for key, value in self.options if key == "frame")])
        return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)


def read_request(subject: Subject, asked: Any, given: tuple[str, ...] = ()) -> Request:
    """What ``"mass_matrix"``, ``("jacobian", "hand")`` or ``("jacobian", "hand", {"at": "world"})`` asks for.

    Raises UnknownNameError for a function or frame that is not there, ValueError for a word that no option
    has and for a function of inertias where the robot was loaded without them, TypeError for anything else.
    """
    name, *rest = asked if isinstance(asked, (tuple, list)) else (asked,)
    row = subject.rows.get(name) if isinstance(name, str) else None
    if row is None:
        meant = getattr(name, "__name__", None)
        remedy = f"functions go by their names: {meant!r}" if meant in subject.rows else ""
        raise UnknownNameError("function", name, subject.rows, remedy)
    subject.check_row(row)
    options: dict[str, Any] = {}
    for part in rest:
        if isinstance(part, Mapping):
            options.update(part)
        elif row.asks_for_a_frame and "frame" not in options:
            options["frame"] = part
        else:
            raise TypeError(f"{name}: expected {_forms(row)}, got {asked!r}")
    known = {option.name: option for option in row.options}
    missing = [option.name for option in row.options if option.required and option.name not in options]
    if missing or not known.keys() >= options.keys():
        raise TypeError(f"{name}: expected {_forms(row)}, got {asked!r}")
    for key, value in options.items():
        if known[key].choices and value not in known[key].choices:
            raise ValueError(f"{name}: {key}: expected one of {', '.join(known[key].choices)}, got {value!r}")
        subject.check(known[key], value)
    for optional in given:
        if optional not in row.optional:
            raise TypeError(f"{name}: it takes no {optional!r}, but {', '.join(row.optional) or 'nothing more'}")
    unusual = {key: value for key, value in options.items() if known[key].required or value != known[key].default}
    return Request(row, tuple(sorted(unusual.items())), given)


def labelled(requests: Sequence[Request]) -> dict[str, Request]:
    """Requests by the names of their outputs."""
    names = [request.row.name for request in requests]
    labelled: dict[str, Request] = {}
    for request in requests:
        label = request.row.name if names.count(request.row.name) == 1 else request.label
        if label in labelled:
            raise ValueError(
                f"compile: two outputs would be named {label!r}; name them with a dict, as in "
                f'{{"first": {request.row.name!r}, ...}}'
            )
        labelled[label] = request
    return labelled


def _forms(row: Row) -> str:
    """How the function is asked for."""
    if not row.options:
        return repr(row.name)
    frame = ", frame" if row.asks_for_a_frame else ""
    others = tuple(option.name for option in row.options if not option.required)
    return f'("{row.name}"{frame}) or ("{row.name}"{frame}, {{option: value}}), options {others}'
