"""linkwork: a robot compiler.

>>> import linkwork as lw
>>> robot = lw.load("arm7")
>>> q = robot.random_configuration(seed=0, size=1000)
>>> robot.pose(q, "hand").shape
(1000, 4, 4)

Robots:

- `load` reads a URDF file, or one of the robots inside (`robots.names()`); `Robot.build` makes one of Python, from
  `Link`, `Joint.of`, the shapes in `shapes` and `pose`.
- `Robot` has the functions: `help(linkwork.Robot)`.  `Robot.compile` makes one `Kernel` of several.
- `pose_difference` is what is left from one pose to another, for controllers; `propagate_motion` chains motions of
  frames, with velocities and accelerations.
- `Joint` is a joint of a robot, or one alone; `joints` are the types; `check_joint` checks one of your own, and returns
  a `ContractReport`.
- `constraints` are what a robot obeys besides its joints, and `Robot.with_constraints` puts them on: `Distance`,
  `PointOnLine`, `PointOnPlane`, `PointOnCurve`, `PointOnSurface`, `Parallel`, `Angle`, `Weld`, `Ball`, `Gear`, `Rack`,
  `Screw`, `Belt`, `Coupling`, `Prescribed`, `CenterOfMass`, `NoSlip`, `KnifeEdge`, `Rolling`, `RollingContact`,
  `BallRolling`; `Holonomic` and `Pfaffian` are functions of your own.  `Robot.with_loop` closes a loop by a joint of
  any type.
- `SpringDamper` and `Bushing` are springs and dampers between points and frames, in `force_elements`;
  `Robot.with_force_elements` puts them on a robot.
- `Actuator` is a motor, a servo or another affine actuator on joints or a frame; `Robot.with_actuators` puts them on a
  robot, and `Robot.with_named_configuration` gives configurations names.
- `Robot.inverse_kinematics` gives configurations for poses; `ik` has tasks that compose, for `Robot.ik_problem`.
- `motion` has trajectories: `motion.Trajectory` gives q, v and a by time.
- `Robot.plan` finds collision-free paths; `planning` has its results, regions of poses and roadmaps.
- `TrajectoryProblem` is trajectory optimisation: features of a path, which are minimised or constrained; see `optimal`.
- `control` has controllers, from PD to whole bodies, regulators and model-predictive control.
- `Robot.simulate` gives motion by time, with a controller, and `Simulator` steps for loops of one's own; `simulation`
  has the ground that is touched.
- `signed_distance` is that of two shapes, `contact_points` are where they touch; `Robot.distances` has those of a
  robot, in a `Scene` of obstacles, and `Robot.is_motion_free` looks at straight segments of configurations.
  `distance_field` makes a grid of distances of shapes.
- `parameters` has what there is to ten inertial parameters of a body: which are possible, and log-Cholesky's.
- `environments` has vector environments for reinforcement learning, with gymnasium's interface.
- `identify` estimates inertias from measured motions and forces, and placements from measured poses.
- `spatial` are the values that algorithms are written in: `Vec3`, `Pose`, `Motion`, `Force`, `Inertia` ...

The compiler:

- `compile` makes a `Kernel` of a Python function of arrays; `expr` has mathematics and derivatives for it.
- `while_loop`, `scan`, `fori_loop`, `cond`, `call`, `take` and `put` are loops, choices, calls and tables in kernels.
- `solve` and `lstsq` solve linear equations, in kernels and out of them; `expr.linalg` has more linear algebra.
- `quadratic_program` minimizes within bounds, in kernels and out of them.
- `Progress` is what a function given as ``progress`` receives, in every function that takes that.
- `from_casadi` makes one of a CasADi function, and `Kernel.to_casadi` the other way.
- `get_num_threads` and `set_num_threads`: how many share a large batch.

Results have `success`, `status`, `message`, `iterations` and `explain()`: `errors.Result` is their base, and
`errors.Status` enumerates statuses.  `collision`, `kinematics`, `dynamics`, `mechanisms` and `parts` have the types
that methods of robots return.  `errors` also has all errors and warnings.  `__version__` is the version.

Pages, in docs/ of the source and in share/doc/linkwork of the environment that linkwork is installed in: README.md
lists them; howto.md has short answers, examples/ scripts, reference.md every function, coming_from.md the words of
other libraries; robots.md, parameters.md, robot_files.md, building.md, shapes.md, distances.md, distances_figures.md,
joints.md, constraints.md, mechanisms.md, force_elements.md, inverse_kinematics.md,
inverse_kinematics_figures.md, motion.md, motion_figures.md, optimal.md, optimal_figures.md, control.md,
controllers.md, simulation.md, simulation_figures.md, identification.md, compiler.md, control_flow.md,
differentiation.md, expressions.md, linear_algebra.md, mathematics.md, casadi.md and results.md have a subject each;
extending/ says how to
add a kind of thing to the library, conventions.md what every number means, and ARCHITECTURE.md shows the house.

On the command line: `linkwork --help`.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from linkwork import (
    collision,
    constraints,
    control,
    dynamics,
    errors,
    expr,
    force_elements,
    ik,
    joints,
    kinematics,
    mechanisms,
    motion,
    optimal,
    parameters,
    parts,
    planning,
    robots,
    shapes,
    simulation,
    spatial,
)
from linkwork._util.contract_report import ContractReport
from linkwork._util.foreign_names import missing_attribute
from linkwork._util.progress import Progress
from linkwork.collision.shape_distance import contact_points, signed_distance
from linkwork.compiler.casadi.from_casadi import from_casadi
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.runtime.threads import get_num_threads, set_num_threads
from linkwork.compiler.trace.trace import compile
from linkwork.expr.control import call, cond, fori_loop, put, scan, take, while_loop
from linkwork.expr.linalg import lstsq, solve
from linkwork.geometry.fields import distance_field
from linkwork.geometry.scene import Scene
from linkwork.kernels.qp_kernel import quadratic_program
from linkwork.kinematics.poses import pose, pose_difference, propagate_motion
from linkwork.model.actuator import Actuator
from linkwork.optimal.trajectory_problem import TrajectoryProblem
from linkwork.parts.construction.link import Link
from linkwork.parts.joint.joint import Joint
from linkwork.parts.joint_checks.check_joint import check_joint
from linkwork.robot import Robot, load
from linkwork.simulation.simulator import Simulator

if TYPE_CHECKING:
    from linkwork import environments, identify  # noqa: F401

__all__ = [
    "Actuator",
    "ContractReport",
    "Joint",
    "Kernel",
    "Link",
    "Progress",
    "Robot",
    "Scene",
    "Simulator",
    "TrajectoryProblem",
    "__version__",
    "call",
    "check_joint",
    "collision",
    "compile",
    "cond",
    "constraints",
    "contact_points",
    "control",
    "distance_field",
    "dynamics",
    "errors",
    "expr",
    "force_elements",
    "fori_loop",
    "from_casadi",
    "get_num_threads",
    "identify",
    "ik",
    "joints",
    "kinematics",
    "load",
    "lstsq",
    "mechanisms",
    "motion",
    "optimal",
    "parameters",
    "parts",
    "planning",
    "pose",
    "pose_difference",
    "propagate_motion",
    "put",
    "quadratic_program",
    "robots",
    "scan",
    "set_num_threads",
    "shapes",
    "signed_distance",
    "simulation",
    "solve",
    "spatial",
    "take",
    "while_loop",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """The documented names, and none of the rooms that they come from.

    `environments`, which needs gymnasium, is not among those that ``import *`` takes.
    """
    return sorted([*__all__, "environments"])


def __getattr__(name: str) -> ModuleType:
    """What few programs use is imported when it is asked for."""
    if name in ("environments", "identify"):
        return import_module(f".{name}", __name__)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(missing_attribute(__name__, name, __all__), name=name)
