"""What is linear in inertial parameters: matrices that multiply them."""

from linkwork.dynamics.algorithms.regressors import inertial_regressors as energy_regressors
from linkwork.dynamics.algorithms.regressors import inertial_regressors as inverse_dynamics_regressor
from linkwork.dynamics.algorithms.regressors import inertial_regressors as momentum_regressor

ROWS = (*inverse_dynamics_regressor.ROWS, *energy_regressors.ROWS, *momentum_regressor.ROWS)

__all__ = ["ROWS"]
