"""All runs, one run live, and its rows by chunk, by gap and by event."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from django.contrib import messages
from django.db.models import Case, Q, Value, When
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from dashboard.access import visibility
from dashboard.drawing import run_graph, run_time
from dashboard.http.pages import page, show
from dashboard.http.refusals import local_path
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.http.streaming import as_file
from dashboard.live import stream, time_travel
from dashboard.live.rows import CHUNK
from dashboard.presenters import conversation, inspection
from dashboard.presenters.first_looks import first_looks
from dashboard.views.code import ways_out
from projects.engine import base_branch
from projects.errors import BadInput
from projects.models import Run
from projects.services.audit.vocabulary import families
from projects.services.delivery import pushes, state
from projects.services.forges import links, tickets
from projects.services.forges import requests as pull_requests
from projects.services.forges.comments import requests_of
from projects.services.insight import replays
from projects.services.planning import runs

CONTROLS = (
    ("pause", "Pause", "running needs_you"),
    ("resume", "Resume", "paused failed"),
    ("stop", "Stop", "queued running needs_you paused failed"),
)
VIEWS = {"graph": "Graph", "time": "Time", "list": "List"}
VIEWS_OF_CHAT = {"conversation": "Conversation", "stream": "Stream"}
CONTROLS_OF_CHAT = (
    ("pause", "Stop the turn", "running needs_you"),
    ("stop", "End the chat", "queued running needs_you paused failed"),
)
VIEWS_OF_RESULT = {"result": "Result", "graph": "Graph", "time": "Time", "stream": "Stream"}
MOST_UPLOADED = 100_000_000  # bytes of a file to replay
NEEDS = ("needs_you", "failed", "paused")


@page("GET")
def index(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Every run the person may see, newest first, those that wait for somebody on top."""
    state = request.GET.get("state", "")
    needs = Q(status__in=NEEDS) & ~Q(kind=Run.Kind.CHAT, status=Run.Status.PAUSED)  # a chat at rest waits for nobody
    first = Case(When(needs, then=Value(0)), default=Value(1))
    found = visibility.counted(visibility.visible(Run, request.user)).annotate(first=first)
    if state == "needs":
        found = found.filter(needs)
    elif state in Run.Status.values:
        found = found.filter(status=state)
    context = {"runs": found.order_by("first", "-pk")[:200], "state": state, "states": Run.Status.choices}
    return show(request, "pages/runs.html", context, part="runs")


@page("GET", Run)
def detail(request: AuthenticatedHttpRequest, run: Run, seq: int | None = None) -> HttpResponse:
    """One run: its result once it is built, else graph, stream, inspector. With `seq`, opened at that event."""
    view = _view(request, run, seq)
    return conversation_page(request, run) if view == "conversation" else _run_page(request, run, seq, view)


def conversation_page(
    request: AuthenticatedHttpRequest, run: Run, *, typed: str = "", status: int = 200
) -> HttpResponse:
    """A chat as a conversation; with `typed`, words that were not sent."""
    shown = time_travel.moment(run, number(request.GET, "at"))
    request.about["run"] = shown.run
    live = shown.at is None and not run.replay_of
    before = number(request.GET, "before")
    context: dict[str, Any] = conversation.context(shown.run, live=live, before=before, typed=typed)
    context |= {"view": "conversation", "at": shown.at, "before": before, "totals": shown.totals, "tasks": []}
    context |= {"views": list(VIEWS_OF_CHAT.items()), "controls": CONTROLS_OF_CHAT}
    return show(request, "pages/chat.html", context, status=status)


