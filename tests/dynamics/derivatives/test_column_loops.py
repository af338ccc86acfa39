"""Columns of M⁻¹ and of products that kernels compute in loops equal the unrolled ones."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork import Robot
from linkwork.dynamics.algorithms import mass_matrix_inverse as factored_inverse
from linkwork.dynamics.algorithms.derivatives import forward_dynamics_derivatives as forward_dynamics_hessian
from linkwork.expr.control.loop_instruction import Loop
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.trees import TREES, state


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("name", "per_velocity"), [("mixed_0", 24), ("floating_chain", 1), ("coupled_0", 24)])
def test_inverse_mass_matrix_columns_computed_in_loops_equal_unrolled_columns(
    name: str, per_velocity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns from rows of L⁻¹, by articulated bodies, and by the factors of M for coupled joints."""
    tree = TREES[name]
    q, v, tau = state(tree, 3, 5)
    weights = np.random.default_rng(4).normal(size=v.shape)
    plain, robot = Direct(tree), Robot(tree)
    expected = {
        "forward_dynamics_derivatives": plain.forward_dynamics_derivatives(q, v, tau),
        "forward_dynamics_hessian": plain.forward_dynamics_hessian(q, v, tau, weights),
    }
    monkeypatch.setattr(factored_inverse, "_LONG", 1)
    monkeypatch.setattr(factored_inverse, "_PER_VELOCITY", per_velocity)
    monkeypatch.setattr(forward_dynamics_hessian, "_LONG", 1)
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    for function, references in expected.items():
        kernel = robot.compile(function)
        assert any(isinstance(i.value, Loop) for i in kernel.program.instructions), function
        arrays = (q, v, tau, weights)[: len(kernel.inputs)]
        results = kernel(*arrays) if function == "forward_dynamics_derivatives" else kernel.interpret(*arrays)
        for actual, reference in zip(results, references, strict=True):
            assert_close(actual, reference, 1e-10, f"{name}: {function}", core=2)
    first = robot.compile("forward_dynamics_derivatives")
    pulled = first.vjp("v", of="da_dq").interpret(
        q, v, tau, np.broadcast_to(np.diag(weights[0]), (5, tree.nv, tree.nv))
    )
    h = 1e-6
    ends = [plain.forward_dynamics_derivatives(q, v + s * h * weights, tau)[0] for s in (1.0, -1.0)]
    rate = np.einsum("nii,i->n", (ends[0] - ends[1]) / (2.0 * h), weights[0])
    assert_close(np.sum(pulled * weights, axis=-1), rate, 1e-6, core=0)
