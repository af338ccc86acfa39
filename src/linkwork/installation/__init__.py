"""Check of an installation: correct numbers, the cache, other processes, and speed on this machine."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.installation.report import InstallationReport as InstallationReport
    from linkwork.installation.report import Outcome as Outcome
    from linkwork.installation.report import Verdict as Verdict

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__, {"linkwork.installation.report": "InstallationReport Outcome Verdict"}
    )
