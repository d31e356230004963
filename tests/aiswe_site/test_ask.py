"""aiswe ask from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.aiswe_site.answers import CommandLine
from tests.factories import make_user


@pytest.mark.django_db
@pytest.mark.usefixtures("in_process")
def test_places_are_printed_as_one_document_with_the_reason_why_no_model_answered(
    tmp_path: Path, settings: Any, cli: CommandLine
) -> None:
    settings.AISWE_HOME, code = tmp_path / "home", tmp_path / "shop"
    make_user("root", superuser=True)
    code.mkdir()
    (code / "shop.py").write_text('def refund(customer):\n    """Pay money back."""\n    return customer.last()\n')
    cli.answers("project", "import", str(code), "--accept-untested")
    found = cli.answers("ask", "shop", "How is money paid back?")
    assert [found["places"][0][name] for name in ("path", "lines", "symbol")] == ["shop.py", "1-3", "refund"]
    assert found["answer"] is None
    assert "No model answered" in found["notes"][-1]
    cli.prints("project", "index", "shop")
    cli.refuses("ask", "shop", " ")
