"""Methods generated from their signatures: only a name, arguments and a docstring are written for each.

The code of the method is generated from the signature, when the method is first accessed. A call with arrays and
required names only finds its kernel by one dictionary lookup.  A call with keywords goes to a second function, in which
Python fills in omitted keywords.  That function does one more lookup, with the options in the key.

`add_methods` composes a class of the methods of several others, which are imported when they are first accessed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial, update_wrapper
from inspect import unwrap
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import public_attribute, quick, raise_named
from linkwork._util.foreign_names import POSITIONAL_REMEDIES
from linkwork._util.lazy_imports import LazyAttribute, imported
from linkwork.model.function_spec import QUANTITIES, FunctionSpec

__all__ = ["Stub", "add_methods", "computed", "computed_through", "method_of", "named_after"]

F = TypeVar("F", bound=Callable[..., Any])


class Stub:
    """A method that is generated from a function with only a signature and a docstring.

    ``changed`` is a function of the generated method; it returns the method that replaces it.  In a class with a table
    of functions the method is generated at once.
    """

    def __init__(self, stub: Any, changed: Callable[[Any], Any]) -> None:
        self.stub, self.changed = stub, changed

    def __set_name__(self, owner: Any, name: str) -> None:
        if owner.functions:
            setattr(owner, name, self.method(owner.functions))

    def method(self, rows: Mapping[str, FunctionSpec]) -> Any:
        """Return the method that is generated from this stub; ``rows`` has the specifications of functions by name."""
        return self.changed(method_of(rows[self.stub.__name__], self.stub))


def computed(stub: F) -> F:
    """Declare that a robot's method is generated from a stub, which has only a signature and a docstring."""
    return cast(F, Stub(stub, lambda method: method))


