"""Functions of a robot with labelled arrays of xarray: `Robot.xarray`.

The inputs and results of a function follow from its specification, so every function of a robot is available.  An
argument is matched by the names of its dimensions and by their labels; the other dimensions are the batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from linkwork._util.array_collections import is_collection
from linkwork._util.lazy_imports import optional_module
from linkwork._util.messages import did_you_mean, nearest
from linkwork.errors import UnknownNameError
from linkwork.kernels import Request, RobotBase, read_request
from linkwork.model import FunctionSpec, dimensions_of, labels_of, quantity_of, units_for

__all__ = ["LabelledFunction", "LabelledFunctions", "LabelledMethods"]

_XARRAY = ("xarray", "labelled arrays need xarray", "xarray")  # the package, what needs it, and its extra
_DEGREES = frozenset(("deg", "degree", "degrees", "°"))


class LabelledFunctions:
    """The functions of a robot with labelled arrays of xarray: ``robot.xarray.inverse_dynamics(q, v, a)``.

    Each function has the name and the arguments of the robot's method, without ``out``.  It returns a
    `xarray.DataArray`, or a `xarray.Dataset` if it has several results.  Results have the labels of joints, bodies,
    axes and so on as coordinates, and units as an attribute.

    An argument is a DataArray with the dimension of its quantity ("coordinate" for q, "dof" for v, a and tau) at any
    axis.  Its labels may be in any order: they are matched with the robot's.  Its other dimensions are the batch, and
    are matched by name between arguments.  A NumPy array (..., nq) is matched by position; its leading dimension is
    named "sample".  Arrays of Dask, with or without labels, give lazy results.

    Raises UnknownNameError for a label that the robot does not have, ValueError for labels that are missing or occur
    twice, for a dimension that is missing, and for unequal labels of a batch, and the errors of the robot's method.
    """

    __slots__ = ("_robot",)

    def __init__(self, robot: Any) -> None:
        optional_module(*_XARRAY)
        self._robot = robot

    def __getattr__(self, name: str) -> LabelledFunction:
        rows = self._robot._subject.rows
        if name not in rows:
            hint = "" if name.startswith("_") else f"; {nearest(name, rows)}"
            raise AttributeError(f"robot.xarray has no function {name!r}{hint}", name=name)
        return LabelledFunction(self._robot, rows[name])

    def __dir__(self) -> list[str]:
        return sorted(self._robot._subject.rows)

    def __repr__(self) -> str:
        return f"<functions of robot {self._robot.name!r} with labelled arrays>"


class LabelledFunction:
    """One function of a robot with labelled arrays: see `LabelledFunctions`."""

    def __init__(self, robot: Any, spec: FunctionSpec) -> None:
        self._robot, self._spec = robot, spec
        self._method = getattr(robot, spec.name)
        self.__name__, self.__doc__ = spec.name, self._method.__doc__
        signature = inspect.signature(self._method)
        parameters = [x for x in signature.parameters.values() if x.name != "out"]
        self.__signature__ = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of robot {self._robot.name!r} with labelled arrays>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the labelled result of the robot's method."""
        if "out" in named:
            raise TypeError(f"{self.__name__}: out: expected no array, since labelled results are new; remove out=")
        try:
            bound = self.__signature__.bind(*arguments, **named)
        except TypeError as error:
            known = self.__signature__.parameters
            unknown = next((key for key in named if key not in known), None)
            message = str(error) if unknown is None else f"no argument named {unknown!r}"
            remedy = "" if unknown is None else did_you_mean(unknown, known)
            remedy = remedy or f"its arguments are {', '.join(known)}"
            raise TypeError(f"{self.__name__}: {message}; {remedy}") from None
        bound.apply_defaults()
        return self._labelled(bound.arguments)

    def _labelled(self, values: Mapping[str, Any]) -> Any:
        xr, spec, name = optional_module(*_XARRAY), self._spec, self.__name__
        options = {option.name: values[option.name] for option in spec.options}
        loads, axes = [values[key] for key in spec.wrench_arguments] or (None, "world")
        loads = {} if loads is None else loads
        optional = [key for key in spec.optional if values[key] is not None]
        request = self._request(options, loads, axes, optional)
        keys = [*spec.inputs, *optional]
        inputs = [(key, values[key], quantity_of(key).shape) for key in keys]
        inputs += [(f"{spec.wrench_argument}[{frame!r}]", w, (6,)) for frame, w in loads.items()]
        outputs = [_without_single_names(output.shape, request.sizes) for output in request.outputs]
        shapes = [_without_single_names(shape, request.sizes) for _, _, shape in inputs]
        reader = _Reader(xr, self._robot, name, {dim for shape in (*shapes, *outputs) for dim in dimensions_of(shape)})
        arrays = [reader.labelled(key, x, shape, request) for key, x, shape in inputs]
        reader.refuse_ambiguous_batches(arrays)

        def call(*blocks: Any) -> Any:
            positional, optional_blocks = blocks[: len(spec.inputs)], iter(blocks[len(spec.inputs) :])
            more = {key: next(optional_blocks) for key in optional}
            if loads:
                more[spec.wrench_argument] = {frame: next(optional_blocks) for frame in loads}
                more[spec.wrench_arguments[1]] = axes
            result = self._method(*positional, **options, **more)
            return tuple(result) if len(request.outputs) > 1 else result

        try:
            results = xr.apply_ufunc(
                call,
                *[array for array, _ in arrays],
                input_core_dims=[dims for _, dims in arrays],
                output_core_dims=[dimensions_of(shape) for shape in outputs],
                dask="allowed",
                join="exact",
            )
        except xr.AlignmentError as error:
            raise ValueError(f"{name}: expected arrays with the same labels along each dimension: {error}") from None
        several = len(outputs) > 1
        finished = {}
        for output, shape, result in zip(request.outputs, outputs, results if several else (results,), strict=True):
            finished[output.name or name] = self._finished(result, shape, units_for(self._robot.tree, output), request)
        return xr.Dataset(finished, attrs=self._attributes(request)) if several else finished[name].rename(name)

    def _request(self, options: Mapping[str, Any], loads: Any, axes: Any, optional: list[str]) -> Request:
        """Return the request for the robot's kernel: the function with these options.

        Raises the errors of the robot's method.
        """
        spec = self._spec
        if not isinstance(loads, Mapping):
            raise TypeError(f'{spec.name}: {spec.wrench_argument}: expected a dict by frame, as in {{"hand": w}}')
        listed = {key: tuple(x) if isinstance(x, (list, np.ndarray)) else x for key, x in options.items()}
        frames = {frame: axes if isinstance(axes, str) else axes.get(frame, "world") for frame in loads}
        try:
            external = {spec.wrench_argument: frames} if loads else {}
            return read_request(self._robot._subject, (spec.name, listed | external), tuple(optional))
        except UnknownNameError as error:
            raise error.at(error.where or spec.name) from None

    def _finished(self, result: Any, shape: tuple[int | str, ...], units: str, request: Request) -> Any:
        """Return a result as a labelled array, with its units and the frames of the request as attributes."""
        dims = dimensions_of(shape)
        labels = {dim: self._labels(dim, request) for dim in dims}
        known = {dim: list(x) for dim, x in labels.items() if x is not None and len(x) == result.sizes[dim]}
        return result.assign_coords(known).assign_attrs(units=units, **self._attributes(request))

    def _labels(self, dim: str, request: Request) -> tuple[str, ...] | None:
        """Return the labels of a dimension: the robot's, or the names that an option lists."""
        options = dict(request.options)
        counted = {"point": ("points", "directions"), "independent": ("independent",), "selected": ("coordinates",)}
        for option in counted.get(dim.partition("_")[0], ()):
            if isinstance(options.get(option), tuple):
                return tuple(options[option])
        if dim.startswith("parameter"):
            return tuple(self._robot.parameter_names(passive=options.get("passive", False)))
        return labels_of(self._robot.tree, dim)

    def _attributes(self, request: Request) -> dict[str, str]:
        """Return the attributes of all results: the robot, and the names in the options."""
        named = dict(request.options)
        values = {option.name: named.get(option.name, option.default) for option in request.spec.options}
        return {"robot": self._robot.name} | {key: x for key, x in values.items() if isinstance(x, str)}


