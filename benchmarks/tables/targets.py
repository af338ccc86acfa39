"""Targets by robot, function and measure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CONTROL",
    "DERIVATIVES",
    "DISTANCES",
    "GRADIENTS",
    "GROWTH",
    "GROWTH_SLACK",
    "IMPORT_SECONDS",
    "INVERSE_KINEMATICS",
    "LARGE",
    "LARGE_BYTES",
    "LINEAR_ALGEBRA",
    "LONG_PROGRAM_SECONDS",
    "MATRICES",
    "MECHANISMS",
    "MECHANISM_GROWTH",
    "MOTION",
    "OPTIMAL",
    "QUADRATIC",
    "SIMULATION",
    "TARGETS",
    "Target",
]

IMPORT_SECONDS = 0.4
"""Most that `import linkwork` may take in a fresh process."""


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a measured number."""

    bound: float
    at_least: bool = False  # otherwise: at most

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


_SPEEDS = (  # times Pinocchio's speed, batch of 1024 on one thread: measure, function, Panda, Talos
    ("batch", "inverse_dynamics", 40, 22),
    ("batch", "forward_dynamics", 35, 22),
    ("batch", "mass_matrix", 20, 6),
    ("batch", "forward_kinematics", 8, 8),
    ("batch float32", "inverse_dynamics", 75, 40),
    ("batch avx2", "inverse_dynamics", 40, 22),
    ("batch avx2", "forward_dynamics", 35, 22),
    ("batch avx2 float32", "inverse_dynamics", 75, 40),
    ("threads", "inverse_dynamics", 1.85, 1.85),
)
MATRICES = (
    "mass_matrix_inverse",
    "coriolis_matrix",
    "centroidal_momentum_matrix",
    "center_of_mass_jacobian",
    "jacobian_derivative",
    "inverse_dynamics_regressor",
)
"""Functions of which all targets are the same: 15 and 6 times Pinocchio's speed, 0.4 of its time for one call."""

DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
"""Functions that `python -m benchmarks.dynamics.derivatives` measures."""

GRADIENTS = {
    ("inverse_dynamics", "vjp"): 3.0,
    ("forward_dynamics", "vjp"): 3.5,
    ("forward_dynamics", "Hessian-vector product"): 12.0,
}
"""Most times the time of the function itself, a batch on one thread."""

_OF_DERIVATIVES = (  # measure, function, the same for Panda, Talos and G1
    ("batch", "inverse_dynamics_derivatives", 20, 10, 10),
    ("batch", "forward_dynamics_derivatives", 15, 8, 8),
    ("call", "inverse_dynamics_derivatives", 0.4, 0.5, 0.5),
    ("call", "forward_dynamics_derivatives", 0.4, 0.5, 0.5),
    ("compile", "inverse_dynamics_derivatives", 1.0, 5.0, 5.0),
)

_MOST = (  # measure, function, Panda, Talos
    ("call", "inverse_dynamics", 0.3, 0.3),
    ("call", "forward_dynamics", 0.9, 0.6),
    ("call", "mass_matrix", 0.9, 0.6),
    ("call out", "inverse_dynamics", 0.2, 0.25),
    ("call", "pose", 0.5, 0.5),
    ("operations", "inverse_dynamics", 1000, 5300),
    ("compile", "inverse_dynamics", 0.4, 1.2),
    ("compile", "forward_dynamics", 1.0, 4.0),
    ("warm start", "inverse_dynamics", 0.03, 0.06),
)
_FIXED_FINGERS = (("inverse_dynamics", 800), ("mass_matrix", 520), ("forward_dynamics", 1850))
LONG_PROGRAM_SECONDS = 10.0
"""Most that compiling a program of 100 000 instructions may take."""

LINEAR_ALGEBRA = {
    ("cholesky", 7): 20.0,
    ("solve", 7): 20.0,
    ("solve, positive definite", 7): 20.0,
    ("cholesky", 30): 3.0,
    ("solve", 30): 3.0,
    ("solve, positive definite", 30): 3.0,
}
"""Times the peer's speed at least, a batch on one thread: by function and number of rows.  The peer is numpy.linalg for
7 rows, a loop over LAPACK for 30."""

CONTROL = {
    "call": Target(1.2e-6),
    "call, Pinocchio": Target(40.0, at_least=True),
    "call, told": Target(40.0, at_least=True),
    "batch": Target(120e-9),
    "iteration": Target(1.15),
    "refill, AVX-512": Target(1.8, at_least=True),
    "refill, AVX2": Target(1.5, at_least=True),
    "scan, calls": Target(1.15, at_least=True),
    "scan, MuJoCo": Target(30.0, at_least=True),
    "gradient": Target(5.0),
    "compile controller, call": Target(0.5),
    "compile controller, batch": Target(0.5),
    "compile reach, call": Target(0.5),
    "compile reach, batch": Target(0.5),
}
"""Of kernels with loops and solves, by measure: seconds of one state ("call", "batch"), of a fresh process ("compile"),
times the time of the step's kernel ("iteration") or of the roll-out ("gradient"), and times the peer's speed."""


