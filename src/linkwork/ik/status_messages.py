"""Sentences about answers of inverse kinematics, and tables of their statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.ik.failure_analysis import LOCAL_MINIMUM, NONE_OTHER, STATUSES, Reason
from linkwork.ik.problem_protocol import ProblemView

__all__ = ["sentence", "table"]


def sentence(reason: Reason, problem: ProblemView, facts: Mapping[str, Any]) -> str:
    """A reason in a sentence, with what is left, in words."""
    left = f"the nearest is {_left(facts)} away"
    if reason.status == "solved":
        return f"solved after {facts['iterations']} steps: {_left(facts)} left"
    if reason.status == LOCAL_MINIMUM and facts["reached"] == 1.0:
        done = "hard tasks are done, " if any(task.hard and not task.own for task in problem.tasks) else ""
        which = f"the least of {reason.starts} starts" if reason.starts > 1 else "the minimum that the seed leads to"
        rest = " and ".join(map(repr, reason.tasks))
        return f"local minimum: {done}{_left(facts)} left of soft {rest}, at a cost of {facts['cost']:.4g}, {which}"
    if reason.status == "not a number":
        return f"not a number: errors of {' and '.join(map(repr, reason.tasks))} are NaN at every configuration tried"
    if reason.status == "at limits":
        joints = "; ".join(map(str, reason.limits)) or "joints would have to be beyond them"
        return f"at limits: without them there is an answer: {joints}; within limits {left}"
    if reason.status == "out of reach":
        what = f"{reason.tasks[0]!r}: " if len(problem.tasks) > 1 and reason.tasks else ""
        return f"out of reach: {what}{reason.proof}; {left}"
    if reason.status == "not found":
        held = f", with {' and '.join(map(repr, problem.locked))} held" if problem.locked else ""
        what = f"{reason.tasks[0]!r}: " if len(problem.tasks) > 1 and reason.tasks else ""
        return f"not found: {what}no answer by {reason.starts} starts, within limits or without{held}; {left}"
    if reason.status == "conflict":
        names = " and ".join(map(repr, reason.tasks))
        pulls = ", ".join(f"{name!r} {np.linalg.norm(x):.3g}" for name, x in reason.multipliers.items())
        pulls = f" (where they compromise they pull with {pulls})" if pulls else ""
        other = "each is without the other" if len(reason.tasks) == 2 else "all but any one of them are"
        return f"conflict: {names} are not done together by {reason.starts} starts, {other}{pulls}; {left}"
    if reason.status == NONE_OTHER:
        return f"none other: {reason.others} answers that differ were found by {reason.starts} searches"
    more = "another start finds an answer: give another seed="
    if reason.steps:
        more = f"a search of {reason.steps} steps finds an answer: raise max_iterations, or give another seed="
    if reason.status == "singular":
        return f"singular: stuck after {facts['iterations']} steps where {reason.singularity}; {more}"
    if reason.status == LOCAL_MINIMUM:
        return f"local minimum: no small motion helps after {facts['iterations']} steps, {_left(facts)} left; {more}"
    if facts["reached"] == 1.0:
        return f"out of iterations: hard tasks are done, soft ones are at no minimum after {facts['iterations']} steps"
    return f"out of iterations: after {facts['iterations']} steps {_left(facts)} left; {more}"


def _left(facts: Mapping[str, Any]) -> str:
    return f"{facts['position_error']:.4g} m and {facts['orientation_error']:.4g} rad"


def table(statuses: Sequence[str]) -> str:
    """How many of each status, a line each."""
    names, counts = np.unique(np.asarray(statuses, dtype=object).astype(str), return_counts=True)
    rows = sorted(zip(names, counts, strict=True), key=lambda row: STATUSES.index(row[0]))
    width = max(len(name) for name in names)
    return "\n".join(f"{name:{width}s}  {count}" for name, count in rows)
