"""Diagrams of draw.io as parts and links; what is hostile in them is refused."""

import base64
import zlib
from urllib.parse import quote

import pytest

from agents.requirements.readers.diagrams import read_diagrams
from agents.requirements.readers.drawio import MOST_BYTES, DrawioRefused, read_drawio
from tests.tables import each_row

MODEL = """<mxGraphModel dx="1"><root>
<mxCell id="0"/><mxCell id="1" parent="0"/>
<mxCell id="2" value="&lt;b&gt;Web app&lt;/b&gt;&lt;br&gt;(React)" style="rounded=1;html=1;" vertex="1" parent="1">
<mxGeometry x="1" as="geometry"/></mxCell>
<mxCell id="3" value="Orders &amp;amp; more" style="shape=cylinder3;whiteSpace=wrap;" vertex="1" parent="1"/>
<object label="&lt;b&gt;%c4Name%&lt;/b&gt;" c4Name="Order API" c4Technology="FastAPI" id="4">
<mxCell style="rounded=1;" vertex="1" parent="9"/></object>
<mxCell id="9" value="Back end" style="swimlane;" vertex="1" parent="1"/>
<mxCell id="10" value="Figure 1" style="text;html=1;" vertex="1" parent="1"/>
<mxCell id="11" value="" style="rounded=0;" vertex="1" parent="1"/>
<mxCell id="5" style="endArrow=classic;" edge="1" source="2" target="4" parent="1"/>
<mxCell id="6" value="calls" style="edgeLabel;html=1;" vertex="1" parent="5"/>
<mxCell id="7" value="reads" edge="1" source="4" target="3" parent="1"/>
<mxCell id="8" value="nowhere" edge="1" source="4" parent="1"/>
</root></mxGraphModel>"""


def packed(model: str) -> str:
    deflate = zlib.compressobj(wbits=-15)
    data = base64.b64encode(deflate.compress(quote(model).encode()) + deflate.flush()).decode()
    return f'<mxfile host="x"><diagram name="Page-1" id="a">{data}</diagram></mxfile>'


@pytest.mark.parametrize(
    "text",
    [MODEL, f'<?xml version="1.0"?>\n<mxfile><diagram>{MODEL}</diagram></mxfile>', packed(MODEL)],
    ids=["model", "file", "compressed"],
)
def test_a_page_is_its_boxes_and_the_edges_between_two_of_them(text: str) -> None:
    (drawing,) = read_drawio(text)
    assert [tuple(part.values()) for part in drawing.parts.values()] == [
        ("2", "Web app (React)", "", "", ""),
        ("3", "Orders & more", "database", "", ""),
        ("4", "Order API", "", "FastAPI", "9"),
        ("9", "Back end", "group", "", ""),
    ]
    assert drawing.links == [{"from": "2", "to": "4", "label": "calls"}, {"from": "4", "to": "3", "label": "reads"}]


def test_a_fence_of_a_document_may_hold_one() -> None:
    (found,) = read_diagrams(["text", "```xml", *MODEL.splitlines(), "```"])
    assert (found["kind"], found["line"], len(found["parts"])) == ("draw.io", 2, 4)


@each_row(
    ("text", "why"),
    [
        ('<!DOCTYPE a [<!ENTITY b "x">]>' + MODEL, "document type"),
        (MODEL[:-30], "damaged"),
        (packed("<html/>"), "no diagram"),
        ("<mxfile><diagram>not base64!</diagram></mxfile>", "unpacked"),
        (packed(MODEL + " " * MOST_BYTES), "4 MB"),
        (MODEL + " " * MOST_BYTES, "4 MB"),
        (f"<mxGraphModel>{'<mxCell/>' * 21_000}</mxGraphModel>", "5,000 cells"),
        (packed(packed(packed(MODEL))), ""),
    ],
)
def test_what_breaks_readers_is_refused(text: str, why: str) -> None:
    if why:
        with pytest.raises(DrawioRefused, match=why):
            read_drawio(text)
    else:
        read_drawio(text)
    read_diagrams(["```xml", *text.splitlines(), "```"])
