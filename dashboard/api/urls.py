"""Addresses of the API: what each method takes, and the function that answers."""

from django.urls import URLPattern, path, re_path

from dashboard.api import views
from dashboard.api.authentication import endpoint
from projects.models import Approval, Plan, Project, RequirementDocument, Run, Task

projects = endpoint(GET=("read", views.project_list), POST=("write name", views.make_project))
project = endpoint(Project, GET=("read", views.project_detail))
upload = endpoint(Project, POST=("write filename relation text", views.upload))
control = endpoint(Run, POST=("run", views.control))
retry = endpoint(Task, POST=("run note", views.retry))
approval = endpoint(Approval, GET=("read", views.detail), POST=("approve answer reason subject", views.decide))

urlpatterns: list[URLPattern] = [
    path("me", endpoint(GET=("read", views.me)), name="api-me"),
    path("projects", projects, name="api-projects"),
    path("projects/<int:pk>", project, name="api-project"),
    path("projects/<int:pk>/documents", upload, name="api-documents"),
    path(
        "documents/<int:pk>/plan",
        endpoint(RequirementDocument, POST=("run", views.make_plan)),
        name="api-document-plan",
    ),
    path("plans/<int:pk>", endpoint(Plan, GET=("read", views.detail)), name="api-plan"),
    path("plans/<int:pk>/build", endpoint(Plan, POST=("run", views.build)), name="api-plan-build"),
    path("runs", endpoint(GET=("read", views.run_list)), name="api-runs"),
    path("runs/<int:pk>", endpoint(Run, GET=("read", views.run_detail)), name="api-run"),
    path("runs/<int:pk>/events", endpoint(Run, GET=("read", views.run_events)), name="api-events"),
    re_path(r"^runs/(?P<pk>\d{1,18})/(?P<verb>pause|resume|stop)$", control, name="api-run-control"),
    path("events/kinds", endpoint(GET=("read", views.event_kinds)), name="api-event-kinds"),
    path("runs/<int:pk>/say", endpoint(Run, POST=("run text", views.say)), name="api-run-say"),
    path("tasks/<int:pk>", endpoint(Task, GET=("read", views.detail)), name="api-task"),
    path("tasks/<int:pk>/retry", retry, name="api-task-retry"),
    path("approvals", endpoint(GET=("read", views.approval_list)), name="api-approvals"),
    path("approvals/<int:pk>", approval, name="api-approval"),
]
