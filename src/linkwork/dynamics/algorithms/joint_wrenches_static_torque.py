"""What wrenches make in the joints, Jᵀ w, and which wrench given joint forces make.

A wrench on a body goes inward from body to body, and each joint on the way feels Sᵀ of it.  The question back is
Jᵀ w = τ for w, by the pseudoinverse: as near to τ as a wrench on the frame comes, and of those the shortest.

Sources: Craig, Introduction to Robotics, 3rd edition, 2005, sections 5.9 and 5.10 (static forces); Khatib, IEEE J. of
Robotics and Automation 3, 1987 (the wrench of joint forces).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.expr.autodiff.custom_derivative import ruled
from linkwork.expr.linalg.singular_values_pseudoinverse import Pseudoinverse
from linkwork.expr.linalg.sparse_dot import dot, is_zero, less, rows_of
from linkwork.kinematics.algorithms.jacobians.jacobian import jacobian
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Force

__all__ = ["ROWS", "static_torque", "wrench_from_torque"]

Scalars = Sequence[Any]

_NONE = 1e-5  # singular values up to this part of the largest count as zero: float32 rounds by 1e-6 of it


def static_torque(tree: Tree, q: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """u = Σ Jᵀ w: the joint forces (nv) that the wrenches make; −u holds them."""
    q = tree.split_q(q)
    F = external_forces(tree, q, wrenches)
    u: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        if i not in F:
            u[i] = [0.0] * body.joint.nv
            continue
        u[i] = body.S(q[i]).T @ F[i]
        if p != WORLD:
            F[p] = F.get(p, Force.zero()) + body.X(q[i]) @ F[i]
    return tree.gathered(u)


def wrench_from_torque(
    tree: Tree, q: Scalars, tau: Scalars, frame: str, expressed_in: str = "world"
) -> tuple[list[Any], list[Any]]:
    """w (6) on the frame for which Jᵀ w is nearest to τ, the shortest such one; and τ − Jᵀ w (nv), what it leaves."""
    columns = [*zip(*jacobian(tree, q, frame, expressed_in=expressed_in), strict=True)]
    felt = [k for k, column in enumerate(columns) if not all(map(is_zero, column))]
    rows = [columns[k] for k in felt]  # of Jᵀ
    if not felt:  # nothing moves the frame
        return [0.0] * 6, list(tau)
    inverse = rows_of(ruled(Pseudoinverse(len(rows), 6, _NONE), [x for row in rows for x in row]), len(rows), 6)
    w = [dot(row, [tau[k] for k in felt]) for row in inverse]
    return w, [less(x, column, w) for x, column in zip(tau, columns, strict=True)]


ROWS = (
    Row.of(
        static_torque,
        "q",
        Output(("nv",), "N·m, N"),
        "Joint forces that wrenches make.",
        wrenched=True,
    ),
    Row.of(
        wrench_from_torque,
        "q tau",
        (Output((6,), "N·m, N", "wrench"), Output(("nv",), "N·m, N", "residual")),
        "Wrench on a frame that makes given joint forces, and what it leaves of them.",
        options=frame_options("frame", "expressed_in"),
    ),
)
