"""Checks of compiler extensions against their contracts: backends, passes, scalar operations."""

from linkwork.compiler.checks.check_backend import check_backend
from linkwork.compiler.checks.check_operation import check_operation
from linkwork.compiler.checks.check_pass import check_pass

__all__ = ["check_backend", "check_operation", "check_pass"]
