"""Counts of Hypothesis' random examples: a run draws a fifth of them, others each time, and all with --all."""

from hypothesis import HealthCheck, settings

SHARE = 5  # a short run draws one example in so many
FEWEST = 5  # examples of a test in a short run

_WHOLE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("whole", _WHOLE)
settings.register_profile("short", _WHOLE, max_examples=_WHOLE.max_examples // SHARE)


def load_profile(*, whole: bool) -> None:
    """Set the number of examples of tests that name none, and of `examples`; files of tests are imported later."""
    settings.load_profile("whole" if whole else "short")


def examples(count: int) -> int:
    """Return how many examples a run draws of a test: ``count`` in a whole run."""
    is_whole = settings().max_examples == _WHOLE.max_examples
    return count if is_whole else max(min(count, FEWEST), count // SHARE)
