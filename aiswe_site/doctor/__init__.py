"""Is everything there that is needed, and if not, how to get it."""

from aiswe_site.doctor.checks import checks
from aiswe_site.doctor.result import CheckResult

__all__ = ["CheckResult", "checks"]
