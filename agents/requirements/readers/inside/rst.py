"""reStructuredText as Markdown: docutils makes HTML of it, without reading or running anything that the text names."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.core import publish_parts
from docutils.parsers.rst import Directive, directives

from agents.requirements.readers.inside import html
from agents.requirements.readers.inside.markdown import Reading

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,  # its complaints would stand in the text
    "halt_level": 5,
    "doctitle_xform": False,
    "initial_header_level": 1,
    "syntax_highlight": "none",
    "embed_stylesheet": False,
    "math_output": "LaTeX",
}


class _Kept(Directive):  # type: ignore[misc]  # docutils is known in the sandbox only
    """A directive that only an extension knows: its words stay."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[Any]:
        content = "\n".join(self.content)
        if self.name == "mermaid":
            return [nodes.literal_block(content, content, classes=["mermaid"])]
        holder = nodes.container()
        for argument in self.arguments:
            holder += nodes.paragraph("", argument)
        self.state.nested_parse(self.content, self.content_offset, holder)
        return [holder]


def read(data: bytes) -> Reading:
    """`data` is UTF-8. Raises Unreadable when nothing is written in it."""
    known = directives.directive
    directives.directive = lambda *asked: known(*asked) if known(*asked)[0] else (_Kept, [])
    text = data.decode("utf-8", "replace")
    parts = publish_parts(text, writer="html5", settings_overrides=_SETTINGS | {"line_length_limit": len(text) + 1})
    return html.read(parts["body"].encode("utf-8", "replace"))
