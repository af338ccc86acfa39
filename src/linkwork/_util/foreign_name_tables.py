"""Names of other libraries, and linkwork's names for the same things.

Sources: the interfaces of Pinocchio 4.1, MuJoCo 4.0, Drake 1.51, PyBullet 3.2, MATLAB's rigidBodyTree, the Robotics
Toolbox for Python 1.1, MoveIt 2 and OMPL 1.6, and names of common file formats.

A key is a name of linkwork; a remark may follow after a comma.  Its values are the names of other libraries.
"""

from __future__ import annotations

__all__ = [
    "CLASSES",
    "CLASS_REMEDIES",
    "FEATURES",
    "FUNCTION_REMEDIES",
    "MISSING_REMEDIES",
    "MODULES",
    "OPTIONS",
    "POSITIONAL_REMEDIES",
    "RECORDS",
    "REMEDIES",
    "ROBOT",
    "Table",
    "by_foreign_name",
    "own_name",
]

Table = dict[str, tuple[str, ...]]


def own_name(key: str) -> str:
    """Return the name of linkwork at the beginning of a key."""
    return key.partition(",")[0]


def by_foreign_name(table: Table) -> dict[str, list[str]]:
    """Return the keys of a table for each name of other libraries."""
    result: dict[str, list[str]] = {}
    for key, names in table.items():
        for name in names:
            result.setdefault(name, []).append(key)
    return result


