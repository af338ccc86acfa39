"""Requests of functions: entries of the table of functions, with frames and other options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from linkwork._util.foreign_names import ROBOT, VALUES
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import letters
from linkwork._util.unknown_names import foreign_hint
from linkwork.errors import UnknownNameError
from linkwork.kernels.owners import KernelOwner
from linkwork.model.function_spec import LOADS, FunctionSpec, Option, Output

if TYPE_CHECKING:
    from linkwork.model.kernel_parameters import Parameter

__all__ = ["Request", "read_request", "read_requests"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request of one function: options, optional inputs, and the frames on which wrenches act."""

    spec: FunctionSpec
    options: tuple[tuple[str, Any], ...] = ()  # those that differ from the defaults
    optional_inputs: tuple[str, ...] = ()
    wrenches: tuple[tuple[str, str], ...] = ()  # frames on which they act, and in which they are expressed
    parameters: tuple[Parameter, ...] = ()  # parameters of the robot that are inputs, for all functions of a kernel

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*self.spec.inputs, *self.optional_inputs, *self.wrench_inputs)

    @property
    def wrench_inputs(self) -> tuple[str, ...]:
        """Names of the inputs for external wrenches, without duplicates."""
        result: list[str] = []
        kind = LOADS[self.spec.wrench_argument]
        for frame, axes in self.wrenches:
            name = letters(f"{kind}_{frame}" if axes == "world" else f"{kind}_{frame}_in_{axes}")
            result.append(name if name not in result else f"{name}_{len(result)}")
        return tuple(result)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Descriptions of the function's results, followed by its further result for each external wrench."""
        more = self.spec.per_wrench_output
        result = () if more is None else (replace(more, name=f"{more.name}{name}") for name in self.wrench_inputs)
        return (*self.spec.outputs, *result)

    @property
    def sizes(self) -> dict[str, int | str | None]:
        """Sizes of the result's dimensions that options determine, by the dimension's name.

        A size is an integer, the name of a size that the option's value selects, or None for a single frame, which
        adds no dimension.
        """
        result = dict[str, int | str | None]()
        for option in self.spec.options:
            value = self.option(option.name)
            if option.counts:
                result[option.counted] = option.counts[option.choices.index(value)]
            elif option.counted:
                result[option.counted] = len(value) if isinstance(value, tuple) else None
        return result

    def option(self, name: str) -> Any:
        """Return the value of an option, which is its default unless the request differs; None without this option."""
        defaults = (option.default for option in self.spec.options if option.name == name)
        return dict(self.options).get(name, next(defaults, None))

    @property
    def label(self) -> str:
        """The function's name, followed by its frame's name if it has a frame; only letters, digits and underscores."""
        return letters("_".join([self.spec.name, *(v for key, v in self.options if key in _NAMING and type(v) is str)]))


_NAMING = ("frame", "points", "directions", "point", "direction")  # options that are part of labels


def read_request(subject: KernelOwner, requested: Any, optional_inputs: tuple[str, ...] = ()) -> Request:
    """Return the request of ``"mass_matrix"``, ``("jacobian", "hand")`` or ``("jacobian", "hand", {...})``.

    Options name optional inputs as well, as in ``{"gravity": True}``, and ``{"wrenches": ["hand"]}`` the frames on
    which wrenches act; ``{"wrenches": {"hand": "tool"}}`` adds the frames in which they are expressed.

    Raises UnknownNameError for an unknown function or frame, ValueError for an invalid choice of an option and for a
    function of inertias if the robot was loaded without them, TypeError for anything else.
    """
    name, *parts = requested if isinstance(requested, (tuple, list)) else (requested,)
    row = subject.rows.get(name) if isinstance(name, str) else None
    if row is None:
        candidate = getattr(name, "__name__", None)
        remedy = f"pass the function's name: {candidate!r}" if candidate in subject.rows else ""
        remedy = remedy or foreign_hint(name, (ROBOT,), subject.rows)
        raise UnknownNameError("function", name, subject.rows, remedy)
    subject.check_row(row)
    known = {option.name: option for option in row.options}
    required = [option.name for option in row.options if option.required]
    options: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Mapping):
            options.update(part)
        elif required and required[0] not in options:
            options[required.pop(0)] = part
        else:
            raise TypeError(f"{name}: expected {_forms(row)}, got {requested!r}")
    wrenches = _acted_on(subject, row, options.pop(row.wrench_argument, None)) if row.takes_wrenches else ()
    optional_inputs = (*optional_inputs, *(key for key in row.optional if options.get(key) is True))
    options = {key: value for key, value in options.items() if not (key in row.optional and isinstance(value, bool))}
    missing = [option.name for option in row.options if option.required and option.name not in options]
    if missing or not known.keys() >= options.keys():
        raise TypeError(f"{name}: expected {_forms(row)}, got {requested!r}")
    for key, value in options.items():
        read = known[key].read
        if read is not None:
            options[key] = value = read(name, value)
        elif known[key].choices and not any(value is word or value == word for word in known[key].choices):
            words = ", ".join(map(str, known[key].choices))
            equivalents = VALUES.get(key, {}).get(str(value), ())
            hint = f"; use {equivalents[0]!r}" if equivalents else ""
            raise ValueError(f"{name}: {key}: expected one of {words}, got {value!r}{hint}")
        if known[key].counted and isinstance(value, (list, tuple)):
            options[key] = value = tuple(value)
        for element in value if known[key].counted and isinstance(value, tuple) else (value,):
            subject.check(known[key], element, optional_inputs)
    for optional in optional_inputs:
        if optional not in row.optional:
            raise TypeError(
                f"{name}: it has no input {optional!r}; its optional inputs are {', '.join(row.optional) or 'none'}"
            )
    unusual = {key: value for key, value in options.items() if known[key].required or value != known[key].default}
    return Request(row, tuple(sorted(unusual.items())), optional_inputs, wrenches)


