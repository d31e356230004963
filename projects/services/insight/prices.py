"""What tokens and energy cost, as configured. What has no price has no cost: it is unknown, not zero."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

MILLION = 1_000_000
MS_PER_HOUR = 3_600_000
WATTS_PER_KW = 1_000


@dataclass(frozen=True)
class ModelPrice:
    """Price of a million tokens that are sent, of those that the server had cached, and of those it writes."""

    sent: Decimal
    reused: Decimal
    written: Decimal


@dataclass(frozen=True)
class PriceList:
    """The prices in force. None: not configured.

    A model with a price is paid by the token and takes no energy here; a model without one runs on this machine.
    """

    models: Mapping[str, ModelPrice] = field(default_factory=dict)
    kwh: Decimal | None = None
    watts: Decimal | None = None  # what this machine takes while a model works, where nothing measures it

    def kwh_of(self, *, millijoules: int, unmeasured_ms: int) -> Decimal | None:
        """Measured energy and that of the time without a measurement; None when nothing is known of the latter."""
        if unmeasured_ms and self.watts is None:
            return None
        estimated = Decimal(unmeasured_ms) * (self.watts or 0) / (WATTS_PER_KW * MS_PER_HOUR)
        return Decimal(millijoules) / (MILLION * 3_600) + estimated


def parse_model_prices(entries: Iterable[str]) -> dict[str, ModelPrice]:
    """The prices of models from "name=sent/reused/written", per million tokens. Raises ValueError, naming the entry."""
    found = {}
    for entry in entries:
        name, _, figures = entry.rpartition("=")
        try:
            sent, reused, written = (Decimal(figure) for figure in figures.split("/"))
        except (InvalidOperation, ValueError):
            raise ValueError(f"{entry!r} is not name=sent/reused/written") from None
        if not name.strip() or not all(price.is_finite() and price >= 0 for price in (sent, reused, written)):
            raise ValueError(f"{entry!r} is not name=sent/reused/written")
        found[name.strip()] = ModelPrice(sent, reused, written)
    return found
