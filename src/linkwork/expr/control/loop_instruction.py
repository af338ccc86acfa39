"""Loop as an instruction: a body that runs repeatedly on a loop-carried state.

Its forward derivative is a loop that also carries derivatives.  Its reverse derivative is a loop that runs backward
over the states of the first.  The carried values with nonzero derivatives are determined by fixed-point iteration.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3, 4 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linkwork.errors import NotDifferentiableError
from linkwork.expr.autodiff.graph_derivative import adjoint, is_zero
from linkwork.expr.autodiff.masked_terms import flagged, is_conditional, summed, terms_of_body
from linkwork.expr.control.closure_conversion import Differentiated, flagged_rows, keys_of, rows_of_body
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import apply_on_arrays, numeric_mode, reachable
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["DONE", "LOOP", "NOT_A_NUMBER", "OUT_OF_ITERATIONS", "Loop"]

LOOP = bundle_operation("loop")
DONE, OUT_OF_ITERATIONS, NOT_A_NUMBER = 0.0, 1.0, 2.0  # status of a conditional loop
_MAX_STORED = 1 << 22  # stored values of all steps together
_SHORT = 1000  # steps: a longer loop of constants is not evaluated at trace time


@dataclass(frozen=True)
class Loop(MultiResult):
    """Instruction that runs a body repeatedly, at most ``max_iterations`` times, on a loop-carried state.

    The arguments are the initial state (``carried`` scalars), the inputs of all steps (``inputs`` scalars for each
    step, one step after the other), and the outer values, which are the same in every step.  The body accepts the
    state, the inputs of the step and the outer values.

    The body of a scan returns the new state and the ``outputs`` outputs of the step.  The loop's results are the last
    state and the outputs of all steps.  The body of a ``conditional`` loop returns the condition, a truth value, and
    the new state; the loop ends before the step whose condition is false.  Its results are the last state, the number
    of steps and the status.  The loop also ends if one of the first ``watched`` scalars of the state is NaN.

    The first ``stores`` outputs of all steps of a scan are stored together, as the result with the index of the first
    such output.  This result is not a number, but an argument of other scans; the other results of these outputs are
    not used.  The first inputs of a step come from scans that stored their outputs: ``reads`` has the number of outputs
    of each such scan, and the stored values are the first arguments after the state.  If a scan has more steps than
    were stored, it reads the last stored step repeatedly.  Such scans have no derivatives.
    """

    body: Region
    carried: int
    inputs: int  # number of stacked inputs of each step
    outputs: int  # number of outputs of each step
    max_iterations: int
    conditional: bool = False
    backward: bool = False  # True: from the last step's inputs and outputs to the first's
    watched: int = 0
    stores: int = 0
    reads: tuple[int, ...] = ()

    operation: ClassVar[Operation] = LOOP

    def __post_init__(self) -> None:
        if self.max_iterations * self.outputs > _MAX_STORED:
            count = f"{self.outputs} number{'s' * (self.outputs > 1)}"
            each = f"{self.max_iterations} steps that store {count} each, for every sample"
            raise ValueError(
                f"a loop of {each}: expected at most {_MAX_STORED} in all; scan(..., segments=k) stores the states of "
                f"one segment at a time for a gradient, and steps that return None as output store less"
            )

    @property
    def count(self) -> int:
        return self.carried + (0 if self.conditional else self.max_iterations * self.outputs) + 2 * self.conditional

    @property
    def used_results(self) -> Sequence[int]:
        if not self.stores:
            return range(self.count)
        n, stored_indices = self.carried, range(self.stores, self.outputs)
        outputs = (n + t * self.outputs + j for t in range(self.max_iterations) for j in stored_indices)
        return [*range(n + 1), *outputs]

    def results_of(self, state: Sequence[Any], outputs: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the results of a scan with this last state and these outputs of each step."""
        result = [*state, *(x for row in outputs for x in row)]
        if self.stores:
            result[self.carried] = [row[: self.stores] for row in outputs]
        return result

    def is_stored(self, result: int) -> bool:
        """Return True if result number ``result`` is not a number, but has the stored outputs of all steps together."""
        return self.stores > 0 and result == self.carried

    @property
    def own_inputs(self) -> int:
        """Number of inputs of each step, without inputs that other scans have stored."""
        return self.inputs - sum(self.reads)

    def inputs_of(self, stacked: Sequence[Any], step: int) -> list[Any]:
        """Return the inputs of one step, from the stacked inputs of all steps."""
        many, first = self.own_inputs, len(self.reads)
        inputs_of_step = stacked[first + step * many : first + (step + 1) * many]
        return [*(x for rows in stacked[:first] for x in rows[min(step, len(rows) - 1)]), *inputs_of_step]

    def with_bodies(self, change: Callable[[Region], Region]) -> Loop:
        return replace(self, body=change(self.body))

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return the arguments in three parts: the initial state, the inputs of all steps and the outer values.

        The inputs of all steps begin with the inputs that other scans have stored.
        """
        end = self.carried + len(self.reads) + self.max_iterations * self.own_inputs
        return arguments[: self.carried], arguments[self.carried : end], arguments[end:]

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        state, stacked, outside = self.split(arguments)
        apply, constant = numeric_mode([*arguments, *(x for rows in stacked[: len(self.reads)] for x in rows[0])])

        def run(values: Sequence[Any], step: int) -> list[Any]:
            return self.body.run([*values, *self.inputs_of(stacked, step), *outside], apply, constant)

        if not self.conditional:
            outputs: list[Any] = [None] * self.max_iterations
            for t in reversed(range(self.max_iterations)) if self.backward else range(self.max_iterations):
                result = run(state, t)
                state, outputs[t] = result[: self.carried], result[self.carried :]
            return self.results_of(state, outputs)
        return (self._masked if apply is apply_on_arrays else self._one_by_one)(list(state), run)

    def _one_by_one(self, state: list[Any], run: Any) -> list[Any]:
        for done in range(self.max_iterations + 1):
            if any(x != x for x in state[: self.watched]):
                return [*state, float(done), NOT_A_NUMBER]
            more, *following = run(state, 0)
            if not more:
                return [*state, float(done), DONE]
            if done < self.max_iterations:
                state = following
        return [*state, float(self.max_iterations), OUT_OF_ITERATIONS]

    def _masked(self, state: list[Any], run: Any) -> list[Any]:
        """Run the loop on a batch of samples; the state of a sample whose loop has ended does not change.

        ``run(state, 0)`` returns the loop's condition and the next state.
        """
        going: Any = np.True_
        done: Any = np.float64(0.0)
        status: Any = np.float64(OUT_OF_ITERATIONS)
        for step in range(self.max_iterations + 1):
            missing: Any = np.False_
            for x in state[: self.watched]:
                missing = missing | np.isnan(x)
            status = np.where(going & missing, NOT_A_NUMBER, status)
            going = going & ~missing
            more, *following = run(state, 0)
            status = np.where(going & ~np.asarray(more), DONE, status)
            going = going & more
            if step == self.max_iterations or not np.any(going):
                break
            state = [np.where(going, new, old) for new, old in zip(following, state, strict=True)]
            done = done + np.where(going, 1.0, 0.0)
        return [*state, done, status]

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> list[SparseRow]:
        self._check_derivatives()
        n, m, steps = self.carried, self.inputs, self.max_iterations
        state, stacked, outside = self.split(arguments)
        state_rows, stacked_rows, outside_rows = self.split(rows)
        # the derivative of a number, as an input of some steps or at the start, counts in other steps only
        columns = [keys_of(stacked_rows[j::m]) for j in range(m)]
        are_constant = [any(x.__class__ is float for x in stacked[j::m]) for j in range(m)]
        columns = [
            {key: k or flag for key, flag in keys.items()} for k, keys in zip(are_constant, columns, strict=True)
        ]
        outside_keys = [keys_of([row]) for row in outside_rows]
        carried = [keys_of([row]) for row in state_rows]
        head = int(self.conditional)
        while True:
            differentiated = Differentiated(self.body)
            derivatives_of, fresh = differentiated.forward(
                differentiated.results[head:], [*carried, *columns, *outside_keys]
            )
            following = [keys_of([row]) for row in derivatives_of[:n]]
            grown = [
                {key: own_keys.get(key, x.__class__ is float) or new.get(key, False) for key in {**own_keys, **new}}
                for own_keys, new, x in zip(carried, following, state, strict=True)
            ]
            if grown == carried:
                break
            carried = grown
        x, s, c = differentiated.inputs[:n], differentiated.inputs[n : n + m], differentiated.inputs[n + m :]
        ends = _ends(
            [
                sum(len(keys) + sum(keys.values()) for keys in keys_of_group)
                for keys_of_group in (carried, columns, outside_keys)
            ]
        )
        dx, ds, dc = (fresh[a:b] for a, b in ends)
        following = flagged_rows(derivatives_of[:n], carried)
        stored_keys = [keys_of([row]) for row in derivatives_of[n:]]
        kept_values = flagged_rows(derivatives_of[n:], stored_keys)
        results_of_body = [
            *differentiated.results[: head + n],
            *following,
            *differentiated.results[head + n :],
            *kept_values,
        ]
        body = Region.of(results_of_body, [*x, *dx, *s, *ds, *c, *dc], head)
        both = replace(
            self, body=body, carried=n + len(dx), inputs=m + len(ds), outputs=self.outputs + len(kept_values)
        )
        flat_arguments = [*state, *flagged_rows(state_rows, carried)]
        for t in range(steps if m else 0):
            flat_arguments += stacked[t * m : (t + 1) * m]
            flat_arguments += flagged_rows(stacked_rows[t * m : (t + 1) * m], columns)
        flat_arguments += [*outside, *flagged_rows(outside_rows, outside_keys)]
        values = _run_derived(both, flat_arguments, arguments)
        result = rows_of_body(iter(values[n : both.carried]), carried)
        if self.conditional:
            return [*result, {}, {}]
        for t in range(steps if self.outputs else 0):
            stored_values = iter(
                values[both.carried + t * both.outputs + self.outputs : both.carried + (t + 1) * both.outputs]
            )
            result += rows_of_body(stored_values, stored_keys)
        return result

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        if self.conditional:
            raise NotDifferentiableError(
                "while_loop: a loop of unknown length has no reverse-mode gradient: use scan or fori_loop, whose "
                "length is known, root, whose derivative needs no iterations, or forward derivatives (tangent)"
            )
        self._check_derivatives()
        n, m, stored_count, steps = self.carried, self.inputs, self.outputs, self.max_iterations
        state, stacked, outside = self.split(arguments)
        has_number = any(x.__class__ is float for x in state)  # where a derivative may be infinite in the first step
        columns = [j for j in range(stored_count) if not all(map(is_zero, weights[n + j :: stored_count]))]
        are_conditional = [any(map(is_conditional, weights[n + j :: stored_count])) for j in columns]
        carried = {k: is_conditional(weights[k]) for k in range(n) if not is_zero(weights[k])}
        while True:
            differentiated = Differentiated(self.body)
            of_states, state_weights = differentiated.more_terms([*carried.values()])
            of_outputs, output_weights = differentiated.more_terms(are_conditional)
            outputs = [differentiated.results[k] for k in (*carried, *(n + j for j in columns))]
            result = adjoint(outputs, differentiated.inputs, [*of_states, *of_outputs])
            grown = {
                k: carried.get(k, has_number) or (not is_zero(result[k]) and is_conditional(result[k]))
                for k in range(n)
                if k in carried or not is_zero(result[k])
            }
            if grown == carried:
                break
            carried = grown
        to_inputs, to_outside = (
            {first + j: is_conditional(x) for j, x in enumerate(part) if not is_zero(x)}
            for first, part in ((n, result[n : n + m]), (n + m, result[n + m :]))
        )
        totals, sums = differentiated.more_terms([*to_outside.values()])
        results_of_body = flagged([result[k] for k in carried], carried.values())
        added = [summed(total, result[k]) for total, k in zip(totals, to_outside, strict=True)]
        results_of_body += flagged(added, to_outside.values())
        results_of_body += (of_inputs := flagged([result[k] for k in to_inputs], to_inputs.values()))
        needed = set(reachable(results_of_body))
        x, s, c = (
            [j for j, symbol in enumerate(part) if symbol in needed]
            for part in (differentiated.inputs[:n], differentiated.inputs[n : n + m], differentiated.inputs[n + m :])
        )
        taken: list[Symbol] = (
            [differentiated.inputs[j] for j in x] + [differentiated.inputs[n + j] for j in s] + output_weights
        )
        body = Region.of(
            results_of_body, [*state_weights, *sums, *taken, *(differentiated.inputs[n + m + j] for j in c)]
        )
        back = Loop(body, len(state_weights) + len(sums), len(taken), len(of_inputs), steps, backward=not self.backward)
        history = self._history(arguments, x)
        rows: list[Any] = []
        for t in range(steps if taken else 0):
            rows += history[t * len(x) : (t + 1) * len(x)]
            rows += [stacked[t * m + j] for j in s]
            rows += flagged([weights[n + t * stored_count + j] for j in columns], are_conditional)
        start = flagged([weights[k] for k in carried], carried.values()) + [0.0] * len(sums)
        values = _run_derived(back, [*start, *rows, *(outside[j] for j in c)], arguments)
        gradient: list[Any] = [0.0] * len(arguments)
        elements = iter(values)
        for k, term in zip(carried, terms_of_body(elements, carried.values()), strict=True):
            gradient[k] = term
        for k, term in zip(to_outside, terms_of_body(elements, to_outside.values()), strict=True):
            gradient[k + (steps - 1) * m] = term
        for t in range(steps if to_inputs else 0):
            for k, term in zip(to_inputs, terms_of_body(elements, to_inputs.values()), strict=True):
                gradient[k + t * m] = term
        return gradient

    def _check_derivatives(self) -> None:
        if self.stores or self.reads:
            raise NotDifferentiableError(
                "scan_storing, scan_stored: a scan with stored outputs has no derivatives; scan has derivatives"
            )

    def _history(self, arguments: Sequence[Any], indices: Sequence[int]) -> Sequence[Any]:
        """Return the scalars of the state at these indices at the start of every step, one step after the other."""
        if not indices:
            return []
        differentiated = Differentiated(self.body)
        body = Region.of(
            [*differentiated.results[: self.carried], *(differentiated.inputs[k] for k in indices)],
            differentiated.inputs,
        )
        return replace(self, body=body, outputs=len(indices))(arguments)[self.carried :]


def _run_derived(loop: Loop, inputs: Sequence[Any], arguments: Sequence[Any]) -> Sequence[Any]:
    """Return the results of ``loop``, which computes derivatives of another loop that has these ``arguments``.

    A long loop on constants alone is not evaluated at trace time, but becomes an instruction of the arguments' trace.
    """
    graph = None
    if loop.max_iterations > _SHORT and all(isinstance(x, (int, float)) for x in inputs):
        graph = next((x.graph for x in arguments if x.__class__ is Symbol), None)
    return loop(inputs) if graph is None else graph.bundle(loop, inputs)


def _ends(sizes: Sequence[int]) -> list[tuple[int, int]]:
    ends, start = [], 0
    for size in sizes:
        ends.append((start, start + size))
        start += size
    return ends
