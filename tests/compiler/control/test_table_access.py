"""Tables that loops change in place: results equal NumPy's, and a step costs no more in a longer table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.control.test_kernels import all_same, check
from linkwork.expr import and_, cond, fori_loop, put, scan, take, where, while_loop


def sieve(n: Any, *, length: int) -> dict[str, Any]:
    """Mark the primes below n in one loop: the sieve of Eratosthenes."""

    def step(s: Any) -> Any:
        prime, p, multiple = s
        marking = multiple < n
        prime = put(prime, where(marking, multiple, -1.0), 0.0)
        following = where(take(prime, p + 1.0) > 0.5, (p + 1.0) * (p + 1.0), n)
        return prime, where(marking, p, p + 1.0), where(marking, multiple + p, following)

    start = np.where(np.arange(length) < 2, 0.0, 1.0), 2.0, 4.0
    result = while_loop(lambda s: s[1] * s[1] < n, step, start, max_iterations=3 * length)
    return {"prime": result.state[0], "iterations": result.iterations, "status": result.status}


def test_kernel_with_a_sieve_in_a_loop_marks_the_primes() -> None:
    kernel = lw.compile(lambda n: sieve(n, length=60), n=())
    n = np.array([60.0, 3.0, 37.0, 10.0, 58.0, 2.0, 25.0, 26.0, 49.0])
    values = kernel(n)
    for limit, prime in zip(n.astype(int), values.prime, strict=True):
        expected = [k > 1 and all(k % d for d in range(2, k)) for k in range(limit)]
        np.testing.assert_array_equal(prime[:limit], expected)
        np.testing.assert_array_equal(prime[max(limit, 2) :], 1.0)
    check(kernel, [n], sizes=range(1, 10))


def test_cost_of_a_table_update_does_not_depend_on_the_tables_length() -> None:
    counts, stores, loads = [], [], []
    for length in (40, 400):
        kernel = lw.compile(lambda n, length=length: sieve(n, length=length), n=(), name="sieve")
        kernel(3.0)
        counts.append(dict(kernel.while_loops[0].operations))
        body = kernel.llvm_ir.partition("define internal void @sieve.sample.loop")[2].partition("\n}")[0]
        body = body.partition("br label %again")[2]  # what is done in every step
        stores.append(body.count("store "))
        loads.append(body.count("load "))
    assert counts[0] == counts[1] and sum(counts[0].values()) < 40
    assert stores[0] == stores[1] < 10
    assert loads[0] == loads[1] < 20


def rings(x: Any, u: Any) -> dict[str, Any]:
    """The last 18 inputs as rows (u, u x), with reads, repeated writes, and writes outside of the table."""

    def step(s: Any, v: Any) -> Any:
        ring, at = s
        before = take(ring, at)
        ring = put(ring, at, np.stack([v, v * x]))
        ring = put(ring, at + v, np.stack([-v, before[0]]))
        at = where(at > 16.5, 0.0, at + 1.0)
        return (ring, at), (before, take(ring, at - 1.0)[1], ring[3, 0])

    (ring, at), saved = scan(step, (np.zeros((18, 2)) + x, 0.0), u)
    return {"ring": ring, "at": at, "before": saved[0], "new": saved[1], "third": saved[2]}


def rings_in_numpy(x: float, u: np.ndarray) -> list[Any]:
    ring, at, before, new, third = np.zeros((18, 2)) + x, 0, [], [], []
    for v in u:
        before.append(ring[at].copy())
        ring[at] = v, v * x
        if 0 <= int(np.floor(at + v)) < 18:
            ring[int(np.floor(at + v))] = -v, before[-1][0]
        at = (at + 1) % 18
        new.append(ring[max(at - 1, 0), 1])
        third.append(ring[3, 0])
    return [ring, at, before, new, third]


@pytest.mark.slow(every=3)
def test_ring_buffer_updated_in_a_scan_equals_numpys_result() -> None:
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=21), rng.uniform(-2.5, 2.5, (21, 45))
    kernel = lw.compile(rings, x=(), u=(45,))
    check(kernel, [x, u], sizes=range(1, 22, 4))
    values = kernel(x, u)
    for k in range(21):
        for got, right in zip(values, rings_in_numpy(x[k], u[k]), strict=True):
            np.testing.assert_array_equal(got[k], right)


def test_writes_outside_a_table_are_dropped_and_a_written_nan_ends_the_loop() -> None:
    """A NaN ends the loop if it is written, and not if it is out of range or overwritten."""

    def function(x: Any, index: Any, again: Any) -> Any:
        def step(s: Any) -> Any:
            table = put(put(s[0], index, x), again, 5.0)
            return table, s[1] + 1.0

        result = while_loop(lambda s: s[1] < 3.0, step, (np.arange(20.0), 0.0), max_iterations=9)
        return {"table": result.state[0], "iterations": result.iterations, "status": result.status}

    kernel = lw.compile(function, x=(), index=(), again=())
    nan, inf = np.nan, np.inf
    x, index, again, status = (np.array(row) for row in zip(
        (7.0, 2.0, 3.0, 0), (nan, 2.0, 3.0, 2), (nan, 2.0, 2.9, 0), (nan, -0.5, 3.0, 0), (nan, 20.0, 3.0, 0),
        (nan, nan, 3.0, 0), (nan, 0.0, -1.0, 2), (7.0, -0.0, inf, 0), (7.0, -inf, nan, 0), (7.0, 19.9, 1e30, 0),
        (inf, 1.0, 1e18, 0), strict=True,
    ))  # fmt: skip
    result = kernel(x, index, again)
    np.testing.assert_array_equal(result.status, status)
    np.testing.assert_array_equal(result.iterations, np.where(status == 2.0, 1.0, 3.0))
    for k in range(len(x)):
        expected = np.arange(20.0)
        for position, value in ((index[k], x[k]), (again[k], 5.0)):
            if 0.0 <= position < 20.0:
                expected[int(position)] = value
        np.testing.assert_array_equal(result.table[k], expected)
        alone = function(x[k], index[k], again[k])
        np.testing.assert_array_equal(alone["table"], expected)
        assert alone["status"] == status[k]
    check(kernel, [x, index, again], sizes=range(1, 12, 3))


def test_tables_that_cannot_be_updated_in_place_are_copied() -> None:
    """Tables that cannot be updated in place are copied."""

    def function(x: Any, y: Any) -> Any:
        def step(k: Any, s: Any) -> Any:
            first, second = s
            first = cond(x < k, lambda: put(first, k, y), lambda: put(first, y + k, take(second, k)))
            second = where(y > 0.0, put(second, k * 2.0, x), second) * 1.5
            return (second, put(first, y, take(first, k) + first[2]))

        first, second = fori_loop(0, 5, step, (np.arange(18.0), np.zeros(18) + y))
        outside = put(put(np.zeros(20), x, y), y, take(first, x))
        return {"one": first, "other": second, "outside": outside, "taken": take(outside, y) + outside[0]}

    kernel = lw.compile(function, x=(), y=())
    rng = np.random.default_rng(1)
    check(kernel, [rng.uniform(-1.0, 6.0, 17), rng.uniform(-2.0, 9.0, 17)], sizes=range(1, 18, 5))


def test_simd_lanes_that_start_new_samples_have_independent_tables() -> None:
    """A heap is filled and emptied in each step; samples need different numbers of steps."""

    def function(u: Any) -> Any:
        def smaller_child(heap: Any, at: Any, count: Any) -> Any:
            left = 2.0 * at + 1.0
            right = and_(left + 1.0 < count, take(heap, left + 1.0) < take(heap, left))
            return where(right, left + 1.0, left)

        def down(k: Any, s: Any) -> Any:
            heap, out, count = s
            new = take(heap, count - 1.0)
            out = put(out, k, heap[0])

            def sink(t: Any) -> Any:
                child = smaller_child(t[0], t[1], count - 1.0)
                return put(t[0], t[1], take(t[0], child)), child

            def low(t: Any) -> Any:
                child = smaller_child(t[0], t[1], count - 1.0)
                return and_(child < count - 1.0, take(t[0], child) < new)

            heap, at = while_loop(low, sink, (heap, 0.0), max_iterations=9).state
            return put(heap, at, new), out, count - 1.0

        def up(k: Any, heap: Any) -> Any:
            new = take(u, k)
            parent = lambda at: (at - 1.0) * 0.5  # noqa: E731
            higher = lambda t: and_(t[1] > 0.5, take(t[0], parent(t[1])) > new)  # noqa: E731
            lift = lambda t: (put(t[0], t[1], take(t[0], parent(t[1]))), np.floor(parent(t[1])))  # noqa: E731
            heap, at = while_loop(higher, lift, (heap, k), max_iterations=9).state
            return put(heap, at, new)

        heap = fori_loop(0, 24, up, np.zeros(24))
        return fori_loop(0, 24, down, (heap, np.zeros(24), 24.0))[1]

    u = np.random.default_rng(2).normal(size=(70, 24))
    kernel = lw.compile(function, u=24)
    np.testing.assert_array_equal(kernel(u), np.sort(u))
    assert all_same([kernel(row) for row in u[:5]], np.sort(u)[:5])


def test_constants_of_nested_loops_are_returned_unchanged() -> None:
    def function(x: Any, y: Any) -> Any:
        a, b = fori_loop(0, 3, lambda k, s: (s[0] + k, s[1]), (x, y))
        c, d, _ = fori_loop(0, 2, lambda k, s: (s[0] * a, s[1], s[2] + a), (b, b, a))
        return {"c": c, "d": d}

    result = lw.compile(function, x=(), y=())(2.0, 3.0)
    assert (result.c, result.d) == (75.0, 3.0)


def test_put_and_take_refuse_invalid_tables_and_values() -> None:
    refused: list[tuple[Any, type[Exception], str]] = [
        (lambda x: put([], x, 1.0), ValueError, "put: table: expected an array with at least one entry"),
        (lambda x: put(x, 0.0, 1.0), ValueError, "put: table: expected an array with at least one entry, got a number"),
        (lambda x: put(np.ones((3, 2)), x, 1.0), ValueError, r"put: value: expected an array of shape \(2,\), as the"),
        (lambda x: put(np.ones(3), x, [1.0, x]), ValueError, "put: value: expected a number, as in the table, got"),
        (lambda x: put(np.ones(3), "1", 1.0), TypeError, "put: index: expected arrays and numbers, got '1'"),
        (lambda x: put(np.ones(3), x, "a"), TypeError, "put: value: expected arrays and numbers, got 'a'"),
        (
            lambda x: put(np.ones(3, bool), x, False),
            TypeError,
            "put: (value: )?expected numbers, got truth values: where",
        ),
    ]
    for function, kind, match in refused:
        with pytest.raises(kind, match=match):
            lw.compile(function, x=())
        with pytest.raises(kind, match=match):
            function(1.5)
    with pytest.raises(TypeError, match="take: table: expected numbers, got truth values"):
        lw.compile(lambda x: take(np.array([x > 0.0, x < 1.0], dtype=object), x), x=())


def test_rows_of_constant_tables_are_read_for_equal_and_different_indices_in_simd_lanes() -> None:
    table = np.random.default_rng(5).normal(size=(6, 40))
    kernel = lw.compile(lambda k: {"row": take(table, k), "index": k}, k=())
    for k in (np.full(11, 3.0), np.array([0.0, 5.0, 2.0, 2.0, -1.0, 9.0, 1.5, 3.0, 4.0, 0.0, 5.0])):
        np.testing.assert_array_equal(kernel(k).row, table[np.clip(k, 0, 5).astype(int)])
        check(kernel, [k], sizes=(1, 4, 8, 11))
    assert np.isnan(kernel(np.array([1.0, np.nan, 2.0])).row[1]).all()
