"""What is asked for: functions of the table, with their frames and other options named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

from linkwork._util.messages import letters
from linkwork.errors import UnknownNameError
from linkwork.kernels.owners import Subject
from linkwork.model.function_spec import ACTING, FunctionSpec, Option, Output
from linkwork.model.kernel_parameters import Parameter

__all__ = ["Request", "read_request", "read_requests"]


@dataclass(frozen=True, slots=True)
class Request:
    """A function of the table, its options, which of its optional inputs are given, and on what wrenches act."""

    row: FunctionSpec
    options: tuple[tuple[str, Any], ...] = ()  # those that are not as they are by default
    given: tuple[str, ...] = ()
    wrenches: tuple[tuple[str, str], ...] = ()  # frames on which they act, and those that they are expressed in
    parameters: tuple[Parameter, ...] = ()  # what of the robot is an input too, of all functions of a kernel

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*self.row.inputs, *self.given, *self.wrench_inputs)

    @property
    def wrench_inputs(self) -> tuple[str, ...]:
        """The names of the wrenches' inputs, each of its own."""
        result: list[str] = []
        kind = ACTING[self.row.acting]
        for frame, axes in self.wrenches:
            name = letters(f"{kind}_{frame}" if axes == "world" else f"{kind}_{frame}_in_{axes}")
            result.append(name if name not in result else f"{name}_{len(result)}")
        return tuple(result)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The results, further ones for wrenches after the others."""
        more = self.row.by_wrench
        result = () if more is None else (replace(more, name=f"{more.name}{name}") for name in self.wrench_inputs)
        return (*self.row.outputs, *result)

    @property
    def sizes(self) -> dict[str, int | str | None]:
        """The sizes of what is asked about, or the names of sizes that words pick: None where it is one and no list."""
        named, result = dict(self.options), dict[str, int | str | None]()
        for option in self.row.options:
            value = named.get(option.name, option.default)
            if option.counts:
                result[option.counted] = option.counts[option.choices.index(value)]
            elif option.counted:
                result[option.counted] = len(value) if isinstance(value, tuple) else None
        return result

    @property
    def label(self) -> str:
        """The function's name and, where it has one, its frame's: letters, digits and underscores."""
        return letters("_".join([self.row.name, *(v for key, v in self.options if key in _NAMING and type(v) is str)]))


_NAMING = ("frame", "points", "directions", "point", "direction")  # options whose names stand in labels


def read_request(subject: Subject, asked: Any, given: tuple[str, ...] = ()) -> Request:
    """What ``"mass_matrix"``, ``("jacobian", "hand")`` or ``("jacobian", "hand", {"point": "world"})`` asks for.

    Options name optional inputs too, as in ``{"gravity": True}``, and ``{"wrenches": ["hand"]}`` the frames on which
    wrenches act; ``{"wrenches": {"hand": "tool"}}`` with those that they are expressed in.

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
    known = {option.name: option for option in row.options}
    required = [option.name for option in row.options if option.required]
    options: dict[str, Any] = {}
    for part in rest:
        if isinstance(part, Mapping):
            options.update(part)
        elif required and required[0] not in options:
            options[required.pop(0)] = part
        else:
            raise TypeError(f"{name}: expected {_forms(row)}, got {asked!r}")
    wrenches = _acted_on(subject, row, options.pop(row.acting, None)) if row.wrenched else ()
    given = (*given, *(key for key in row.optional if options.get(key) is True))
    options = {key: value for key, value in options.items() if not (key in row.optional and isinstance(value, bool))}
    missing = [option.name for option in row.options if option.required and option.name not in options]
    if missing or not known.keys() >= options.keys():
        raise TypeError(f"{name}: expected {_forms(row)}, got {asked!r}")
    for key, value in options.items():
        read = known[key].read
        if read is not None:
            options[key] = value = read(name, value)
        elif known[key].choices and not any(value is word or value == word for word in known[key].choices):
            words = ", ".join(map(str, known[key].choices))
            raise ValueError(f"{name}: {key}: expected one of {words}, got {value!r}")
        if known[key].counted and isinstance(value, (list, tuple)):
            options[key] = value = tuple(value)
        for one in value if known[key].counted and isinstance(value, tuple) else (value,):
            subject.check(known[key], one, given)
    for optional in given:
        if optional not in row.optional:
            raise TypeError(f"{name}: it takes no {optional!r}, but {', '.join(row.optional) or 'nothing more'}")
    unusual = {key: value for key, value in options.items() if known[key].required or value != known[key].default}
    return Request(row, tuple(sorted(unusual.items())), given, wrenches)


def _acted_on(subject: Subject, row: FunctionSpec, wrenches: Any) -> tuple[tuple[str, str], ...]:
    """The frames on which wrenches act with those that they are expressed in, in the order of their names."""
    if wrenches is None:
        return ()
    if isinstance(wrenches, str) or not isinstance(wrenches, (Mapping, Sequence)):
        raise TypeError(
            f'{row.name}: {row.acting}: expected frames, as in ["hand"] or {{"hand": "world"}}, got {wrenches!r}'
        )
    axes = dict(wrenches) if isinstance(wrenches, Mapping) else dict.fromkeys(wrenches, "world")
    for frame, expressed_in in axes.items():
        for name in (frame, expressed_in):
            if not isinstance(name, str):
                raise TypeError(f"{row.name}: {row.acting}: expected frames' names, got {name!r}")
        subject.check(_FRAME, expressed_in)
        subject.check(Option(row.acting, names="moving frame"), frame)
    return tuple(sorted(axes.items()))


_FRAME = Option("expressed_in")


def read_requests(subject: Subject, caller: str, functions: Any) -> dict[str, Request]:
    """Requests by the names of their outputs: of one function, a list of such, or a dict of such by their names."""
    if isinstance(functions, Mapping):
        requests = {key: read_request(subject, asked) for key, asked in functions.items()}
        for key in requests:
            if not (isinstance(key, str) and key.isidentifier()) or key.startswith("_") or iskeyword(key):
                raise ValueError(f"{caller}: expected outputs named by identifiers, got {key!r}")
    else:
        asked = functions if isinstance(functions, list) else [functions]
        requests = labelled(caller, [read_request(subject, one) for one in asked])
    if not requests:
        raise ValueError(f"{caller}: functions: expected at least one function")
    return requests


def labelled(caller: str, requests: Sequence[Request]) -> dict[str, Request]:
    """Requests by the functions' names, and their frames' where one is asked for several times."""
    names = [request.row.name for request in requests]
    labelled: dict[str, Request] = {}
    for request in requests:
        label = request.row.name if names.count(request.row.name) == 1 else request.label
        if label in labelled:
            raise ValueError(
                f"{caller}: two outputs would be named {label!r}; name them with a dict, as in "
                f'{{"first": {request.row.name!r}, ...}}'
            )
        labelled[label] = request
    return labelled


def _forms(row: FunctionSpec) -> str:
    """How the function is asked for."""
    others = [option.name for option in row.options if not option.required]
    more = (*others, *row.optional, *row.acting_on[:1])
    if not row.options and not more:
        return repr(row.name)
    frame = "".join(f", {option.name}" for option in row.options if option.required)
    return f'("{row.name}"{frame}) or ("{row.name}"{frame}, {{option: value}}), options {", ".join(more)}'