def _table() -> dict[tuple[str, str, str], Target]:
    results: dict[tuple[str, str, str], Target] = {}
    for bounds, at_least in ((_SPEEDS, True), (_MOST, False)):
        for measure, function, panda, talos in bounds:
            results["panda", function, measure] = Target(panda, at_least)
            results["talos", function, measure] = Target(talos, at_least)
    for function in MATRICES:
        for robot, speed in (("panda", 15), ("talos", 6)):
            results[robot, function, "batch"] = Target(speed, at_least=True)
            results[robot, function, "call"] = Target(0.4)
    for measure, function, *bounds in _OF_DERIVATIVES:
        for robot, bound in zip(("panda", "talos", "g1"), bounds, strict=True):
            results[robot, function, measure] = Target(float(bound), at_least=measure == "batch")
    for robot in ("panda", "talos"):
        results[robot, "mass_matrix_inverse", "asymmetry"] = Target(0.0)
    for function, most in _FIXED_FINGERS:
        results["panda", function, "operations, fingers fixed"] = Target(most)
    return results


TARGETS = _table()
"""By (robot, function, measure).  Measures: "batch" (times Pinocchio's speed, batch of 1024), "call" (part of
Pinocchio's time for one call), "asymmetry" (elements that differ from the transpose's, over a batch), "threads" (two
threads against one, batch of 65536), "operations" (multiplications, additions and subtractions), "compile" and "warm
start" (a new process that finds its code in the cache: load the file and call once, imports apart) [s]."""

GROWTH = {
    "forward_kinematics": 1,
    "inverse_dynamics": 1,
    "forward_dynamics": 1,
    "mass_matrix": 2,
    "vjp of inverse_dynamics": 1,
    "vjp of forward_dynamics": 1,
    "inverse_dynamics_derivatives": 2,
    "forward_dynamics_derivatives": 2,
}
"""The power of a chain's number of links with which the cost of a function may grow.  A fitted power may be
`GROWTH_SLACK` more, for what the first links save, and for clocks."""

GROWTH_SLACK = 0.1

LARGE = {
    ("chain 200", "inverse_dynamics"): 2.0,
    ("chain 200", "forward_dynamics"): 4.0,
    ("tree 255", "inverse_dynamics"): 2.0,
    ("tree 255", "forward_dynamics"): 4.0,
    ("chain 200", "vjp of inverse_dynamics"): 8.0,
    ("chain 200", "inverse_dynamics_derivatives"): 20.0,
}
"""Most seconds that it may take until functions of robots of many bodies are compiled, and have been called."""

LARGE_BYTES = {("chain 200", "inverse_dynamics_derivatives"): 2e9}
"""Most bytes that compiling them may take."""

MECHANISMS: dict[tuple[str, str], Target] = {
    ("four-bar", "call"): Target(0.5e-6),
    ("four-bar", "batch"): Target(40e-9),
    ("humanoid, both feet held", "call"): Target(5e-6),
    ("humanoid, both feet held", "batch"): Target(1e-6),
    ("humanoid, both feet held", "call beside"): Target(2.5, at_least=True),
    ("humanoid, both feet held", "batch beside"): Target(10.0, at_least=True),
    ("four-bar", "derivatives beside"): Target(3.0, at_least=True),
    ("humanoid, both feet held", "derivatives beside"): Target(3.0, at_least=True),
    ("humanoid, both feet held", "compile"): Target(2.5),
    ("four-bar", "assembly"): Target(0.3e-6),
}
"""Constrained dynamics and assembly [s], and how many times faster than the faster of Pinocchio's two ways."""

QUADRATIC: dict[tuple[str, str], Target] = {
    ("box, n = 7", "batch"): Target(1e-6),
    ("box, n = 7", "beside"): Target(5.0, at_least=True),
    ("box, n = 7", "cold"): Target(0.5),
    ("n = 30, 40 rows", "batch"): Target(15e-6),
    ("n = 30, 40 rows", "beside"): Target(1.5, at_least=True),
    ("n = 30, 40 rows", "cold"): Target(3.0),
}
"""Quadratic programs [s], and how many times faster than the fastest peer's call."""

MECHANISM_GROWTH = 1.0
"""The power of their number with which the cost of four-bars side by side grows, `GROWTH_SLACK` besides."""

