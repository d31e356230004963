"""The graph of a run: what it shows at which size, where its cards stand, and what it costs to draw."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.drawing import run_graph, run_time
from dashboard.live import stream
from projects.models import Run, Task
from projects.services.work.graphs import RunGraph
from projects.services.work.moves import move_task
from projects.values import wording
from tests.factories import make_run, owner_of
from tests.texts import shows

pytestmark = pytest.mark.django_db
NEEDS = {"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"], "T-04": ["T-03"], "T-05": ["T-02", "T-04"]}


def wide(count: int, layer: int = 8) -> dict[str, list[str]]:
    """A plan of layers: each task needs one of the layer before."""
    return {f"T-{n:02d}": [] if n <= layer else [f"T-{n - layer:02d}"] for n in range(1, count + 1)}


def run_of(needs: dict[str, list[str]]) -> Run:
    return make_run(needs=needs)


def drawn(run: Run, **how: Any) -> dict[str, Any]:
    return run_graph.graph_of_run(run, list(stream.tasks_of(run)), **how)


def page(run: Run, query: str = "") -> str:
    client = Client()
    client.force_login(owner_of(run.project))
    return client.get(f"/runs/{run.pk}{query}").content.decode()


def to(task: Task, *states: str) -> Task:
    for state in states:
        move_task(task, state)
    return task


def test_the_critical_path_is_the_top_row_and_nothing_else_is_in_it():
    graph = RunGraph(list(stream.tasks_of(run_of(NEEDS))))
    assert graph.critical == ("T-01", "T-03", "T-04", "T-05")
    cells = graph.grid.cells
    assert {key for key, (_, row) in cells.items() if row == 0} == set(graph.critical)
    assert len(set(cells.values())) == len(cells), "no two cards share a place"


def test_a_title_in_bold_has_room_for_fewer_letters():
    run = run_of(NEEDS)
    run.tasks.update(title="Write the module of T-01")
    to(run.tasks.get(key="T-01"), "ready", "running")
    texts = {node["task"].key: node["text"] for node in drawn(run)["nodes"]}
    assert len(texts["T-01"]) < len(texts["T-02"])


def test_a_long_edge_passes_cells_that_no_card_has():
    graph = RunGraph(list(stream.tasks_of(run_of(NEEDS)))).grid
    (lanes,) = [way for source, target, way in graph.edges if (source, target) == ("T-02", "T-05")]
    assert lanes
    assert not set(lanes) & set(graph.cells.values())


def test_no_card_moves_while_tasks_move():
    run = run_of(NEEDS)
    before = [(node["task"].key, node["x"], node["y"]) for node in drawn(run)["nodes"]]
    to(run.tasks.get(key="T-01"), "ready", "running", "merged")
    to(run.tasks.get(key="T-02"), "ready", "running")
    graph = drawn(run)
    assert [(node["task"].key, node["x"], node["y"]) for node in graph["nodes"]] == before
    looks = {(edge["source"], edge["target"]): edge["look"] for edge in graph["edges"]}
    assert looks["T-01", "T-02"] == "live"
    assert looks["T-01", "T-03"] == "done"
    assert looks["T-03", "T-04"] == "wait"


def test_the_task_that_most_others_wait_for_is_named():
    run = run_of(NEEDS)
    assert drawn(run)["hold"] == ("T-01", 4)
    to(run.tasks.get(key="T-01"), "ready", "running", "merged")
    assert drawn(run)["hold"] == ("T-03", 2)
    assert 'data-hold="T-03" data-behind="2 wait for it"' in page(run)


def test_a_card_says_the_try_and_how_long_it_runs_of_its_estimate():
    run = run_of(NEEDS)
    task = to(run.tasks.get(key="T-01"), "ready", "running")
    Task.objects.filter(pk=task.pk).update(started_at=timezone.now() - timedelta(minutes=15, seconds=3), minutes=30)
    for number in (1, 2):
        task.attempts.create(number=number)
    (node,) = [node for node in drawn(run)["nodes"] if node["task"].key == "T-01"]
    assert re.fullmatch(r"try 2/6 · 15:0\d", node["meta"])
    assert 0.48 < node["bar"] / 188 < 0.52


def test_cards_get_narrower_with_more_layers_and_never_below_readable_text():
    widths = {}
    for layers in (3, 7, 12):
        keys = [f"T-{n:02d}" for n in range(1, layers + 1)]
        graph = drawn(run_of({key: keys[place - 1 : place] for place, key in enumerate(keys)}))
        widths[layers] = graph["card"]
        assert 12 * graph["least"] / graph["box"][0] >= 10.99
    assert widths == {3: 188, 7: 138 + 10, 12: 148}


@pytest.mark.parametrize(
    ("count", "level"), [(5, "cards"), (24, "cards"), (25, "layers"), (60, "layers"), (200, "overview")]
)
def test_the_number_of_tasks_decides_how_they_are_shown(count: int, level: str):
    run = run_of(wide(count))
    graph = drawn(run)
    assert graph["level"] == level
    html = page(run)
    assert f"level-{level}" in html
    assert html.count('<li id="t') == count, "every task is in the list"


def test_layers_open_where_work_is_and_an_overview_shows_those_around_the_selection():
    run = run_of(wide(200))
    to(run.tasks.get(key="T-01"), "ready", "running")
    graph = drawn(run, layer=20)
    assert len(graph["overview"]["blocks"]) == 200
    assert [group["n"] for group in graph["shown"]] == list(range(16, 25))
    assert [group["n"] for group in graph["groups"] if group["open"]] == [0, 20]
    assert drawn(run)["shown"][0]["n"] == 0, "without a selection it shows where work is"


def test_a_click_on_a_card_filters_the_stream_and_the_task_keeps_its_page():
    run = run_of(NEEDS)
    assert f'href="/runs/{run.pk}?task=T-02"' in page(run)
    html = page(run, "?task=T-02")
    task = run.tasks.get(key="T-02")
    assert re.search(rf'class="picked">\s*<a href="/tasks/{task.pk}">T-02', html)
    assert 'data-query="task=T-02"' in html
    assert re.search(r'class="node s-queued tone-muted chosen"\s+href="/runs/\d+\?task=T-02"', html)


def test_more_tasks_than_fit_one_look_are_listed_by_who_needs_somebody():
    run = run_of(wide(30))
    to(run.tasks.get(key="T-05"), "ready", "running", "merged")
    to(run.tasks.get(key="T-06"), "ready", "running")
    to(run.tasks.get(key="T-07"), "ready", "running", "needs_you")
    listed = run_graph.listed(list(stream.tasks_of(run)))
    assert [listed[0].key, listed[1].key, listed[-1].key] == ["T-07", "T-06", "T-05"]


def test_drawing_two_hundred_tasks_costs_as_many_queries_as_five():
    counts = []
    for number in (5, 60, 200):
        run = run_of(wide(number))
        to(run.tasks.get(key="T-01"), "ready", "running")
        client = Client()
        client.force_login(owner_of(run.project))
        client.get(f"/runs/{run.pk}")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(f"/runs/{run.pk}")
        counts.append(len(queries))
    assert len(set(counts)) == 1, counts


def test_a_sub_task_that_appears_in_mid_run_is_sent_as_a_new_drawing():
    run = run_of(NEEDS)
    from agents.events.lifecycle import TaskAdded
    from projects.services.audit.events import emit

    before = run.events.count()
    emit(run.pk, TaskAdded(summary="T-01.1 is added", key="T-01.1", asked_by="T-01", what="x", path="a.py", reason=""))
    frame = stream.frame(run.pk, before, stream.Filter())
    assert frame is not None
    assert 'id="graph"' in frame["ui"]


def test_the_time_view_has_a_bar_for_each_stretch_of_an_author_and_a_cross_for_each_failed_try():
    from tests.dashboard.busy import busy

    run = busy(count=12)
    tasks = list(stream.tasks_of(run))
    lanes = {lane["task"].key: lane for lane in run_time.time_of_run(run, tasks)["lanes"]}
    assert [bar["role"] for bar in lanes["T-01"]["bars"]] == ["tester", "coder", "tester"]
    assert [bar["role"] for bar in lanes["T-04"]["bars"]] == ["tester", "coder", "tester", "coder", "tester"]
    assert [cross["number"] for cross in lanes["T-04"]["failed"]] == [1]
    first, second, _ = lanes["T-01"]["bars"]
    assert first["x"] + first["width"] == pytest.approx(second["x"])
    assert second["width"] == pytest.approx(3 * first["width"], rel=0.01), "two minutes of the tester, six of the coder"
    assert lanes["T-09"]["after"] == "T-07"
    html = page(run, "?view=time")
    assert f'href="/runs/{run.pk}/e/{second["seq"]}"' in html
    assert html.count('class="lane-t s-') == 12
    assert "The same as a table" in html


def test_the_time_view_costs_as_many_queries_for_many_tasks_as_for_few():
    from tests.dashboard.busy import busy

    counts = []
    for number in (12, 60):
        run = busy(count=number)
        tasks = list(stream.tasks_of(run))
        with CaptureQueriesContext(connection) as queries:
            run_time.time_of_run(run, tasks)
        counts.append(len(queries))
    assert counts == [4, 4], "as many for 60 as for 12"


def test_the_head_counts_the_time_on_and_rounds_the_tokens_of_their_limit():
    from dashboard.templatetags.run_page import elapsed, is_under_way

    run = run_of(NEEDS)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(hours=1, minutes=2, seconds=3))
    run.refresh_from_db()
    assert elapsed(run).startswith("1:02:0")
    assert is_under_way(run)
    head = page(run).partition('id="run-status"')[2].partition("</dl>")[0]
    shows(head, "data-clock=", "of about 120 min", "of 4M")
    assert [wording.rounded(number) for number in (812, 21_400, 1_940_000, 4_000_000)] == ["812", "21k", "1.9M", "4M"]
    run.finished_at = run.started_at + timedelta(minutes=7)
    run.status = "finished"
    assert (elapsed(run), is_under_way(run)) == ("7:00", False)
