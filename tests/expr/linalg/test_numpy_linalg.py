"""numpy.linalg's functions on arrays of symbols have NumPy's arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import positive, random

A, B = positive(1, n=3), random(2, 3, 2)

SAME: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "solve a vector": lambda a, b: np.linalg.solve(a, b[:, 0]),
    "solve a batch": lambda a, b: np.linalg.solve(np.stack([a, 2.0 * a]), b),
    "inv": lambda a, b: np.linalg.inv(a),
    "det": lambda a, b: np.linalg.det(a),
    "slogdet": lambda a, b: np.linalg.slogdet(a).logabsdet,
    "cholesky": lambda a, b: np.linalg.cholesky(a),
    "cholesky above": lambda a, b: np.linalg.cholesky(a, upper=True),
    "qr": lambda a, b: np.linalg.qr(b).R,
    "eigh": lambda a, b: np.abs(np.linalg.eigh(a).eigenvectors),
    "eigvalsh": lambda a, b: np.linalg.eigvalsh(np.triu(a), "U"),
    "svd": lambda a, b: np.abs(np.linalg.svd(b, full_matrices=False).U),
    "svd, values": lambda a, b: np.linalg.svd(b, compute_uv=False),
    "svdvals": lambda a, b: np.linalg.svdvals(b),
    "pinv": lambda a, b: np.linalg.pinv(b),
}


@pytest.mark.parametrize("name", SAME)
def test_functions_of_numpy_linalg_on_symbols_equal_numpy_on_floats(name: str) -> None:
    function = SAME[name]
    kernel = lw.compile(function, name="kernel", a=(3, 3), b=(3, 2))
    np.testing.assert_allclose(kernel(A, B), function(A, B), rtol=1e-12, atol=1e-13)


def test_options_of_numpy_linalg_without_an_implementation_on_symbols_are_refused() -> None:
    refused: dict[str, Callable[[Any], Any]] = {
        r"np\.linalg\.qr: mode: expected 'reduced' on symbols, got 'complete'": lambda b: np.linalg.qr(b, "complete"),
        r"np\.linalg\.svd: full_matrices: expected False on symbols": lambda b: np.linalg.svd(b),
        r"np\.linalg\.lstsq: .*linkwork\.lstsq": lambda b: np.linalg.lstsq(b, b[:, 0])[0],
    }
    for message, function in refused.items():
        with pytest.raises(TypeError, match=message):
            lw.compile(function, name="kernel", b=(3, 2))
    with pytest.raises(ValueError, match="UPLO: expected 'L' or 'U', got 'X'"):
        lw.compile(lambda a: np.linalg.eigvalsh(a, "X"), name="kernel", a=(3, 3))
