"""Addresses of the sockets."""

from typing import Any

from django.urls import path

from dashboard.live.consumers import RunConsumer

consumer: Any = RunConsumer.as_asgi()  # Channels routes with Django's path(), which is typed for HTTP views only
websocket_urlpatterns = [path("ws/runs/<int:pk>", consumer)]
