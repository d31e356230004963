"""Small PDF and Word files, written by hand."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence

Placed = tuple[float, float, float, str, str]  # x, y, size, font, text
FONTS = {"body": "Helvetica", "bold": "Helvetica-Bold", "code": "Courier"}
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(pages: Sequence[Sequence[Placed]], *, trailer: str = "", packed: bytes | None = None) -> bytes:
    """A PDF with text at places; `packed` is the compressed content of its pages instead."""
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        for name, font in FONTS.items()
    )
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        f"<< /Font << {fonts} >> >>".encode(),
    ]
    for at, placed in enumerate(pages):
        content = "\n".join(
            f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped(text)}) Tj ET" for x, y, size, font, text in placed
        ).encode("cp1252")
        extra, data = ("", content) if packed is None else (" /Filter /FlateDecode", packed)
        page = f"/Type /Page /Parent 2 0 R /Resources 3 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * at} 0 R"
        objects.append(f"<< {page} >>".encode())
        objects.append(f"<< /Length {len(data)}{extra} >>\nstream\n".encode() + data + b"\nendstream")
    out, places = io.BytesIO(b"%PDF-1.7\n"), []
    out.seek(0, io.SEEK_END)
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def escaped(text: str) -> str:
    """Text between the parentheses of a PDF."""
    return re.sub(r"([\\()])", r"\\\1", text)


def lines(*texts: str, top: float = 780, size: float = 10, font: str = "body", x: float = 60) -> list[Placed]:
    """Lines below each other."""
    return [(x, top - 13 * at, size, font, text) for at, text in enumerate(texts)]


def bomb() -> bytes:
    """A page whose content is 400 MB, unpacked."""
    packer = zlib.compressobj(9)
    packed = b"".join([*(packer.compress(b"0 0 m " * 1_000_000) for _ in range(67)), packer.flush()])
    return pdf([[]], packed=packed)


def docx(body: str, **parts: str | bytes) -> bytes:
    """A Word file with this body; `parts` are more files below word/, by their names without an ending."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            ending = "bin" if isinstance(content, bytes) else "xml"
            archive.writestr(f"word/{name}.{ending}", content)
    return held.getvalue()


def p(text: str, style: str = "", numbered: tuple[int, int] | None = None, run: str = "") -> str:
    """A paragraph; `numbered` names its list and level."""
    numbers = ""
    if numbered:
        numbers = f'<w:numPr><w:ilvl w:val="{numbered[1]}"/><w:numId w:val="{numbered[0]}"/></w:numPr>'
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{numbers}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"