ROBOT: Table = {
    "pose": (
        *("fkine", "fk", "getTransform", "get_transform", "frame_pose", "framePlacement", "CalcRelativeTransform"),
        *("EvalPoseInWorld", "getGlobalLinkTransform", "get_global_link_transform", "getLinkState", "get_link_pose"),
        *("link_pose", "body_pose", "get_pose", "oMf", "xpos", "xmat", "lookup_transform"),
    ),
    "forward_kinematics": (
        *("fkine_all", "forwardKinematics", "fkine_path", "framesForwardKinematics", "updateFramePlacements"),
    ),
    "jacobian": (
        *("jacob0", "jacobe", "geometricJacobian", "getFrameJacobian", "computeFrameJacobian", "computeJointJacobians"),
        *("CalcJacobianSpatialVelocity", "calculateJacobian", "getJacobian", "get_jacobian", "frame_jacobian"),
        *("body_jacobian", "space_jacobian", "mj_jacBody", "J", "jac"),
    ),
    "jacobian_derivative": (
        *("jacob0_dot", "getFrameJacobianTimeVariation", "jacobian_dot", "mj_jacDot"),
        "computeJointJacobiansTimeVariation",
    ),
    "inverse_kinematics": (
        *("ik", "ikine", "ikine_LM", "ikine_GN", "ikine_NR", "ik_LM", "ik_GN", "ik_NR", "inverseKinematics", "IK"),
        *("solve_ik", "compute_ik", "setFromIK", "calculateInverseKinematics", "InverseKinematics"),
        "generalizedInverseKinematics",
    ),
    "inverse_kinematics_path": ("follow_path", "ik_path"),
    "closed_form": ("ikine_a", "analytical_ik", "analyticalInverseKinematics"),
    "velocity_for": ("p_servo", "servo", "differential_ik", "diff_ik", "differential_inverse_kinematics"),
    "track_cartesian_path": ("computeCartesianPath", "compute_cartesian_path", "cartesian_path", "ctraj"),
    "twist": (
        *("velocity", "frame_velocity", "getFrameVelocity", "EvalSpatialVelocityInWorld", "link_velocity"),
        "CalcSpatialVelocity",
    ),
    "acceleration": (
        *("frame_acceleration", "getFrameAcceleration", "getFrameClassicalAcceleration", "CalcSpatialAcceleration"),
        "mj_objectAcceleration",
    ),
    "bias_acceleration": ("CalcBiasSpatialAcceleration",),
    "jacobian_hessian": ("getJointKinematicHessian",),
    "point_position": ("CalcPointsPositions",),
    "point_jacobian": ("mj_jac", "CalcJacobianTranslationalVelocity"),
    "inverse_dynamics, with wrenches": ("xfrc_applied", "MultibodyForces"),
    "inverse_dynamics": (
        *("rne", "rnea", "inverseDynamics", "CalcInverseDynamics", "calculateInverseDynamics", "mj_inverse"),
        *("qfrc_inverse", "ChainIdSolver"),
    ),
    "forward_dynamics": ("accel", "aba", "forwardDynamics", "qacc", "ChainFdSolver"),
    "constrained_forward_dynamics": ("constraintDynamics", "lcaba", "mj_forward", "efc_force"),
    "simulate": ("fdyn", "rollout", "step", "run", "stepSimulation"),
    "mass_matrix": (
        *("inertia", "crba", "massMatrix", "M", "CalcMassMatrix", "calculateMassMatrix", "mj_fullM", "H"),
        *("get_mass_matrix", "inertia_matrix", "joint_space_inertia"),
    ),
    "mass_matrix_inverse": ("computeMinverse",),
    "mass_matrix_solve": ("cholesky", "mj_solveM"),
    "impact": ("impulseDynamics",),
    "joint_wrenches": ("cfrc_int", "reaction_forces"),
    "coriolis_matrix": ("coriolis", "computeCoriolisMatrix", "C"),
    "gravity_force": (
        *("gravload", "gravityTorque", "gravity_torque", "computeGeneralizedGravity", "gravity_vector", "g"),
    ),
    "gravity_force, of opposite sign": ("CalcGravityGeneralizedForces",),
    "bias_force": ("velocityProduct", "nonLinearEffects", "nle", "CalcBiasTerm", "qfrc_bias", "nonlinear_effects", "h"),
    "center_of_mass": (
        *("com", "CoM", "centerOfMass", "CalcCenterOfMassPosition", "CalcCenterOfMassPositionInWorld", "subtree_com"),
    ),
    "center_of_mass_jacobian": ("jacobianCenterOfMass", "com_jacobian", "mj_jacSubtreeCom"),
    "kinetic_energy": ("computeKineticEnergy", "CalcKineticEnergy", "mj_energyVel"),
    "potential_energy": ("computePotentialEnergy", "CalcPotentialEnergy", "mj_energyPos"),
    "centroidal_momentum": ("computeCentroidalMomentum", "subtree_angmom", "CalcSpatialMomentumInWorldAboutPoint"),
    "centroidal_momentum_matrix": ("computeCentroidalMap", "mj_angmomMat", "cmm"),
    "inverse_dynamics_regressor": ("computeJointTorqueRegressor", "regressor"),
    "inverse_dynamics_derivatives": ("computeRNEADerivatives", "ToAutoDiffXd"),
    "forward_dynamics_derivatives": ("computeABADerivatives", "ToAutoDiffXd"),
    "twist_derivatives": ("getFrameVelocityDerivatives",),
    "acceleration_derivatives": ("getFrameAccelerationDerivatives",),
    "compile, for several functions at once": ("computeAllTerms", "forwardComputeAll"),
    "linearize": ("Linearize", "mjd_transitionFD"),
    "manipulability": ("maniplty", "manipulability_index", "yoshikawa"),
    "integrate": ("mj_integratePos",),
    "difference": ("mj_differentiatePos",),
    "random_configuration": ("randomConfiguration", "random_q", "sample_configuration", "random"),
    "neutral": (
        *("homeConfiguration", "qz", "q0", "home", "qpos0", "GetPositions", "zero_configuration"),
        "neutral_configuration",
    ),
    "nv": ("n", "dof", "ndof", "num_dof", "num_velocities"),
    "nq": ("num_positions",),
    "mass": ("total_mass", "computeTotalMass", "CalcTotalMass"),
    "position_limits": (
        *("qlim", "lowerPositionLimit", "upperPositionLimit", "joint_limits", "jnt_range", "limits"),
        "GetPositionLowerLimits",
    ),
    "lower": ("lower_limits", "lower_limit"),
    "upper": ("upper_limits", "upper_limit"),
    "velocity_limits": ("velocityLimit", "qdlim", "max_velocity"),
    "effort_limits": ("effortLimit", "torque_limits", "max_torque"),
    "joints": ("joint_names", "jointNames", "njoints", "num_joints", "getNumJoints"),
    "links": ("link_names", "BodyNames"),
    "frames": ("frame_names", "getFrameNames", "frame_dict"),
    "q_index": ("getJointId", "joint_index", "idx_q"),
    "v_index": ("idx_v", "dof_index"),
    "plan": ("plan_path", "motion_plan", "plan_motion", "manipulatorRRT", "rrt", "compute_path"),
    "profile": ("jtraj", "trapveltraj", "trapezoidal"),
    "in_collision": (
        *("check_collision", "checkCollision", "check_collisions", "is_in_collision", "iscollided", "collides"),
        *("collision", "computeCollisions", "HasCollisions", "ncon"),
    ),
    "in_collision, the opposite": ("is_collision_free", "collision_free", "is_valid", "isStateValid"),
    "is_motion_free": ("check_motion", "checkMotion", "edge_is_free", "isPathValid", "is_path_valid"),
    "distances": ("computeDistances", "distance", "closest_points", "closest_point", "getClosestPoints"),
    "minimum_distance": ("min_distance", "closest_distance"),
    "collision_shapes": (
        *("collision_geometries", "collision_geometry", "collision_objects", "collision_model", "collision_links"),
        *("geoms", "geometries", "geometryObjects", "geometry_objects"),
    ),
    "collision_pairs": ("collisionPairs", "allowed_collision_matrix", "acm"),
    "with_collision_pairs": ("disable_collisions", "removeCollisionPairs", "addCollisionPair", "removeCollisionPair"),
    "with_frame": ("add_frame", "addFrame", "attach_frame"),
    "with_joint": ("add_joint", "addJoint", "addBody", "add_link"),
    "with_attached": ("attach", "attach_object", "attachObject", "attachBody", "attach_shape"),
    "with_payload": ("payload", "set_payload", "add_payload"),
    "with_locked_joints": ("with_locked", "lock_joints", "buildReducedModel", "Lock", "lock"),
    "with_gravity": ("set_gravity", "setGravity"),
    "with_constraints": ("add_constraint", "add_constraints", "createConstraint"),
    "named_configurations": ("referenceConfigurations", "keyframe", "keyframes", "group_states"),
    "actuators": ("actuator", "motors"),
}
"""Attributes of `Robot`."""

