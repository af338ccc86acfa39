"""Forward dynamics of a tree in which joints follow others: M(q) a = τ − h(q, v), solved.

With G the matrix of v_joint = G v, the equations of a tree whose followers are bound to their masters are those of the
free tree projected, M = Gᵀ M_free G: ideal couplings do no work.  M is factored as Lᵀ D L from the tips inward, so that
branches which share no joint stay apart, and what is zero in M because of that is never computed.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 3.2 (implicit constraints), 6.5 (Lᵀ D L).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import SingularInertiaError
from ..model.tree import Tree
from .inverse_dynamics import bias_force
from .mass_matrix import mass_matrix

__all__ = ["coupled_forward_dynamics"]

Scalars = Sequence[Any]


def coupled_forward_dynamics(tree: Tree, q: Scalars, v: Scalars, tau: Scalars) -> list[Any]:
    """a = M(q)⁻¹ (τ − h(q, v)): the joint accelerations (nv) under the joint forces τ.

    Raises SingularInertiaError naming the joint where a joint and its followers move no inertia at all.
    """
    M, h = mass_matrix(tree, q), bias_force(tree, q, v)
    f = [force - bias for force, bias in zip(tau, h, strict=True)]
    places = [range(tree.nv)[place] for place in tree.v_slices]
    order = list(dict.fromkeys(k for i, _, _ in tree.outward() for k in places[i]))
    L: dict[int, dict[int, Any]] = {}
    D_inv: dict[int, Any] = {}
    while order:
        k = order.pop()
        D_inv[k] = _inverse(tree, M[k][k], k)
        before = [j for j in order if not _is_zero(M[k][j])]
        L[k] = {j: M[k][j] * D_inv[k] for j in before}
        for n, i in enumerate(before):
            for j in before[: n + 1]:
                M[i][j] = M[j][i] = M[i][j] - L[k][i] * M[k][j]
            f[i] = f[i] - L[k][i] * f[k]
    a: list[Any] = [0.0] * tree.nv
    for k in reversed(L):
        a[k] = D_inv[k] * f[k]
        for j, factor in L[k].items():
            a[k] = a[k] - factor * a[j]
    return a


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0


def _inverse(tree: Tree, D: Any, k: int) -> Any:
    moved = [body for body, place in zip(tree.bodies, tree.v_slices, strict=True) if place.start <= k < place.stop]
    rounding = 1e-15 * sum(abs(body.inertia.about.xx) + abs(body.inertia.mass) for body in moved)
    if isinstance(D, float) and rounding >= D:
        raise SingularInertiaError(next(body.joint_name for body in moved if body.coupling is None))
    return 1.0 / D
