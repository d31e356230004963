"""Addresses of the API."""

from django.urls import URLPattern, path, re_path

from dashboard.api import views

urlpatterns: list[URLPattern] = [
    path("me", views.me, name="api-me"),
    path("projects", views.project_list, name="api-projects"),
    path("projects/<int:pk>", views.project_detail, name="api-project"),
    path("projects/<int:pk>/documents", views.project_documents, name="api-documents"),
    path("documents/<int:pk>/plan", views.document_plan, name="api-document-plan"),
    path("plans/<int:pk>", views.plan_detail, name="api-plan"),
    path("plans/<int:pk>/build", views.plan_build, name="api-plan-build"),
    path("runs", views.run_list, name="api-runs"),
    path("runs/<int:pk>", views.run_detail, name="api-run"),
    path("runs/<int:pk>/events", views.run_events, name="api-events"),
    re_path(r"^runs/(?P<pk>\d{1,18})/(?P<verb>pause|resume|stop)$", views.run_control, name="api-run-control"),
    path("events/kinds", views.event_kinds, name="api-event-kinds"),
    path("runs/<int:pk>/say", views.run_say, name="api-run-say"),
    path("tasks/<int:pk>", views.task_detail, name="api-task"),
    path("tasks/<int:pk>/retry", views.task_retry, name="api-task-retry"),
    path("approvals", views.approval_list, name="api-approvals"),
    path("approvals/<int:pk>", views.approval_detail, name="api-approval"),
]