MODULES: Table = {
    "load": (
        *("from_urdf", "load_urdf", "URDF", "buildModelFromUrdf", "importrobot", "read", "read_urdf", "loadURDF"),
        *("load_robot", "Parser", "load_robot_description", "robot_description", "RobotModelLoader", "RobotWrapper"),
    ),
    "Robot.build": ("build", "rigidBodyTree", "ERobot", "MultibodyPlant", "Model", "RobotModel"),
    "Robot.from_dh": ("DHRobot", "from_dh", "SerialLink"),
    "Robot.plan": ("RRT", "RRTConnect", "RRTstar", "manipulatorRRT", "SimpleSetup", "MoveGroupInterface", "ompl"),
    "pose": ("SE3", "transform", "SE3Pose", "RigidTransform"),
    "motion": ("trajectory", "trajectories"),
    "motion.spline": ("CubicSpline", "PiecewisePolynomial", "cubicpolytraj", "quinticpolytraj"),
    "motion.profile": ("jtraj", "trapveltraj", "Ruckig", "trapezoidal", "mstraj"),
    "motion.line": ("ctraj",),
    "expr.linalg.inv": ("inverse", "inv"),
    "motion.time_optimal": ("TOPPRA", "toppra", "Toppra", "topp", "contopptraj", "TimeOptimalTrajectoryGeneration"),
    "planning.Roadmap": ("PRM", "PRMstar", "manipulatorPRM"),
    "simulation": ("simulate", "sim"),
    "simulation.ContactGround": ("Ground", "GroundPlane", "ground", "floor", "Plane", "plane"),
    "Simulator": ("MjData", "mj_step", "Sim", "DiscreteTimeSimulator", "stepSimulation"),
    "ik": ("inverse_kinematics", "inverseKinematics", "generalizedInverseKinematics", "IK"),
    "ik.PoseTask": ("FrameTask", "frame_task"),
    "ik.CenterOfMassTask": ("ComTask", "CoMTask"),
    "Robot.velocity_for": ("DoDifferentialInverseKinematics", "solve_ik"),
    "control": ("controllers", "controller"),
    "control.PD": ("PDController", "pd_controller", "JointPositionController"),
    "control.PID": ("PIDController", "PidController", "pid"),
    "control.ComputedTorque": ("ComputedTorqueController", "InverseDynamicsController"),
    "control.GravityCompensation": ("GravityCompensationController",),
    "control.Impedance": ("ImpedanceController", "CartesianImpedance", "CartesianImpedanceController"),
    "control.JointImpedance": ("JointImpedanceController", "JointStiffnessController"),
    "control.Admittance": ("AdmittanceController",),
    "control.OperationalSpace": ("OperationalSpaceController", "OSC"),
    "control.WholeBody": ("WholeBodyController", "WBC", "QPController"),
    "control.ModelPredictiveController": ("MPC", "mpc", "ModelPredictive"),
    "control.lqr_about_state": ("LQR", "LinearQuadraticRegulator"),
    "TrajectoryProblem": (
        *("OCP", "OptimalControlProblem", "DirectCollocation", "DirectTranscription", "ShootingProblem"),
    ),
    "Scene": ("PlanningScene", "CollisionWorld", "World", "SceneGraph", "CollisionObject", "Obstacles"),
    "signed_distance": ("distance", "collide", "mj_geomDistance", "ComputeSignedDistancePairwiseClosestPoints"),
    "shapes.Box": ("collisionBox", "Cuboid", "cuboid", "box"),
    "shapes.Sphere": ("collisionSphere", "sphere"),
    "shapes.Cylinder": ("collisionCylinder", "cylinder"),
    "shapes.Polytope": ("collisionMesh", "Convex", "ConvexHull"),
    "quadratic_program": ("QP", "solve_qp", "qp", "quadprog"),
    "environments.VectorEnvironment": ("make", "make_env", "VectorEnv", "Env"),
    "robots.names": ("list_robots", "models", "robot_names"),
}
"""Names of linkwork and of its public modules."""

