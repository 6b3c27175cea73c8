"""Workbooks of Excel, as small as the format allows: texts, numbers, flags and blank cells."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006'


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Path:
    """Write rows of cells to the sheets of a workbook; None is a blank cell."""
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        parts = "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
            for n in numbers
        )
        book.writestr(
            "[Content_Types].xml",
            f'<Types {_PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/xl/workbook.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
            f"{parts}</Types>",
        )
        book.writestr("_rels/.rels", _relations({"rId1": ("officeDocument", "xl/workbook.xml")}))
        targets = {f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in numbers}
        book.writestr("xl/_rels/workbook.xml.rels", _relations(targets))
        listed = "".join(
            f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>'
            for n, name in zip(numbers, sheets, strict=True)
        )
        book.writestr(
            "xl/workbook.xml", f'<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>'
        )
        for n, rows in zip(numbers, sheets.values(), strict=True):
            lines = "".join(f'<row r="{at}">{_cells(row, at)}</row>' for at, row in enumerate(rows, 1))
            sheet = f"<worksheet {_MAIN}><sheetData>{lines}</sheetData></worksheet>"
            book.writestr(f"xl/worksheets/sheet{n}.xml", sheet)
    return path


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    entries = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships {_PACKAGE}/relationships">{entries}</Relationships>'


def _cells(row: Sequence[Any], at: int) -> str:
    return "".join(_cell(value, f"{chr(ord('A') + place)}{at}") for place, value in enumerate(row) if value is not None)


def _cell(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
