"""Statuses of results, public as `linkwork.errors.Status`, and the translation of kernel codes to statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np

__all__ = ["WORDS", "Status", "status_of", "statuses"]


class Status(StrEnum):
    """The outcome of a computation: a word, its ``meaning``, and ``advice``, which says what to do about it.

    A member is a string and equals its word: ``result.status == "solved"``.  The status of a batch is an array of
    these words; ``Status(word)`` gives the member.

    >>> Status("time_limit") is Status.TIME_LIMIT
    True
    >>> Status.TIME_LIMIT.advice
    'Increase time_limit.'
    """

    __module__ = "linkwork.errors"

    meaning: str
    advice: str  # empty if no action is needed

    def __new__(cls, word: str, meaning: str = "", advice: str = "") -> Self:
        member = str.__new__(cls, word)
        member._value_, member.meaning, member.advice = word, meaning, advice
        return member

    # searches of all kinds
    SOLVED = "solved", "The result is a solution within tolerances."
    LOCAL_MINIMUM = (
        "local_minimum",
        "The residual or the cost is above tolerance, and no small change reduces it.",
        "Start from another q_init, or allow more starts: max_starts, num_starts or max_iterations.",
    )
    SINGULAR = (
        "singular",
        "The Jacobian is rank deficient where the search or the motion ended.",
        "Start from another q_init, or stay away from the singularity.",
    )
    INFEASIBLE = (
        "infeasible",
        "The constraints or tasks contradict each other; each one alone can be satisfied.",
        "Remove or relax one of the constraints or tasks that the message names.",
    )
    AT_LIMITS = (
        "at_limits",
        "A solution exists beyond the joint limits, and the search found none within them.",
        "Widen the limits of the joints that the message names, or change the target.",
    )
    OUT_OF_REACH = (
        "out_of_reach",
        "The target is beyond the reach of the robot.",
        "Move the target, or the robot's base, so that the target is neither too far from the base nor too near.",
    )
    NOT_FOUND = (
        "not_found",
        "No start led to a solution; a solution may exist.",
        "Start from another q_init, allow more starts by max_iterations, or relax the target.",
    )
    NO_OTHER_SOLUTION = (
        "no_other_solution",
        "The search found fewer solutions than requested.",
        "Use the entries where success is True, or allow more searches.",
    )
    NOT_CONVERGED = (
        "not_converged",
        "The search ended with violated constraints; a solution may exist.",
        "Start from another initial guess, or relax constraints.",
    )
    STALLED = (
        "stalled",
        "No further step improves the result, and it is not a minimum within tolerances.",
        "Loosen the tolerances, or improve the scaling of the features.",
    )
    MAX_ITERATIONS = (
        "max_iterations",
        "The search reached its maximum number of iterations.",
        "Increase max_iterations, or start closer to a solution.",
    )
    TIME_LIMIT = "time_limit", "The search reached its time limit.", "Increase time_limit."
    MAX_NODES = (
        "max_nodes",
        "The search trees reached their maximum number of configurations.",
        "Try another seed.",
    )
    RUNNING = "running", "The computation has not ended yet."
    SUPERSEDED = (
        "superseded",
        "The search was stopped because another start of the same problem was solved.",
    )
    NOT_FINITE = (
        "not_finite",
        "A value or a derivative that the computation needs is NaN or infinite.",
        "Correct the function or the input that the message names.",
    )
    TASKS_NOT_MET = (
        "tasks_not_met",
        "The hard tasks cannot all be satisfied in this step, because of limits or because they conflict.",
        "Reduce the gains, widen the limits, or make one of the tasks soft.",
    )
    CONSTRAINTS_NOT_MET = (
        "constraints_not_met",
        "The robot's own constraints are violated.",
        "Start from an assembled configuration (Robot.assemble), or widen the limits.",
    )
    # mechanisms
    LOOP_AT_LIMITS = (
        "loop_at_limits",
        "The loops can be closed only with a loop joint beyond its limits.",
        "Widen the limits of the loop joints that the message names, or start from another q_init.",
    )
    DEPENDENT_JOINTS = (
        "dependent_joints",
        "The fixed joints determine each other, and their values are inconsistent.",
        "Fix fewer of the joints that the message names.",
    )
    TURNING_POINT = (
        "turning_point",
        "The drivers cannot move farther in this direction: the mechanism is at a dead centre.",
        "End the motion before the turning point, or drive another joint.",
    )
    # planning and collision checks
    START_OUTSIDE_LIMITS = (
        "start_outside_limits",
        "The start is outside the position limits.",
        "Start within the limits, or widen position_limits.",
    )
    START_IN_COLLISION = (
        "start_in_collision",
        "The start is in collision, or closer than the margin.",
        "Start from a collision-free configuration, reduce the margin, or exclude the pair that the message names.",
    )
    START_VIOLATES_CONSTRAINTS = (
        "start_violates_constraints",
        "The start does not satisfy the path constraints.",
        "Project the start onto the constraints (Robot.ik_problem, Robot.project).",
    )
    GOAL_OUTSIDE_LIMITS = (
        "goal_outside_limits",
        "The goal is outside the position limits.",
        "Choose a goal within the limits, or widen position_limits.",
    )
    GOAL_IN_COLLISION = (
        "goal_in_collision",
        "The goal is in collision, or closer than the margin.",
        "Choose a collision-free goal, reduce the margin, or exclude the pair that the message names.",
    )
    GOAL_VIOLATES_CONSTRAINTS = (
        "goal_violates_constraints",
        "The goal does not satisfy the path constraints.",
        "Project the goal onto the constraints (Robot.ik_problem, Robot.project).",
    )
    GOAL_UNREACHABLE = (
        "goal_unreachable",
        "Inverse kinematics found no configuration for the goal pose.",
        "Move the goal, or allow a region of poses (planning.PoseRegion).",
    )
    DISCONNECTED = (
        "disconnected",
        "The roadmap has no path from the start to the goal.",
        "Extend the roadmap (Roadmap.extended).",
    )
    FREE = "free", "The whole motion is proved to be collision-free."
    FREE_AT_SAMPLES = (
        "free_at_samples",
        "No sample of the motion collides; the motion between samples is not checked.",
    )
    COLLIDING = (
        "colliding",
        "At least one configuration of the motion is in collision.",
        "Plan another motion (Robot.plan), or reduce the margin.",
    )
    UNDECIDED = (
        "undecided",
        "The motion comes so close to a collision that the check cannot decide.",
        "Reduce the tolerance, or plan with a larger distance.",
    )
    # Cartesian paths
    JOINT_JUMP = (
        "joint_jump",
        "No solution is close to the previous configuration of the path.",
        "Start from another configuration, or allow the robot to reconfigure.",
    )
    DEVIATION = (
        "deviation",
        "The frame leaves the tolerances of its path.",
        "Loosen the tolerances, or allow smaller steps along the path.",
    )
    # simulation
    COMPLETED = "completed", "The simulation ran to its end."
    ENDED_BY_EVENT = "ended_by_event", "An event with stop=True ended the simulation."
    CONTROLLER_FAILED = (
        "controller_failed",
        "The controller's output was non-finite or implausibly large.",
        "Check the controller in the state of the stop; high gains need a smaller dt, or ServoActuators.",
    )
    DIVERGED = (
        "diverged",
        "The state became non-finite or implausibly large.",
        "Use a smaller dt, or an implicit method.",
    )
    TOO_MANY_EVENTS = (
        "too_many_events",
        "More events occurred between two records than can be stored.",
        "Record more often, or stop a motion that comes to rest by an event with stop=True.",
    )
    STEP_NOT_SOLVED = (
        "step_not_solved",
        "The solver did not converge in an implicit time step.",
        "Use a smaller dt.",
    )
    GUARD_NOT_FINITE = (
        "guard_not_finite",
        "The guard function of an event returned NaN.",
        "Correct the guard of the event that the message names.",
    )
    # model-predictive control
    PLANNED = "planned", "The joint forces are those of a new plan."
    SHORTENED = (
        "shortened",
        "The joint forces are those of a plan with fewer iterations, because time ran out.",
        "Allow more time for a step, or fewer iterations.",
    )
    SATURATED = (
        "saturated",
        "The joint forces of the unconverged new plan exceed an effort limit; they are clipped to it.",
        "Allow more iterations, or make effort limits constraints of the problem.",
    )
    LATE = (
        "late",
        "Time ran out before the first iteration; the previous plan continues with its feedback gains.",
        "Allow more time for a step.",
    )
    FAILED = (
        "failed",
        "The search failed or its path violates constraints; the previous plan continues with its feedback gains.",
        "Correct or relax the features that the message names.",
    )
    BRAKING = (
        "braking",
        "No valid plan exists; the robot brakes with gravity compensation.",
        "Correct or relax the features that the message names.",
    )


WORDS = f"U{max(len(status.value) for status in Status)}"  # dtype of arrays of words


def status_of(words: np.ndarray) -> Any:
    """Return the `Status` for an array () of one word; return other arrays of words unchanged."""
    return words if words.ndim else Status(str(words[()]))


def statuses(codes: Any, table: Sequence[Status] | Mapping[Any, Status]) -> Any:
    """Translate status codes of a kernel: one code to its `Status`, an array (...) of codes to an array of words."""
    codes = np.asarray(codes)
    if not codes.ndim:
        return table[int(codes)]
    distinct, index = np.unique(codes, return_inverse=True)
    words = np.array([table[int(code)].value for code in distinct], dtype=WORDS)
    return words[index].reshape(codes.shape)