CLASSES: dict[str, Table] = {
    "Scene": {
        "with_box, which returns a new scene": ("add_box", "addBox"),
        "with_sphere, which returns a new scene": ("add_sphere", "addSphere"),
        "with_cylinder, which returns a new scene": ("add_cylinder", "addCylinder"),
        "with_capsule, which returns a new scene": ("add_capsule", "addCapsule"),
        "with_half_space, which returns a new scene": ("add_plane", "add_half_space", "add_ground", "addPlane"),
        "with_point_cloud, which returns a new scene": ("add_point_cloud", "add_points", "addPointCloud"),
        "with_height_field, which returns a new scene": ("add_height_field", "add_heightmap"),
        "with_compound, which returns a new scene": ("add_compound",),
        "with_shape, which returns a new scene": (
            *("add", "add_shape", "add_obstacle", "add_object", "addCollisionObject", "addCollisionObjects", "insert"),
            *("add_mesh", "addMesh", "add_geometry", "addGeometryObject", "RegisterGeometry", "append"),
        ),
        "without, which returns a new scene": ("remove", "remove_object", "removeCollisionObjects", "delete", "clear"),
        "with_pose, which returns a new scene": ("move", "set_pose", "setPose", "move_object", "update_pose"),
        "obstacles": ("objects", "shapes", "geometries", "getObjects", "geometry_objects"),
    },
    "simulation.Simulation": {
        "t": ("time", "times", "ts", "timestamps"),
        "q": ("qpos", "positions", "configurations", "xs"),
        "v": ("qvel", "qd", "velocities", "dq"),
        "records": ("record", "recorded", "log", "logs", "data"),
        "animation": ("animate", "render", "video", "play"),
        "stopped_at": ("t_events", "end_time"),
    },
    "Simulator": {
        "time": ("t",),
        "state": ("data", "get_state", "q", "v", "qpos", "qvel"),
        "step": ("mj_step", "advance", "AdvanceTo", "stepSimulation", "advance_to"),
        "restore": ("set_state", "setState"),
    },
    "motion.Trajectory": {
        "sampled": ("sample", "discretize", "sample_points"),
        "reversed": ("reverse", "ReverseTime"),
        "end_time": ("tf", "t_end", "t_final"),
        "duration": ("total_time", "T"),
        "plot": ("qplot", "draw"),
        "concatenate": ("append", "ConcatenateInTime", "concat"),
    },
    "motion.TimedPath": {"t": ("time", "times"), "trajectory": ("path", "q")},
    "planning.PlanResult": {
        "trajectory": ("path_trajectory", "spline"),
        "timed": ("time_parameterize", "time_optimal", "retime", "timing"),
        "path": ("q", "waypoints", "configurations", "states", "getSolutionPath", "points"),
    },
    "ik.IKResult": {
        "q": ("solution", "q_sol", "qpos", "x", "config", "configuration"),
        "errors": ("residual", "error", "residuals"),
        "iterations": ("its", "niter", "nit"),
        "success": ("found", "converged"),
    },
    "optimal.OptimalResult": {
        "times": ("t", "time", "ts"),
        "q": ("positions", "configurations", "states", "qs"),
        "variables": ("x", "solution"),
        "iterations": ("nit", "niter"),
        "success": ("found", "converged", "is_success"),
    },
    "TrajectoryProblem": {
        "add": ("add_cost", "add_constraint", "AddCost", "AddConstraint", "subject_to", "minimize", "add_term"),
        "add_limits": ("add_bounds", "set_bounds", "add_limit"),
        "solve": ("optimize", "Solve", "run"),
    },
    "collision.DistanceResult": {
        "distance": ("min_distance", "dist", "signed_distance"),
        "point_a": ("nearest_points", "getNearestPoint1", "p_ACa"),
        "point_b": ("getNearestPoint2", "p_BCb"),
        "normal": ("nhat_BA_W",),
    },
    "collision.RobotDistances": {"distance": ("distances", "min_distance", "dist")},
    "Joint": {
        "position_bounds": ("qlim", "limit", "limits", "position_limits"),
        "velocity_bounds": ("velocity_limit", "max_velocity"),
        "effort_bounds": ("effort_limit", "max_effort", "max_torque"),
        "type_name": ("jtype", "joint_type"),
    },
}
"""Attributes of other classes, by the name of the class in linkwork."""

CLASS_REMEDIES: dict[str, dict[str, str]] = {
    "motion.Trajectory": {
        **dict.fromkeys(
            (
                *("q", "v", "a", "qd", "qdd", "value", "evaluate", "eval", "at", "EvalDerivative", "position"),
                *("velocity", "positions", "velocities", "accelerations", "acceleration"),
            ),
            "call the trajectory: trajectory(t) returns q, v and a",
        ),
        "trajectory": "it is a trajectory already: trajectory(t) returns q, v and a",
    },
    "simulation.Simulation": {
        **dict.fromkeys(
            ("tau", "torque", "torques", "efforts", "joint_torques", "u", "controls"),
            "simulate(..., record=['tau']) records joint forces, and Simulation.records['tau'] has them",
        ),
        **dict.fromkeys(("states", "state"), "Simulation.q and Simulation.v are the states"),
    },
    "optimal.OptimalResult": {
        **dict.fromkeys(
            ("v", "a", "velocity", "velocities", "accelerations", "qd", "qdd"),
            "result.trajectory() returns the trajectory, which returns q, v and a at a time",
        ),
        **dict.fromkeys(
            ("tau", "torque", "torques", "u", "forces", "efforts"),
            "robot.inverse_dynamics(*result.trajectory()(t)) returns the joint forces at times t",
        ),
    },
    "Scene": {
        **dict.fromkeys(
            ("check_collision", "checkCollision", "in_collision", "isStateColliding", "distance", "distances"),
            "use robot.in_collision(q, scene) or robot.distances(q, scene)",
        ),
        **dict.fromkeys(
            ("save", "write", "dump", "to_file", "export"),
            "scene.to_json() returns the text of a file: path.write_text(scene.to_json())",
        ),
        **dict.fromkeys(
            ("load", "read", "from_file", "open"),
            "Scene.from_json accepts the text of a file: Scene.from_json(path.read_text())",
        ),
        **dict.fromkeys(
            ("plot", "draw", "render", "view", "visualize"),
            "scene.show() and robot.show(q, scene=scene) show a scene, and robot.plot(q, scene=scene) draws one",
        ),
    },
}
"""Remedies for attributes of other classes that belong to other objects."""

