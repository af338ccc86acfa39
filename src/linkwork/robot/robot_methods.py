"""The methods of class `Robot`, by the classes of all subjects that define them.

A subject's module is imported when one of its methods is first accessed.  Type checkers see the classes as bases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.kernels.robot_base import RobotBase

if TYPE_CHECKING:
    from linkwork.collision.collision_pair_methods import CollisionMethods
    from linkwork.compare.methods import ComparisonMethods, ModelCheckMethods
    from linkwork.dynamics.derivative_methods import DerivativeMethods
    from linkwork.dynamics.methods import DynamicsMethods, ForceMethods, InertiaMethods
    from linkwork.dynamics.momentum_methods import MomentumMethods, RegressorMethods
    from linkwork.ik.methods import ClosedFormMethods, InverseKinematicsMethods
    from linkwork.interop.labelled_functions import LabelledMethods
    from linkwork.kinematics.configuration_methods import ConfigurationMethods
    from linkwork.kinematics.methods import JacobianMethods, KinematicsMethods
    from linkwork.kinematics.point_methods import PointMethods
    from linkwork.mechanisms.assembly_methods import AssemblyMethods
    from linkwork.mechanisms.methods import ConstrainedDynamicsMethods
    from linkwork.mechanisms.mobility_methods import IntegrabilityMethods, MobilityMethods
    from linkwork.mechanisms.reduced_methods import ReducedMethods
    from linkwork.motion.methods import CartesianMethods, MotionMethods, ProfileMethods
    from linkwork.planning.methods import PlanningMethods
    from linkwork.precompilation import PrecompilingMethods
    from linkwork.robot.actuation_methods import ActuationMethods
    from linkwork.robot.constraint_methods import ConstraintMethods, ForceElementMethods, LoopFileMethods
    from linkwork.robot.joining import JoiningMethods
    from linkwork.robot.methods import CompilingMethods, LimitMethods, StructureMethods
    from linkwork.robot.parameter_methods import ParameterMethods
    from linkwork.robot.robot_editing import CollisionHullMethods, EditingMethods
    from linkwork.robot.writing_methods import WritingMethods
    from linkwork.simulation.methods import SimulationMethods
    from linkwork.viewer.figures.robot_figures import PlottingMethods
    from linkwork.viewer.methods import ShowMethods
    from linkwork.workspace.methods import WorkspaceMethods

__all__ = ["METHODS", "RobotMethods"]

# names of the attributes that each class of methods defines
METHODS = {
    "linkwork.kinematics.methods.KinematicsMethods": "forward_kinematics pose twist acceleration jacobian",
    "linkwork.kinematics.point_methods.PointMethods": (
        "points directions with_point with_direction with_frame point_position point_velocity point_acceleration "
        "point_jacobian direction_vector direction_velocity direction_acceleration direction_jacobian"
    ),
    "linkwork.kinematics.methods.JacobianMethods": (
        "position_jacobian angular_jacobian configuration_jacobian jacobians jacobian_derivative bias_acceleration "
        "jacobian_hessian manipulability manipulability_gradient sparsity moving_joints"
    ),
    "linkwork.dynamics.methods.DynamicsMethods": (
        "inverse_dynamics newton_euler_terms forward_dynamics hybrid_dynamics mass_matrix_null_space mass_matrix "
        "bias_force gravity_force passive_force"
    ),
    "linkwork.dynamics.methods.InertiaMethods": "mass_matrix_inverse mass_matrix_solve coriolis_matrix",
    "linkwork.dynamics.momentum_methods.MomentumMethods": (
        "center_of_mass center_of_mass_velocity center_of_mass_acceleration center_of_mass_jacobian kinetic_energy "
        "potential_energy lagrangian power momentum centroidal_momentum centroidal_momentum_rate "
        "centroidal_momentum_matrix centroidal_momentum_matrix_rate locked_inertia zero_moment_point"
    ),
    "linkwork.dynamics.methods.ForceMethods": (
        "joint_wrenches joint_wrench_components static_torque wrench_from_torque impact"
    ),
    "linkwork.robot.constraint_methods.ForceElementMethods": (
        "force_elements with_force_elements without_force_elements force_element_wrenches"
    ),
    "linkwork.robot.actuation_methods.ActuationMethods": (
        "actuators named_configurations with_actuators without_actuators with_named_configuration "
        "without_named_configurations"
    ),
    "linkwork.dynamics.derivative_methods.DerivativeMethods": (
        "pose_derivatives twist_derivatives acceleration_derivatives center_of_mass_velocity_derivatives "
        "center_of_mass_acceleration_derivatives kinetic_energy_derivatives potential_energy_derivatives "
        "centroidal_momentum_derivatives centroidal_momentum_rate_derivatives inverse_dynamics_derivatives "
        "forward_dynamics_derivatives inverse_dynamics_hessian inverse_dynamics_second_derivatives "
        "forward_dynamics_hessian forward_dynamics_second_derivatives linearize integrate_derivatives"
    ),
    "linkwork.collision.collision_pair_methods.CollisionMethods": (
        "collision_shapes collision_pairs with_collision_pairs find_collision_pairs srdf_document with_srdf_document "
        "with_collisions with_attached without_attached"
    ),
    "linkwork.collision.methods.DistanceMethods": (
        "distances distance_derivatives distance_hessian minimum_distance in_collision nearest_pair is_motion_free "
        "smooth_minimum_distance smooth_minimum_distance_gradient _smooth _pair_selection _evaluate _call _on_symbols"
    ),
    "linkwork.compare.methods.ComparisonMethods": "compare compare_with_library",
    "linkwork.robot.constraint_methods.ConstraintMethods": (
        "constraints loops with_loop with_constraints without_constraints _kinematic_state constraint_error "
        "constraint_jacobian constraint_drift constraint_bias loop_configuration loop_velocity loop_wrenches "
        "loop_passive_force constrained_forward_dynamics"
    ),
    "linkwork.mechanisms.methods.ConstrainedDynamicsMethods": (
        "constrained_forward_dynamics_derivatives constrained_inverse_dynamics "
        "constrained_inverse_dynamics_derivatives constrained_impact constraint_power delassus_matrix "
        "constrained_mass_matrix_inverse constrained_mass_matrix constraint_force_indeterminacy equilibrium "
        "determinate_constraint_forces loop_joint_wrenches joint_wrench_indeterminacy determinate_joint_wrenches"
    ),
    "linkwork.mechanisms.mobility_methods.IntegrabilityMethods": "integrability",
    "linkwork.mechanisms.assembly_methods.AssemblyMethods": (
        "project assemble branches drive_mechanism project_configuration project_velocity assemble_configuration "
        "assembly_derivatives"
    ),
    "linkwork.ik.methods.InverseKinematicsMethods": (
        "inverse_kinematics ik_problem velocity_for inverse_kinematics_path"
    ),
    "linkwork.robot.constraint_methods.LoopFileMethods": "loops_document save_loops with_loops_document",
    "linkwork.mechanisms.reduced_methods.ReducedMethods": (
        "explicit_jacobian explicit_jacobian_derivative explicit_velocity explicit_acceleration closed_configuration "
        "reduced_mass_matrix reduced_bias_force reduced_inverse_dynamics reduced_forward_dynamics reduced_linearize"
    ),
    "linkwork.mechanisms.mobility_methods.MobilityMethods": "mobility minimal_coordinates _scales _one",
    "linkwork.compare.methods.ModelCheckMethods": "check_model",
    "linkwork.motion.methods.MotionMethods": "spline",
    "linkwork.planning.methods.PlanningMethods": "plan",
    "linkwork.viewer.figures.robot_figures.PlottingMethods": "plot plot_tree",
    "linkwork.viewer.methods.ShowMethods": "show _repr_html_",
    "linkwork.simulation.methods.SimulationMethods": "simulate",
    "linkwork.workspace.methods.WorkspaceMethods": "workspace_map",
    "linkwork.motion.methods.CartesianMethods": "track_cartesian_path",
    "linkwork.robot.parameter_methods.ParameterMethods": "parameters with_parameters _with_symbols",
    "linkwork.robot.parameter_methods.ResistanceMethods": (
        "armature gear_ratio damping friction static_friction friction_velocity stiffness rest_configuration "
        "with_joint_dynamics _by_joint _stacked"
    ),
    "linkwork.dynamics.momentum_methods.RegressorMethods": (
        "inverse_dynamics_regressor kinetic_energy_regressor potential_energy_regressor momentum_regressor "
        "inertial_parameters parameter_names base_parameters physical_consistency"
    ),
    "linkwork.ik.methods.ClosedFormMethods": "closed_form",
    "linkwork.kinematics.configuration_methods.ConfigurationMethods": (
        "neutral configuration random_configuration normalize integrate difference "
        "velocity_to_configuration_derivative configuration_derivative_to_velocity"
    ),
    "linkwork.motion.methods.ProfileMethods": "profile",
    "linkwork.robot.methods.CompilingMethods": "compile",
    "linkwork.precompilation.PrecompilingMethods": "precompile _compile_best",
    "linkwork.robot.robot_editing.EditingMethods": (
        "with_joint with_inertia with_gravity with_payload with_locked_joints"
    ),
    "linkwork.robot.robot_editing.CollisionHullMethods": "with_collision_hulls",
    "linkwork.robot.joining.JoiningMethods": "with_base with_mounted",
    "linkwork.robot.construction.robot_constructors.Constructors": (
        "from_urdf from_urdf_string from_mujoco build from_dh with_couplings with_root"
    ),
    "linkwork.robot.methods.StructureMethods": (
        "joints fixed_joints joint bodies frames links link q_names v_names q_index v_index __str__"
    ),
    "linkwork.robot.methods.LimitMethods": (
        "lower upper position_limits velocity_limits acceleration_limits jerk_limits effort_limits passive_torque "
        "with_joint_limits_document _positions _rate_limits"
    ),
    "linkwork.interop.labelled_functions.LabelledMethods": "xarray",
    "linkwork.robot.writing_methods.WritingMethods": "save to_urdf to_mjcf to_sdf to_srdf",
}

if TYPE_CHECKING:

    class RobotMethods(
        KinematicsMethods,
        PointMethods,
        JacobianMethods,
        DynamicsMethods,
        InertiaMethods,
        MomentumMethods,
        ForceMethods,
        ForceElementMethods,
        ActuationMethods,
        DerivativeMethods,
        CollisionMethods,
        ComparisonMethods,
        ConstraintMethods,
        ConstrainedDynamicsMethods,
        IntegrabilityMethods,
        AssemblyMethods,
        InverseKinematicsMethods,
        LoopFileMethods,
        ReducedMethods,
        MobilityMethods,
        ModelCheckMethods,
        MotionMethods,
        PlanningMethods,
        PlottingMethods,
        ShowMethods,
        SimulationMethods,
        WorkspaceMethods,
        CartesianMethods,
        ParameterMethods,
        RegressorMethods,
        ClosedFormMethods,
        ConfigurationMethods,
        ProfileMethods,
        CompilingMethods,
        PrecompilingMethods,
        EditingMethods,
        JoiningMethods,
        CollisionHullMethods,
        StructureMethods,
        LimitMethods,
        LabelledMethods,
        WritingMethods,
    ):
        """Base class of `Robot`."""

        __slots__ = ()

else:

    class RobotMethods(RobotBase):
        __slots__ = ()
