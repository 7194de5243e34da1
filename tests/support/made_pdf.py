"""Made PDF: PDF files of given pages, written by hand, as small as the format allows."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

__all__ = ["made_pdf"]


def made_pdf(pages: Sequence[str], *, trailer: str = "") -> bytes:
    """Returns a PDF with these texts in Helvetica, one page each; an empty text gives a page without any. `trailer` is added to
    the trailer's dictionary."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in pages:
        kids.append(f"{len(objects) + 1} 0 R")
        content = _content(page)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects) + 2} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>"
    out, places = "%PDF-1.4\n", []
    parts = [out]
    at = len(out)
    for number, text in enumerate(objects, start=1):
        places.append(at)
        parts.append(f"{number} 0 obj\n{text}\nendobj\n")
        at += len(parts[-1])
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    parts.append(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}")
    parts.append(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{at}\n%%EOF\n")
    return "".join(parts).encode("latin-1")


def _content(page: str) -> str:
    if not page:
        return ""
    lines = [line for paragraph in page.split("\n") for line in (wrap(paragraph, 90) or [""])]
    written = "\n".join(f"({_escaped(line)}) Tj T*" for line in lines)
    return f"BT /F1 11 Tf 14 TL 50 800 Td\n{written}\nET"


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
