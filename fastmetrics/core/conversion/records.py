"""Many instances of a dataclass, kept as columns: an instance is made when it is read."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Flags, Ints


class Dataclass(Protocol):
    """An instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=Dataclass)

_BLOCK = 1_024
"""Number of instances to make at once."""
_SEGMENT = "segment"
"""The field whose texts are stored one by one, since they differ between instances."""
_TYPES = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


class Mapped(Sequence[U]):
    """A function of each item of a sequence, computed when the item is read."""

    def __init__(self, function: Callable[[Any], U], items: Sequence[Any]) -> None:
        self._function, self._items = function, items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[U]:
        return map(self._function, self._items)

    @overload
    def __getitem__(self, place: int) -> U: ...
    @overload
    def __getitem__(self, place: slice) -> list[U]: ...
    def __getitem__(self, place: int | slice) -> U | list[U]:
        if isinstance(place, slice):
            return list(map(self._function, self._items[place]))
        return self._function(self._items[place])


class Records(Sequence[R]):
    """Instances of a frozen dataclass of numbers, texts and a few shared objects, in columns of Arrow.

    An object of Python takes about 1,000 bytes for 25 fields; a row of columns takes about 150.  Numbers and the texts
    of the field ``segment`` are columns.  Any other field has few distinct objects, of which the column has the places.
    """

    def __init__(
        self,
        kind: type[R],
        columns: dict[str, pa.Array],
        objects: dict[str, list[Any]],
        whole: dict[str, pa.Array],
        places: Ints | None = None,
    ) -> None:
        self._kind, self._columns, self._objects, self._whole, self._places = kind, columns, objects, whole, places

    @classmethod
    def of(cls, kind: type[R], instances: Iterable[R]) -> Records[R]:
        """The instances in their order."""
        maker = RecordsMaker(kind)
        maker.add(instances)
        return maker.records()

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._places is None else len(self._places)

    def __iter__(self) -> Iterator[R]:
        for start in range(0, len(self), _BLOCK):
            yield from self._block(slice(start, start + _BLOCK))

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> list[R]: ...
    def __getitem__(self, place: int | slice) -> R | list[R]:
        if isinstance(place, slice):
            return list(self.at(np.arange(len(self))[place]))
        row = range(len(self))[operator.index(place)]
        return next(self._block(slice(row, row + 1)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def at(self, places: Ints | Flags) -> Records[R]:
        """The instances at some places, in the order of these."""
        rows: Ints = np.flatnonzero(places) if places.dtype == np.bool_ else places.astype(np.int64, copy=False)
        own = rows if self._places is None else self._places[rows]
        return Records(self._kind, self._columns, self._objects, self._whole, own)

    def numbers(self, name: str) -> Any:
        """The numbers of a field; NaN for None."""
        column = self._column(name, slice(None))
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False) if column.null_count else column.to_numpy()

    def not_none(self, name: str) -> Flags:
        """Which instances have a value of a field of numbers, or a segment, that is not None."""
        mask: Flags = self._column(name, slice(None)).is_valid().to_numpy(zero_copy_only=False)
        return mask

    def kinds(self, name: str) -> tuple[Ints, Sequence[Any]]:
        """The distinct objects of another field, in the order of their first instances, and which each instance has."""
        return self._column(name, slice(None)).to_numpy(), self._objects[name]

    def distinct(self, *names: str) -> list[tuple[Any, ...]]:
        """The distinct combinations of objects of some fields, in the order of their first instances."""
        codes = np.zeros(len(self), np.int64)
        for name in names:
            places, objects = self.kinds(name)
            codes = codes * max(1, len(objects)) + places
        rows = np.sort(np.unique(codes, return_index=True)[1])
        columns = [[self._objects[name][code] for code in self.kinds(name)[0][rows].tolist()] for name in names]
        return list(zip(*columns, strict=True))

    def column(self, name: str) -> pa.Array:
        """A field as a column; objects must be texts."""
        column = self._column(name, slice(None))
        if name not in self._objects:
            return column
        return pa.array(self._objects[name], pa.string()).take(column)

    def with_numbers(self, name: str, numbers: Any, places: Ints) -> Records[R]:
        """The instances with other numbers of a field at some places."""
        column = np.array(self.numbers(name))
        column[places] = numbers
        mask = None if self._columns[name].null_count == 0 else ~self.not_none(name)
        columns = {**self._columns, name: pa.array(column, mask=mask)}
        return Records(self._kind, columns, self._objects, self._whole)

    def _column(self, name: str, rows: slice) -> pa.Array:
        return self._at_places(self._columns[name], rows)

    def _at_places(self, column: pa.Array, rows: slice) -> pa.Array:
        if self._places is not None:
            return column.take(pa.array(self._places[rows]))
        return column[rows]

    def _block(self, rows: slice) -> Iterator[R]:
        return map(self._kind, *(self._values(name, rows) for name in self._columns))

    def _values(self, name: str, rows: slice) -> list[Any]:
        column = self._column(name, rows)
        values: list[Any] = column.to_pylist()
        if name in self._objects:
            objects = self._objects[name]
            return [objects[code] for code in values]
        if name in self._whole:  # a bound that a metric declares may be an integer, and is shown as one
            flags = self._at_places(self._whole[name], rows).to_pylist()
            values = [int(value) if flag else value for value, flag in zip(values, flags, strict=True)]
        if pa.types.is_floating(column.type):  # one NaN, so that equal instances compare as equal
            return [math.nan if value is not None and math.isnan(value) else value for value in values]
        return values


class RecordsMaker(Generic[R]):
    """Makes :class:`Records` of instances that arrive one after another."""

    def __init__(self, kind: type[R]) -> None:
        self._kind = kind
        self._types = {field.name: _type(field.name, str(field.type)) for field in fields(kind)}
        self._values = operator.attrgetter(*self._types)
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: dict[str, list[pa.Array]] = {name: [] for name in self._types}
        self._whole: dict[str, list[pa.Array]] = {
            name: [] for name, field in self._types.items() if field == pa.float64()
        }
        self._codes: dict[str, dict[Any, int]] = {name: {} for name, field in self._types.items() if field is None}
        self._objects: dict[str, list[Any]] = {name: [] for name in self._codes}

    def add(self, instances: Iterable[R]) -> None:
        """Add instances."""
        for instance in instances:
            self._rows.append(self._values(instance))
            if len(self._rows) == _BLOCK:
                self._close()

    def records(self) -> Records[R]:
        """The instances; none can be added afterwards."""
        self._close()
        columns = {name: pa.concat_arrays(self._chunks.pop(name)) for name in self._types}
        whole = {name: pa.concat_arrays(chunks) for name, chunks in self._whole.items()}
        whole = {name: flags for name, flags in whole.items() if flags.true_count}
        return Records(self._kind, columns, self._objects, whole)

    def _close(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(self._types)
        for (name, type_), values in zip(self._types.items(), columns, strict=True):
            if type_ is None:
                self._chunks[name].append(pa.array([self._code(name, value) for value in values], pa.int32()))
            else:
                self._chunks[name].append(pa.array(values, type_))
            if name in self._whole:
                self._whole[name].append(pa.array([isinstance(value, int) for value in values], pa.bool_()))
        self._rows = []

    def _code(self, name: str, value: Any) -> int:
        key = value if value is None or isinstance(value, str) else id(value)
        codes = self._codes[name]
        if key not in codes:
            codes[key] = len(codes)
            self._objects[name].append(value)
        return codes[key]


def _type(name: str, annotation: str) -> pa.DataType | None:
    """The type of a field's column; None for a field of a few objects."""
    if name == _SEGMENT:
        return pa.large_string()
    return _TYPES.get(annotation.removesuffix(" | None"))