@page("GET", Run)
def result(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """What a build amounts to: what was built, which requirements are met, and the ways to take it out."""
    if run.kind != Run.Kind.BUILD:
        raise Http404("Only a build has a result.")
    return _run_page(request, run, None, "result")


def _run_page(request: AuthenticatedHttpRequest, run: Run, seq: int | None, view: str) -> HttpResponse:
    wanted = stream.Filter.read(request.GET) if seq is None else stream.Filter()
    shown = time_travel.moment(run, number(request.GET, "at") if seq is None else None)
    if shown.at is not None:  # clocks of tasks stand at that event
        moment = run.events.values_list("at", flat=True).get(seq=shown.at)
        for one in (run, shown.run):
            vars(one).update(shown_at=moment)
    run = shown.run
    request.about["run"] = run
    context: dict[str, Any] = {"wanted": wanted, "seq": seq, "at": shown.at, "head": shown.head}
    context["track"] = time_travel.track(run, shown.at, shown.head)
    context |= {"view": view} | (_next(run) if shown.at is None else {})  # what came of it later
    if seq is not None:
        context |= inspection.inspected(run, seq)
    context |= _sections(run, seq) if wanted.is_all else _filtered(run, wanted, number(request.GET, "before"))
    context |= {
        "totals": shown.totals,
        "tasks": run_graph.listed(shown.tasks),
        "chosen": next((task for task in shown.tasks if task.key == wanted.task), None),
        "graph": run_graph.graph_of_run(run, shown.tasks, chosen=wanted.task, layer=number(request.GET, "layer")),
        "views": list(_views_of(run).items()),
        "time": run_time.time_of_run(run, shown.tasks, wanted.task) if context["view"] == "time" else None,
        "presets": list(stream.PRESETS.items()),
        "errors": stream.seek(run, (seq or 0) - 1, stream.Filter(preset="errors")),
        "agents": stream.AGENTS,
        "families": families(),
        "controls": CONTROLS_OF_CHAT if conversation.is_chat(run) else CONTROLS,
        "base_moved": base_branch.base_moved(run) if shown.at is None and not run.replay_of else None,
    }
    if view == "result":
        context |= _result(request, run)
    return show(request, "pages/run.html", context, part="run_moment")


def _sections(run: Run, around: int | None) -> dict[str, Any]:
    parts = stream.sections(run, around=around)
    older = min((part.n for part in parts if part.rows is not None and part.n > 0), default=None)
    return {"sections": parts, "shown": run.last_seq, "older": older, "older_seq": older and older * CHUNK}


def _filtered(run: Run, wanted: stream.Filter, before: int | None) -> dict[str, Any]:
    seqs = stream.seqs_of(run, wanted)
    page = seqs[: bisect_left(seqs, before) if before else None][-stream.FILTERED_PAGE :]
    return {
        "rows": list(stream.events_of(run).filter(seq__in=page)),
        "shown": len(seqs),
        "before": page[0] if len(page) == stream.FILTERED_PAGE else None,
    }


def _view(request: AuthenticatedHttpRequest, run: Run, seq: int | None) -> str:
    """Which view of a run is asked for.

    Unless it is named, a finished build shows its result, a chat its conversation, others the graph.
    """
    asked = request.GET.get("view", "")
    if run.kind == Run.Kind.CHAT or (run.replay_of or {}).get("kind") == Run.Kind.CHAT:
        looks_into = seq is not None or set(request.GET) - {"view", "before"}
        return asked if asked in VIEWS_OF_CHAT else "stream" if looks_into else "conversation"
    if asked in VIEWS or (asked in VIEWS_OF_RESULT and run.kind == Run.Kind.BUILD):
        return asked
    looks_into = seq is not None or set(request.GET) - {"view"}
    built = run.kind == Run.Kind.BUILD and run.status == Run.Status.FINISHED
    return "result" if built and not looks_into else "graph"


def _views_of(run: Run) -> dict[str, str]:
    if conversation.is_chat(run):
        return VIEWS_OF_CHAT
    return VIEWS_OF_RESULT if run.status in Run.OVER and not run.replay_of else VIEWS


def _result(request: AuthenticatedHttpRequest, run: Run) -> dict[str, Any]:
    found = state.result(run)
    ways = ways_out(request, run.project)
    del ways["at"]  # on this page the name of a moment of the run
    said: dict[str, Any] = {"ticket": tickets.report_of(run, found), "forge_requests": requests_of(run)}
    said |= {"forge": links.link_of(run.project), "pull_request": pull_requests.request_of(run)}
    return {"result": found, "first_looks": first_looks(run), **said, **ways}


def _next(run: Run) -> dict[str, Any]:
    """What a planning run led to: the newest plan of its document, and that plan's build."""
    plan = run.document.plans.first() if run.document else None
    build = plan.runs.filter(kind="build", pk__gt=run.pk).order_by("-pk").first() if plan else None
    return {"plan": plan, "build": build}


@page("POST", Run)
def push(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Push the branch of a build to the project's remote, on a person's yes to exactly this address and commit."""
    given = {name: request.POST.get(name, "")[:500] for name in ("address", "commit")}
    if not request.POST.get("confirm"):
        raise BadInput("Tick the box to confirm the push.")
    pushed = pushes.push_run(run, by=request.user, **given)
    messages.success(request, f"{pushed.branch} was pushed to {pushed.address} at {pushed.commit[:10]}.")
    return redirect("run-result", run.pk)


@page("POST", Run)
def ask_to_merge(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Open a pull request for a build, or bring its open one up to date, on a person's yes to exactly this commit."""
    if not request.POST.get("confirm"):
        raise BadInput("Tick the box to confirm what is sent.")
    made = pull_requests.open_request(run, by=request.user, commit=request.POST.get("commit", "")[:100])
    messages.success(request, f"{made} shows commit {made.commit[:10]}.")
    return redirect("run-result", run.pk)


@page("POST", Run)
def look_at_request(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Ask the forge how the pull request of a build is."""
    known = pull_requests.request_of(run)
    if known is None:
        raise BadInput(f"Run {run.pk} has no pull request.")
    messages.success(request, f"{known} is {pull_requests.look(known).state}.")
    return redirect("run-result", run.pk)


@page("POST", Run)
def tell_ticket(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Write on the ticket that a build was for, on a person's yes to exactly these words."""
    if not request.POST.get("confirm"):
        raise BadInput("Tick the box to confirm what is written.")
    given = {name: request.POST.get(name, "")[:100] for name in ("digest", "move")}
    told = tickets.write_back(run, by=request.user, **given)
    messages.success(request, f"{'Moved' if told.written else 'Written on'} {told.address}.")
    return redirect("run-result", run.pk)


@page("POST", Run)
def take_in(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Put the run's commits on top of what others put on the base branch meanwhile."""
    taken = base_branch.take_in_base(run, by=request.user)
    (messages.warning if taken.conflicts else messages.success)(request, base_branch.outcome_of(run, taken))
    return redirect(local_path(request, f"/runs/{run.pk}"))


@page("GET", Run)
def export(request: AuthenticatedHttpRequest, run: Run) -> StreamingHttpResponse:
    """A run as one file, which another installation replays."""
    lines = replays.export_run(run, by=request.user)
    headers = as_file(f"run-{run.pk}.aiswe-run.gz")
    return StreamingHttpResponse(lines, content_type="application/gzip", headers=headers)


@page("POST")
def replay(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Make a run to look at of a file that was exported elsewhere."""
    given = request.FILES.get("file")
    if given is None or given.file is None or (given.size or 0) > MOST_UPLOADED:
        raise BadInput(f"Choose a file of at most {MOST_UPLOADED // 1_000_000} MB that a run was exported to.")
    run = replays.replay_run(given.file, by=request.user)
    messages.success(request, f"This is a replay of {run.source}: to be looked at, and nothing else.")
    return redirect("run", run.pk)


@page("GET", Run)
def track(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """The slider under a run as its newest events make it, as a fragment."""
    return render(request, "partials/run_track.html", {"track": time_travel.track(run, None, run.last_seq)})


@page("GET", Run)
def following(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """What a planning run led to, as a fragment."""
    return render(request, "partials/run_next.html", _next(run))


@page("GET", Run)
def chunk(request: AuthenticatedHttpRequest, run: Run, n: int) -> HttpResponse:
    """A chunk of rows, cacheable for good once it is full."""
    first, last = n * CHUNK + 1, (n + 1) * CHUNK
    if first > run.last_seq:
        raise Http404("That part of the run has not happened yet.")
    rows = stream.events_of(run).filter(seq__gte=first, seq__lte=last)
    response = HttpResponse(stream.render_rows(rows))
    full = last <= run.last_seq
    response["Cache-Control"] = "private, max-age=86400, immutable" if full else "no-store"
    return response


@page("GET", Run)
def seek(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """The next error of the whole run after `?after=`, or with `&back=1` the one before it."""
    back = request.GET.get("back") == "1"
    after = number(request.GET, "after") or (run.last_seq + 1 if back else 0)
    wanted = stream.Filter.read({"preset": request.GET.get("what", "errors")})
    found = stream.seek(run, after, wanted if wanted.preset else stream.Filter(preset="errors"), back=back)
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"seq": found.seq, "number": found.number, "count": found.count})
    if found.seq is not None:
        return redirect("run-event", run.pk, found.seq)
    messages.info(request, f"No {'earlier' if back else 'later'} error; this run has {found.count}.")
    return redirect("run-event", run.pk, after) if 0 < after <= run.last_seq else redirect("run", run.pk)


@page("GET", Run)
def rows(request: AuthenticatedHttpRequest, run: Run) -> JsonResponse:
    """The next frame after a cursor, for a gap or where sockets are blocked: the same one the socket would send."""
    after = number(request.GET, "after") or 0
    found = stream.frame(run.pk, after, stream.Filter.read(request.GET), upto=number(request.GET, "upto"))
    response = JsonResponse(found or {"v": 1, "run": run.pk, "from": after + 1, "to": after, "last": run.last_seq})
    response["Cache-Control"] = "no-store"
    return response


@page("GET", Run)
def inspect(request: AuthenticatedHttpRequest, run: Run, seq: int) -> HttpResponse:
    """One event, opened."""
    return render(request, "partials/inspector.html", inspection.inspected(run, seq))


@page("POST", Run)
def control(request: AuthenticatedHttpRequest, run: Run, verb: str) -> HttpResponse:
    """Pause, resume or stop a run."""
    runs.CONTROLS[verb](run, by=request.user)
    return redirect("run", run.pk)


def tell_agents(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Send a person's message to the agents."""
    text = request.POST.get("text", "").strip()
    if not text:
        raise BadInput("Write what the agents should know, then send it.")
    if len(text) > 4_000:
        raise BadInput(f"The message has {len(text):,} characters; the limit is 4,000.")
    key = request.POST.get("task", "")
    task = get_object_or_404(run.tasks, key=key) if key else None
    runs.say(run, by=request.user, text=text, task=task)
    messages.success(request, "Message sent. The agents read it at their next step.")
    return redirect("run", run.pk)
