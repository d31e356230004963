"""The site as an ASGI application, for servers like uvicorn."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "__PACKAGE__.settings")
application = get_asgi_application()