def _without_single_names(shape: tuple[int | str, ...], sizes: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Return a shape without dimensions whose size is None: those of options with a single name instead of a list."""
    return tuple(size for size in shape if not (isinstance(size, str) and sizes.get(size, size) is None))


class _Reader:
    """Converter of the arguments of a robot's function to labelled arrays of xarray."""

    def __init__(self, xr: Any, robot: Any, caller: str, reserved: Collection[str]) -> None:
        self.xr, self.robot, self.caller = xr, robot, caller
        self.reserved = reserved  # names of dimensions that a batch cannot have
        self.unnamed: list[str] = []  # arguments with a batch whose dimensions have no names
        self.named: list[str] = []  # and those whose batch has names

    def labelled(
        self, name: str, x: Any, shape: tuple[int | str, ...], request: Request
    ) -> tuple[Any, tuple[str, ...]]:
        """Return an argument as a DataArray, with the names of the dimensions of one sample.

        Raises TypeError, ValueError and UnknownNameError.
        """
        dims = dimensions_of(_without_single_names(shape, request.sizes))
        if isinstance(x, self.xr.DataArray):
            return self._matched(name, x, dims), dims
        if isinstance(x, (self.xr.Dataset, self.xr.Variable)):
            got = type(x).__name__
            raise TypeError(f"{self.caller}: {name}: expected a DataArray or an array, got a {got} of xarray")
        if isinstance(x, (Mapping, str)):
            x = self._stacked(name, x)
        array = x if is_collection(x) else np.asarray(x)
        count = array.ndim - len(dims)
        if count < 0:
            sizes = ", ".join(["...", *dims])
            raise ValueError(f"{self.caller}: {name}: expected an array of dimensions ({sizes}), got {array.shape}")
        if count:
            self.unnamed.append(name)
        batch = ("sample",) if count == 1 else tuple(f"sample_{k + 1}" for k in range(count))
        return self.xr.DataArray(array, dims=(*batch, *dims)), dims

    def _stacked(self, name: str, values: Mapping[str, Any] | str) -> Any:
        """Return the array of a dict by joint or of a named configuration.  Raises TypeError for labelled values."""
        if isinstance(values, Mapping) and any(map(is_collection, values.values())):
            raise TypeError(
                f"{self.caller}: {name}: expected a dict of numbers or NumPy arrays by joint; pass labelled or lazy "
                f"values as one DataArray with the dimension {dimensions_of(quantity_of(name).shape)[0]!r}"
            )
        from linkwork.kernels import stacked_by_joint

        return stacked_by_joint(self.robot, self.caller, name, values, name)

    def _matched(self, name: str, x: Any, dims: tuple[str, ...]) -> Any:
        """Return a DataArray with the labels of its own dimensions in the robot's order, without other coordinates."""
        where = f"{self.caller}: {name}"
        for dim in dims:
            if dim not in x.dims:
                raise ValueError(
                    f"{where}: expected the dimension {dim!r}, got the dimensions {tuple(map(str, x.dims))}; "
                    f"name it with rename()"
                )
            expected = labels_of(self.robot.tree, dim)
            if expected is not None and dim in x.indexes:
                x = self._in_order(where, x, dim, expected)
        foreign = [str(dim) for dim in x.dims if dim in self.reserved and dim not in dims]
        if foreign:
            raise ValueError(
                f"{where}: expected no dimension {foreign[0]!r}, whose name is that of a dimension of another argument "
                f"or of a result; rename it"
            )
        unit = str(x.attrs.get("units", ""))
        if unit in _DEGREES:
            raise ValueError(f"{where}: expected values in rad, got the attribute units={unit!r}; convert them")
        if len(x.dims) > len(dims):
            self.named.append(name)
        coordinates = [key for key, coordinate in x.coords.items() if set(coordinate.dims) & set(dims)]
        return x.drop_vars(coordinates)

    def _in_order(self, where: str, x: Any, dim: str, expected: tuple[str, ...]) -> Any:
        labels = x.indexes[dim].tolist()
        for label in labels:
            if label not in expected:
                raise UnknownNameError(f"label of dimension {dim!r}", label, expected, where=where)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"{where}: expected each label of dimension {dim!r} once, got {twice!r} twice")
        missing = [label for label in expected if label not in labels]
        if missing:
            raise ValueError(f"{where}: dimension {dim!r}: expected the label {missing[0]!r}, got {labels}")
        return x if labels == [*expected] else x.isel({dim: [labels.index(label) for label in expected]})

    def refuse_ambiguous_batches(self, arrays: Any) -> None:
        """Raise ValueError if some arguments have named batch dimensions, and others unnamed ones."""
        if self.named and self.unnamed:
            raise ValueError(
                f"{self.caller}: {self.unnamed[0]}: expected a DataArray, since {self.named[0]} has a batch whose "
                f"dimensions have names; name its leading dimensions in a DataArray"
            )


class LabelledMethods(RobotBase):
    """Functions of a robot with labelled arrays."""

    __slots__ = ()

    @property
    def xarray(self) -> LabelledFunctions:
        """The functions of the robot with labelled arrays of xarray, as in ``robot.xarray.pose(q, "hand")``.

        See `linkwork.interop.labelled_functions.LabelledFunctions`.  Raises ImportError without xarray (``pip install
        "linkwork[xarray]"``).
        """
        return LabelledFunctions(self)
