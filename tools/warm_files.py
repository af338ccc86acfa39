"""Files of linkwork that a second call enters, for a few calls: `python -m tools.warm_files [CALL ...]`.

Who follows a call reads these files.  `tests/test_warm_files.py` compares their numbers
with `tests/golden/warm_files.json`.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import motion

ROOT = Path(lw.__file__).parent


@contextmanager
def entered() -> Iterator[Counter[str]]:
    """Count the calls of functions of each file of linkwork inside of a block, in this thread.

    Those of `InterruptSafeLock` do not count: up to Python 3.13 they are written in C.
    """
    counts: Counter[str] = Counter()
    start = str(ROOT) + "/"

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        is_own = code.co_filename.startswith(start) and code.co_filename.endswith(".py")
        if event == "call" and is_own and not code.co_qualname.startswith("InterruptSafeLock."):
            counts[code.co_filename.removeprefix(start)] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counts
    finally:
        sys.setprofile(before)


def files_of(make: Callable[[Path], Callable[[], Any]], folder: Path) -> Counter[str]:
    """Return the calls by file of the third call of a function; the first two compile and fill caches."""
    call = make(folder)
    call(), call()
    with entered() as counts:
        call()
    return counts


def _arm() -> tuple[Any, np.ndarray, np.ndarray]:
    robot = lw.load("arm7")
    q = 0.5 * (robot.lower + robot.upper)
    return robot, q, q + 0.1


def _inverse_kinematics(folder: Path) -> Callable[[], Any]:
    robot, q, goal = _arm()
    X = robot.pose(goal, "hand")
    return lambda: robot.inverse_kinematics(X, "hand", q_init=q)


def _plan(folder: Path) -> Callable[[], Any]:
    robot, q, goal = _arm()
    return lambda: robot.plan(q, goal, seed=0)


def _simulate(folder: Path) -> Callable[[], Any]:
    robot, q, _ = _arm()
    return lambda: robot.simulate(q, duration=0.01)


def _problem_of(robot: Any) -> Any:
    problem = lw.TrajectoryProblem(robot, num_steps=16, duration=1.5)
    problem = problem.add("acceleration", "least_squares").add_limits()
    return problem.add(lw.ik.PoseTask("hand"), "equality", steps=-1, name="reach")


def _problem(folder: Path) -> Callable[[], Any]:
    robot, q, goal = _arm()
    X = robot.pose(goal, "hand")
    return lambda: _problem_of(robot).solve(q, targets={"reach": X})


def _solve(folder: Path) -> Callable[[], Any]:
    robot, q, goal = _arm()
    problem, X = _problem_of(robot), robot.pose(goal, "hand")
    return lambda: problem.solve(q, targets={"reach": X})


def _jerk_timing(folder: Path) -> Callable[[], Any]:
    robot, q, goal = _arm()
    path = robot.spline([0.0, 1.0, 2.0], np.stack([q, goal, q + 0.3]))
    return lambda: motion.time_optimal(path, velocity=1.0, acceleration=2.0, jerk=20.0)


def _mjcf(folder: Path) -> Callable[[], Any]:
    file = folder / "arm7.xml"
    lw.load("arm7").to_mjcf(file)
    return lambda: lw.load(file)


def _page(folder: Path) -> Callable[[], Any]:
    robot, q, _ = _arm()
    return lambda: robot.show(q, html=folder / "arm7.html")


CALLS = {
    "inverse kinematics": _inverse_kinematics,
    "plan": _plan,
    "simulate": _simulate,
    "problem built and solved": _problem,
    "problem solved": _solve,
    "jerk timing": _jerk_timing,
    "load MJCF": _mjcf,
    "show(html=)": _page,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or CALLS:
            counts = files_of(CALLS[name], Path(folder))
            print(f"{name}: {len(counts)} files, {sum(counts.values())} calls")
            for file, count in sorted(counts.items()) if len(sys.argv) > 1 else ():
                print(f"  {count:6} {file}")


if __name__ == "__main__":
    main()
