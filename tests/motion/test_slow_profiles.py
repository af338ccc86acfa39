"""Profiles with more time than they need: stop, slow motion, acceleration; their duration, ends and continuity."""

from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.motion.profiles import profile_kinds
from linkwork.motion.profiles.profile_kinds import _slow_motion


def cubic_profile(state):
    """Return a cubic between two positions and velocities in a time of 0.5 s and more, in two equal segments."""
    q0, q1, v0, v1, _, _ = state
    T = 0.5 + abs(q1 - q0) + abs(v0) + abs(v1)
    c = np.array([q0, v0, 3 * (q1 - q0) / T**2 - (2 * v0 + v1) / T, -2 * (q1 - q0) / T**3 + (v0 + v1) / T**2])
    if q0 == q1 and v0 == v1 == 0.0:
        return SimpleNamespace(times=np.zeros((1, 2)), coefficients=c[None, None])
    half = [np.polyval(np.polyder(c[::-1], k), 0.5 * T) / (1, 1, 2, 6)[k] for k in range(4)]
    return SimpleNamespace(times=[np.array([0.0, 0.5 * T, T])], coefficients=[np.array([c, half])])


@pytest.mark.parametrize(
    "state", [(0.3, 1.5, 0.7, -0.4, 0.0, 0.0), (0.3, -0.9, 0.0, 0.5, 0.0, 0.0), (0.3, 0.3, 0.2, 0.4, 0, 0)]
)
def test_slow_motions_have_the_duration_and_ends_and_no_jumps(state):
    q0, q1, v0, v1, _, _ = state
    least = sum(0.5 + abs(v) for v in (v0, v1) if v) + (0.5 + abs(q1 - q0) if q0 != q1 else 0.0)
    assert _slow_motion(least - 1e-9, state, cubic_profile) is None
    for duration in (least + 1e-9, 3.0 * least):
        motion = _slow_motion(duration, state, cubic_profile)
        h, c = np.diff(motion.times), motion.coefficients
        assert motion.times[0] == 0.0 and motion.times[-1] == duration and (h >= 0.0).all() and len(h) == len(c)
        last = [sum(x[k] * t**k for k in range(4)) for x, t in zip(c, h, strict=True)]
        rate = [sum(k * x[k] * t ** (k - 1) for k in (1, 2, 3)) for x, t in zip(c, h, strict=True)]
        assert (c[0, 0], last[-1]) == pytest.approx((q0, q1)) and (c[0, 1], rate[-1]) == pytest.approx((v0, v1))
        assert c[1:, 0] == pytest.approx(last[:-1]) and c[1:, 1] == pytest.approx(rate[:-1], abs=1e-9)
        stop = (0.5 + abs(v0)) if v0 else 0.0
        k = int(np.searchsorted(motion.times, stop + 1e-12)) - 1
        assert motion.times[k] == pytest.approx(stop) and abs(c[k, 1]) < 1e-9  # at rest before the slow motion


def test_padded_motions_have_segments_of_zero_duration():
    motion = profile_kinds._Motion(np.array([0.0, 1.0, 3.0]), np.arange(8.0).reshape(2, 4))
    assert profile_kinds._padded(motion, 2) is motion
    longer = profile_kinds._padded(motion, 4)
    assert longer.times.tolist() == [0.0, 1.0, 3.0, 3.0, 3.0]
    assert (longer.coefficients == motion.coefficients[[0, 1, 1, 1]]).all()


def test_slow_motions_from_rest_to_rest_equal_the_fastest_motion_at_a_lower_speed():
    fastest = cubic_profile((0.3, 1.5, 0.0, 0.0, 0.0, 0.0))
    motion = _slow_motion(2.0 * fastest.times[0][-1], (0.3, 1.5, 0.0, 0.0, 0.0, 0.0), cubic_profile)
    assert motion.times == pytest.approx(2.0 * fastest.times[0])
    assert motion.coefficients == pytest.approx(fastest.coefficients[0] / 2.0 ** np.arange(4))
