"""The audit trails, of a run and of the site: shown, verified and exported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import FileResponse, Http404, HttpResponse, StreamingHttpResponse

from dashboard.access import visibility
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, number, words
from dashboard.http.streaming import as_file
from dashboard.live import stream
from projects.models import Event, Run, SiteEvent
from projects.services.accounts import rights
from projects.services.audit import chain, exports, intents, signing
from projects.services.audit.checkpoints import read_heads
from projects.services.audit.vocabulary import families

PAGE = 200
SITE_TRAIL = "The site audit trail"
Download: TypeAlias = FileResponse | StreamingHttpResponse
Numbered = TypeVar("Numbered", Event, SiteEvent)
NOSNIFF = {"X-Content-Type-Options": "nosniff"}
TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


@page("GET")
def index(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Runs and the head of each one's chain."""
    runs = visibility.counted(visibility.visible(Run, request.user))
    return show(request, "pages/audit_index.html", {"runs": runs.order_by("-pk")[:200]})


def _page_of(request: AuthenticatedHttpRequest, rows: QuerySet[Numbered]) -> tuple[list[Numbered], int | None]:
    """At most PAGE rows before the number that was asked for, newest first, and the number to ask for next."""
    before = number(request.GET, "before")
    page = list((rows if before is None else rows.filter(seq__lt=before)).order_by("-seq")[:PAGE])
    return page, page[-1].seq if len(page) == PAGE else None


def _page(request: AuthenticatedHttpRequest, run: Run, report: object = None) -> HttpResponse:
    wanted = stream.Filter.read(request.GET)
    whole = stream.events_of(run).defer(None).defer("blobs")  # with payloads: what is in doubt is read from them
    rows, before = _page_of(request, wanted.apply(whole))
    context = {
        "rows": rows,
        "wanted": wanted,
        "before": before,
        "report": report,
        "file": f"run-{run.pk}-audit.jsonl",
        "key": signing.key_name(),
        "in_doubt": intents.in_doubt(run.pk, rows),
        "agents": stream.AGENTS,
        "families": families(),
    }
    return show(request, "pages/audit.html", context)


@page("GET", Run)
def detail(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """A run's rows by number, newest first."""
    return _page(request, run)


@page("POST", Run)
def verify(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Recompute the chain now, on the server."""
    return _page(request, run, chain.verify_run(run.pk))


def _download(lines: Iterable[str], name: str, fmt: str, *, signed: bool) -> Download:
    """A trail as a file, or with its signature as an archive."""
    if signed:
        archive = exports.signed_archive(lines, f"{name}.{fmt}")
        return FileResponse(archive, as_attachment=True, filename=f"{name}-{fmt}-signed.zip", headers=NOSNIFF)
    return StreamingHttpResponse(lines, content_type=TYPES[fmt], headers=as_file(f"{name}.{fmt}"))


def _format(fmt: str) -> str:
    if fmt not in TYPES:
        raise Http404("Exports are jsonl or csv.")
    return fmt


@page("GET", Run)
def export(request: AuthenticatedHttpRequest, run: Run, fmt: str, signed: bool = False) -> Download:
    """Every row of a run as a file, on request with its signature."""
    rights.require(request.user, run.project, "audit.export")
    return _download(exports.export_events(run.pk, _format(fmt)), f"run-{run.pk}-audit", fmt, signed=signed)


@page("GET")
def public_key(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The public half of the key that signs exports; keep a copy elsewhere before it is needed."""
    text = signing.public_pem(signing.private_key().public_key())
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=as_file("aiswe.pub"))


def _site_page(request: AuthenticatedHttpRequest, *, verify: bool = False) -> HttpResponse:
    rights.require_administrator(request.user, SITE_TRAIL)
    q = words(request.GET, "q")
    found = SiteEvent.objects.filter(Q(actor__icontains=q) | Q(action__icontains=q) | Q(subject__icontains=q))
    rows, before = _page_of(request, found)
    context: dict[str, Any] = {
        "rows": rows,
        "q": q,
        "before": before,
        "rest": urlencode({"q": q}) if q else "",
        "last": SiteEvent.objects.order_by("-seq").first(),
        "key": signing.key_name(),
    }
    if verify:
        heads = read_heads()
        context |= {"report": chain.verify_site(heads), "doubt": heads.problem}
    return show(request, "pages/site_trail.html", context)


@page("GET")
def site(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Who did what to the installation, newest first."""
    return _site_page(request)


@page("POST")
def site_verify(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Recompute the site's trail now, on the server."""
    return _site_page(request, verify=True)


@page("GET")
def site_export(request: AuthenticatedHttpRequest, fmt: str, signed: bool = False) -> Download:
    """Every row of the site's trail as a file, on request with its signature."""
    rights.require_administrator(request.user, SITE_TRAIL)
    return _download(exports.export_site(_format(fmt)), "site-audit", fmt, signed=signed)