OPTIONS: Table = {
    # configurations, velocities and forces
    "q_init": (
        *("q0", "x0", "initial_guess", "initialguess", "initial_configuration", "seed_state", "q_guess", "q_seed"),
        *("qinit", "q_start", "start", "guess", "currentPositions", "seed", "warm_start", "init"),
    ),
    "package_dirs": ("package_dir", "search_paths", "package_path", "package_map", "search_path"),
    "nearest_to": ("closest_to", "reference_configuration"),
    "posture": ("restPoses", "rest_poses", "q_rest", "q_nominal", "nominal", "rest"),
    "start": ("q0", "q_start", "qstart", "start_state", "x0", "initial", "q_init", "initial_state"),
    "goal": ("q_goal", "qgoal", "goal_state", "target", "end", "q1", "q_end", "goal_pose", "X_target", "joints"),
    "initial_guess": ("x0", "guess", "q_guess", "init_guess", "xs", "q_init"),
    "warm_start": ("previous", "init"),
    "X_target": (
        *("T", "Tep", "target", "target_pose", "pose", "X", "X_goal", "goal", "tform", "targetPosition", "matrix"),
    ),
    "X_path": ("path", "poses", "targets", "X_targets"),
    "q0": ("start", "q_start", "q_init", "a"),
    "q1": ("end", "goal", "q_end", "q_goal", "b"),
    "q": ("qpos", "q0", "q_init", "x0", "state", "initial_state", "configuration", "positions", "joint_positions"),
    "v": ("qvel", "qd", "dq", "qdot", "q_dot", "v0", "qd0", "velocity", "velocities", "joint_velocities"),
    "a": ("qdd", "qacc", "ddq", "qddot", "v_dot", "vdot", "acceleration", "accelerations"),
    "tau": ("torque", "torques", "qfrc_applied", "u", "forces", "joint_torques", "Q"),
    "tasks": ("task",),
    # frames
    "frame": (
        *("end", "link", "body", "tip", "ee", "end_effector", "endeffector", "endEffector", "ee_link", "ee_link_name"),
        *("link_name", "frame_name", "frame_id", "tip_link", "endEffectorLinkIndex", "body_name", "site", "ee_frame"),
        *("target_frame", "bodyname", "ee_name", "frame_B"),
    ),
    "relative_to": (
        *("start", "base", "base_frame", "base_link", "reference_body", "frame_A", "source_frame", "parent_frame"),
        *("reference_frame", "wrt", "sourcebody"),
    ),
    'expressed_in, "world" or the name of a frame': (
        *("local", "reference_frame", "rf", "frame_E", "expressed_in_frame", "local_world_aligned", "in_frame"),
        "world",
        *("coordinates", "representation", "axes"),
    ),
    'axes, "frame" or "world"': ("expressed_in", "local", "reference_frame", "in_frame"),
    "axes": ("ax", "axis", "figure", "fig"),
    # limits of computing
    "time_limit, in seconds": (
        *("timeout", "max_time", "time_out", "planning_time", "allowed_planning_time", "solve_time", "solveTime"),
        *("maxtime", "MaxTime", "timeLimit", "max_seconds", "max_planning_time", "max_wall_time"),
    ),
    "max_iterations": (
        *("max_iter", "maxiter", "max_iters", "iterations", "ilimit", "MaxIterations", "num_iterations", "n_iter"),
        *("maxNumIterations", "maxIterations", "iter", "max_its", "max_nfev", "max_steps"),
    ),
    "num_starts": ("slimit", "num_restarts", "restarts", "attempts", "num_planning_attempts", "max_starts", "retries"),
    "max_starts": ("slimit", "num_restarts", "restarts", "attempts", "num_starts", "retries"),
    "max_searches": ("attempts", "num_planning_attempts", "restarts", "num_attempts", "retries"),
    "num_guesses": ("num_starts", "restarts", "attempts", "num_restarts"),
    "num_solutions": ("max_solutions", "n_solutions", "num_sols"),
    "max_solutions": ("num_solutions", "n_solutions"),
    # tolerances
    "position_tolerance": (
        *("tol", "tolerance", "eps", "pos_tol", "position_tol", "goal_position_tolerance", "residualThreshold"),
        *("pos_threshold", "translation_tolerance", "PositionTolerance"),
    ),
    "orientation_tolerance": (
        *("tol", "tolerance", "eps", "rot_tol", "ori_tol", "goal_orientation_tolerance", "rotation_tolerance"),
        "OrientationTolerance",
    ),
    "tolerance": ("tol", "eps", "atol", "ftol", "xtol", "accuracy", "threshold", "gtol"),
    # limits of a robot
    "position_limits": (
        *("joint_limits", "qlim", "limits", "bounds", "lowerLimits", "upperLimits", "enforce_joint_limits"),
        *("EnforceJointLimits", "q_min", "q_max", "respect_limits", "jointLimits", "use_limits", "avoid_limits"),
    ),
    "motion_limits": ("limits", "joint_limits", "constraints"),
    "velocity": (
        *("max_velocity", "vmax", "v_max", "velocity_limits", "velocity_limit", "vel", "max_vel", "qd_max", "v_limits"),
        *("velocities", "vlim", "max_velocities", "velocityLimits", "vel_limits"),
    ),
    "acceleration": (
        *("max_acceleration", "amax", "a_max", "acceleration_limits", "acceleration_limit", "acc", "accel", "max_acc"),
        *("max_accel", "alim", "accelerations", "qdd_max", "max_accelerations", "acc_limits"),
    ),
    "jerk": ("max_jerk", "jmax", "j_max", "jerk_limits", "jerk_limit"),
    "torque": ("torque_limits", "effort_limits", "tau_max", "max_torque", "torque_limit", "torques", "effort"),
    "effort_limits": (
        *("torque_limits", "torque_limit", "limits", "saturation", "tau_max", "u_max", "max_torque", "output_limits"),
        *("effort_limit", "max_effort", "u_limits", "control_limits"),
    ),
    "control_limits": ("u_max", "u_limits", "torque_limits", "effort_limits", "control_bounds"),
    "lower": ("lb", "qmin", "q_min", "min", "lower_limit", "lower_bound", "lower_bounds", "limits", "qlim"),
    "upper": ("ub", "qmax", "q_max", "max", "upper_limit", "upper_bound", "upper_bounds", "limits", "qlim"),
    "effort": ("effort_limit", "max_torque", "torque_limit", "max_effort"),
    "locked": ("fixed", "frozen", "locked_joints", "lock", "inactive", "excluded_joints"),
    # time
    "dt, in seconds": (
        *("timestep", "time_step", "timeStep", "step", "h", "ts", "Ts", "dT", "sample_time", "step_size", "delta_t"),
        *("physics_timestep", "fixedTimeStep", "max_step", "period"),
    ),
    "duration, in seconds": (
        *("T", "t_final", "tf", "t_end", "tspan", "t_span", "time", "final_time", "end_time", "total_time"),
        *("seconds", "t_max"),
    ),
    "num_steps": (
        *("N", "horizon", "n_steps", "steps", "num_knots", "num_time_samples", "nodes", "knots", "num_nodes"),
    ),
    "period, in seconds": ("dt", "timestep", "sample_time", "control_period"),
    "record_every": ("save_every", "log_every", "decimation", "record_interval", "sampling", "stride", "skip"),
    "control_every": ("control_decimation", "frame_skip", "substeps", "control_dt", "action_repeat", "control_rate"),
    # simulation
    "method": ("integrator", "planner", "planner_id", "algorithm", "planning_algorithm", "solver", "scheme"),
    "integrator": ("method", "scheme", "integration"),
    "solver": ("method", "algorithm", "backend", "optimizer"),
    "controller": ("control", "policy", "torque_function", "input_function", "Q", "tau", "torque", "torques", "u"),
    "contacts": ("ground", "floor", "plane", "contact", "contact_points", "terrain"),
    "contact_model": ("contact_solver", "contact_type"),
    "joint_limit_mode": ("joint_limits", "position_limits", "limits", "joint_stops", "stops"),
    "wrenches": (
        *("fext", "f_ext", "external_forces", "externalForces", "xfrc_applied", "external_wrenches", "forces"),
        "wrench",
    ),
    "gravity": ("grav", "g", "Gravity"),
    "passive": ("armature", "with_armature", "joint_damping", "include_damping", "passive_forces", "include_passive"),
    "events": ("event", "guards", "terminal"),
    "batch": ("num_envs", "n_envs", "batch_size", "num_worlds", "nworld", "batch_shape"),
    "num_envs": ("n_envs", "num_worlds", "batch", "nworld", "batch_size"),
    "friction": ("mu", "friction_coefficient", "lateralFriction", "coefficient_of_friction", "friction_coeff"),
    "restitution": ("coefficient_of_restitution", "bounce", "e"),
    # loading and building
    "floating_base": ("root_joint", "free_flyer", "freeflyer", "freejoint", "free_base", "is_floating"),
    "floating_base, the opposite": ("fixed_base", "useFixedBase", "use_fixed_base", "fix_base", "fixed", "weld_base"),
    "continuous": ("continuous_joints", "wrap", "cos_sin"),
    "mimic": ("mimic_joints", "ignore_mimic"),
    "parent": ("parent_link", "parent_frame", "parent_body", "base"),
    "child": ("child_link", "child_frame", "child_body"),
    "placement": ("origin", "offset", "X", "T", "transform", "joint_placement", "pose"),
    "type": ("joint_type", "jtype", "kind"),
    "mass": ("m",),
    "com": ("center_of_mass", "cog", "com_position"),
    "inertia": ("I", "inertia_matrix", "inertia_tensor", "moment_of_inertia", "moments"),
    "armature": ("rotor_inertia", "Jm"),
    "gear_ratio": ("G", "gear", "gearRatio"),
    "gear": ("gear_ratio", "G", "gearRatio"),
    "control_range": ("ctrlrange", "ctrl_range", "control_limits", "ctrllimited"),
    "force_range": ("forcerange", "effort_limits", "force_limits", "max_force", "torque_limits"),
    "convention": ("mdh", "modified", "dh_convention", "dh"),
    "rpy": ("euler", "angles", "euler_angles", "roll_pitch_yaw"),
    "quaternion_wxyz": ("quaternion", "quat", "q", "wxyz", "orientation"),
    "rotation": ("R", "rotation_matrix", "matrix", "rot"),
    "xyz": ("position", "p", "t", "translation", "pos"),
    "pose": ("origin", "position", "X", "T", "transform", "xyz", "placement", "pos"),
    # shapes and collisions
    "size, the full lengths of the edges": (
        *("half_extents", "halfExtents", "half_sizes", "extents", "dimensions", "sides", "x", "lengths", "edges"),
    ),
    "length": ("height", "h", "l", "len", "cylinder_length"),
    "length, the full length": ("half_length", "half_height"),
    "radius": ("r", "R"),
    "radii": ("semi_axes", "half_axes"),
    "vertices": ("points", "verts"),
    "scene": ("obstacles", "world", "environment", "planning_scene", "env", "obstacle", "collision_objects"),
    "collision_check": ("edges", "collision_checker", "edge_check", "motion_validator"),
    "resolution": (
        *("step_size", "validation_distance", "ValidationDistance", "longest_valid_segment_fraction", "edge_step_size"),
        *("state_validity_checking_resolution", "collision_resolution", "max_step"),
    ),
    "margin, in metres": (
        *("clearance", "padding", "safety_margin", "safe_distance", "security_margin", "min_distance"),
        *("collision_margin", "safety_distance", "minimum_distance"),
    ),
    "pairs": ("collision_pairs", "collisionPairs", "links"),
    "touching": ("allowed_collisions", "touch_links", "acm", "ignore", "ignore_collisions", "allowed_collision_matrix"),
    "path_constraints": ("constraints", "constraint", "orientation_constraint", "keep", "trajectory_constraints"),
    "simplify": ("simplify_solution", "shortcut", "smooth", "smoothing", "interpolate"),
    "num_nodes": ("num_samples", "n_nodes", "samples", "n_samples", "NumNodes", "milestones"),
    "num_neighbors": ("k", "max_neighbors", "neighbors", "max_nearest_neighbors", "k_neighbors"),
    "max_joint_step": ("jump_threshold", "max_step", "max_joint_jump"),
    "max_joint_jump": ("jump_threshold", "max_step", "max_joint_step"),
    # gains and weights
    "kp": ("Kp", "P", "p", "gain", "gains", "kP", "position_gain", "positionGain", "p_gain", "stiffness"),
    "ki": ("Ki", "I", "i", "integral_gain", "i_gain"),
    "kd": ("Kd", "D", "d", "derivative_gain", "velocity_gain", "velocityGain", "d_gain", "damping", "kv"),
    "stiffness": ("kp", "Kp", "k", "K", "gain", "gains", "spring", "K_p", "spring_constant"),
    "damping": ("kd", "Kd", "d", "D", "K_d", "damping_ratio", "kv", "regularization"),
    "weight": ("w", "cost", "weights", "gain", "position_cost", "orientation_cost"),
    "weights": ("w", "weight", "W", "costs"),
    "target": ("goal", "reference", "desired", "ref", "target_pose", "setpoint"),
    "Q, the weight of the state": ("state_cost", "q_cost", "state_weight", "Qx"),
    "R, the weight of the control": ("control_cost", "r_cost", "input_cost", "control_weight"),
    "scale": ("weight", "w", "cost"),
    # several
    "seed": ("random_seed", "rng", "random_state", "rand_seed"),
    "size": ("n", "num", "num_samples", "count", "batch", "batch_size", "shape"),
    "progress": ("verbose", "show_progress", "disp", "display", "print_level"),
    "out": ("result", "dst", "output"),
}
"""Options of functions and constructors.  An error names those options that the function has."""

