"""Every verb on every kind of robot: the identities that hold, and the refusals that name a feature."""
