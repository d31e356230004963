"""The rows of a report's costs: as people read them, as plain data, as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from projects.models import Project
from projects.services.insight.costs import Bill
from projects.services.insight.measures import COST_TARGET
from projects.services.insight.weeks import Week
from projects.values.wording import dollars

COLUMNS = (
    "week project requirement name calls tokens_sent tokens_reused tokens_written model_seconds kwh kwh_source "
    "energy_usd api_usd human_minutes cost_usd recording"
).split()


@dataclass(frozen=True)
class CostRow:
    """What one feature, task, project or week took; `key` is that of the feature, `href` the page of what it is."""

    name: str
    bill: Bill
    project: Project | None = None
    key: str = ""
    href: str = ""
    stuck: bool = False

    @property
    def is_dear(self) -> bool:
        """Whether a feature costs more than the target."""
        return bool(self.key) and self.bill.money is not None and self.bill.money > COST_TARGET

    @property
    def cells(self) -> dict[str, str]:
        """Its figures as people read them."""
        bill, known, here = self.bill, bool(self.bill.by_model), self.bill.local.calls > 0
        estimated = "*" if bill.local.unmeasured_ms else ""
        return {
            "tokens": f"{bill.tokens:,}",
            "seconds": f"{bill.amounts.ms / 1000:,.0f}",
            "kwh": f"{bill.kwh:.3f}{estimated}" if here and bill.kwh is not None else "–",
            "energy": dollars(bill.energy) if here else "–",
            "api": dollars(bill.api) if any(name in bill.prices.models for name in bill.by_model) else "–",
            "minutes": f"{bill.human_minutes:.1f}" if bill.human_minutes >= 0.05 else "0",
            "money": dollars(bill.money) if known else "–",
        }

    def raw(self, week: Week) -> dict[str, Any]:
        """Its figures for programs, not rounded to cents."""
        bill, amounts, known = self.bill, self.bill.amounts, bool(self.bill.by_model)
        kwh = bill.kwh if known else None
        return {
            "week": str(week),
            "project": self.project.slug if self.project else "",
            "requirement": self.key,
            "name": self.name,
            "calls": amounts.calls,
            "tokens_sent": amounts.sent,
            "tokens_reused": amounts.reused,
            "tokens_written": amounts.written,
            "model_seconds": amounts.ms / 1000,
            "kwh": _figure(kwh),
            "kwh_source": "" if kwh is None else "estimated" if bill.local.unmeasured_ms else "measured",
            "energy_usd": _figure(bill.energy if known else None),
            "api_usd": _figure(bill.api if known else None),
            "human_minutes": _figure(bill.human_minutes),
            "cost_usd": _figure(bill.money if known else None),
            "recording": bool(bill.others.calls),
        }


def _figure(value: Decimal | float | None) -> float | None:
    return None if value is None else round(float(value), 6)