FUNCTION_REMEDIES: dict[str, dict[str, str]] = {
    "load": {
        **dict.fromkeys(
            ("mesh_dir", "meshes", "mesh_folder"),
            "meshes are read later: Robot.plot(meshes=...) and Robot.with_collision_hulls accept their folders",
        ),
        **dict.fromkeys(
            ("base_position", "basePosition", "base_pose", "baseOrientation", "position"),
            "the root link is at the world's origin: Robot.with_root and the q of a floating base place it elsewhere",
        ),
    },
    "inverse_kinematics": {
        **dict.fromkeys(
            ("mask", "task_mask", "we"),
            "ik.PositionTask and ik.OrientationTask, for Robot.ik_problem, leave components of the pose free",
        ),
        **dict.fromkeys(
            ("scene", "margin", "collision", "avoid_collisions", "weights", "damping"),
            "Robot.ik_problem combines tasks with weights, such as ik.ClearanceTask",
        ),
        **dict.fromkeys(
            ("position", "positions", "target_position", "pos", "p", "xyz"),
            "X_target is also a position (3,) or several (..., 3), with free orientation",
        ),
        **dict.fromkeys(
            ("task", "tasks", "targets"),
            "Robot.ik_problem(tasks).solve(...) solves tasks, with targets by the names of the tasks",
        ),
    },
    "plan": {
        **dict.fromkeys(
            (
                *("velocity", "max_velocity", "acceleration", "max_acceleration", "velocity_scaling", "vel", "acc"),
                *("max_velocity_scaling_factor", "max_acceleration_scaling_factor", "duration"),
            ),
            "a path has no times: PlanResult.timed(velocity=..., acceleration=...) adds them",
        ),
        **dict.fromkeys(
            ("orientation_tolerance", "position_tolerance", "goal_tolerance", "position", "target_position"),
            "a goal (x, y, z) with frame= leaves the orientation free, and planning.PoseRegion bounds poses",
        ),
    },
    "TrajectoryProblem": dict.fromkeys(("dt", "timestep", "time_step"), "a step takes duration / num_steps"),
    **dict.fromkeys(
        ("Encoder", "IMU", "ForceTorqueSensor", "TouchSensor", "ContactSensor", "RangeSensor"),
        dict.fromkeys(
            ("rate", "frequency", "sampling_rate", "sample_rate", "period", "update_rate", "dt"),
            "sensors are read in every step, once per dt of simulate; with control_every=k the controller runs in "
            "every k-th step",
        ),
    ),
    "simulate": {
        **dict.fromkeys(
            ("render", "gui", "realtime", "real_time", "animate", "visualize", "viewer"),
            "Simulation.animation draws the result",
        ),
        "gravity": "Robot.with_gravity sets it",
        **dict.fromkeys(
            ("trajectory", "target", "reference", "path", "q_target", "q_desired", "q_des", "goal"),
            "use time_inputs={'target': trajectory} for a trajectory, or constants={'target': q} for a fixed target; "
            "a controller of lw.control follows it",
        ),
        **dict.fromkeys(
            ("effort_limits", "torque_limits", "tau_max", "max_torque", "effort_limit", "torque_limit"),
            "it is an option of the controller, such as lw.control.PD(robot, effort_limits=...)",
        ),
        **dict.fromkeys(
            ("sensor_rate", "sampling_rate", "sample_rate", "rate"),
            "sensors are read once per dt; record_every and control_every are numbers of steps",
        ),
        **dict.fromkeys(("num_steps", "n_steps", "steps", "nsteps"), "duration is the number of steps times dt"),
        **dict.fromkeys(("damping", "armature"), "Robot.with_joint_dynamics sets the dynamics of joints"),
    },
}
"""Remedies for options of one function that belong to another function."""

