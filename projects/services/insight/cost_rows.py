"""The rows of a report's costs: as people read them, as plain data, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from projects.models import Project
from projects.services.insight.costs import Bill
from projects.services.insight.measures import COST_TARGET, dollars
from projects.services.insight.prices import PriceList
from projects.services.insight.weeks import Week

COLUMNS = (
    "week project requirement name calls tokens_sent tokens_reused tokens_written model_seconds kwh kwh_source "
    "energy_usd api_usd human_minutes cost_usd recording"
).split()


@dataclass(frozen=True)
class CostRow:
    """What one feature took in the week; with the key "" what belongs to none."""

    project: Project
    key: str
    name: str
    bill: Bill
    prices: PriceList
    stuck: bool = False

    @property
    def money(self) -> Decimal | None:
        """Energy and tokens; None where a price is missing."""
        return self.bill.money(self.prices)

    @property
    def energy(self) -> Decimal | None:
        """What its energy cost."""
        return self.bill.energy(self.prices)

    @property
    def is_dear(self) -> bool:
        """Whether a feature costs more than the target."""
        return bool(self.key) and self.money is not None and self.money > COST_TARGET

    @property
    def cells(self) -> dict[str, str]:
        """Its figures as people read them."""
        bill, prices = self.bill, self.prices
        known, here = bool(bill.by_model), bill.runs_here(prices)
        kwh = bill.kwh(prices) if here else None
        estimated = "*" if bill.is_estimated(prices) else ""
        minutes = f"{bill.human_minutes:.1f}"
        return {
            "tokens": f"{bill.tokens:,}",
            "seconds": f"{bill.amounts.ms / 1000:,.0f}",
            "kwh": "–" if kwh is None else f"{kwh:.3f}{estimated}",
            "energy": dollars(bill.energy(prices)) if here else "–",
            "api": dollars(bill.api(prices)) if any(name in prices.models for name in bill.by_model) else "–",
            "minutes": "0" if minutes == "0.0" else minutes,
            "money": dollars(self.money) if known else "–",
        }

    def raw(self, week: Week) -> dict[str, Any]:
        """Its figures for programs, not rounded to cents."""
        bill, amounts = self.bill, self.bill.amounts
        kwh = bill.kwh(self.prices) if bill.by_model else None
        known = bool(bill.by_model)
        return {
            "week": str(week),
            "project": self.project.slug,
            "requirement": self.key,
            "name": self.name,
            "calls": amounts.calls,
            "tokens_sent": amounts.sent,
            "tokens_reused": amounts.reused,
            "tokens_written": amounts.written,
            "model_seconds": amounts.ms / 1000,
            "kwh": _figure(kwh),
            "kwh_source": "" if kwh is None else "estimated" if bill.is_estimated(self.prices) else "measured",
            "energy_usd": _figure(bill.energy(self.prices) if known else None),
            "api_usd": _figure(bill.api(self.prices) if known else None),
            "human_minutes": _figure(bill.human_minutes),
            "cost_usd": _figure(self.money if known else None),
            "recording": bool(bill.recorded.calls),
        }


def _figure(value: Decimal | None) -> float | None:
    return None if value is None else round(float(value), 6)


def csv_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV under the names of COLUMNS."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