def _acted_on(subject: KernelOwner, row: FunctionSpec, wrenches: Any) -> tuple[tuple[str, str], ...]:
    """Return pairs of the frame on which a wrench acts and the frame in which it is expressed, sorted by name."""
    if wrenches is None:
        return ()
    if isinstance(wrenches, str) or not isinstance(wrenches, (Mapping, Sequence)):
        raise TypeError(
            f'{row.name}: {row.wrench_argument}: expected frames, as in ["hand"] or {{"hand": "world"}}, '
            f"got {wrenches!r}"
        )
    axes = dict(wrenches) if isinstance(wrenches, Mapping) else dict.fromkeys(wrenches, "world")
    for frame, expressed_in in axes.items():
        for name in (frame, expressed_in):
            if not isinstance(name, str):
                raise TypeError(f"{row.name}: {row.wrench_argument}: expected frames' names, got {name!r}")
        subject.check(_FRAME, expressed_in)
        subject.check(Option(row.wrench_argument, names="moving frame"), frame)
    return tuple(sorted(axes.items()))


_FRAME = Option("expressed_in")


def read_requests(subject: KernelOwner, caller: str, functions: Any) -> dict[str, Request]:
    """Return requests by the names of their outputs, from one function, a list, or a dict by name."""
    if isinstance(functions, Mapping):
        requests = {key: read_request(subject, requested) for key, requested in functions.items()}
        for key in requests:
            if not (isinstance(key, str) and key.isidentifier()) or key.startswith("_") or iskeyword(key):
                raise ValueError(f"{caller}: expected outputs named by identifiers, got {key!r}")
    else:
        requested = functions if isinstance(functions, list) else [functions]
        requests = labelled(caller, [read_request(subject, request) for request in requested])
    if not requests:
        raise ValueError(f"{caller}: functions: expected at least one function")
    return requests


def labelled(caller: str, requests: Sequence[Request]) -> dict[str, Request]:
    """Return requests by the names of their outputs.

    An output has the function's name; if the function is requested several times, the frame's name follows. Raises
    ValueError if two outputs would have the same name.
    """
    names = [request.spec.name for request in requests]
    labelled: dict[str, Request] = {}
    for request in requests:
        label = request.spec.name if names.count(request.spec.name) == 1 else request.label
        if label in labelled:
            raise ValueError(
                f"{caller}: two outputs would be named {label!r}; name them with a dict, as in "
                f'{{"first": {request.spec.name!r}, ...}}'
            )
        labelled[label] = request
    return labelled


def _forms(row: FunctionSpec) -> str:
    """Return a text of the forms in which a function can be requested, for error messages."""
    optional = [option.name for option in row.options if not option.required]
    more = (*optional, *row.optional, *row.wrench_arguments[:1])
    if not row.options and not more:
        return repr(row.name)
    frame = "".join(f", {option.name}" for option in row.options if option.required)
    return f'("{row.name}"{frame}) or ("{row.name}"{frame}, {{option: value}}), options {", ".join(more)}'
