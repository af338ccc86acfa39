"""Motions over time as datasets of xarray, as tables of pandas and as CSV files, with the names of joints.

A column of a table is named ``q:elbow``: the quantity and the label of the element, ``joint_wrenches:elbow:linear.x``
for two labels.  Floats in CSV files are exact.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from linkwork._util.file_access import replaced
from linkwork._util.lazy_imports import optional_module
from linkwork.kernels.owners import shape_of
from linkwork.model.coordinate_names import AXES, dimensions_of, labels_of, units_for, units_of

__all__ = ["StateTable", "TimeVariable", "record_variable", "state_variables"]


@dataclass(frozen=True)
class TimeVariable:
    """A quantity over time, for each environment of a batch: values (*batch, times, *own)."""

    name: str
    values: np.ndarray
    dims: tuple[str, ...] = ()  # names of its own dimensions
    labels: tuple[Sequence[str] | None, ...] = ()  # of these dimensions; None for indices
    units: tuple[str, ...] = ()  # of all elements, or of each element of its only dimension

    @property
    def unit_text(self) -> str:
        """The distinct units, separated by commas."""
        return ", ".join(dict.fromkeys(self.units))

    def columns(self, batch_dims: int) -> list[tuple[str, str, np.ndarray]]:
        """Return the name, the unit and the values (*batch, times) of each element."""
        element_shape = self.values.shape[batch_dims + 1 :]
        labels = [names or range(n) for names, n in zip(self.labels, element_shape, strict=True)]
        result = []
        for k, (index, names) in enumerate(zip(np.ndindex(element_shape), product(*labels), strict=True)):
            unit = self.units[k] if len(self.units) > 1 and len(element_shape) == 1 else self.unit_text
            name = f"{self.name}:{':'.join(map(str, names))}" if names else self.name
            result.append((name, unit, self.values[(..., *index)]))
        return result


def state_variables(robot: Any, sizes: tuple[int, int], **arrays: np.ndarray) -> list[TimeVariable]:
    """Return a `TimeVariable` for each of the ``arrays`` q, v, a, ..., with the robot's names and units.

    If ``robot`` is None, the elements are numbered; ``sizes`` is then (nq, nv).
    """
    result = []
    for name, values in arrays.items():
        is_q = name == "q"
        count = sizes[0 if is_q else 1]
        labels = [str(k) for k in range(count)] if robot is None else robot.q_names if is_q else robot.v_names
        units = () if robot is None else units_of(robot.tree, name)  # type: ignore[arg-type]
        result.append(TimeVariable(name, values, ("coordinate" if is_q else "dof",), (tuple(labels),), units))
    return result


def record_variable(
    robot: Any, name: str, values: np.ndarray, batch_dims: int, contacts: Sequence[str] = ()
) -> TimeVariable:
    """Return a recorded quantity, with labels for its elements where they are known.

    Labels are known for joint forces "tau", for names that begin with "contact_", and for quantities with the name and
    shape of a robot function's result.
    """
    element_shape = values.shape[batch_dims + 1 :]
    rows = robot._subject.rows
    if name == "tau" and element_shape == (robot.nv,):
        return TimeVariable(name, values, ("dof",), (robot.v_names,))
    if name.startswith("contact_") and element_shape and element_shape[0] == len(contacts):
        dimensions: list[tuple[str, Sequence[str] | None]] = [
            (f"{name}_{k}", None) for k in range(1, len(element_shape))
        ]
        dimensions = [("axis", AXES)] if element_shape[1:] == (3,) else dimensions
        return TimeVariable(
            name, values, ("contact", *(d for d, _ in dimensions)), (tuple(contacts), *(x for _, x in dimensions))
        )
    for row in sorted(rows.values(), key=lambda row: -len(row.name)):
        is_named = name == row.name or name.startswith(f"{row.name}_")
        if is_named and len(row.outputs) == 1 and _is_shape(robot, row.outputs[0].shape, element_shape):
            dims = dimensions_of(row.outputs[0].shape)
            labels = tuple(labels_of(robot.tree, dim) for dim in dims)
            if row.name == "joint_wrenches":  # across the joints that carry the bodies
                dims, labels = ("joint", *dims[1:]), (tuple(body.joint_name for body in robot.tree.bodies), *labels[1:])
            return TimeVariable(name, values, dims, labels, (units_for(robot.tree, row.outputs[0]),))
    return TimeVariable(
        name, values, tuple(f"{name}_{k}" for k in range(len(element_shape))), (None,) * len(element_shape)
    )


def _is_shape(robot: Any, shape: Any, element_shape: tuple[int, ...]) -> bool:
    try:
        return shape_of(robot._subject, shape) == element_shape
    except KeyError:  # a size that an option determines
        return False


@dataclass(frozen=True)
class StateTable:
    """Quantities over common times [s], path lengths [rad, m] or states, for each environment of a batch."""

    times: np.ndarray
    variables: Sequence[TimeVariable]
    batch: tuple[int, ...]
    attributes: Mapping[str, Any]
    of_environments: Mapping[str, np.ndarray]  # values (*batch, ...) of each environment, by name
    index: tuple[str, str] = ("t", "s")  # name and unit of the index of tables

    @property
    def batch_dims(self) -> tuple[str, ...]:
        """Names of the dimensions of the batch."""
        several = len(self.batch) > 1
        return tuple(f"environment_{k + 1}" if several else "environment" for k in range(len(self.batch)))

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset`."""
        xr = optional_module("xarray", "labelled arrays need xarray", "xarray")
        axis, unit = ("time" if self.index[0] == "t" else self.index[0]), self.index[1]
        lead = (*self.batch_dims, axis)
        coordinates: dict[str, Any] = {axis: (axis, self.times, {"units": unit})}
        for name, values in self.of_environments.items():
            element_dims = tuple(f"{name}_{k + 1}" for k in range(values.ndim - len(self.batch)))
            coordinates[name] = ((*self.batch_dims, *element_dims), values)
        data = {}
        for variable in self.variables:
            attributes = {"units": variable.unit_text} if variable.units else {}
            data[variable.name] = ((*lead, *variable.dims), variable.values, attributes)
            for dim, labels in zip(variable.dims, variable.labels, strict=True):
                if labels is not None:
                    coordinates.setdefault(dim, (dim, list(labels)))
        return xr.Dataset(data, coordinates, dict(self.attributes))

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each environment and time; its ``attrs`` have units by column."""
        pd = optional_module("pandas", "tables need pandas", "xarray")
        columns = self._columns()
        rows = {name: np.ascontiguousarray(values).reshape(-1) for name, _, values in columns}
        name, unit = self.index
        index: Any = pd.Index(self.times, name=name)
        if self.batch:
            levels = [*(range(n) for n in self.batch), self.times]
            index = pd.MultiIndex.from_product(levels, names=[*self.batch_dims, name])
        frame = pd.DataFrame(rows, index=index)
        frame.attrs = {**self.attributes, "units": {name: unit} | {x: of_x for x, of_x, _ in columns if of_x}}
        return frame

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a text table with a header line; the file is replaced when it is complete."""
        columns = self._columns()
        with replaced(path, text=True) as file:
            out = csv.writer(file)
            out.writerow([*self.batch_dims, self.index[0], *(name for name, _, _ in columns)])
            for environment in np.ndindex(self.batch):
                values = [x[environment].tolist() for _, _, x in columns]
                for time, row in zip(self.times.tolist(), zip(*values, strict=True), strict=True):
                    out.writerow([*environment, time, *row])

    def _columns(self) -> list[tuple[str, str, np.ndarray]]:
        return [column for variable in self.variables for column in variable.columns(len(self.batch))]
