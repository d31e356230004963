"""Addresses that pages name exist."""

import re
from pathlib import Path

from django.conf import settings
from django.urls import get_resolver

IN_TEMPLATE = re.compile(r"{%\s*url\s+['\"]([\w-]+)['\"]")
IN_VIEW = re.compile(r"\b(?:reverse|redirect)\(\s*\"([\w-]+)\"")
PLACES = (("templates", "*.html", IN_TEMPLATE), ("dashboard", "*.py", IN_VIEW))


def test_every_address_that_a_page_names_exists() -> None:
    root = Path(settings.BASE_DIR)
    named = {
        name: path.name
        for folder, pattern, names in PLACES
        for path in (root / folder).rglob(pattern)
        for name in names.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    known = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert {name: file for name, file in named.items() if name not in known} == {}
