"""Constraints of jerk-limited timing: slower motions need less slowing, exactly in proportion to the duration."""

import numpy as np
import pytest

from linkwork.motion.algorithms.timing.jerk_interior_point import SmoothLimits, SmoothValues
from linkwork.motion.timing.jerk_subproblem import GridConstraints


def constraints(scale, rng):
    """Return constraints of 4 segments; those named in ``scale`` are by these factors tighter than others."""
    n, m, r = 4, 2, 3
    along = SmoothValues(
        *(rng.normal(size=(n + 1, m)) for _ in range(2)),
        *(rng.normal(size=(n, 2, r)) for _ in range(3)),
        0.1 * rng.normal(size=(n + 1, m)),
    )
    size = {"caps": 1e3, "forces": 1e3, "jerk": 1e3, **scale}
    force, jerk = np.full((n + 1, m), size["forces"]), np.full(r, size["jerk"])
    return GridConstraints(
        along, SmoothLimits(-force, force, -jerk, jerk), np.full(n, 0.3), np.full(n + 1, size["caps"])
    )


@pytest.mark.parametrize("scale", [{"caps": 0.02}, {"forces": 0.7}, {"jerk": 0.5}], ids=lambda x: next(iter(x)))
def test_required_slowdown_of_a_motion_is_in_proportion_to_its_speed(scale):
    rng = np.random.default_rng(3)
    limits, x, u = constraints(scale, rng), rng.uniform(0.2, 0.9, 5), 0.1 * rng.normal(size=5)
    needed = limits.required_slowdown(x, u)
    assert needed > 1.05
    for by in (1.3, needed, 2.0 * needed):
        assert limits.required_slowdown(x / by**2, u / by**2) == pytest.approx(needed / by)
        assert limits.time_scaled(by).required_slowdown(x, u) == pytest.approx(needed / by)
    tighter = constraints({name: 0.25 * value for name, value in scale.items()}, np.random.default_rng(3))
    power = {"caps": 0.5, "jerk": 1.0 / 3.0}.get(*scale)
    if power is not None:  # forces also have a part at rest
        assert tighter.required_slowdown(x, u) == pytest.approx(needed * 4.0**power)
