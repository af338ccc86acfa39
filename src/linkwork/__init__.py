"""linkwork: a robot compiler.

>>> import linkwork as lw
>>> robot = lw.load("arm7")
>>> q = robot.random_configuration(seed=0, size=1000)
>>> robot.pose(q, "hand").shape
(1000, 4, 4)

Robots:

- `load` reads a URDF file, or a built-in robot (`robots.names()`).  `Robot.build` builds one in Python from `Link`,
  `Joint.of`, the shapes in `shapes` and `pose`.  `load_description` loads one by its name in robot_descriptions.
  `Robot.with_base` places a robot, `Robot.with_mounted` mounts a gripper, `join_robots` joins several to one.
- `Robot` has the functions: `help(linkwork.Robot)`.  `Robot.compile` combines several in one `Kernel`.
- `rpy` and `quaternion` are the roll, pitch and yaw, and the quaternion of a pose.
- `pose_difference` is the error between two poses, for controllers; `propagate_motion` composes motions of frames, with
  velocities and accelerations.
- `Joint` is a joint, of a robot or alone; `joints` has the joint types; `check_joint` checks a user-defined type and
  returns a `ContractReport`.
- `constraints` are equations on a robot's motion, added by `Robot.with_constraints`: `Distance`,
  `PointOnLine`, `PointOnPlane`, `PointOnCurve`, `PointOnSurface`, `Parallel`, `Angle`, `Weld`, `Ball`, `Gear`, `Rack`,
  `Screw`, `Belt`, `Coupling`, `Prescribed`, `CenterOfMass`, `NoSlip`, `KnifeEdge`, `Rolling`, `RollingContact`,
  `BallRolling`; `Holonomic` and `Pfaffian` take user functions.  `Robot.with_loop` closes a loop by a joint of any
  type.
- `SpringDamper` and `Bushing` in `force_elements` are springs and dampers between points and frames, added by
  `Robot.with_force_elements`.
- `Actuator` is a motor, a servo or another affine actuator on joints or a frame, added by `Robot.with_actuators`.
  `Robot.with_named_configuration` names configurations.
- `Robot.inverse_kinematics` computes configurations for poses; `ik` has tasks to combine, for `Robot.ik_problem`.
- `motion` has trajectories: `motion.Trajectory` evaluates q, v and a at times.
- `Robot.plan` finds collision-free paths; `planning` has its results, regions of poses and roadmaps.
- `TrajectoryProblem` is trajectory optimisation: features of a trajectory, minimised or constrained; see `optimal`.
- `control` has controllers, from PD to whole-body control, LQR and model-predictive control.
- `Robot.simulate` computes motion over time, with a controller; `Simulator` steps in your own loop; `simulation` has
  contacts and sensors.
- `signed_distance` is the distance of two shapes, `contact_points` their contacts; `Robot.distances` is for a robot in
  a `Scene` of obstacles, and `Robot.is_motion_free` checks straight motions between configurations.
  `load_scene` reads a scene's file.
  `distance_field` computes a grid of distances of shapes.
- `parameters` has functions of the ten inertial parameters of a body: feasibility, and log-Cholesky parameters.
- `environments` has vector environments for reinforcement learning, with the interface of gymnasium.
- `Robot.show`, and ``show`` of results, is a page in the browser with sliders or a time bar, or a file; `viewer` lays
  several side by side.
- `Robot.workspace_map` maps what a frame reaches, on all processors or on a cluster; `workspace` has the map.
- `identify` estimates inertias from measured motions and forces, and placements from measured poses.
- `spatial` has the types that algorithms use: `Vec3`, `Pose`, `Motion`, `Force`, `Inertia` ...

The compiler:

- `compile` compiles a Python function of arrays to a `Kernel`; `expr` has mathematics and derivatives for it.
- `Kernel.save` writes a kernel to a file, and `load_kernel` reads it on any machine.  Kernels pickle.
- `while_loop`, `scan`, `fori_loop`, `cond`, `call`, `take` and `put` are loops, conditionals, calls and tables in
  kernels.
- `solve` and `lstsq` solve linear equations, in kernels and on arrays; `expr.linalg` has more linear algebra.
- `quadratic_program` solves convex quadratic programs, in kernels and on arrays.
- `Progress` is the argument of a function that is passed as ``progress``.
- `from_casadi` converts a CasADi function to a `Kernel`, and `Kernel.to_casadi` a kernel to a CasADi function.
- `get_num_threads` and `set_num_threads`: number of threads for large batches.
- `wait_for_compiler` waits until all kernels use their best machine code.

Results have `success`, `status`, `message`, `iterations` and `explain()`: `errors.Result` is their base class, and
`errors.Status` enumerates statuses.  `collision`, `kinematics`, `dynamics`, `mechanisms` and `parts` have the types
that methods of robots return.  `errors` also has all errors and warnings.  `__version__` is the version.

Documentation is in docs/ of the source and in share/doc/linkwork of the Python environment; README.md lists the pages.

- Start: first_hour.md, howto.md (short answers), coming_from.md (terms of other libraries), examples/ (scripts),
  limits.md, messages.md, first_calls.md.
- Guides: robots.md, robot_files.md, sdf.md, usd.md, mjcf.md, robot_files_read.md, file_elements.md, writing_robots.md,
  comparing_robots.md, building.md, shapes.md, joints.md, parameters.md, inverse_kinematics.md, distances.md,
  scene_files.md,
  motion.md, planning.md, optimal.md, controllers.md, control.md, simulation.md, learning.md, real_time.md,
  mechanisms.md, constraints.md, joint_limits.md, every_verb.md, force_elements.md, identification.md, results.md,
  viewer.md, workspace_maps.md, sweeps.md.
- Compiler: compiler.md, control_flow.md, differentiation.md, expressions.md, linear_algebra.md, torch_and_jax.md,
  processes.md, platforms.md (Windows, ARM, macOS), clusters.md (Dask, xarray, joblib, Ray), c_code.md, casadi.md.
- Reference: reference.md (every function), command_line.md (every command), conventions.md, glossary.md,
  mathematics.md; equations are in algorithms/.
- Figures: speed.md, inverse_kinematics_figures.md, motion_figures.md, optimal_figures.md, simulation_figures.md,
  distances_figures.md.
- Contributors: ARCHITECTURE.md (map of the source code), extending/, decisions/, versions.md (what may change).

`selfcheck` checks numbers, cache, processes and speed on this machine; `installation` has its report.

On the command line: `linkwork --help`.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork._util.own_code import record_imports

record_imports()

if TYPE_CHECKING:
    from linkwork import collision as collision
    from linkwork import constraints as constraints
    from linkwork import control as control
    from linkwork import dynamics as dynamics
    from linkwork import environments as environments
    from linkwork import errors as errors
    from linkwork import expr as expr
    from linkwork import force_elements as force_elements
    from linkwork import identify as identify
    from linkwork import ik as ik
    from linkwork import installation as installation
    from linkwork import joints as joints
    from linkwork import kinematics as kinematics
    from linkwork import mechanisms as mechanisms
    from linkwork import motion as motion
    from linkwork import optimal as optimal
    from linkwork import parameters as parameters
    from linkwork import parts as parts
    from linkwork import planning as planning
    from linkwork import robots as robots
    from linkwork import shapes as shapes
    from linkwork import simulation as simulation
    from linkwork import spatial as spatial
    from linkwork import viewer as viewer
    from linkwork import workspace as workspace
    from linkwork._util.contract_report import ContractReport as ContractReport
    from linkwork._util.progress import Progress as Progress
    from linkwork.collision.scene_loading import load_scene as load_scene
    from linkwork.collision.shape_distance import contact_points as contact_points
    from linkwork.collision.shape_distance import signed_distance as signed_distance
    from linkwork.compiler.backends import wait_for_compiler as wait_for_compiler
    from linkwork.compiler.casadi.from_casadi import from_casadi as from_casadi
    from linkwork.compiler.kernel import Kernel as Kernel
    from linkwork.compiler.pickling.kernel_file import load_kernel as load_kernel
    from linkwork.compiler.runtime.threads import get_num_threads as get_num_threads
    from linkwork.compiler.runtime.threads import set_num_threads as set_num_threads
    from linkwork.compiler.trace.trace import compile as compile
    from linkwork.expr.control import call as call
    from linkwork.expr.control import cond as cond
    from linkwork.expr.control import fori_loop as fori_loop
    from linkwork.expr.control import put as put
    from linkwork.expr.control import scan as scan
    from linkwork.expr.control import take as take
    from linkwork.expr.control import while_loop as while_loop
    from linkwork.expr.linalg import lstsq as lstsq
    from linkwork.expr.linalg import solve as solve
    from linkwork.geometry.fields import distance_field as distance_field
    from linkwork.geometry.scene import Scene as Scene
    from linkwork.installation.selfcheck import selfcheck as selfcheck
    from linkwork.kernels.qp_kernel import quadratic_program as quadratic_program
    from linkwork.kinematics.poses import pose as pose
    from linkwork.kinematics.poses import pose_difference as pose_difference
    from linkwork.kinematics.poses import propagate_motion as propagate_motion
    from linkwork.kinematics.poses import quaternion as quaternion
    from linkwork.kinematics.poses import rpy as rpy
    from linkwork.model.actuator import Actuator as Actuator
    from linkwork.optimal.trajectory_problem import TrajectoryProblem as TrajectoryProblem
    from linkwork.robot.construction.link import Link as Link
    from linkwork.robot.joint.joint import Joint as Joint
    from linkwork.robot.joint_checks.check_joint import check_joint as check_joint
    from linkwork.robot.robot import Robot as Robot
    from linkwork.robot.robot import join_robots as join_robots
    from linkwork.robot.robot import load as load
    from linkwork.robot.robot import load_description as load_description
    from linkwork.simulation.simulator import Simulator as Simulator


__version__ = "0.1.0"

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork._util.contract_report": "ContractReport",
            "linkwork._util.progress": "Progress",
            "linkwork.collision.scene_loading": "load_scene",
            "linkwork.collision.shape_distance": "contact_points signed_distance",
            "linkwork.compiler.backends": "wait_for_compiler",
            "linkwork.compiler.casadi.from_casadi": "from_casadi",
            "linkwork.compiler.kernel": "Kernel",
            "linkwork.compiler.pickling.kernel_file": "load_kernel",
            "linkwork.compiler.runtime.threads": "get_num_threads set_num_threads",
            "linkwork.compiler.trace.trace": "compile",
            "linkwork.expr.control": "call cond fori_loop put scan take while_loop",
            "linkwork.expr.linalg": "lstsq solve",
            "linkwork.geometry.fields": "distance_field",
            "linkwork.geometry.scene": "Scene",
            "linkwork.installation.selfcheck": "selfcheck",
            "linkwork.kernels.qp_kernel": "quadratic_program",
            "linkwork.kinematics.poses": "pose pose_difference propagate_motion quaternion rpy",
            "linkwork.model.actuator": "Actuator",
            "linkwork.optimal.trajectory_problem": "TrajectoryProblem",
            "linkwork.robot.construction.link": "Link",
            "linkwork.robot.joint.joint": "Joint",
            "linkwork.robot.joint_checks.check_joint": "check_joint",
            "linkwork.robot.robot": "Robot join_robots load load_description",
            "linkwork.simulation.simulator": "Simulator",
        },
        modules=(
            "collision constraints control dynamics errors expr force_elements identify ik installation joints "
            "kinematics mechanisms motion optimal parameters parts planning robots shapes simulation spatial viewer "
            "workspace"
        ),
        unlisted="environments",  # needs gymnasium
        names=("__version__",),
    )
