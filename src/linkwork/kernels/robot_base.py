"""What all of a robot's methods stand on: its tree, its kernels, and the calls made of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, KeysView, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.validation import instance, shown
from linkwork.errors import UnknownNameError
from linkwork.kernels.compiler_api import Kernel, Space
from linkwork.kernels.function_call import checked, lazily
from linkwork.kernels.function_kernels import compile_requests, configuration_space
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.owners import RobotOwner, has_symbols
from linkwork.model.function_spec import LOADS, FunctionSpec
from linkwork.model.tree import Tree

__all__ = ["Array", "Axes", "RobotBase", "Wrenches", "edits"]

F = TypeVar("F", bound=Callable[..., Any])

Array = ArrayLike | Mapping[str, ArrayLike]  # an array, anything NumPy makes one of, or a dict by joint name
Wrenches = Mapping[str, ArrayLike]  # (moment; force) by the frames that they act on
Axes = str | Mapping[str, str]  # the frame whose axes all are expressed in, or one for each


def edits(method: F) -> F:
    """A method that gives an edited robot: of the robot's own numbers, so none of them may be a symbol."""

    @wraps(method)
    def edited(self: Any, *arguments: Any, **named: Any) -> Any:
        if has_symbols(self._subject):
            given = ", ".join(str(parameter) for parameter in self._subject.numbers)
            raise TypeError(
                f"{method.__name__}: robot {self.name!r} has symbols for {given}: edit it first, and then put them in "
                f"by with_parameters"
            )
        return method(self, *arguments, **named)

    return cast(F, edited)


class RobotBase:
    """A tree and its kernels; a class of a subject's methods adds methods and nothing else."""

    __slots__ = ("__weakref__", "_calls", "_kernels", "_subject", "_tree")

    _functions: ClassVar[Mapping[str, FunctionSpec]] = MappingProxyType({})  # the table of a robot's functions

    def __init__(self, tree: Tree) -> None:
        if not isinstance(tree, Tree):
            made = "linkwork.load reads one from a file, Robot.build and Robot.from_dh make one of Python"
            raise TypeError(f"Robot: expected a tree, got {tree!r}; {made}")
        self._tree = tree
        self._subject = RobotOwner(tree, self._functions)
        self._calls: dict[Any, Callable[..., np.ndarray]] = {}
        self._kernels: LazyCache[Kernel] = LazyCache()

    @property
    def name(self) -> str:
        """What its file, or who built it, calls it."""
        return self._tree.name

    @property
    def tree(self) -> Tree:
        """The tree of bodies, joints and frames that the robot is made of."""
        return self._tree

    @property
    def nq(self) -> int:
        """How many numbers a configuration has."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """How many degrees of freedom there are: the numbers of a velocity."""
        return self._tree.nv

    @property
    def configuration_space(self) -> Space:
        """What configurations are points of: in `linkwork.compile`, the shape of an input that is one.

        Derivatives of the kernel by that input are then by its tangent vector, of nv numbers.
        """
        return configuration_space(self._subject)

    # -- how methods compute

    def _kernel(self, name: str, requests: dict[str, Request]) -> Kernel:
        key = (name, *requests.items())
        return self._kernels.get(key, lambda: compile_requests(self._subject, name, requests))

    def _prepared(self, request: Request) -> Callable[..., np.ndarray]:
        """What a method runs: the kernel, with a look at the arguments where the kernel is not content with them."""
        call = self._calls.get(request)
        if call is None:
            call = checked(self._subject, request, self._kernel(request.label, {request.label: request}))
            self._calls[request] = call
        return call

    def _asked(
        self, name: str, arrays: tuple[Any, ...], options: dict[str, Any], given: dict[str, Any], out: Any
    ) -> Any:
        """A method's answer where it is not at hand: with lists among its options, optional inputs or wrenches, or for
        the first time.
        """
        row = self._subject.rows[name]
        for option in row.options:
            value = options[option.name]
            if option.counted and (isinstance(value, (list, KeysView)) or _is_array_of_names(value)):
                options[option.name] = tuple(map(str, value)) if isinstance(value, np.ndarray) else tuple(value)
        wrenches, axes = [given.pop(key) for key in row.wrench_arguments] or (None, "world")
        given = {key: value for key, value in given.items() if value is not None}
        if not isinstance(axes, (str, Mapping)):
            instance(
                name, row.wrench_arguments[1], axes, str, Mapping, what="a frame's name, or a dict of them by frame"
            )
        acting = tuple(_with_axes(row, wrenches, axes))
        if isinstance(axes, str) and axes != "world":
            self._tree.frame(axes)
        key: Any = (name, *options.values(), *given, *acting) if options or given or acting else name
        try:
            call = self._calls.get(key)
        except TypeError:
            self._refuse_names(name, options)
            for argument, value in options.items():
                instance(name, argument, value, Hashable, what="a value that hashes")
            raise
        if call is None:
            asked = (name, options | ({row.wrench_argument: dict(acting)} if acting else {}))
            request = read_request(self._subject, asked, tuple(given))
            required = [option.name for option in request.row.options if option.required]

            def make() -> Callable[..., np.ndarray]:
                call = self._calls[key] = self._prepared(request)
                if not (given or acting or any(key not in required for key, _ in request.options)):
                    self._calls[(name, *(options[x] for x in required)) if required else name] = call
                return call

            call = lazily(self._subject, request, make)
        arrays = (*arrays, *given.values(), *((wrenches or {})[frame] for frame, _ in acting))
        return call(*arrays) if out is None else call(*arrays, out=out)

    def _refuse_names(self, function: str, options: Mapping[str, Any]) -> None:
        """Raise TypeError for what is no name, as where a configuration stands in the place of a frame."""
        for option in self._subject.rows[function].options:
            value = options[option.name]
            names = value if isinstance(value, tuple) and option.counted else (value,)
            for name in () if option.choices else names:
                if not (name is None or isinstance(name, str)):
                    got = f"an array of shape {name.shape}" if isinstance(name, np.ndarray) else repr(name)
                    order = f"; arrays come before it, as in {function}(q, {option.name})" if option.required else ""
                    article = f"a {option.names}'s name" + (" or a list of them" if option.counted else "")
                    raise TypeError(f"{function}: {option.name}: expected {article}, got {got}{order}")


def _is_array_of_names(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 1


def _with_axes(row: FunctionSpec, wrenches: Any, expressed_in: Any) -> list[tuple[str, str]]:
    """The frames on which wrenches act, in the order of their names, each with the frame that it is expressed in."""
    if wrenches is None:
        if isinstance(expressed_in, Mapping) and expressed_in:
            raise ValueError(
                f"{row.name}: {row.wrench_arguments[1]}: "
                f"expected a frame's name where there are no {row.wrench_argument}, "
                f"got {shown(expressed_in)}"
            )
        return []
    if not isinstance(wrenches, Mapping):
        raise TypeError(
            f'{row.name}: {row.wrench_argument}: expected a dict by frame, as in {{"hand": w}}, got {wrenches!r}'
        )
    if isinstance(expressed_in, Mapping):
        for frame in expressed_in:
            if frame not in wrenches:
                raise UnknownNameError(LOADS[row.wrench_argument], frame, wrenches)
    axes = expressed_in if isinstance(expressed_in, Mapping) else dict.fromkeys(wrenches, expressed_in)
    for name in (*wrenches, *axes.values()):
        if not isinstance(name, str):
            raise TypeError(f"{row.name}: {row.wrench_argument}: expected frames' names, got {name!r}")
    return [(frame, axes.get(frame, "world")) for frame in sorted(wrenches)]
