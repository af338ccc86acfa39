"""Kepler's equation E - e sin E = M by Newton's method: the position of a planet on its ellipse.

The loop runs inside the kernel.  Each sample takes as many iterations as it needs; a finished sample frees its lane for
the next one.  Forward derivatives follow the iterations; those of `root` depend on the solution only.
"""

import numpy as np

import linkwork as lw
from linkwork import while_loop
from linkwork.expr import adjoint, cos, root, sin, tangent


@lw.compile(M=(), e=())
def anomaly(M, e):
    """The eccentric anomaly of a mean anomaly M [rad] in [0, π] on an ellipse of eccentricity e < 1."""

    def residual(E):
        return E - e * sin(E) - M

    def far(E):
        return abs(residual(E)) > 1e-14

    def newton(E):
        return E - residual(E) / (1.0 - e * cos(E))

    return while_loop(far, newton, np.pi, max_iterations=50)  # from π on, Newton's steps never overshoot


@lw.compile(M=(), e=())
def rate(M, e):
    """dE/dM: how fast the planet moves, beside its mean."""
    (speed,) = tangent([anomaly(M, e).state], [M], [1.0])
    return speed


@lw.compile(M=(), e=())
def slopes(M, e):
    """dE/dM and dE/de in reverse."""
    E = root(lambda E: E - e * sin(E) - M, np.pi).value
    return np.array(adjoint([E], [M, e], [1.0]))


def by_bisection(M, e):
    """The same without derivatives: the root stays between two bounds that come together."""
    low, high = np.zeros_like(M), np.full_like(M, np.pi)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = middle - e * np.sin(middle) < M
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    M, e = rng.uniform(0.01, 3.1, 4096), rng.uniform(0.0, 0.95, 4096)
    solution = anomaly(M, e)
    assert np.all(solution.status == 0.0)  # the condition ended every loop, and not the bound on steps
    assert np.abs(solution.state - by_bisection(M, e)).max() < 1e-12
    assert np.array_equal(solution.state[:5], [anomaly(*pair).state for pair in zip(M[:5], e[:5], strict=True)])

    E = solution.state  # M = E - e sin E, so dM = (1 - e cos E) dE - sin E de
    expected = np.stack([np.ones_like(E), np.sin(E)], axis=1) / (1.0 - e * np.cos(E))[:, None]
    assert np.allclose(rate(M, e), expected[:, 0], rtol=1e-10)
    assert np.allclose(slopes(M, e), expected, rtol=1e-10, atol=1e-10)
    print(f"{solution.iterations.mean():.1f} steps on average, {solution.iterations.max():.0f} at most")
