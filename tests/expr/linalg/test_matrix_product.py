"""Matrix products that are one instruction, against NumPy and unrolled products."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import adjoint, jacobian, scan
from linkwork.expr.linalg.matrix_product import MatrixProduct, large_product


def multiplied(A, B):
    return np.array(large_product(A.tolist(), B.tolist()))


@pytest.mark.parametrize("shape", [(37, 23, 41), (6, 50, 13), (1, 45, 46)])
def test_compiled_matrix_products_equal_numpys(shape):
    rows, inner, columns = shape
    kernel = lw.compile(multiplied, name="product", A=(rows, inner), B=(inner, columns))
    assert [i.value for i in kernel.program.instructions if i.operation.name == "matrix_product"]
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(21, rows, inner)), rng.normal(size=(21, inner, columns))
    batch = kernel(A, B)
    assert np.allclose(batch, A @ B, rtol=0.0, atol=1e-13 * inner)
    for k in range(0, 21, 5):  # the same alone, in neighbours' company, and at the end
        assert np.array_equal(kernel(A[k], B[k]), batch[k])
    assert np.allclose(kernel.interpret(A[0], B[0]), batch[0], rtol=0.0, atol=1e-13 * inner)
    assert kernel.operations == {"mul": rows * columns * inner, "add": rows * columns * (inner - 1)}


def test_matrix_products_in_compiled_loops_equal_numpys():
    def powers(A, B):
        def step(X, row):
            X = multiplied(X, A) + row
            return X, multiplied(A, X)

        return scan(step, A, B)

    n = 13
    kernel = lw.compile(powers, name="powers", A=(n, n), B=(3, n, n))
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(n, n)) / n, rng.normal(size=(3, n, n))
    X, products = A, []
    for b in B:
        X = X @ A + b
        products.append(A @ X)
    last, powers_of_A = kernel(A, B)
    assert np.allclose(last, X, rtol=0.0, atol=1e-13)
    assert np.allclose(powers_of_A, products, rtol=0.0, atol=1e-13)


def test_derivatives_of_matrix_products_are_exact():
    product = MatrixProduct(2, 3, 2)

    def differentiated(A, B):
        inputs = [*A.ravel(), *B.ravel()]
        values = list(product(inputs))
        return np.array(jacobian(values, inputs)), np.array(adjoint(values, inputs, [1.0, 2.0, 3.0, 4.0]))

    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
    J, gradient = lw.compile(differentiated, name="derived", A=(2, 3), B=(3, 2))(A, B)
    dA, dB = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
    expected = dA @ B + A @ dB
    assert np.allclose(J @ np.concatenate([dA.ravel(), dB.ravel()]), expected.ravel(), rtol=0.0, atol=1e-13)
    assert np.allclose(gradient, [1.0, 2.0, 3.0, 4.0] @ J, rtol=0.0, atol=1e-13)
