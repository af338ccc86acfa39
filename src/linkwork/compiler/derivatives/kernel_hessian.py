"""Hessians and their products with vectors: forward over reverse mode, symmetric in the tangent space.

With q(φ) = q ⊕ φ, H_ij = ∂²f/∂φ_i∂φ_j at φ = 0 is N_iᵀ ∂²f/∂q² N_j + ∂f/∂q · Q_ij, with N from q̇ = N(q) v, columns N_i
= N e_i, and Q from `Tangent.curvature`. H_ij is the derivative along N_i of the derivative along N_j, minus half the
Lie bracket of the fields N_i and N_j. These fields do not commute if they belong to one joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise, permutations
from typing import Any

from linkwork.compiler.derivatives.derivative_recipes import (
    Base,
    Derivative,
    DerivativeRequest,
    Elements,
    check_scalar,
    derived,
    ruled,
    weights_of,
)
from linkwork.compiler.derivatives.forward_and_reverse import Replay, directional, gradients, gradients_by_coordinates
from linkwork.compiler.derivatives.sparsity import moved_by, pushes, totals
from linkwork.compiler.derivatives.tangent_spaces import Tangent, total
from linkwork.compiler.port import Port
from linkwork.errors import NotDifferentiableError
from linkwork.expr.arrays.pytree import Leaf, TreeDef
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero, jacobian
from linkwork.expr.autodiff.graph_derivative import tangent as tangent_of
from linkwork.expr.scalar.interpreter import instructions_of

_ALL_ORDERS = 3  # maximum number of inputs for which all orders are tried
Weights = Mapping[str, Sequence[Any]]


def triangle(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Weights
) -> dict[tuple[int, int], Any]:
    """Return the nonzero elements i ≤ j of the Hessian of Σ weights · outputs in all inputs' tangent vectors.

    The tangent directions of all inputs are numbered in sequence. `_order` ranks them. The gradient's element for a
    direction is differentiated along this direction and along directions of lower rank, which typically move more
    values.
    """
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    starts = list(accumulate((tangent.size for tangent in by), initial=0))
    offsets = list(accumulate((tangent.port.size for tangent in by), initial=0))
    columns: list[dict[int, Any]] = []
    for tangent, start in zip(by, starts, strict=False):
        rows = tangent.columns(replay.inputs[tangent.port.name])
        columns += [{start + k: x for k, x in row.items()} for row in rows]
    gradient = _gradient(replay, of, by, weights)
    symmetric = all(tangent.space is None for tangent in of)
    order = _order(replay, gradient, symbols, columns, starts)
    rank = {i: k for k, i in enumerate(order)}
    owner = [k for k, tangent in enumerate(by) for _ in range(tangent.size)]
    ranked = list(dict.fromkeys(owner[i] for i in order))
    bent: list[dict[int, Any]] = [{} for _ in symbols]
    for turn, k in enumerate(ranked):
        block = range(starts[k], starts[k + 1])
        seeds = [{i: x for i, x in row.items() if i in block} for row in columns]
        later = ranked[turn:] if symmetric else ranked
        coordinates = [n for m in later for n in range(offsets[m], offsets[m + 1])]
        for n, result in zip(coordinates, forward([gradient[n] for n in coordinates], symbols, seeds), strict=True):
            bent[n].update(result)
    moved: list[list[tuple[int, Any]]] = [[] for _ in range(starts[-1])]  # the coordinates that each direction moves
    for n, row in enumerate(columns):
        for i, x in row.items():
            moved[i].append((n, x))
    elements: dict[tuple[int, int], Any] = {}
    for i, own_coordinates in enumerate(moved):
        for j in dict.fromkeys(j for n, _ in own_coordinates for j in bent[n]):
            if not symmetric or rank[j] <= rank[i]:
                x = total([x * bent[n][j] for n, x in own_coordinates if j in bent[n]])
                _add(elements, i, j, x if symmetric or i == j else x * 0.5)
    for tangent, start, offset in zip(by, starts, offsets, strict=False):
        for (i, j), terms in tangent.curvature(replay.inputs[tangent.port.name]).items():
            _add(elements, start + i, start + j, total([gradient[offset + n] * x for n, x in terms]))
    return {key: x for key, x in sorted(elements.items()) if not is_zero(x)}


def _order(
    replay: Replay,
    gradient: Sequence[Any],
    symbols: Sequence[Any],
    columns: Sequence[Mapping[int, Any]],
    starts: Sequence[int],
) -> list[int]:
    """Return the order of tangent directions in which the Hessian needs the fewest derivatives.

    The gradient's element for a direction is differentiated along this direction and the directions before it. All
    orders of the inputs are tried, or only two if there are many inputs. For each order of inputs, two orders of an
    input's directions are tried: the natural order, and the order by number of values that a direction moves, the
    largest first.
    """
    all_coordinates = [x for coordinates in replay.inputs.values() for x in coordinates]
    instructions, results = instructions_of(gradient, dict.fromkeys([*symbols, *all_coordinates]))
    sets = [sum(1 << i for i in row) for row in columns]
    moved = moved_by(instructions, dict(enumerate(sets)))
    effects = totals(moved, starts[-1])
    directions = [list(range(start, end)) for start, end in pairwise(starts)]
    turns = [*range(len(directions))]
    candidates: list[list[int]] = []
    for candidate_order in [turns, turns[::-1]] if len(directions) > _ALL_ORDERS else permutations(turns):
        candidates += [
            [i for k in candidate_order for i in directions[k]],
            [i for k in candidate_order for i in sorted(directions[k], key=lambda i: -effects[i])],
        ]

    def work(order: Sequence[int]) -> int:
        before, taken = {}, 0
        for i in order:
            taken |= 1 << i
            before[i] = taken
        needed = []
        for row in columns:
            bits = 0
            for i in row:
                bits |= before[i]
            needed.append(bits)
        return pushes(instructions, results, moved, needed)

    return min(candidates, key=work)


def _add(elements: dict[tuple[int, int], Any], i: int, j: int, x: Any) -> None:
    key = (i, j) if i <= j else (j, i)
    elements[key] = elements[key] + x if key in elements else x


def product(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Weights, directions: Weights
) -> list[list[Any]]:
    """Return the Hessian times a tangent vector, whose components ``directions`` are by input name."""
    if any(tangent.space is not None for tangent in of):
        return _symmetrized(replay, of, by, weights, directions)
    gradient = _gradient(replay, of, by, weights)
    rates = _along(replay, by, directions, gradient)
    result, start = [], 0
    for tangent in by:
        coordinates, end = replay.inputs[tangent.port.name], start + tangent.port.size
        terms: list[list[Any]] = [[x] for x in tangent.gradient(tangent.columns(coordinates), rates[start:end])]
        direction = directions[tangent.port.name]
        for (i, j), bend in tangent.curvature(coordinates).items():
            more = total([gradient[start + k] * x for k, x in bend])
            terms[i].append(more * direction[j])
            if i != j:
                terms[j].append(more * direction[i])
        result.append([total(coordinate_terms) for coordinate_terms in terms])
        start = end
    return result


def _symmetrized(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Weights, directions: Weights
) -> list[list[Any]]:
    """Return the Hessian times a tangent vector, for outputs that are configurations.

    The order of two derivatives of such an output matters, so both are computed: the product is half the directional
    derivative of the gradient plus half the gradient of the directional derivative.
    """
    moved_gradient = iter(
        _along(replay, by, directions, [x for part in gradients(replay, of, by, weights) for x in part])
    )
    rate = directional(replay, of, by, directions)
    outputs = [x for part in rate for x in part]
    seeds = [w for tangent in of for w in weights[tangent.port.name]]
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    gradient_of_moved = iter(adjoint(outputs, symbols, seeds))
    result = []
    for tangent in by:
        coordinates = replay.inputs[tangent.port.name]
        gradient = tangent.gradient(tangent.columns(coordinates), [next(gradient_of_moved) for _ in coordinates])
        result.append([(x + y) * 0.5 for x, y in zip([next(moved_gradient) for _ in gradient], gradient, strict=True)])
    return result


def _along(replay: Replay, by: Sequence[Tangent], directions: Weights, expressions: Sequence[Any]) -> list[Any]:
    """Return the derivatives of expressions along tangent vectors of the inputs."""
    symbols: list[Any] = []
    moved: list[Any] = []
    for tangent in by:
        coordinates = replay.inputs[tangent.port.name]
        symbols += coordinates
        moved += tangent.moved(coordinates, directions[tangent.port.name])
    return tangent_of(expressions, symbols, moved)


def _gradient(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Weights) -> list[Any]:
    """Return the gradient with respect to the inputs' coordinates, by forward mode if reverse mode is impossible."""
    try:
        return [x for part in gradients_by_coordinates(replay, of, by, weights) for x in part]
    except NotDifferentiableError:
        pass
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    outputs: list[Any] = []
    factors: list[Any] = []
    for tangent in of:
        coordinates = replay.outputs[tangent.port.name]
        outputs += coordinates
        factors += tangent.coordinate_weights(coordinates, weights[tangent.port.name])
    rows = jacobian(outputs, symbols)
    return [
        total([w * row[k] for w, row in zip(factors, rows, strict=True) if not is_zero(w) and not is_zero(row[k])])
        for k in range(len(symbols))
    ]


