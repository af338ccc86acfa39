"""Function specifications become kernels, and kernels become calls that check their arguments.

The public names are for extensions: methods of a robot and tools.

- Methods: `RobotBase`, `computed`, kinds of arguments, and functions that read arguments (`read_configuration`).
- Kernels: `compile` for functions whose result depends on their closure only, `LazyCache` for kernels by key.
- Tools: `read_request`, the operations and the code of a function, and the cache on disk.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr.scalar.interpreter import instructions as instructions
    from linkwork.kernels.array_arguments import real_array as real_array
    from linkwork.kernels.compiled_method import computed as computed
    from linkwork.kernels.compiler_api import Cache as Cache
    from linkwork.kernels.compiler_api import CodeStatistics as CodeStatistics
    from linkwork.kernels.compiler_api import cache_location as cache_location
    from linkwork.kernels.compiler_api import code_statistics as code_statistics
    from linkwork.kernels.compiler_api import compile as compile
    from linkwork.kernels.compiler_api import host as host
    from linkwork.kernels.compiler_api import levels as levels
    from linkwork.kernels.function_request import Request as Request
    from linkwork.kernels.function_request import read_request as read_request
    from linkwork.kernels.kernel_cache import LazyCache as LazyCache
    from linkwork.kernels.operation_report import OperationCount as OperationCount
    from linkwork.kernels.operation_report import OperationReport as OperationReport
    from linkwork.kernels.operation_report import report_operations as report_operations
    from linkwork.kernels.robot_arguments import by_joint as by_joint
    from linkwork.kernels.robot_arguments import read_configuration as read_configuration
    from linkwork.kernels.robot_arguments import read_limits as read_limits
    from linkwork.kernels.robot_arguments import refuse_symbols as refuse_symbols
    from linkwork.kernels.robot_arguments import stacked_by_joint as stacked_by_joint
    from linkwork.kernels.robot_base import Array as Array
    from linkwork.kernels.robot_base import Axes as Axes
    from linkwork.kernels.robot_base import RobotBase as RobotBase
    from linkwork.kernels.robot_base import Wrenches as Wrenches


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.expr.scalar.interpreter": "instructions",
            "linkwork.kernels.array_arguments": "real_array",
            "linkwork.kernels.compiled_method": "computed",
            "linkwork.kernels.compiler_api": (
                "Cache CodeStatistics cache_location code_statistics compile host levels"
            ),
            "linkwork.kernels.function_request": "Request read_request",
            "linkwork.kernels.kernel_cache": "LazyCache",
            "linkwork.kernels.operation_report": "OperationCount OperationReport report_operations",
            "linkwork.kernels.robot_arguments": (
                "by_joint read_configuration read_limits refuse_symbols stacked_by_joint"
            ),
            "linkwork.kernels.robot_base": "Array Axes RobotBase Wrenches",
        },
    )
