"""What random configurations are drawn from, and how many: the arguments that robots and joints share."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

__all__ = ["Size", "generator_of", "leading_of"]

Size = int | tuple[int, ...] | None


def generator_of(rng: np.random.Generator | None, seed: int | None) -> np.random.Generator:
    """The generator that is given, one from a seed, or a fresh one.

    Raises TypeError for a bare number, which could be meant as a seed and as how many, and for both at once.
    """
    if rng is not None and not isinstance(rng, np.random.Generator):
        if isinstance(rng, (int, np.integer)):
            message = f"{rng} alone could be a seed or how many: write seed={rng} or size={rng}"
        else:
            message = f"expected a numpy.random.Generator, such as numpy.random.default_rng(0), got {rng!r}"
        raise TypeError(f"random_configuration: {message}")
    if rng is None:
        try:
            return np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            message = f"seed: expected a whole number that is not negative, or a generator, got {seed!r}"
            raise type(error)(f"random_configuration: {message}") from None
    if seed is not None:
        raise TypeError(f"random_configuration: expected a generator or a seed, got both, with seed={seed!r}")
    return rng


def leading_of(size: Size) -> tuple[int, ...]:
    """The leading dimensions of what is drawn: none, so many, or these.  Raises ValueError for a negative one,
    TypeError for what is no whole number."""
    try:
        given = () if size is None else size if isinstance(size, Iterable) else (size,)
        shape = tuple(operator.index(n) for n in given)
    except TypeError:
        expected = "a whole number or a tuple of whole numbers"
        raise TypeError(f"random_configuration: size: expected {expected}, got {size!r}") from None
    if any(n < 0 for n in shape):
        raise ValueError(f"random_configuration: expected a size that is not negative, got {size!r}")
    return shape