def hessian(
    base: Base, by: Sequence[str], of: Any, space: str, weights: bool, vector: bool, sparse: bool
) -> Derivative:
    """Return the recipe of the kernel that `Kernel.hessian` returns: how the Hessians are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    caller, tangents = f"{base.name}: hessian", chosen.tangents
    if vector and sparse:
        raise ValueError(f"{caller}: sparse=True applies to the matrix, not to its product with a vector (vector=True)")
    for output in () if weights else outputs:
        check_scalar(caller, output, "use weights=True for the Hessian of Σ w·output, with w an input")
    groups = [outputs] if weights else [(output,) for output in outputs]
    names = [f"{group[0].port.name}_" if len(group) == 1 else "" for group in groups]
    more: dict[str, TreeDef | Leaf] = {}
    w = d = ""
    if weights:
        w, weight_forms = weights_of(base, outputs)
        more |= weight_forms
    pairs = [(a, b) for k, a in enumerate(tangents) for b in tangents[k:]]
    ports = [
        Port(f"d2_{name}d_{a.port.name}_d_{b.port.name}", (*a.shape, *b.shape)) for name in names for a, b in pairs
    ]
    if vector:
        d = base.prefix("d", [*chosen.forms, *(t.port.name for t in tangents)])
        more |= {f"{d}{name}": form for name, form in chosen.forms.items()}
        ports = [Port(f"d2_{name}d_{t.port.name}", t.shape) for name in names for t in tangents]

    def build(replay: Replay, values: Mapping[str, Sequence[Any]]) -> Elements:
        result: list[Sequence[Any]] = []
        for group in groups:
            scale = {t.port.name: values[f"{w}{t.port.name}"] if weights else [1.0] for t in group}
            if vector:
                directions = {t.port.name: values[f"{d}{t.port.name}"] for t in tangents}
                result += product(replay, group, tangents, scale, directions)
            else:
                result += _blocks(triangle(replay, group, tangents, scale), tangents)
        return result

    about = "Hessian times a vector of" if vector else "Hessian of"
    options = (weights, vector, sparse)
    return derived(
        DerivativeRequest("hessian", base, chosen, outputs, ports, ruled(build), about, more, options, sparse)
    )


def _blocks(triangle: Mapping[tuple[int, int], Any], by: Sequence[Tangent]) -> Elements:
    """Return the elements, row by row, of the Hessian's blocks: each input with itself and with later inputs.

    ``triangle`` has the nonzero elements i ≤ j of the whole Hessian.
    """
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    offsets = [range(start, end) for start, end in pairwise(ends)]
    return [
        [triangle.get((i, j) if i <= j else (j, i), 0.0) for i in rows for j in columns]
        for k, rows in enumerate(offsets)
        for columns in offsets[k:]
    ]
