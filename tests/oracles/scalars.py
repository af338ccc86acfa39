"""A tree's functions over any kind of scalar, called as a robot's methods are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from linkwork.kernels.function_request import read_request
from linkwork.kernels.owners import shape_of
from linkwork.model.coordinate_names import names_of
from linkwork.model.function_spec import QUANTITIES, FunctionSpec
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import ROBOT, robot_owner

from .trees import TREES, robot_of

__all__ = ["Direct", "arguments_of", "listed", "names_for", "share", "with_few_functions", "with_functions"]


class Direct:
    """The algorithms on scalars of some kind: ``"floats"``, ``"batch"`` (NumPy arrays) or ``"casadi"``."""

    def __init__(self, tree: Tree, kind: str = "batch") -> None:
        self.tree, self.kind = tree, kind

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        row = ROBOT[name]
        return lambda *arguments, **options: self._evaluate(row, *_split(row, arguments, options))

    def _evaluate(self, row: FunctionSpec, arrays: list[np.ndarray], options: dict[str, Any]) -> Any:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        if self.kind == "batch":
            columns = [list(np.moveaxis(x, -1, 0)) for x in arrays]
            result = self._flat(row.compute(self.tree, *columns, **options), batch)
        else:
            full = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(math.prod(batch), x.shape[-1]) for x in arrays]
            sizes = [x.shape[-1] for x in full]
            function = self._casadi(row, options, sizes) if self.kind == "casadi" else self._on_floats
            samples = [function(row, options, *sample) for sample in zip(*full, strict=True)]
            result = np.array(samples).reshape(*batch, -1)
        named = {key: value for key, value in options.items() if key not in row.optional}
        sizes_asked = read_request(robot_owner(self.tree), (row.name, named)).sizes
        shapes = [shape_of(robot_owner(self.tree), output.shape, sizes_asked) for output in row.outputs]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        parts = np.split(result, ends, axis=-1)
        results = [part.reshape((*batch, *shape)) for part, shape in zip(parts, shapes, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _on_floats(self, row: FunctionSpec, options: dict[str, Any], *arrays: np.ndarray) -> np.ndarray:
        return self._flat(row.compute(self.tree, *(x.tolist() for x in arrays), **options), ())

    def _casadi(self, row: FunctionSpec, options: dict[str, Any], sizes: list[int]) -> Callable[..., np.ndarray]:
        import casadi

        symbols = [casadi.SX.sym(f"x{k}", n) for k, n in enumerate(sizes)]
        arguments = [casadi.vertsplit(s) if s.numel() else [] for s in symbols]
        result = _scalars(row.compute(self.tree, *arguments, **options))
        function = casadi.Function("f", symbols, [casadi.vertcat(*result)])
        return lambda _row, _options, *x: np.array(function(*x)).ravel()

    def _flat(self, result: Any, batch: tuple[int, ...]) -> np.ndarray:
        parts = [np.broadcast_to(x, batch) for x in _scalars(result)]
        return np.stack(parts, axis=-1).astype(float) if parts else np.zeros((*batch, 0))


_COMPILED = [name for name in TREES if name.endswith("_chain") or name == "mixed_0"]


def _on(compiled: Sequence[str]) -> pytest.MarkDecorator:
    """The algorithms on arrays of every tree, and compiled of some."""
    return pytest.mark.parametrize(
        ("tree", "f"),
        [pytest.param(tree, Direct(tree), id=f"{name}-batch") for name, tree in TREES.items()]
        + [pytest.param(TREES[name], robot_of(TREES[name]), id=f"{name}-compiled") for name in compiled],
    )


with_functions = _on(_COMPILED)
with_few_functions = _on(["mixed_0", "coupled_chain", "revolute_chain"])  # of what is many kernels a tree


def arguments_of(tree: Tree, name: str, seed: int = 0, size: int = 4) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Random arrays, and a frame where the function takes one."""
    row = ROBOT[name]
    rng = np.random.default_rng(seed)
    drawn = {
        key: robot_of(tree).random_configuration(rng, size=size)
        if QUANTITIES[key].configuration
        else rng.normal(size=(size, tree.nq if QUANTITIES[key].shape == ("nq",) else tree.nv))
        for key in row.inputs
    }
    return list(drawn.values()), names_for(tree, row, tree.frames[-3].name)


def listed(result: Any) -> tuple[np.ndarray, ...]:
    """The arrays that a function gives, one or several."""
    return result if isinstance(result, tuple) else (result,)


def share(turn: int, of: int) -> list[str]:
    """The functions whose turn it is: one in so many, another one the next time, so that all come round."""
    return [name for k, name in enumerate(ROBOT) if (k + turn) % of == 0]


def names_for(tree: Tree, row: FunctionSpec, frame: str | None = None) -> tuple[str, ...]:
    """Return valid names for a function's arguments: a frame, its origin or one of its axes."""
    frame = tree.frames[-1].name if frame is None else frame
    joint = next((body.joint_name for _, body in tree.stacked()), ())
    velocity = (*names_of(tree, "v"), ())[0]
    results = {"frame": frame, "point": frame, "direction": f"{frame}.z", "joint": joint, "velocity": velocity}
    return tuple(results[option.names] for option in row.options if option.required)


def _split(row: FunctionSpec, arguments: tuple[Any, ...], options: Any) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Arrays, and the frames that are named: as the robot's methods take them."""
    n = len(row.inputs)
    arrays = [np.asarray(x, dtype=float) for x in arguments[:n]]
    named = sorted(row.options, key=lambda option: not option.required)
    assert len(arguments) <= n + len(named), f"{row.name}: {len(arguments) - n} options, of {len(named)}"
    return arrays, dict(zip([option.name for option in named], arguments[n:], strict=False)) | options


def _scalars(result: Any) -> list[Any]:
    if hasattr(result, "elements") and not isinstance(result, np.ndarray):
        return list(result.elements())
    if isinstance(result, (list, tuple)):
        return list(itertools.chain.from_iterable(_scalars(x) for x in result))
    return [result]
