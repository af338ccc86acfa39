"""Messages of inverse kinematics results, and tables of their statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.errors import Status
from linkwork.ik.failure_analysis import Reason
from linkwork.ik.problem_protocol import ProblemView

__all__ = ["sentence", "table"]


_ORDER = [*Status]


def sentence(reason: Reason, problem: ProblemView, facts: Mapping[str, Any]) -> str:
    """Return a reason as a sentence, with the errors that are left."""
    left, status = f"the nearest is {_left(facts)} away", reason.status
    if status is Status.SOLVED:
        return f"{_left(facts)} left after {facts['iterations']} steps"
    if status is Status.LOCAL_MINIMUM and facts["reached"] == 1.0:
        done = "hard tasks are done, " if any(task.hard and not task.own for task in problem.tasks) else ""
        which = f"the least of {reason.starts} starts" if reason.starts > 1 else "the minimum that the seed leads to"
        rest = " and ".join(map(repr, reason.tasks))
        return f"{done}{_left(facts)} left of soft {rest}, at a cost of {facts['cost']:.4g}, {which}"
    if status is Status.NOT_FINITE:
        return f"errors of {' and '.join(map(repr, reason.tasks))} are NaN at every configuration tried"
    if status is Status.AT_LIMITS:
        joints = "; ".join(map(str, reason.limits)) or "joints would have to be beyond them"
        return f"without limits there is an answer: {joints}; within limits {left}"
    what = f"{reason.tasks[0]!r}: " if len(problem.tasks) > 1 and reason.tasks else ""
    if status is Status.OUT_OF_REACH:
        return f"{what}{reason.proof}; {left}"
    if status is Status.NOT_FOUND:
        held = f", with {' and '.join(map(repr, problem.locked))} held" if problem.locked else ""
        return f"{what}no answer by {reason.starts} starts, within limits or without{held}; {left}"
    if status is Status.INFEASIBLE:
        names = " and ".join(map(repr, reason.tasks))
        pulls = ", ".join(f"{name!r} {np.linalg.norm(x):.3g}" for name, x in reason.multipliers.items())
        pulls = f" (where they compromise they pull with {pulls})" if pulls else ""
        other = "each is without the other" if len(reason.tasks) == 2 else "all but any one of them are"
        return f"{names} are not done together by {reason.starts} starts, {other}{pulls}; {left}"
    if status is Status.NO_OTHER_SOLUTION:
        return f"{reason.others} answers that differ were found by {reason.starts} searches"
    more = f"a search of {reason.steps} steps finds an answer" if reason.steps else "another start finds an answer"
    if status is Status.SINGULAR:
        return f"stuck after {facts['iterations']} steps where {reason.singularity}; {more}"
    if status is Status.LOCAL_MINIMUM:
        return f"no small motion helps after {facts['iterations']} steps, {_left(facts)} left; {more}"
    if facts["reached"] == 1.0:
        return f"hard tasks are done, soft ones are at no minimum after {facts['iterations']} steps"
    return f"after {facts['iterations']} steps {_left(facts)} left; {more}"


def _left(facts: Mapping[str, Any]) -> str:
    return f"{facts['position_error']:.4g} m and {facts['orientation_error']:.4g} rad"


def table(statuses: Sequence[str]) -> str:
    """Return how many results have each status, a line each."""
    names, counts = np.unique(np.asarray(statuses, dtype=object).astype(str), return_counts=True)
    rows = sorted(zip(names, counts, strict=True), key=lambda row: _ORDER.index(row[0]))
    width = max(len(name) for name in names)
    return "\n".join(f"{name:{width}s}  {count}" for name, count in rows)
