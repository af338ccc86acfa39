"""Paths and effort limits of the search of predictive controllers, without a compiled program."""

from types import SimpleNamespace

import numpy as np

from linkwork.control.mpc.augmented_mpc import AugmentedPlanner


def vector_robot():
    return SimpleNamespace(difference=lambda a, b: b - a, integrate=lambda q, v: q + v)


def test_paths_of_predictive_controllers_continue_with_the_last_velocity():
    move = AugmentedPlanner._moved_path
    self = SimpleNamespace(robot=vector_robot())
    rate = np.array([0.5, -0.25])

    def path(first):
        times = np.array([0.0, 1.0, 2.0, 2.5])[:, None]  # the last configuration is half a step after the one before
        return (first + times)[None] * rate

    for whole, fraction in ((0, 0.0), (1, 0.0), (2, 0.25), (0, 0.75), (4, 0.5), (9, 0.0)):
        moved = move(self, path(0.0), whole, fraction)
        assert np.allclose(moved, path(min(whole, 4) + fraction)), (whole, fraction)
    single = path(0.0)[:, :1]
    assert move(self, single, 3, 0.5) is single


def test_searches_include_effort_limits_while_forces_reach_them():
    scalars = {"bounded_scalars": np.zeros((2, 1)), "bounded_penalties": np.zeros((2, 1))}
    fresh = {"scalars": np.ones((2, 1)), "penalties": np.ones((2, 1))}

    def step(tau, is_bounded, multipliers=(0.0, 0.0), bounded=True):
        search = {
            "is_bounded": np.array(is_bounded),
            "effort_multipliers": np.reshape(multipliers, (2, 1, 1)),
            **scalars,
        }
        planner = SimpleNamespace(_limits=np.array([5.0]), _released=np.array([4.0]))
        planner._bounded = SimpleNamespace(begin_step=lambda count: fresh) if bounded else None
        planner._bounded_count = lambda search: int(np.count_nonzero(search["is_bounded"]))
        result, exceeds = AugmentedPlanner.with_effort_limits(planner, search, np.reshape(tau, (2, 1, 1)))
        return result["is_bounded"].tolist(), exceeds.tolist(), result["bounded_scalars"][:, 0].tolist()

    assert step((9.0, 9.0), (0.0, 0.0), bounded=False) == ([0.0, 0.0], [False, False], [0.0, 0.0])
    assert step((5.0, -5.0), (0.0, 0.0)) == ([0.0, 0.0], [False, False], [0.0, 0.0])
    assert step((5.5, -5.0), (0.0, 0.0)) == ([1.0, 0.0], [True, False], [1.0, 0.0])
    assert step((-5.5, 4.5), (1.0, 1.0)) == ([1.0, 1.0], [False, False], [0.0, 0.0])
    assert step((4.0, 3.0), (1.0, 1.0)) == ([0.0, 0.0], [False, False], [0.0, 0.0])
    assert step((3.0, 3.0), (1.0, 1.0), (0.5, 0.0)) == ([1.0, 0.0], [False, False], [0.0, 0.0])
