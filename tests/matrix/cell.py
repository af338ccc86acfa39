"""One cell of the matrix: what a verb does on a kind of robot."""

from __future__ import annotations

import pickle
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from matrix.kinds import Kind, kind_of

__all__ = ["VERBS", "Verb", "close", "holds", "outcome", "plain", "verb"]

SOURCE = str(Path(lw.__file__).parent)
# messages of Python and NumPy, which no refusal has
_ACCIDENTS = re.compile(
    r"zip\(\)|broadcast|operands|unpack|out of (bounds|range)|cannot reshape|ambiguous|\bnan\b|is not in list"
    r"|truth value|zero-size|list index"
    r"|missing argument|unexpected keyword|object is not|must be real|missing \d required",
    re.I,
)
WORKS = "works"
NOT_MEANINGFUL = "not meaningful"


@dataclass(frozen=True)
class Verb:
    """A function that calls public names on a kind of robot and asserts an identity of their results."""

    name: str
    covers: tuple[str, ...]
    check: Callable[[Kind], Any]
    needs: Callable[[Kind], bool] | None = None

    @property
    def subject(self) -> str:
        return self.check.__module__.rpartition(".")[2]

    @property
    def identity(self) -> str:
        return (self.check.__doc__ or "").strip()


VERBS: dict[str, Verb] = {}


def verb(*covers: str, needs: Callable[[Kind], bool] | None = None, name: str | None = None) -> Callable[[Any], Any]:
    """Register a check, whose docstring states the identity, for the public names that it covers."""

    def register(check: Any) -> Any:
        key = name or check.__name__.replace("_", " ")
        assert key not in VERBS, key
        VERBS[key] = Verb(key, covers, check, needs)
        return check

    return register


def close(actual: Any, expected: Any, tolerance: float, title: str = "") -> None:
    """Assert that arrays agree, relative to the largest expected number and 1."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"{title}: shape {actual.shape}, expected {expected.shape}"
    error = np.abs(actual - expected).max(initial=0.0)
    bound = tolerance * (1.0 + np.abs(expected).max(initial=0.0))
    assert error <= bound, f"{title}: error {error:.2g}, bound {bound:.2g}"


def holds(kind: Kind, q: Any, tolerance: float = 1e-8, time: float = 0.0) -> None:
    """Assert that configurations (..., nq) satisfy the constraints, relative to the robot's length."""
    if any(constraint.holonomic for constraint in kind.robot.constraints):
        timed = {"time": time} if any(constraint.time_dependent for constraint in kind.robot.constraints) else {}
        error = np.abs(kind.robot.constraint_error(np.asarray(q), **timed)).max(initial=0.0)
        assert error <= tolerance * max(1.0, kind.size), f"constraints are violated by {error:.2g}"


def outcome(name: str, of: str) -> str:
    """Return ``"works"``, ``"not meaningful"``, the text of a refusal, or what was silent or raw."""
    checked, kind = VERBS[name], kind_of(of)
    if checked.needs is not None and not checked.needs(kind):
        return NOT_MEANINGFUL
    np.seterr(all="ignore")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checked.check(kind)
    except AssertionError as error:
        return f"WRONG: {_short(error)}"
    except (ValueError, TypeError, pickle.PicklingError, lw.errors.JointMethodError) as error:
        raised = traceback.extract_tb(error.__traceback__)[-1].filename
        is_ours = raised.startswith(SOURCE) and not _ACCIDENTS.search(str(error))
        return f"refuses: {_short(error)}" if is_ours else f"RAW: {type(error).__name__}: {_short(error)}"
    except Exception as error:
        return f"RAW: {type(error).__name__}: {_short(error)}"
    return WORKS


def _short(error: BaseException) -> str:
    """Return the message on one line, without numbers, addresses and paths, which differ between machines."""
    return plain(" ".join(str(error).split()))


def plain(text: str) -> str:
    """Return a text with numbers, addresses and paths left out."""
    text = re.sub(r"(?<![\w.])/(?:[\w.#-]+/)+[\w.#-]+(?::\d+)?", "…", re.sub(r"0x[0-9a-f#]+|at 0x\S+", "…", text))
    return re.sub(r"(?<![\w'])-?\d+\.\d+(e[-+]?\d+)?|\d+e[-+]?\d+", "#", text)[:300]
