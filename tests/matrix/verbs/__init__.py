"""The verbs by subject: each is a function of a kind of robot that asserts an identity."""

from matrix.verbs import contracts, control, files, functions, ik, mechanisms, motion, optimal, robot, simulation

__all__ = [
    "contracts",
    "control",
    "files",
    "functions",
    "ik",
    "mechanisms",
    "motion",
    "optimal",
    "robot",
    "simulation",
]
