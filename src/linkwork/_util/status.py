"""Statuses of results, which are public as `linkwork.errors.Status`, and their translation from codes of kernels."""

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
    'Raise time_limit.'
    """

    __module__ = "linkwork.errors"

    meaning: str
    advice: str  # empty where nothing is to be done

    def __new__(cls, word: str, meaning: str = "", advice: str = "") -> Self:
        member = str.__new__(cls, word)
        member._value_, member.meaning, member.advice = word, meaning, advice
        return member

    # searches of all kinds
    SOLVED = "solved", "The result is a solution within tolerances."
    LOCAL_MINIMUM = (
        "local_minimum",
        "No small change makes the residual or the cost smaller, and it is not zero.",
        "Start from another q_init, or allow more starts.",
    )
    SINGULAR = (
        "singular",
        "The Jacobian is rank deficient where the search or the motion ended.",
        "Start from another q_init, or keep away from the singularity.",
    )
    INFEASIBLE = (
        "infeasible",
        "The constraints or tasks contradict each other; each can be met without the others.",
        "Remove or relax one of those that the message names.",
    )
    AT_LIMITS = (
        "at_limits",
        "There is a solution beyond joint limits and none was found within them.",
        "Widen the limits of the joints that the message names, or change the target.",
    )
    OUT_OF_REACH = (
        "out_of_reach",
        "The target is farther than the robot reaches.",
        "Move the target, or the robot's base, nearer.",
    )
    NOT_FOUND = (
        "not_found",
        "No start led to a solution, and nothing proves that there is none.",
        "Start from another q_init, allow more starts, or relax the target.",
    )
    NO_OTHER_SOLUTION = (
        "no_other_solution",
        "Fewer solutions were found than were requested.",
        "Use those that are marked as success, or allow more searches.",
    )
    NOT_CONVERGED = (
        "not_converged",
        "The search ended with violated constraints, and nothing proves that they contradict each other.",
        "Start from another initial guess, or relax constraints.",
    )
    STALLED = (
        "stalled",
        "No step improves the result, which is no minimum within tolerances.",
        "Loosen the tolerances, or improve the scaling of the features.",
    )
    MAX_ITERATIONS = (
        "max_iterations",
        "The search ended at its largest number of iterations.",
        "Raise max_iterations, or start nearer to a solution.",
    )
    TIME_LIMIT = "time_limit", "The search ended at its time limit.", "Raise time_limit."
    MAX_NODES = (
        "max_nodes",
        "The search trees have as many configurations as are kept.",
        "Try another seed.",
    )
    RUNNING = "running", "The computation goes on."
    SUPERSEDED = (
        "superseded",
        "The search was stopped because another start of the same problem was solved.",
    )
    NOT_FINITE = (
        "not_finite",
        "A value or a derivative is NaN or infinite where it counts.",
        "Correct the function or the input that the message names.",
    )
    TASKS_NOT_MET = (
        "tasks_not_met",
        "Limits, or the hard tasks themselves, do not let all hard tasks be met in this step.",
        "Lower the gains, widen the limits, or make one of the tasks soft.",
    )
    CONSTRAINTS_NOT_MET = (
        "constraints_not_met",
        "The robot's own constraints do not hold.",
        "Start from an assembled configuration (Robot.assemble), or widen the limits.",
    )
    # mechanisms
    LOOP_AT_LIMITS = (
        "loop_at_limits",
        "The mechanism closes only with a loop joint beyond its bounds.",
        "Widen the bounds of the loop joints that the message names, or start from another q_init.",
    )
    DEPENDENT_JOINTS = (
        "dependent_joints",
        "The held joints determine each other and their values contradict.",
        "Hold fewer of the joints that the message names.",
    )
    TURNING_POINT = (
        "turning_point",
        "The mechanism turns back: its drivers cannot go on in this direction.",
        "End the motion before the turning point, or drive another joint.",
    )
    # planning and collision checks
    START_OUTSIDE_LIMITS = (
        "start_outside_limits",
        "The start is outside position limits.",
        "Start within limits, or widen position_limits.",
    )
    START_IN_COLLISION = (
        "start_in_collision",
        "The start is in collision, or within the margin.",
        "Start from a free configuration, lower the margin, or exclude the pair that the message names.",
    )
    START_VIOLATES_CONSTRAINTS = (
        "start_violates_constraints",
        "The start does not satisfy the path constraints.",
        "Project the start onto the constraints (Robot.ik_problem, Robot.project).",
    )
    GOAL_OUTSIDE_LIMITS = (
        "goal_outside_limits",
        "The goal is outside position limits.",
        "Choose a goal within limits, or widen position_limits.",
    )
    GOAL_IN_COLLISION = (
        "goal_in_collision",
        "The goal is in collision, or within the margin.",
        "Choose a free goal, lower the margin, or exclude the pair that the message names.",
    )
    GOAL_VIOLATES_CONSTRAINTS = (
        "goal_violates_constraints",
        "The goal does not satisfy the path constraints.",
        "Project the goal onto the constraints (Robot.ik_problem, Robot.project).",
    )
    GOAL_UNREACHABLE = (
        "goal_unreachable",
        "Inverse kinematics found no configuration for the goal.",
        "Move the goal, or allow a region of poses (planning.PoseRegion).",
    )
    DISCONNECTED = (
        "disconnected",
        "The roadmap has no path between start and goal.",
        "Extend the roadmap (Roadmap.extended).",
    )
    FREE = "free", "The whole motion is proved to be free of collisions."
    FREE_AT_SAMPLES = (
        "free_at_samples",
        "No sample of the motion collides; the motion between samples is not checked.",
    )
    COLLIDING = (
        "colliding",
        "A configuration of the motion collides.",
        "Plan another motion (Robot.plan), or lower the margin.",
    )
    UNDECIDED = (
        "undecided",
        "The motion comes so near to a collision that the check cannot decide.",
        "Lower the tolerance, or keep a larger distance.",
    )
    # Cartesian paths
    JOINT_JUMP = (
        "joint_jump",
        "No solution is near the configuration before.",
        "Begin at another configuration, or allow the robot to reconfigure.",
    )
    DEVIATION = (
        "deviation",
        "The frame does not stay within the tolerances of its path.",
        "Loosen the tolerances, or allow smaller steps along the path.",
    )
    # simulation
    COMPLETED = "completed", "The simulation ran to its end."
    ENDED_BY_EVENT = "ended_by_event", "An event with stop=True ended the simulation."
    CONTROLLER_FAILED = (
        "controller_failed",
        "The controller's output was non-finite or implausibly large.",
        "Check the controller in the state at which the simulation stopped.",
    )
    DIVERGED = (
        "diverged",
        "The state became non-finite or implausibly large.",
        "Use a smaller dt, or an implicit method.",
    )
    TOO_MANY_EVENTS = (
        "too_many_events",
        "More events happened between two records than are kept.",
        "Record more often, or end by an event with stop=True what comes to rest.",
    )
    STEP_NOT_SOLVED = (
        "step_not_solved",
        "The equations of an implicit step were not solved.",
        "Use a smaller dt.",
    )
    GUARD_NOT_FINITE = (
        "guard_not_finite",
        "The guard function of an event was NaN.",
        "Correct the guard of the event that the message names.",
    )
    # model-predictive control
    PLANNED = "planned", "The forces are those of a new plan."
    SHORTENED = (
        "shortened",
        "The forces are those of a plan with fewer iterations, because the time was over.",
        "Allow more time for a step, or fewer iterations.",
    )
    SATURATED = (
        "saturated",
        "The forces of the new plan pass an effort limit, since its search has not ended; they are cut to the limit.",
        "Allow more iterations, or make effort limits constraints of the problem.",
    )
    LATE = (
        "late",
        "The time was over before any iteration; the last plan goes on with its gains.",
        "Allow more time for a step.",
    )
    FAILED = (
        "failed",
        "The search failed, or its path violates constraints too much; the last plan goes on with its gains.",
        "Correct or relax the features that the message names.",
    )
    BRAKING = (
        "braking",
        "There is no plan to go on with; the robot is slowed down against gravity.",
        "Correct or relax the features that the message names.",
    )


WORDS = f"U{max(len(status.value) for status in Status)}"  # type of arrays of words


def status_of(words: np.ndarray) -> Any:
    """Return the `Status` of an array () of one word, and other arrays of words as they are."""
    return words if words.ndim else Status(str(words[()]))


def statuses(codes: Any, table: Sequence[Status] | Mapping[Any, Status]) -> Any:
    """Translate the status codes of a kernel: the `Status` of one code, an array (...) of words of several."""
    codes = np.asarray(codes)
    if not codes.ndim:
        return table[int(codes)]
    result, index = np.unique(codes, return_inverse=True)
    words = np.array([table[int(code)].value for code in result], dtype=WORDS)
    return words[index].reshape(codes.shape)
