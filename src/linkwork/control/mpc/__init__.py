"""Model-predictive control."""
