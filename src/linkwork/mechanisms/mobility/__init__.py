"""Mobility of mechanisms: degrees of freedom from the singular values of constraint Jacobians."""
