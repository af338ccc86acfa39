"""Manipulability: how much the velocities of the joints between two frames make of a motion between them, by volume.

With J = R Q, of orthonormal rows Q and a triangle R, √det(J Jᵀ) = |Π Rᵢᵢ|, which loses no digits by squaring; where the
joints have fewer velocities than J has rows it is √det(Jᵀ J), by J = Q R.  Its derivative along a velocity k is
w tr(J⁺ H_k), with H_k the change of J along it and J⁺ the pseudoinverse, R⁻¹ and Qᵀ.

Sources: Yoshikawa, Manipulability of robotic mechanisms, Int. J. Robotics Research 4, 1985; its gradient: Haviland and
Corke, A purely-reactive manipulability-maximising motion controller, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.householder_qr import Reflections
from linkwork.expr.linalg.sparse_dot import dot, less, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq, fabs, where
from linkwork.kinematics.algorithms.jacobians.jacobian_derivatives import changes
from linkwork.kinematics.algorithms.jacobians.joint_path import columns_of, way
from linkwork.model.function_spec import FunctionSpec, Option, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion

__all__ = ["ROWS", "manipulability", "manipulability_gradient"]

Scalars = Sequence[Any]


def manipulability(tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all") -> Any:
    """w = √det(J Jᵀ), or √det(Jᵀ J) where fewer velocities move B relative to A than J has rows."""
    steps = way(tree, tree.split_q(q), frame, relative_to, relative_to)
    columns = columns_of(tree, steps)
    return _Volume([_rows(columns[k], part) for k in _moving(tree, steps)]).size


def manipulability_gradient(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all"
) -> list[Any]:
    """∂w (nv) along each velocity: w tr(J⁺ H_k), and 0 where w is."""
    q = tree.split_q(q)
    steps = way(tree, q, frame, relative_to, relative_to)
    columns, H, moving = columns_of(tree, steps), changes(tree, q, steps), _moving(tree, steps)
    volume = _Volume([_rows(columns[k], part) for k in moving])
    inverse = [x for row in volume.inverse() for x in row]
    gradient: list[Any] = [0.0] * tree.nv
    for k in moving:
        changed = [x for j in moving for x in _rows(H[j][k], part)]
        gradient[k] = where(eq(volume.size, 0.0), 0.0, volume.size * dot(inverse, changed))
    return gradient


def _moving(tree: Tree, steps: Sequence[Any]) -> list[int]:
    """The places in v of the joints on the way."""
    return sorted({k for step in steps for k in range(tree.nv)[tree.v_slices[step.body]]})


def _rows(column: Motion, part: str) -> list[Any]:
    """The elements of a column that count."""
    numbers = column.elements()
    return list({"all": numbers, "position": numbers[3:], "angular": numbers[:3]}[part])


class _Volume:
    """The volume that the columns of a matrix J span, or, where it is wide, its rows; by reflections."""

    def __init__(self, columns: list[list[Any]]) -> None:
        self.wide = len(columns) > len(columns[0] if columns else ())
        tall = columns if self.wide else transposed(columns)
        self.n = len(tall[0]) if tall else 0
        self.made = Reflections(tall, self.n)
        self.triangle = self.made.upper(self.n)
        self.size: Any = 1.0 if columns else 0.0  # what nothing moves has no volume
        for i, row in enumerate(self.triangle):
            self.size = self.size * fabs(row[i])

    def inverse(self) -> list[list[Any]]:
        """The pseudoinverse's rows, one for each column of J; finite where the volume is 0, and of no meaning."""
        rows = self.made.orthonormal(self.n)
        for i in range(self.n - 1, -1, -1):
            pivot, right = self.triangle[i][i], self.triangle[i][i + 1 :]
            inverse = reciprocal_or_zero(pivot, eq(pivot, 0.0))
            columns = transposed(rows[i + 1 :]) or [[] for _ in rows[i]]
            rows[i] = [less(x, right, column) * inverse for x, column in zip(rows[i], columns, strict=True)]
        return transposed(rows) if self.wide else rows


_PART = Option("part", "all", ("all", "position", "angular"))
_OPTIONS = (*frame_options("frame", "relative_to"), _PART)

ROWS = (
    FunctionSpec.of(
        manipulability,
        "q",
        Output((), "1, m"),
        "How much velocities make of a frame's motion, by volume.",
        options=_OPTIONS,
    ),
    FunctionSpec.of(
        manipulability_gradient,
        "q",
        Output(("nv",), "1, m"),
        "Derivative of the manipulability along each velocity.",
        options=_OPTIONS,
    ),
)
