"""HTML as Markdown: markdownify over the tolerant parser of the standard library."""

from __future__ import annotations

import re
from typing import Any

from bs4 import BeautifulSoup
from markdownify import ATX, MarkdownConverter

from agents.requirements.readers.inside.markdown import CONTROLS, Reading, Unreadable, image

_UNSHOWN = "script style template noscript svg head select iframe object".split()
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush)[-: ]\s*([\w+#-]+)|\b(mermaid)\b|\bcode ([\w+#-]+)")


class _Converter(MarkdownConverter):  # type: ignore[misc]  # it is known in the sandbox only
    def convert_img(self, el: Any, text: str, parent_tags: object) -> str:
        """Nothing looks at an image: it is named where it stands."""
        return image(el.get("alt", ""))

    def convert_input(self, el: Any, text: str, parent_tags: object) -> str:
        return ("[x] " if el.has_attr("checked") else "[ ] ") if el.get("type") == "checkbox" else ""


def _language(pre: Any) -> str:
    classes = " ".join(word for one in (pre, *pre.find_all()) for word in one.get("class", []))
    found = _LANGUAGE.search(classes)
    return next(filter(None, found.groups()), "") if found else ""


def read(data: bytes) -> Reading:
    """`data` is UTF-8. Raises Unreadable when nothing is written in it."""
    page = BeautifulSoup(data.decode("utf-8", "replace"), "html.parser")
    for unshown in page.find_all(_UNSHOWN):
        unshown.decompose()
    converter = _Converter(
        heading_style=ATX,
        bullets="-",
        strip=["a", "em", "i"],
        table_infer_header=True,
        code_language_callback=_language,
        escape_asterisks=False,
        escape_underscores=False,
    )
    text = CONTROLS.sub("", converter.convert_soup(page))
    markdown = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip("\n")
    if not markdown.strip():
        raise Unreadable("It holds no text that is shown.", "Give the page saved with its text.")
    return {"markdown": markdown, "pages": [], "notes": []}
