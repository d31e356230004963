"""aiswe ask from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.aiswe_site.running import aiswe


def test_places_are_printed_as_one_document_with_the_reason_why_no_model_answered(tmp_path: Path) -> None:
    home, code = tmp_path / "home", tmp_path / "shop"
    code.mkdir()
    (code / "shop.py").write_text('def refund(customer):\n    """Pay money back."""\n    return customer.last()\n')
    aiswe("project", "import", str(code), "--accept-untested", "--json", home=home)
    asked = aiswe("ask", "shop", "How is money paid back?", "--json", home=home)
    found = json.loads(asked.stdout)
    assert asked.returncode == 0, asked.stderr
    assert [found["places"][0][name] for name in ("path", "lines", "symbol")] == ["shop.py", "1-3", "refund"]
    assert found["answer"] is None
    assert "No model answered" in found["notes"][-1]
    assert aiswe("project", "index", "shop", home=home).returncode == 0
    assert aiswe("ask", "shop", " ", home=home).returncode == 2
