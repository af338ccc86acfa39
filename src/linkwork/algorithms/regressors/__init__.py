"""What is linear in inertial parameters: matrices that multiply them."""

from . import energy_regressors, inverse_dynamics_regressor, momentum_regressor

ROWS = (*inverse_dynamics_regressor.ROWS, *energy_regressors.ROWS, *momentum_regressor.ROWS)

__all__ = ["ROWS"]