POSITIONAL_REMEDIES: dict[str, str] = {
    "forward_kinematics": "for one frame use robot.pose(q, frame)",
    "Box": "write the lengths of the edges as one argument, Box((x, y, z))",
    "to_json": "it returns the text of a file: path.write_text(scene.to_json())",
}
"""Remedies for calls with too many positional arguments."""

MISSING_REMEDIES: dict[tuple[str, str], str] = {
    ("inverse_kinematics", "frame"): "tasks name their frames, and Robot.ik_problem(tasks).solve(...) solves them",
}
"""Remedies for calls without a required argument, by function and argument."""

RECORDS: Table = {
    "tau": (
        *("torque", "torques", "effort", "efforts", "joint_torque", "joint_torques", "joint_forces", "u", "forces"),
        *("force", "control", "controls", "qfrc_applied", "input"),
    ),
}
"""Records of simulations that are not functions of robots."""

FEATURES: Table = {
    "torque": (
        *("effort", "efforts", "torques", "joint_torque", "joint_torques", "joint_force", "joint_forces", "tau", "u"),
        *("control", "controls", "control_effort"),
    ),
    "configuration": ("q", "position", "positions", "joint_positions", "state", "posture"),
    "velocity": ("v", "qd", "dq", "velocities", "joint_velocity", "joint_velocities"),
    "acceleration": ("a", "qdd", "ddq", "accelerations", "smoothness"),
    "clearance": ("collision", "collisions", "distance", "obstacles", "collision_avoidance"),
    "position limits": ("joint_limits", "limits", "position_limits", "bounds"),
    "velocity limits": ("velocity_limits",),
    "torque limits": ("torque_limits", "effort_limits"),
}
"""Features of trajectory problems."""

