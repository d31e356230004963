import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest

from projects.models import Incident, Run, Target
from projects.services.insight.report import WeeklyReport, weekly_report
from projects.services.insight.weeks import Week
from tests.projects.services.insight.year import NOW, WEEK, all_projects, set_prices, tell_year

pytestmark = pytest.mark.django_db


@pytest.fixture
def report(settings, enqueued) -> WeeklyReport:
    set_prices(settings)
    tell_year()
    return weekly_report(all_projects(), WEEK, now=NOW)


def test_the_figures_of_a_week_are_those_computed_by_hand_add_up_and_are_those_of_the_csv(report: WeeklyReport) -> None:
    # FR-01: half of T-01. Sent 3,000/2 = 1,500, written 1,001/2 = 501 (the first takes the odd token): 2,001 tokens,
    #        18 s at 1 kW = 0.005 kWh = $0.0015; half of 10 min of people.
    # FR-02: the other half, 1,500 + 500 = 2,000; T-02 here 1,500 in 18 s; cloud 11,000 in 5 s: 14,500 tokens, 41 s,
    #        36 s here = 0.010 kWh = $0.003; cloud 6,000 × 2 + 4,000 × 0.5 + 1,000 × 10 = 24,000 per million = $0.024.
    # Rest:  the plan, 1,201 tokens, 10 s = 0.002778 kWh = $0.000833.
    rows = {row.key: row.raw(WEEK) for row in report.rows}
    assert {key: row["tokens_sent"] + row["tokens_written"] for key, row in rows.items()} == {
        "FR-01": 2001,
        "FR-02": 14_500,
        "": 1201,
    }
    assert {key: row["model_seconds"] for key, row in rows.items()} == {"FR-01": 18.0, "FR-02": 41.0, "": 10.0}
    assert {key: row["kwh"] for key, row in rows.items()} == {"FR-01": 0.005, "FR-02": 0.01, "": 0.002778}
    assert {key: row["cost_usd"] for key, row in rows.items()} == {"FR-01": 0.0015, "FR-02": 0.027, "": 0.000833}
    assert {key: row["human_minutes"] for key, row in rows.items()} == {"FR-01": 5.0, "FR-02": 9.0, "": 0.0}
    assert rows["FR-01"]["kwh_source"] == "estimated"
    # 1,201 + 4,001 + 1,500 + 11,000
    assert report.total.tokens == report.ledger == 17_702
    assert report.adds_up
    # 64 s here = 0.017778 kWh = $0.005333, and $0.024 for the cloud
    assert report.total.money == pytest.approx(Decimal("0.029333"), abs=Decimal("0.000001"))
    assert sum(row.bill.money or 0 for row in report.rows) == pytest.approx(report.total.money)
    lines = list(csv.DictReader(io.StringIO(report.csv())))
    assert [row["requirement"] for row in lines] == ["FR-01", "FR-02", ""]
    assert [row["cost_usd"] for row in lines] == ["0.0015", "0.027", "0.000833"]
    assert sum(int(row["tokens_sent"]) + int(row["tokens_written"]) for row in lines) == 17_702


def test_the_headline_is_the_answer_and_a_quiet_week_says_so(report: WeeklyReport) -> None:
    assert report.headline == "Two requirements delivered for $0.03"
    assert report.lede.startswith("That is two more than the week before.")
    quiet = weekly_report(all_projects(), Week(2024, 3), now=NOW)
    assert quiet.is_empty
    assert quiet.headline == "No work was done in week 3"
    assert quiet.adds_up


def test_the_cost_of_a_feature_counts_from_its_beginning(report: WeeklyReport) -> None:
    # Both together until week 48: 48 × (54 s = 0.015 kWh = $0.0045, and $0.024) = $1.368; by two = $0.684.
    measures = {one.key: one for one in report.measures}
    assert (measures["cost"].shown, measures["cost"].n, measures["cost"].met) == ("$0.68", 2, None)
    # 5 + 9 minutes by two
    assert measures["people"].shown == "7.0 min"
    # Two tasks ended, and a person was asked about both: counts, no percentage.
    assert (measures["resolved"].shown, measures["resolved"].n) == ("0 of 2", 2)
    # 200/10 = 20, 1,001/36 = 27.8, 500/18 = 27.8, 1,000/5 = 200
    assert measures["speed"].shown == "28 tokens/s"


def test_without_a_price_nothing_costs_zero_dollars(enqueued) -> None:
    tell_year()
    report = weekly_report(all_projects(), WEEK, now=NOW)
    assert report.headline == "Two requirements delivered for 17,702 tokens"
    assert {row.cells["money"] for row in report.rows} == {"–"}
    assert any("that does not mean $0" in note for note in report.notes)
    assert "$0.00" not in report.csv()


def test_recordings_are_left_out_beside_real_runs_and_labelled_alone(settings, enqueued) -> None:
    set_prices(settings)
    played = tell_year("Played")
    Run.objects.filter(pk=played.pk).update(recording=True)
    alone = weekly_report(all_projects(), WEEK, now=NOW)
    assert alone.recording
    assert alone.total.tokens == alone.ledger == 17_702
    assert {row.cells["money"] for row in alone.rows} == {"–"}
    assert {one.met for one in alone.measures} == {None}
    tell_year("Real", played.project.created_by)
    both = weekly_report(all_projects(), WEEK, now=NOW)
    assert not both.recording
    assert both.total.tokens == both.ledger == both.left_out_tokens == 17_702
    assert {row.project.name for row in both.rows} == {"Real"}


def test_a_report_takes_as_many_queries_for_one_project_as_five(settings, enqueued, django_assert_num_queries) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    run = tell_year()
    with CaptureQueriesContext(connection) as one:
        weekly_report(all_projects(), WEEK, now=NOW)
    for number in range(4):
        tell_year(f"Clinic {number}", run.project.created_by)
    with django_assert_num_queries(len(one)):
        weekly_report(all_projects(), WEEK, now=NOW)


def test_keys_are_in_the_order_in_which_people_count() -> None:
    from projects.services.insight.report import _in_order

    assert sorted(["R10", "R2", "IMP-A", "R1"], key=_in_order) == ["IMP-A", "R1", "R2", "R10"]


def test_incidents_that_ended_in_the_week_are_measured_and_lead_to_their_pages(settings, enqueued) -> None:
    run = tell_year()
    target = Target.objects.create(project=run.project, name="staging")
    when = WEEK.start + timedelta(days=2)
    for minutes, status in ((4, "resolved"), (8, "resolved"), (90, "given_up")):
        row = Incident.objects.create(target=target, kind="error", signature=f"s{minutes}", title="KeyError")
        seen = when - timedelta(minutes=minutes)
        Incident.objects.filter(pk=row.pk).update(first_seen=seen, resolved_at=when, status=status)
    measures = {one.key: one for one in weekly_report(all_projects(), WEEK, now=NOW).measures}
    assert (measures["incident"].shown, measures["incident"].n) == ("6 min 00 s", 2)
    assert "slowest 8 min 00 s" in measures["incident"].definition
    assert all(case.incident for case in measures["incident"].cases)
    quiet = weekly_report(all_projects(), Week(2024, 3), now=NOW)
    assert "incident" not in {one.key for one in quiet.measures}
