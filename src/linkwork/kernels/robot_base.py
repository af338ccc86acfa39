"""The base of a robot's methods: its tree, its kernels, and their calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, KeysView, Mapping
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast
from weakref import ReferenceType, ref

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

Array = ArrayLike | Mapping[str, ArrayLike]  # an array, anything NumPy converts to one, or a dict by joint name
Wrenches = Mapping[str, ArrayLike]  # (moment; force) by the frames that they act on
Axes = str | Mapping[str, str]  # the frame in which all are expressed, or one for each


def edits(method: F) -> F:
    """Decorate a method that returns an edited robot; it refuses robots with symbols among their parameters."""

    @wraps(method)
    def edited(self: Any, *arguments: Any, **named: Any) -> Any:
        if has_symbols(self._subject):
            symbols = ", ".join(str(parameter) for parameter in self._subject.parameter_values)
            raise TypeError(
                f"{method.__name__}: robot {self.name!r} has symbols for {symbols}: edit the robot first, then "
                f"set them by with_parameters"
            )
        return method(self, *arguments, **named)

    return cast(F, edited)


class RobotBase:
    """Base class of robots: the tree and its compiled kernels. Classes of methods of one subject extend it."""

    __slots__ = ("__weakref__", "_calls", "_kernels", "_subject", "_tree")

    functions: ClassVar[Mapping[str, FunctionSpec]] = MappingProxyType({})  # specifications by name

    def __init__(self, tree: Tree) -> None:
        if not isinstance(tree, Tree):
            remedy = "use linkwork.load for a file, or Robot.build or Robot.from_dh"
            raise TypeError(f"Robot: tree: expected a Tree, got {tree!r}; {remedy}")
        self._tree = tree
        self._subject = RobotOwner(tree, self.functions)
        self._calls: dict[Any, Callable[..., np.ndarray]] = {}
        self._kernels: LazyCache[Kernel] = LazyCache()

    def _trace_content(self) -> Any:
        """Return the values on which the trace of a function that calls methods of this robot depends."""
        return self._subject

    @property
    def name(self) -> str:
        """Name of the robot, from its file or its builder."""
        return self._tree.name

    @property
    def tree(self) -> Tree:
        """The tree of bodies, joints and frames."""
        return self._tree

    @property
    def nq(self) -> int:
        """Number of coordinates of a configuration."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom (size of a velocity vector)."""
        return self._tree.nv

    @property
    def configuration_space(self) -> Space:
        """The space of configurations: in `linkwork.compile`, the shape of an input that is a configuration.

        The kernel is then differentiated with respect to the tangent vector of that input, of size nv.
        """
        return configuration_space(self._subject)

    # -- calls of methods

    def _kernel(self, name: str, requests: dict[str, Request]) -> Kernel:
        """Return the kernel of the requested functions; the first call that needs a function's code compiles it."""
        key = (name, *requests.items())
        return self._kernels.get(key, lambda: compile_requests(self._subject, name, requests))

    def _prepared(self, request: Request) -> Callable[..., np.ndarray]:
        """Return the callable of a method: a kernel, with checks of arguments that the kernel does not accept."""
        call = self._calls.get(request)
        if call is None:
            kernel = self._kernel(request.label, {request.label: request})
            call = checked(self._subject, request, kernel, partial(_call_of_single, ref(self), request))
            self._calls[request] = call
        return call

    def _call_method(
        self, name: str, arrays: tuple[Any, ...], options: dict[str, Any], optional_inputs: dict[str, Any], out: Any
    ) -> Any:
        """Call a method for whose arguments no compiled call is stored.

        No call is stored before the first call, and for lists among options, optional inputs or wrenches.
        """
        row = self._subject.rows[name]
        for option in row.options:
            value = options[option.name]
            if option.counted and (isinstance(value, (list, KeysView)) or _is_array_of_names(value)):
                options[option.name] = tuple(map(str, value)) if isinstance(value, np.ndarray) else tuple(value)
        wrenches, axes = [optional_inputs.pop(key) for key in row.wrench_arguments] or (None, "world")
        optional_inputs = {key: value for key, value in optional_inputs.items() if value is not None}
        if not isinstance(axes, (str, Mapping)):
            instance(
                name,
                row.wrench_arguments[1],
                axes,
                str,
                Mapping,
                description="a frame's name, or a dict of such names by frame",
            )
        acting = tuple(_with_axes(row, wrenches, axes))
        if isinstance(axes, str) and axes != "world":
            self._tree.frame(axes)
        key: Any = (
            (name, *options.values(), *optional_inputs, *acting) if options or optional_inputs or acting else name
        )
        try:
            call = self._calls.get(key)
        except TypeError:
            self._refuse_names(name, options)
            for argument, value in options.items():
                instance(
                    name, argument, value, Hashable, description="True, False, a number, a string or a tuple of these"
                )
            raise
        arrays = (*arrays, *optional_inputs.values(), *((wrenches or {})[frame] for frame, _ in acting))
        if call is not None:
            return call(*arrays) if out is None else call(*arrays, out=out)
        requested = (name, options | ({row.wrench_argument: dict(acting)} if acting else {}))
        request = read_request(self._subject, requested, tuple(optional_inputs))
        call = lazily(self._subject, request, partial(self._prepared, request))
        result = call(*arrays) if out is None else call(*arrays, out=out)
        stored = self._calls.get(request)
        if stored is not None:  # only now: options that a function refuses are refused here, by name, each time
            self._calls[key] = stored
            required = [option.name for option in request.spec.options if option.required]
            if not (optional_inputs or acting or any(key not in required for key, _ in request.options)):
                self._calls[(name, *(options[x] for x in required)) if required else name] = stored
        return result

    def _refuse_names(self, function: str, options: Mapping[str, Any]) -> None:
        """Raise TypeError for a value that is not a name, such as a configuration in the position of a frame."""
        for option in self._subject.rows[function].options:
            value = options[option.name]
            names = value if isinstance(value, tuple) and option.counted else (value,)
            for name in () if option.choices else names:
                if not (name is None or isinstance(name, str)):
                    got = f"an array of shape {name.shape}" if isinstance(name, np.ndarray) else repr(name)
                    order = f"; pass arrays before it, as in {function}(q, {option.name})" if option.required else ""
                    article = f"a {option.names}'s name" + (" or a list of them" if option.counted else "")
                    raise TypeError(f"{function}: {option.name}: expected {article}, got {got}{order}")


def _call_of_single(reference: ReferenceType[RobotBase], request: Request) -> Callable[..., np.ndarray] | None:
    """Compile a method's kernel for calls with one sample, and return the callable that replaces the general one.

    The result is None if the robot has been deleted.
    """
    robot = reference()
    if robot is None:
        return None
    before = robot._calls[request]
    call = checked(robot._subject, request, robot._kernel(request.label, {request.label: request}))
    for key, value in list(robot._calls.items()):
        if value is before:
            robot._calls[key] = call
    return call


def _is_array_of_names(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 1


def _with_axes(row: FunctionSpec, wrenches: Any, expressed_in: Any) -> list[tuple[str, str]]:
    """Return pairs of names: the frame on which a wrench acts, and the frame in which the wrench is expressed.

    The pairs are sorted by the first name.
    """
    if wrenches is None:
        if isinstance(expressed_in, Mapping) and expressed_in:
            raise ValueError(
                f"{row.name}: {row.wrench_arguments[1]}: expected a frame's name without {row.wrench_argument}, "
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
