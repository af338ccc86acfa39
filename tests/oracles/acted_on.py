"""Functions of a tree on batches, with wrenches, gravity and options as in a robot's methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import elements_of, run
from linkwork.kernels.owners import shape_of
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import robot_owner

__all__ = ["ActedOn"]


class ActedOn:
    """The algorithms themselves on NumPy's arrays, one for each number; nothing is compiled."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **options: self._evaluated(name, arguments, options)

    def _evaluated(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        subject = robot_owner(self.tree)
        row = subject.rows[name]
        acting, axes = [options.pop(key, None) for key in row.wrench_arguments] or (None, None)
        acting = {} if acting is None else acting
        each = axes if isinstance(axes, dict) else dict.fromkeys(acting, axes or "world")
        named_inputs = {key: options.pop(key) for key in row.optional if options.get(key) is not None}
        requested = (
            options | {row.wrench_argument: {frame: each.get(frame, "world") for frame in acting}}
            if acting
            else options
        )
        n = len(row.inputs)
        request = read_request(subject, (name, *arguments[n:], requested), tuple(named_inputs))
        arrays = [*arguments[:n], *named_inputs.values(), *(acting[frame] for frame, _ in request.wrenches)]
        arrays = [np.asarray(x, dtype=float) for x in arrays]
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        columns = dict(zip(request.inputs, (list(np.moveaxis(x, -1, 0)) for x in arrays), strict=True))
        flat = elements_of(run(request, self.tree, columns))
        result = np.stack([np.broadcast_to(x, batch) for x in flat], axis=-1) if flat else np.zeros((*batch, 0))
        shapes = [shape_of(subject, output.shape, request.sizes) for output in row.outputs]
        parts = np.split(result, np.cumsum([math.prod(shape) for shape in shapes])[:-1], axis=-1)
        results = tuple(part.reshape(*batch, *shape) for part, shape in zip(parts, shapes, strict=True))
        return results if len(results) > 1 else results[0]
