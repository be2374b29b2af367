"""Writes small PDF files, byte by byte."""

from __future__ import annotations


def pdf(*pages: str, title: str = "") -> bytes:
    """Return a PDF with one line of text on each page (none on an empty one)."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, line in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET" if line else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) /Author (Ann) /CreationDate (D:20260504093000Z) >>")
    return _file(objects)


def _file(objects: list[str]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    start = len(data)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    data += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    trailer = f"<< /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>"
    return data + f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode()
