"""Addresses of the sockets."""

from typing import Any

from django.urls import path

from dashboard.consumers import RunConsumer

websocket_urlpatterns: list[Any] = [path("ws/runs/<int:pk>", RunConsumer.as_asgi())]