def computed_through(changed: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator of stubs: ``changed`` receives the generated method, and returns the final method."""
    return lambda stub: cast(Any, Stub(stub, changed))


def add_methods(whole: type[Any], homes: Mapping[str, str]) -> None:
    """Add attributes that other classes define to the first base of a class; they are imported at the first access.

    Users can replace and delete them as inherited methods.  ``homes`` maps the path of each class of methods to the
    names of its attributes, in one string.
    """
    for home, names in homes.items():
        for name in names.split():
            LazyAttribute.add(whole.__bases__[0], name, partial(_adopted, name, home, whole))


def _adopted(name: str, home: str, whole: Any, _: Any) -> Any:
    """Import a class of methods, and return its attribute ``name``, named and generated as if ``whole`` defined it."""
    value = vars(imported(home))[name]
    value = value.method(whole.functions) if isinstance(value, Stub) else public_attribute(name, value)
    _name_after(whole, name, value)
    return value


def named_after(whole: type[Any]) -> None:
    """Set the class name of inherited methods to ``whole``, for messages such as "Joint.pose() missing 1 ..."."""
    for part in whole.__mro__[1:-1]:
        for name, method in vars(part).items():
            _name_after(whole, name, method)


def _name_after(whole: type[Any], name: str, method: Any) -> None:
    if isinstance(method, FunctionType):
        for callable_ in (method, unwrap(method)):
            callable_.__qualname__, callable_.__module__ = f"{whole.__name__}.{name}", whole.__module__


_MISSING = object()  # default of required arguments, which kernels refuse


def method_of(row: FunctionSpec, stub: F) -> F:
    """Return the method of a robot's function.

    The method's parameters are the function's inputs and required options.  Keyword parameters are the other options,
    optional inputs, ``wrenches`` (or another external input) with ``expressed_in``, and ``out``. Arguments that the
    stub's docstring does not mention are explained at its end. Raises TypeError for other parameters.
    """
    name = row.name
    parameters = inspect.signature(stub).parameters
    options = [option.name for option in row.options]
    optional_names = [*row.optional, *row.wrench_arguments]
    first = [*row.inputs, *(option.name for option in row.options if option.required)]
    known = {"self", *first, *options, *optional_names, "out"}
    if [*parameters][: 1 + len(first)] != ["self", *first] or {*parameters} != known:
        raise TypeError(
            f"{name}: its method has {[*parameters]}, its specification {[*first, *options, *optional_names]}"
        )
    for option in row.options:
        if not option.required and parameters[option.name].default != option.default:
            raise TypeError(f"{name}: {option.name}: its method has another default than {option.default!r}")
    keywords = [f"{key}={parameter.default!r}" for key, parameter in parameters.items() if key not in ("self", *first)]
    required = first[len(row.inputs) :]
    key = f"({name!r}, {', '.join(required)})" if required else repr(name)
    named = f"({name!r}, {', '.join(options)})" if options else repr(name)
    plain = (
        " and ".join(f"{x} is {'None' if parameters[x].default is None else f'_{x}'}" for x in optional_names) or "True"
    )
    surplus = name in POSITIONAL_REMEDIES
    absent = " or ".join(f"{x} is MISSING" for x in first) or "False"
    source = f"""
def with_keywords(self, {", ".join(first)}, *, {", ".join(keywords)}):
    if {plain}:
        try:
            call = self._calls.get({named})
        except TypeError:
            call = None
        if call is not None:
            return call({", ".join(row.inputs)}) if out is None else call({", ".join(row.inputs)}, out=out)
    options = {{{", ".join(f"{x!r}: {x}" for x in options)}}}
    given = {{{", ".join(f"{x!r}: {x}" for x in optional_names)}}}
    try:
        return self._call_method({name!r}, ({", ".join(row.inputs)},), options, dict(given), out)
    except ABOUT_ARGUMENTS as error:
        refuse(error, (self, {", ".join(row.inputs)}), options | given | {{"out": out}})
        raise

def {name}(self, {", ".join(f"{x}=MISSING" for x in first)}, {"*rest, " if surplus else ""}**more):
    if not {"(rest or more)" if surplus else "more"}:
        try:
            call = self._calls.get({key})
        except TypeError:
            call = None
        if call is not None:
            try:
                return call({", ".join(row.inputs)})
            except ABOUT_ARGUMENTS:
                if not ({absent}):
                    raise
    if {absent}:
        error = TypeError("Robot.{name}() is called without a required argument: {", ".join(first)}")
        passed = {{{", ".join(f"{x!r}: {x}" for x in first)}}}
        refuse(error, (self,), {{key: x for key, x in passed.items() if x is not MISSING}} | more)
        raise error
    try:
        return with_keywords(self, {", ".join(first)}, {"*rest, " if surplus else ""}**more)
    except TypeError as error:
        if {"rest or " if surplus else ""}not OPTIONS.issuperset(more):
            refuse(error, (self, {", ".join(first)}{", *rest" if surplus else ""}), more)
        raise
"""
    namespace: dict[str, Any] = {"__name__": __name__} | {f"_{x}": parameters[x].default for x in optional_names}

    def refuse(error: Exception, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Raise the error that names the method's argument, at the user's call of the method."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals is namespace:
            frame = frame.f_back
        raise_named(error, stub, arguments, named, frame=frame)

    namespace |= {"ABOUT_ARGUMENTS": ABOUT_ARGUMENTS, "refuse": refuse, "OPTIONS": known, "MISSING": _MISSING}
    exec(compile(source, str(Path(__file__).with_name(f"<{name}>")), "exec"), namespace)
    namespace["with_keywords"].__qualname__ = f"Robot.{name}"
    method = update_wrapper(quick(namespace[name]), stub)
    method.__doc__ = with_explanations(stub.__doc__ or "", row, parameters)
    return method  # type: ignore[return-value]


# -- explanations of arguments that many functions share, for the docstrings of their methods


_TEXTS = {
    "actuators": "names of the joints that have motors; by default all joints that do not float.",
    "directions": "names of the robot's directions.",
    "expressed_in": "name of the frame in whose axes the result is.",
    "frame": "name of the frame.",
    "gravity": "gravity in the world's axes (..., 3) [m/s²]; by default the robot's own.",
    "impulses": "impulses by the frame that each acts on, (..., 6): (moment [N·m·s]; force [N·s]) at its origin.",
    "impulses_expressed_in": "name of the frame in whose axes the impulses are, or a dict of names by frame.",
    "independent": "names of the independent velocities; by default those that `minimal_coordinates` chooses.",
    "out": "array for the result, or a tuple of arrays for several results.",
    "part": 'rows that count: "all", "position" or "angular".',
    "passive": "True includes armature, damping, dry friction and springs of the joints.",
    "position_limits": "True keeps positions within the joints' limits.",
    "point": "name of the frame whose origin is the point of reference; by default the frame's own.",
    "points": "names of the robot's points.",
    "positions": "positions of points in their frames (..., 3) or (..., n, 3) [m]; by default the frames' origins.",
    "relative_to": "name of the frame relative to which the motion is.",
    "subtree": "name of a frame: only its link and all links that follow this link are included; by default all.",
    "vectors": "directions in their frames (..., 3) or (..., n, 3) [1].",
    "wrenches": "external wrenches by the frame that each acts on, (..., 6): (moment [N·m]; force [N]) at its origin.",
    "wrenches_expressed_in": "name of the frame in whose axes the wrenches are, or a dict of names by frame.",
}


def with_explanations(doc: str, row: FunctionSpec, names: Iterable[str]) -> str:
    """Return the docstring of a generated method, with a line for each of the ``names`` that it does not mention."""
    doc = inspect.cleandoc(doc)
    texts = _TEXTS | {"friction": _laws(row)}
    if "expressed_in" in row.wrench_arguments:
        texts["expressed_in"] = _TEXTS[f"{row.wrench_argument}_expressed_in"]
    lines = []
    for name in names:
        if re.search(rf"\b{name}\b", doc) is None:
            text = texts.get(name) or (f"{QUANTITIES[name].doc}." if name in QUANTITIES else "")
            lines += [f"    {name}: {text}"] if text else []
    return "\n".join([doc, "", "Args:", *lines]) if lines else doc


def _laws(row: FunctionSpec) -> str:
    """Return the explanation of a function's laws of dry friction."""
    laws = [f'"{law}"' for option in row.options if option.name == "friction" for law in option.choices]
    return f"law of dry friction: {', '.join(laws)}, or a `FrictionLaw`."
