"""Non-temporal stores of large results: equal values at all alignments, and no writes outside."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.compiler.codegen import batch_loop as loops
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.trace import trace

from .support import every_target


@every_target
@pytest.mark.parametrize("sizes", [(131,), pytest.param((127, 128, 150), marks=pytest.mark.slow(every=9))])
def test_results_written_with_nontemporal_stores_are_correct_for_all_alignments(
    target: Target, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays begin anywhere in a cache line, with and without gaps between samples, in both float types."""
    monkeypatch.setattr(loops, "STREAMED", 1)  # all that can be
    for size in sizes:

        def function(x: np.ndarray, size: int = size) -> tuple[np.ndarray, np.ndarray]:
            long = np.array([x[k % 3] * (k + 1.0) if k % 5 else 0.25 for k in range(size)], dtype=object)
            return long, 2.0 * x

        kernel = Kernel(trace(lambda x: function(x), "streamed", {"x": 3}), backend=CPUBackend(target))
        rng = np.random.default_rng(size)
        for kind in (np.float64, np.float32):
            for batch, offset, gap in ((3, 0, 0), (16, 1, 0), (33, 3, 0), (40, 5, 7)):
                x = rng.normal(size=(batch, 3)).astype(kind)
                room = np.full(8 + batch * (size + gap) + 8, -7.0, dtype=kind)
                begun = room[offset : offset + batch * (size + gap)].reshape(batch, size + gap)
                short = np.empty((batch, 3), dtype=kind)
                kernel(x, out=(begun[:, :size], short))
                factors = np.arange(1, size + 1, dtype=kind)
                expected = np.where(np.arange(size) % 5, x[:, np.arange(size) % 3] * factors, kind(0.25))
                assert np.array_equal(begun[:, :size], expected), (size, kind, batch, offset, gap)
                assert np.array_equal(short, 2.0 * x)
                begun[:, :size] = -7.0
                assert np.all(room == -7.0), "something was written beside the samples"


def test_results_written_with_nontemporal_stores_by_several_threads_are_correct(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results larger than the caches, shared by threads, equal those of small batches."""
    import linkwork as lw

    kernel = Kernel(trace(lambda x: np.outer(x, x) + np.sin(x[0]), "outer", {"x": 20}))
    x = np.random.default_rng(0).normal(size=(7001, 20))
    before = lw.get_num_threads()
    try:
        for count in (1, 3):
            lw.set_num_threads(count)
            results = kernel(x)
            assert results.nbytes > 1 << 24
            parts = [kernel(x[k : k + 500]) for k in range(0, len(x), 500)]
            assert np.array_equal(results, np.concatenate(parts))
    finally:
        lw.set_num_threads(before)
