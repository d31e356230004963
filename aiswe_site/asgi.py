"""The ASGI application: pages over HTTP, the live stream over a WebSocket."""

from __future__ import annotations

import os
import sys

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  needs the app registry
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from aiswe_site.startup.bounded import bound_answers, bound_bodies  # noqa: E402
from dashboard.access.origin import OwnPagesOnly  # noqa: E402
from dashboard.http.app_proxy import AppProxy  # noqa: E402
from dashboard.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": AppProxy(django_application),
        "websocket": OwnPagesOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

if "daphne.http_protocol" in sys.modules:  # served by Daphne, by whatever command
    bound_bodies(sys.modules["daphne.http_protocol"], settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    bound_answers(sys.modules["daphne.server"].Server)