REMEDIES: dict[str, str] = {
    **dict.fromkeys(
        ("from_mjcf", "load_mjcf", "MJCF", "from_sdf", "load_sdf", "from_usd", "load_usd", "MjModel", "loadSDF"),
        "linkwork.load reads URDF, MJCF, SDF, USD and JSON files, and Robot.from_mujoco models of MuJoCo",
    ),
    **dict.fromkeys(
        ("to_usd", "to_json", "to_xml", "export", "export_urdf", "write", "write_urdf", "dump", "to_file"),
        "Robot.save, Robot.to_urdf, Robot.to_mjcf and Robot.to_sdf write files",
    ),
    **dict.fromkeys(
        ("view", "visualize", "render", "plotly", "display", "draw", "Visualizer"),
        "Robot.show shows a robot in the browser, and show of a result its motion; plot draws with matplotlib",
    ),
    **dict.fromkeys(
        ("createData", "create_data", "createDefaultContext", "Data", "data", "CreateDefaultContext"),
        "there is no object of data: methods of Robot are functions of q, v and further arrays",
    ),
    **dict.fromkeys(
        ("getFrameId", "getBodyId", "getFrame", "frame_id", "GetFrameByName", "GetBodyByName"),
        "frames have names, without numbers: pass the name, as in robot.pose(q, 'hand')",
    ),
    "model": "a Robot is the model: robot.nq, robot.joints and robot.mass_matrix are its own",
}
"""Remedies for names of robots and modules that have no equivalent."""
