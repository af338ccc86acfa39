"""Statuses of results, public as `linkwork.errors.Status`, and the translation of kernel codes to statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np

from linkwork._util.lazy_imports import published_in

__all__ = ["WORDS", "Status", "status_of", "statuses"]


@published_in("linkwork.errors")
class Status(StrEnum):
    """The outcome of a computation: a word, its ``meaning``, its ``evidence``, and ``advice`` on what to do about it.

    The evidence begins with its kind.  A "proof" holds for all configurations or for the whole motion.  An "example" is
    in the result.  A "check" is of values of the result.  A "search" ended, and shows nothing beyond what it tried.  An
    "event" happened.

    A member is a string and equals its word: ``result.status == "solved"``.  The status of a batch is an array of
    these words; ``Status(word)`` gives the member.

    >>> Status("time_limit") is Status.TIME_LIMIT
    True
    >>> Status.TIME_LIMIT.advice
    'Increase time_limit.'
    """

    meaning: str
    advice: str  # empty if no action is needed
    evidence: str  # that the meaning is true

    def __new__(cls, word: str, meaning: str = "", advice: str = "", evidence: str = "") -> Self:
        member = str.__new__(cls, word)
        member._value_, member.meaning, member.advice, member.evidence = word, meaning, advice, evidence
        return member

    # searches of all kinds
    SOLVED = (
        "solved",
        "The result is a solution within tolerances.",
        "",
        "check: residuals, limits and collisions of the result",
    )
    LOCAL_MINIMUM = (
        "local_minimum",
        "The residual or the cost is above tolerance where its gradient is zero: a minimum or, rarely, a saddle point.",
        "Start from another q_init, or allow more starts: max_starts, num_starts or max_iterations.",
        "check: the gradient at the last configuration; no other start that was tried is lower",
    )
    SINGULAR = (
        "singular",
        "The Jacobian is rank deficient where the search or the motion ended.",
        "Start from another q_init, or stay away from the singularity.",
        "check: the rank of the Jacobian at the last configuration",
    )
    INFEASIBLE = (
        "infeasible",
        "The constraints or tasks contradict each other: everywhere, or for optimal motion near the path.",
        "Remove or relax one of the constraints or tasks that the message names.",
        "proof: two requirements differ by more than their tolerances, or a certificate of the program; for optimal "
        "motion it is linearised at the path",
    )
    AT_LIMITS = (
        "at_limits",
        "A solution exists beyond the joint limits, and the search found none within them.",
        "Widen the limits of the joints that the message names, or change the target.",
        "example: a solution without limits; inverse kinematics proves that there is none within limits",
    )
    OUT_OF_REACH = (
        "out_of_reach",
        "The target is beyond the reach of the robot.",
        "Move the target, or the robot's base, so that the target is neither too far from the base nor too near.",
        "proof: a bound of distances or angles for every configuration",
    )
    NOT_FOUND = (
        "not_found",
        "No start led to a solution; a solution may exist.",
        "Start from another q_init, or relax the target; inverse kinematics tries more starts with a larger "
        "max_iterations.",
        "search: starts, with and without limits",
    )
    NO_OTHER_SOLUTION = (
        "no_other_solution",
        "The search found fewer solutions than requested.",
        "Use the entries where success is True, or allow more searches.",
        "search: starts and closed-form branches",
    )
    NOT_CONVERGED = (
        "not_converged",
        "The search ended with violated constraints; a solution may exist.",
        "Start from another initial guess, or relax constraints.",
        "search: iterations from the starts",
    )
    STALLED = (
        "stalled",
        "No further step improves the result, and it is not a minimum within tolerances.",
        "Loosen the tolerances, or improve the scaling of the features.",
        "search: steps from the last iterate",
    )
    UNBOUNDED = (
        "unbounded",
        "Moves that are ten times longer lower the cost by as much again or more, up to 10⁸ rad or lengths.",
        "Add limits, or a quadratic cost of what a term of kind 'cost' decreases.",
        "example: moves of 10 to 10⁸ rad or units of length that satisfy all constraints",
    )
    MAX_ITERATIONS = (
        "max_iterations",
        "The search reached its maximum number of iterations.",
        "Increase max_iterations, or start closer to a solution.",
        "event: the number of iterations",
    )
    TIME_LIMIT = (
        "time_limit",
        "The search reached its time limit.",
        "Increase time_limit.",
        "event: the clock",
    )
    MAX_NODES = (
        "max_nodes",
        "The search trees reached their maximum number of configurations.",
        "Try another seed.",
        "event: the number of configurations",
    )
    RUNNING = (
        "running",
        "The computation has not ended yet.",
        "",
        "event: the computation continues",
    )
    SUPERSEDED = (
        "superseded",
        "The search was stopped because another start of the same problem was solved.",
        "",
        "event: another start was solved",
    )
    NOT_FINITE = (
        "not_finite",
        "A value or a derivative that the computation needs is NaN or infinite.",
        "Correct the function or the input that the message names.",
        "example: the value that the message names",
    )
    TASKS_NOT_MET = (
        "tasks_not_met",
        "The hard tasks cannot all be satisfied in this step, because of limits or because they conflict.",
        "Reduce the gains, widen the limits, or make one of the tasks soft.",
        "check: the remaining errors of the step",
    )
    CONSTRAINTS_NOT_MET = (
        "constraints_not_met",
        "The robot's own constraints are violated.",
        "Start from an assembled configuration (Robot.assemble), or widen the limits.",
        "check: the errors of the constraints",
    )
    # mechanisms
    LOOP_AT_LIMITS = (
        "loop_at_limits",
        "The loops were closed with a loop joint beyond its limits, and the search found no solution within them.",
        "Widen the limits of the loop joints that the message names, or start from another q_init.",
        "example: loops that are closed with a joint beyond its limits",
    )
    DEPENDENT_JOINTS = (
        "dependent_joints",
        "The fixed joints determine each other, and the search did not satisfy all their values.",
        "Fix fewer of the joints that the message names.",
        "check: the rank of the constraint Jacobian, and the errors where the search ended",
    )
    TURNING_POINT = (
        "turning_point",
        "The drivers cannot move farther in this direction: the mechanism is at a dead centre.",
        "End the motion before the turning point, or drive another joint.",
        "check: the Jacobian at the last configuration",
    )
    # planning and collision checks
    START_OUTSIDE_LIMITS = (
        "start_outside_limits",
        "The start is outside the position limits.",
        "Start within the limits, or widen position_limits.",
        "example: the start",
    )
    START_IN_COLLISION = (
        "start_in_collision",
        "The start is in collision, or closer than the margin.",
        "Start from a collision-free configuration, reduce the margin, or exclude the pair that the message names.",
        "example: the start",
    )
    START_VIOLATES_CONSTRAINTS = (
        "start_violates_constraints",
        "The start does not satisfy the path constraints.",
        "Project the start onto the constraints (Robot.ik_problem, Robot.project).",
        "example: the start",
    )
    GOAL_OUTSIDE_LIMITS = (
        "goal_outside_limits",
        "The goal is outside the position limits.",
        "Choose a goal within the limits, or widen position_limits.",
        "example: the goal configuration",
    )
    GOAL_IN_COLLISION = (
        "goal_in_collision",
        "The goal is in collision, or closer than the margin.",
        "Choose a collision-free goal, reduce the margin, or exclude the pair that the message names.",
        "example: the goal configuration",
    )
    GOAL_VIOLATES_CONSTRAINTS = (
        "goal_violates_constraints",
        "The goal does not satisfy the path constraints.",
        "Project the goal onto the constraints (Robot.ik_problem, Robot.project).",
        "example: the goal configuration",
    )
    GOAL_UNREACHABLE = (
        "goal_unreachable",
        "No configuration within limits has the goal pose.",
        "Move the goal, or allow a region of poses (planning.PoseRegion).",
        "proof: by inverse kinematics; the message states it",
    )
    GOAL_NOT_FOUND = (
        "goal_not_found",
        "The search found no valid configuration for the goal pose; one may exist.",
        "Increase max_goal_solutions, allow a region of poses (planning.PoseRegion), or start elsewhere.",
        "search: starts of inverse kinematics, and poses of a region",
    )
    DISCONNECTED = (
        "disconnected",
        "The roadmap has no path between the nodes that start and goal connect to.",
        "Extend the roadmap (Roadmap.extended).",
        "search: edges of the roadmap, and edges to nearby nodes",
    )
    FREE = (
        "free",
        "The whole motion is proved to be collision-free.",
        "",
        "proof: bounds of displacements between configurations that were checked",
    )
    FREE_AT_SAMPLES = (
        "free_at_samples",
        "No sample of the motion collides; the motion between samples is not checked.",
        "",
        "check: the distances at the samples",
    )
    COLLIDING = (
        "colliding",
        "At least one configuration of the motion is in collision, or closer than the margin.",
        "Plan another motion (Robot.plan), or reduce the margin.",
        "example: the configuration in the result or message",
    )
    UNDECIDED = (
        "undecided",
        "The motion comes so close to a collision that the check cannot decide.",
        "Reduce the tolerance, or plan with a larger distance.",
        "check: the distance is below the tolerance of the proof",
    )
    # Cartesian paths
    JOINT_JUMP = (
        "joint_jump",
        "No solution that was found is close to the previous configuration of the path.",
        "Start from another configuration, or allow the robot to reconfigure.",
        "search: solutions near the last configuration",
    )
    DEVIATION = (
        "deviation",
        "The frame leaves the tolerances of its path.",
        "Loosen the tolerances, or allow smaller steps along the path.",
        "check: the frame between waypoints at the smallest step",
    )
    # simulation
    COMPLETED = (
        "completed",
        "The simulation ran to its end.",
        "",
        "event: the end time",
    )
    ENDED_BY_EVENT = (
        "ended_by_event",
        "An event with stop=True ended the simulation.",
        "",
        "event: the event that the message names",
    )
    CONTROLLER_FAILED = (
        "controller_failed",
        "The controller's output was non-finite or implausibly large.",
        "Check the controller in the state of the stop; high gains need a smaller dt, or ServoActuators.",
        "example: the output that the message names",
    )
    DIVERGED = (
        "diverged",
        "The state became non-finite or implausibly large.",
        "Use a smaller dt, or an implicit method.",
        "example: the state that the message names",
    )
    TOO_MANY_EVENTS = (
        "too_many_events",
        "More events occurred between two records than can be stored.",
        "Record more often, or stop a motion that comes to rest by an event with stop=True.",
        "event: the number of events",
    )
    STEP_NOT_SOLVED = (
        "step_not_solved",
        "The solver did not converge in an implicit time step.",
        "Use a smaller dt.",
        "search: iterations of a step",
    )
    GUARD_NOT_FINITE = (
        "guard_not_finite",
        "The guard function of an event returned NaN.",
        "Correct the guard of the event that the message names.",
        "example: the value of the guard",
    )
    # model-predictive control
    PLANNED = (
        "planned",
        "The joint forces come from a new plan.",
        "",
        "check: residuals of the plan",
    )
    SHORTENED = (
        "shortened",
        "The joint forces come from a plan with fewer iterations, because time ran out.",
        "Allow more time for a step, or fewer iterations.",
        "event: the clock",
    )
    SATURATED = (
        "saturated",
        "The joint forces of the unconverged new plan exceed an effort limit; they are clipped to it.",
        "Allow more iterations, or make effort limits constraints of the problem.",
        "check: the joint forces of the plan",
    )
    LATE = (
        "late",
        "Time ran out before the first iteration; the previous plan continues with its feedback gains.",
        "Allow more time for a step.",
        "event: the clock",
    )
    FAILED = (
        "failed",
        "The search failed or its path violates constraints; the previous plan continues with its feedback gains.",
        "Correct or relax the features that the message names.",
        "search: iterations of the plan",
    )
    BRAKING = (
        "braking",
        "No valid plan exists; the robot brakes with gravity compensation.",
        "Correct or relax the features that the message names.",
        "event: no plan was valid",
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
