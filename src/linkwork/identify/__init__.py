"""Identification of inertial parameters and calibration of placements from measurements.

- `base_parameters`: the combinations of inertial parameters that joint forces determine, by weighted least squares.
- `inertias`: a robot with physically consistent inertias fitted to measurements.
- `excitation`: how well a motion determines the parameters; `exciting_trajectory`: a motion that excites them well.
- `placements`: geometric calibration of joints and frames from measured poses.
- `differentiate`: velocities and accelerations of measured positions; `low_pass`: the same filter for forces.

Results are immutable values with arrays, standard deviations and errors at held-out samples; printed, they are tables.
`inertias` with joint parameters, `differentiate` and `low_pass` need SciPy: ``pip install "linkwork[identify]"``.

>>> import linkwork as lw
>>> from linkwork import identify
>>> robot = lw.load("arm7")
>>> motion = identify.exciting_trajectory(robot, num_trials=20)
>>> t, q, v, a = motion.sampled(200)
>>> tau = robot.inverse_dynamics(q, v, a)
>>> identify.base_parameters(robot, q, v, a, tau, passive=False)
<BaseParameterFit: 43 base parameters from 150 samples>
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.identify.base_parameter_fit import BaseParameterFit as BaseParameterFit
    from linkwork.identify.base_parameter_fit import base_parameters as base_parameters
    from linkwork.identify.kinematic_calibration import PlacementFit as PlacementFit
    from linkwork.identify.kinematic_calibration import placements as placements
    from linkwork.identify.measurements import HeldOut as HeldOut
    from linkwork.identify.measurements import Signals as Signals
    from linkwork.identify.measurements import differentiate as differentiate
    from linkwork.identify.measurements import low_pass as low_pass
    from linkwork.identify.motion_excitation import Excitation as Excitation
    from linkwork.identify.motion_excitation import ExcitingTrajectory as ExcitingTrajectory
    from linkwork.identify.motion_excitation import excitation as excitation
    from linkwork.identify.motion_excitation import exciting_trajectory as exciting_trajectory
    from linkwork.identify.physically_consistent_fit import InertiaFit as InertiaFit
    from linkwork.identify.physically_consistent_fit import inertias as inertias


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.identify.base_parameter_fit": "BaseParameterFit base_parameters",
            "linkwork.identify.motion_excitation": "Excitation ExcitingTrajectory excitation exciting_trajectory",
            "linkwork.identify.kinematic_calibration": "PlacementFit placements",
            "linkwork.identify.measurements": "HeldOut Signals differentiate low_pass",
            "linkwork.identify.physically_consistent_fit": "InertiaFit inertias",
        },
    )
