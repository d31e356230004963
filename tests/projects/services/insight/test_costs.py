from datetime import UTC, datetime, timedelta
from decimal import Decimal
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.models import Project
from projects.services.insight import costs
from projects.services.insight.costs import Amounts, UsageEntry
from projects.services.insight.prices import ModelPrice, PriceList, parse_model_prices
from projects.services.work.usage import record_usage
from tests.factories import make_run, make_task
from tests.tables import each_row

COUNT = st.integers(0, 10**7)
AMOUNTS = st.builds(Amounts, *[COUNT] * 8)
ENTRIES = st.lists(
    st.builds(
        UsageEntry, st.integers(1, 3), st.none() | st.integers(1, 9), st.sampled_from("ab"), st.booleans(), AMOUNTS
    )
)
FEATURES = st.dictionaries(st.integers(1, 9), st.lists(st.sampled_from(["FR-01", "FR-02", "FR-03"]), unique=True))
PRICES = PriceList({"b": ModelPrice(Decimal(3), Decimal(1), Decimal(15))}, Decimal("0.28"), Decimal(350))


@given(ENTRIES, FEATURES)
def test_whatever_was_used_the_rows_add_up_to_the_last_token(entries: list[UsageEntry], features: dict) -> None:
    bills = costs.by_feature(entries, features)
    total = Amounts()
    for entry in entries:
        total = total.plus(entry.amounts)
    whole = costs.total_of(entries)
    assert whole.amounts == total
    assert sum(bill.tokens for bill in bills.values()) == total.sent + total.written
    for group in ("task", "project", "model"):
        parts = costs.by_group(entries, attrgetter(group)).values()
        assert [sum(column) for column in zip(*(bill.amounts for bill in parts), strict=True)] in ([*total], [])
    for bill in (whole, *bills.values()):
        bill.prices = PRICES
    money = sum((bill.energy or 0) + bill.api for bill in bills.values())
    assert abs(money - (whole.energy or 0) - whole.api) < Decimal("1e-12")


@given(AMOUNTS, st.integers(1, 12))
def test_parts_differ_by_one_at_most(amounts: Amounts, parts: int) -> None:
    divided = amounts.divided(parts)
    assert all(max(column) - min(column) <= 1 for column in zip(*divided, strict=True))


def test_a_measurement_counts_instead_of_the_estimate() -> None:
    bill = costs.Bill(PRICES)
    # 3.6 MJ measured = 1 kWh; 7,200 s of 350 W without a measurement = 0.7 kWh
    bill.add(
        UsageEntry(1, 1, "a", False, Amounts(ms=9_000_000, millijoules=3_600_000_000, unmeasured_ms=7_200_000)),
        Amounts(ms=9_000_000, millijoules=3_600_000_000, unmeasured_ms=7_200_000),
    )
    assert bill.kwh == Decimal("1.7")
    assert bill.local.unmeasured_ms


def test_a_model_with_a_price_takes_no_energy_here() -> None:
    bill, amounts = costs.Bill(PRICES), Amounts(1, 1_000_000, 400_000, 100_000, ms=60_000, unmeasured_ms=60_000)
    bill.add(UsageEntry(1, 1, "b", False, amounts), amounts)
    # 0.6 × 3 + 0.4 × 1 + 0.1 × 15
    assert bill.api == bill.money == Decimal("3.7")
    assert bill.kwh == 0


def test_what_has_no_price_costs_nobody_knows_what() -> None:
    bill, amounts = costs.Bill(PriceList()), Amounts(1, 10, 0, 10, ms=10, unmeasured_ms=10)
    bill.add(UsageEntry(1, 1, "a", False, amounts), amounts)
    assert bill.money is None
    assert bill.kwh is None
    bill.prices = PriceList(watts=Decimal(300))
    assert bill.money is None
    bill.prices = PriceList(kwh=Decimal(1), watts=Decimal(3600))
    assert bill.money == Decimal("0.00001")


def test_a_recording_takes_neither_energy_nor_money() -> None:
    bill, amounts = costs.Bill(PRICES), Amounts(1, 10, 0, 10, ms=10, unmeasured_ms=10)
    bill.add(UsageEntry(1, 1, "a", True, amounts), amounts)
    assert bill.tokens == 20
    assert bill.kwh == 0
    assert bill.money is None


@pytest.mark.parametrize("minutes", [-1, 0, 3, 10, 600])
def test_an_answer_counts_ten_minutes_at_most(minutes: int) -> None:
    asked = datetime(2026, 1, 1, tzinfo=UTC)
    assert costs.human_ms_of(asked, asked + timedelta(minutes=minutes)) == 60_000 * min(10, max(0, minutes))


@each_row("entry", ["gpt=1/2", "gpt=1/2/x", "=1/2/3", "gpt", "gpt=1/2/-3", "gpt=1/2/inf"])
def test_a_price_that_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="is not name=sent/reused/written"):
        parse_model_prices([entry])


def test_the_name_of_a_model_may_have_colons() -> None:
    assert parse_model_prices(["qwen2.5:7b=0/0/0.5"])["qwen2.5:7b"].written == Decimal("0.5")


@pytest.mark.django_db
def test_a_sub_task_is_for_the_requirements_of_who_asked_for_it(enqueued) -> None:
    run = make_run()
    parent = run.tasks.get(key="T-01")
    child = make_task(run, key="T-01-a")
    child.asked_by = parent
    child.save()
    record_usage(run.pk, key="a", role="coder", model="m", task_id=child.pk, prompt_tokens=3, completion_tokens=2)
    projects = Project.objects.all()
    entries = costs.entries_of(projects)
    features = costs.features_of(projects, entries)
    assert features == {child.pk: ["FR-01", "FR-02"]}
    bills = costs.by_feature(entries, features)
    assert {feature.key: bill.tokens for feature, bill in bills.items()} == {"FR-01": 3, "FR-02": 2}
    assert costs.ledger_tokens(projects) == 5
