"""Outputs: tables, pages and folders that are written at once and whole, and those of runs (``resume``: their parts).

**Atomic outputs.** An output is written beside its target under another name, flushed to disk and renamed. The metadata
come last, so an output with metadata is complete: ``--resume`` of one with the same settings and inputs, none of them
written later, ends at once with its own counts and summary.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.base.errors import Argument, FileFormatError, OptionError, OutputError
from fastmetrics.tables.addresses import WORK_SUFFIX, as_local, is_database, is_url, last_name, parse, shown_address
from fastmetrics.tables.database_writer import DatabaseTarget, stored_metadata
from fastmetrics.tables.encoders import (
    KEY,
    Encoder,
    described,
    dump,
    json_object,
    metadata_in,
    undefined_as_null,
    writing,
)
from fastmetrics.tables.formats import encoder, output_format
from fastmetrics.tables.input_files import DataFile, read_small, reading
from fastmetrics.tables.opening import expand
from fastmetrics.tables.resume import clear, has_parts, is_ours
from fastmetrics.tables.targets import (
    MARK,
    META,
    PARTS,
    PUBLISHING,
    Folder,
    LocalTarget,
    RemoteTarget,
    StreamTarget,
    Target,
    is_stream,
    make_private_folder,
)

# Outputs that are written at once and whole, at targets that are checked before anything is read.


def target(
    path: str | Path,
    *,
    folder: Folder | None = None,
    beside: Sequence[str] = (),
    stream: bool = False,
) -> Target:
    """The target for a path or address.

    ``folder`` is the kind of folder that the output is, ``beside`` the suffixes of the files beside it, and
    ``stream`` whether it may go into a pipe or a device.
    """
    text = as_local(path)
    if is_database(text):
        return DatabaseTarget(text, beside)
    if is_url(text):
        return RemoteTarget(text, folder, beside)
    return StreamTarget(text) if stream and is_stream(text) else LocalTarget(text, folder, beside)


def table_target(path: str | Path, inputs: Any, *, overwrite: bool = False) -> Target:
    """The target of a table, for :func:`write_whole`; ``inputs`` are what the run reads.

    Raises ``OutputError`` if it may not be written there, ``OptionError`` for an unknown suffix.
    """
    if output_format(path)[0] == "folder":
        target(path).check(inputs, overwrite=True)  # the reason, if a device or a folder is there
        raise OptionError(f"output {shown_address(as_local(path))!r}: expected the name of a file, with a suffix")
    return _checked(target(path, beside=() if output_format(path)[0] == "parquet" else (META,)), inputs, overwrite)


def page_target(path: str | Path, inputs: Any, suffix: str = "", *, overwrite: bool = False) -> Target:
    """The target of a page, which may also go into a pipe or a device, for ``Target.write``.

    Raises ``OutputError`` if it may not be written there, ``OptionError`` for the suffix of another format.
    """
    place = _checked(target(path, stream=True), inputs, overwrite)
    if suffix and os.path.splitext(str(path))[1].lower() not in ("", suffix):
        raise OptionError(f"output {str(path)!r}: expected a name ending in {suffix}, as that is what is written")
    return place


def folder_target(path: str | Path, inputs: Any, mark: str, *, overwrite: bool = False) -> Target:
    """The target of a folder, for :func:`whole_folder`: an existing one is replaced only if it has the file ``mark``.

    Raises ``OutputError`` if it may not be written there.
    """
    return _checked(target(path, folder=Folder(mark)), inputs, overwrite)


def _checked(place: Target, inputs: Any, overwrite: bool) -> Target:
    place.check(inputs, overwrite=overwrite)
    return place


def check_without_target(*, overwrite: bool) -> None:
    """Raise ``OptionError`` for an option of files where no file is written."""
    if overwrite:
        raise OptionError(Argument("overwrite", overwrite), ": applies to a file; name it with ", Argument("output"))


def write_whole(
    table: pa.Table | pa.RecordBatchReader,
    place: Target,
    metadata: Mapping[str, Any],
    keys: set[str],
) -> int:
    """Write ``table`` in the format of the target's suffix; NaN becomes null except in the ``keys``.

    The ``metadata`` are stored in a Parquet file, or for another format in ``<path>.meta.json``.  Text
    of CSV that a spreadsheet would run gets a leading quote; returns the number of such cells.

    Raises ``OutputError`` if the file cannot be written, or if another run wrote it since the target was checked.
    """
    format, compression = output_format(place.text)
    with place.whole() as folder:
        signed = table.schema.with_metadata({KEY: dump(metadata)})
        writer = encoder(folder / "whole", signed, format, compression)
        try:
            for batch in table.to_batches() if isinstance(table, pa.Table) else table:
                writer.write(undefined_as_null(batch, keys))
            writer.close({})
        finally:
            writer.discard()
        if format != "parquet":
            about = {**metadata, **described(table.schema, writer)}
            (folder / "meta").write_text(dump(about) + "\n", encoding="utf-8")
    return writer.guarded


@contextmanager
def whole_folder(place: Target) -> Iterator[Path]:
    """A temporary folder to fill; it takes its place at the end, and is deleted after an error.

    Raises ``OutputError`` for a folder that cannot be written, or that another run wrote since the check.
    """
    with place.whole() as folder:
        (folder / "whole").mkdir()
        yield folder / "whole"


# The output of a run: checking the target, and publishing finished files.


_REJECTS = ".rejects.jsonl"


class Output:
    """The output file or folder of a run, with its rejects file and, if the format has no metadata, a sidecar.

    ``path``, ``rejects`` and ``sidecar`` are paths, or addresses as shown in messages; ``text`` is the path, or the
    address with its secrets, from which the output can be read again.
    """

    def __init__(self, path: str | Path) -> None:
        self.format, self.compression = output_format(path)
        self.folder = self.format == "folder"
        self._beside = [_REJECTS] if self.format in ("parquet", "folder") else [_REJECTS, META]
        text = as_local(path)
        self.text = text if is_url(text) or is_database(text) else os.path.abspath(text)
        self._target = target(self.text, folder=PARTS if self.folder else None, beside=self._beside)
        self.path = self._target.path
        self.rejects = self._target.shown(_REJECTS)
        self.sidecar = self._target.shown(META) if META in self._beside else None
        is_local = isinstance(self._target, LocalTarget)
        self._parts = Path(f"{self.text.rstrip('/')}{WORK_SUFFIX}") if is_local else None
        self.complete = False
        """Whether an earlier run completed the output, and this one is to resume it."""

    def check(self, inputs: Any, *, resume: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output may not or cannot be written; ``inputs`` are what the run reads."""
        if resume and self._parts is None:
            raise OutputError(f"{self.path} cannot be resumed: run again without ", Argument("resume", True))
        unfinished = self._parts is not None and has_parts(self._parts)
        self.complete = resume and not (overwrite or unfinished) and self.stored()[0] is not None
        published = resume and self._parts is not None and os.path.exists(self._parts / PUBLISHING)
        self._target.check(inputs, overwrite=overwrite or self.complete or published)
        if self.complete and self._parts is not None and self._parts.is_dir() and is_ours(self._parts):
            shutil.rmtree(self._parts)  # a run that was killed after its end
        if unfinished and not (resume or overwrite):
            raise OutputError(
                f"{self._parts} contains an unfinished run; choose ",
                Argument("resume", True),
                " to continue it or ",
                Argument("overwrite", True),
                " to start again",
            )

    def stored(self) -> tuple[dict[str, Any] | None, list[DataFile]]:
        """The metadata and the files of a complete output; None if there is none."""
        try:
            files = expand(self.text)
            return find_metadata(self.text, files), files
        except FileFormatError:
            return None, []

    @contextmanager
    def work(self, *, keep: bool) -> Iterator[Path]:
        """The folder of this run, deleted at its end; after an error, finished parts stay if they are to be kept.

        Raises ``OutputError`` if another run writes this output, or if the folder has other files.
        """
        if self._parts is None or not keep:
            with ExitStack() as stack:
                with writing(self.path):  # but not what the run raises
                    hidden = stack.enter_context(self._target.unfinished())
                yield hidden
            return
        import filelock

        with writing(self.path):
            make_private_folder(self._parts)
            if not is_ours(self._parts):
                raise OutputError(
                    f"{self._parts} is not the work folder of a run, and a run would empty it; move it away"
                )
            lock = filelock.FileLock(self._parts / "lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout:
                raise OutputError(f"another run is writing {self.path}") from None
        try:
            yield self._parts
            with writing(self.path):
                clear(self._parts)
        finally:
            if not has_parts(self._parts):
                shutil.rmtree(self._parts, ignore_errors=True)
            lock.release()

    @contextmanager
    def writer(self, work: Path, signed: pa.Schema) -> Iterator[OutputWriter]:
        """What writes the output into the folder of a run; ``signed`` is its schema with the signature."""
        self._target.check_types(signed)
        with writing(self.path):
            writer = OutputWriter(self, work, signed)
        try:
            yield writer
        finally:
            writer.discard()

    def publish(self, work: Path, metadata: str | None, rejects: Sequence[str]) -> None:
        """Give all files in the folder of a run their names, that of the metadata last."""
        if any(rejects):
            (work / "rejects.jsonl").write_text("".join(rejects), encoding="utf-8", newline="\n")
        if metadata is not None:
            place = work / "output" / MARK if self.folder else work / "meta.json"
            place.write_text(metadata + "\n", encoding="utf-8")
        names = [("rejects.jsonl", _REJECTS), (self.temporary(work).name, ""), ("meta.json", META)]
        self._target.finish(work, names)

    def temporary(self, work: Path) -> Path:
        """The output in the folder of a run, until it is complete."""
        return work / ("output" if self.folder else f"output{PurePath(last_name(str(self.path))).suffix}")


class OutputWriter:
    """Writes the parts of an output: into one file, or each into its file of a folder."""

    def __init__(self, output: Output, work: Path, signed: pa.Schema) -> None:
        self._output, self._work, self._signed = output, work, signed
        self._path = output.temporary(work)
        self._encoder: Encoder | None = None
        self._number = -1
        if output.folder:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path.mkdir()
        else:
            self._open(self._path)

    def _open(self, path: Path) -> None:
        output = self._output
        kind = "parquet" if output.folder else output.format
        self._encoder = encoder(path, self._signed, kind, output.compression)

    def write(self, number: int, rows: pa.RecordBatch) -> None:
        """Write rows of the part of this number."""
        if self._output.folder and number != self._number:
            self._close({})
            self._number = number
            self._open(self._path / f"part-{number:06d}.parquet")
        assert self._encoder is not None
        self._encoder.write(rows)

    def close(self, signature: Mapping[str, Any], conclusion: Mapping[str, Any], rejects: Sequence[str]) -> int:
        """Complete the output and publish it; the number of its cells with a leading quote."""
        output, last = self._output, self._encoder
        self._close({} if output.folder else conclusion)
        beside = {**signature, **conclusion}
        if output.sidecar is not None and last is not None:
            beside |= described(self._signed, last)
        output.publish(self._work, dump(beside) if output.folder or output.sidecar is not None else None, rejects)
        return 0 if last is None else last.guarded

    def _close(self, conclusion: Mapping[str, Any]) -> None:
        if self._encoder is not None:
            self._encoder.close(conclusion)
            self._encoder = None

    def discard(self) -> None:
        """Close and delete an unfinished file."""
        if self._encoder is not None:
            self._encoder.discard()
            self._encoder = None
            if not self._output.folder:
                self._path.unlink(missing_ok=True)


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that a run wrote into or beside its output: the signature and the conclusion.

    Raises ``FileFormatError`` for a file that is not the output of a run.
    """
    text = as_local(path)
    metadata = find_metadata(text)
    if metadata is None and (is_url(text) or os.path.isfile(text)):
        metadata = find_metadata(text, expand(text))
    if metadata is None:
        raise FileFormatError(f"{shown_address(text)}: contains no metadata of fastmetrics")
    return metadata


def find_metadata(path: str | Path, files: Sequence[DataFile] = ()) -> dict[str, Any] | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises ``FileFormatError`` for metadata that cannot be read.
    """
    text = as_local(path)
    if is_database(text):
        with reading(shown_address(text)):
            return stored_metadata(text)
    for beside in _places_of_metadata(text):
        shown = shown_address(beside)
        with reading(shown):
            data = read_small(beside)
        if data is not None:
            return json_object(data, shown)
    if len(files) != 1 or files[0].format != "parquet":  # with several files, each has its own metadata
        return None
    with reading(files[0].shown), pq.ParquetFile(files[0].at_random()) as parquet:
        return metadata_in(parquet, files[0].shown)


def _places_of_metadata(text: str) -> list[str]:
    if is_url(text):
        return [str(parse(text).child(MARK)), str(parse(text).beside(META))]
    return [os.path.join(text, MARK), f"{text}{META}"]