INVERSE_KINEMATICS: dict[str, Target] = {
    "success": Target(0.9995, at_least=True),
    "mean call": Target(20e-6),
    "p99 call": Target(200e-6),
    "pose in a batch": Target(5e-6),
    "warm start": Target(4e-6),
    "near limits": Target(0.999, at_least=True),
    "out of reach, told": Target(1.0, at_least=True),
    "out of reach, nearest": Target(1.0, at_least=True),
    "nearest, feasible": Target(0.999, at_least=True),
    "nearest, as near as IPOPT": Target(0.95, at_least=True),
    "nearest, mean call": Target(200e-6),
    "closed form, same branches": Target(1.0, at_least=True),
    "closed form, pose in a batch": Target(2e-6),
    "humanoid, success": Target(0.999, at_least=True),
    "humanoid, mean call": Target(300e-6),
    "step of an arm": Target(3e-6),
    "step of a humanoid": Target(40e-6),
    "step beside": Target(30.0, at_least=True),
}
"""By measure: shares of poses, and seconds."""

DISTANCES: dict[tuple[str, str], Target] = {
    ("panda, 20 boxes", "distances and gradient"): Target(8e-6),
    ("panda, 20 boxes", "yes or no"): Target(0.5e-6),
    ("panda, 20 boxes", "distances and gradient, float32"): Target(4e-6),
    ("panda, 20 boxes", "yes or no, float32"): Target(0.25e-6),
    ("panda, hulls of 32", "distances and gradient"): Target(40e-6),
    ("one pair", "one call"): Target(0.5e-6),
    ("panda, 20 boxes", "edge of 1 rad"): Target(30e-6),
    ("panda, 20 boxes", "edges wrongly certified"): Target(0.0),
    ("humanoid, 30 capsules", "compile, cold"): Target(3.0),
}
"""Distances of robots [s], of one configuration; those of pairs stand in `distance_cases.CASES`."""

MOTION: dict[tuple[str, str], Target] = {
    ("profiles", "one call"): Target(3e-6),
    ("profiles", "batch"): Target(0.5e-6),
    ("profiles", "longer"): Target(0.0),
    ("profiles", "limits passed"): Target(1e-10),
    ("splines", "beside SciPy"): Target(10.0, at_least=True),
    ("timing", "one call"): Target(60e-6),
    ("timing", "one call, torque"): Target(120e-6),
    ("timing", "batch"): Target(10e-6),
    ("timing", "longer"): Target(0.1),
    ("timing", "limits passed"): Target(1e-6),
    ("planning", "solved"): Target(99.7, at_least=True),
    ("planning", "median"): Target(1e-3),
    ("planning", "95 %"): Target(10e-3),
    ("planning", "longer than the best of ten"): Target(5.0),
    ("planning", "collisions"): Target(0.0),
    ("planning", "loop compiled, median"): Target(200e-6),
    ("planning", "other robots, solved"): Target(99.0, at_least=True),
}
"""Reference motion by part and measure: seconds, shares in %, and how far limits are passed, relative."""

OPTIMAL: dict[tuple[str, str], Target] = {
    ("paths", "without obstacles"): Target(1e-3),
    ("paths", "among boxes"): Target(4e-3),
    ("paths", "8 seeds beside one"): Target(2.0),
    ("paths", "built anew"): Target(1e-3),
    ("paths", "beside IPOPT"): Target(10.0, at_least=True),
    ("paths", "cost beside IPOPT's"): Target(1.0 + 1e-6),
    ("scenes", "feasible"): Target(98.0, at_least=True),
    ("lqr", "one"): Target(60e-6),
    ("lqr", "batch"): Target(8e-6),
    ("lqr", "residual"): Target(1e-10),
    ("shooting", "iteration"): Target(250e-6),
    ("shooting", "beside crocoddyl"): Target(1e-6),
    ("shooting", "solved"): Target(100.0, at_least=True),
    ("shooting", "limits passed"): Target(1e-8),
    ("legged", "quadruped trots"): Target(60.0),
    ("legged", "humanoid squats"): Target(60.0),
    ("mpc", "step"): Target(500e-6),
    ("mpc", "99 %"): Target(1e-3),
    ("derivative", "beside differences"): Target(1e-6),
}
"""Optimal motion by part and measure: seconds, shares in %, and how much more than another's."""

SIMULATION: dict[tuple[str, str], Target] = {
    ("arm", "batch"): Target(0.1e-6),
    ("arm", "beside"): Target(40.0, at_least=True),
    ("quadruped", "batch"): Target(1.2e-6),
    ("quadruped", "beside"): Target(10.0, at_least=True),
    ("quadruped", "alone"): Target(8e-6),
    ("humanoid", "batch"): Target(3e-6),
    ("humanoid", "beside"): Target(7.0, at_least=True),
    ("opspace", "alone"): Target(1.5e-6),
    ("opspace", "batch"): Target(150e-9),
    ("wholebody", "alone"): Target(40e-6),
    ("derivative", "batch"): Target(15e-6),
    ("gradient", "plain"): Target(6.0),
    ("gradient", "same"): Target(6.0),
}
"""Simulation by part and measure: seconds of a step, and how many times as long MuJoCo takes."""
