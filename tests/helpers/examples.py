"""Counts of Hypothesis' random examples: a run draws a fifth of them, others each time, and all with --all."""

import contextlib

from hypothesis import HealthCheck, settings

SHARE = 5  # a short run draws one example in so many
FEWEST = 5  # examples of a test in a short run

_WHOLE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("whole", _WHOLE)
settings.register_profile("short", _WHOLE, max_examples=_WHOLE.max_examples // SHARE)


def load_profile(*, whole: bool) -> None:
    """Set the number of examples of tests that name none, and of `examples`; files of tests are imported later.

    Only a whole run draws constants of the source, too.
    """
    settings.load_profile("whole" if whole else "short")
    _draw_constants_of_source(whole)


def _draw_constants_of_source(is_drawn: bool) -> None:
    """Let Hypothesis draw constants of the source, or not: each process parses all its files for them, in seconds."""
    with contextlib.suppress(ImportError):  # of other versions of Hypothesis, which draw them or have none
        from hypothesis.internal import constants_ast
        from hypothesis.internal.conjecture import providers

        real = constants_ast.is_local_module_file
        providers.is_local_module_file = real if is_drawn else lambda _: False  # type: ignore[attr-defined, assignment]


def examples(count: int) -> int:
    """Return the number of examples that a run draws of a test: ``count`` in a whole run."""
    is_whole = settings().max_examples == _WHOLE.max_examples
    return count if is_whole else max(min(count, FEWEST), count // SHARE)
