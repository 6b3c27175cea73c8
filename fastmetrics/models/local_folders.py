"""Loading local models: folders, read by sentence-transformers and transformers without any network, or functions.

**Windows.** A context that does not fit into the model beside the other text is read in windows of half its room, each
beginning a quarter of a window before the end of the one before; the best window counts. A pair that fits is one call,
with the same number as ``CrossEncoder.predict``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.column_names import listed
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError, quoted
from fastmetrics.base.options import Choice, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores

Function: TypeAlias = Callable[[Sequence[Any]], npt.ArrayLike]
Folder = Annotated[
    str | Path | Function,
    Help("The folder of a model, or a function from pairs of texts to an array of one row a pair."),
]
PRECISIONS = ("float32", "bfloat16", "float16", "int8")
_WITHOUT_ZERO = ("roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl")
"""The kinds of models whose positions count from 2."""


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """Settings of local models: how they compute, and where results are stored.

    >>> import fastmetrics as fm
    >>> fm.models.LocalSettings(precision="bfloat16").device is None
    True
    """

    precision: Annotated[
        Literal["float32", "bfloat16", "float16", "int8"],
        Help("How the model computes; the loss against float32 is measured on the first 1,000 pairs."),
    ] = "float32"
    device: Annotated[str | None, Help("cpu, cuda or another of PyTorch; by default cuda where there is one.")] = None
    cache: Annotated[
        str | Path | None, Help("The folder that stores what the model computed; by default in the user's cache.")
    ] = None
    threads: shared.Threads = None
    labels: Annotated[
        Sequence[str] | str,
        Help("The labels of the model's outputs in their order, where its configuration does not state them."),
    ] = ()


class Loaded(NamedTuple):
    """A model as it computes: its identity, the labels of its outputs (none for one score), and its functions."""

    signature: str
    labels: tuple[str, ...]
    compute: Function
    tokenizer: Any = None
    room: int = 1 << 40
    """The tokens that both texts of a pair may have."""

    def offsets(self, texts: Sequence[str]) -> dict[str, Any]:
        """Where the tokens of each text begin and end."""
        if not texts or self.tokenizer is None:
            return {}
        read = self.tokenizer(
            list(texts), add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        return dict(zip(texts, read["offset_mapping"], strict=True))

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of texts, cut off where the model ends."""
        stripped = [text.strip() for text in texts]
        if not stripped:
            return []
        read = self.tokenizer(stripped, truncation=True, max_length=self.room, verbose=False)
        return list(read["input_ids"])

    def windows(self, pairs: Sequence[tuple[str, str]], long: int) -> tuple[list[tuple[str, str]], Ints, Flags]:
        """The pairs in windows of their text ``long`` (0 or 1), the pair of each, and which pairs are cut off."""
        over = [pair for pair in pairs if sum(len(text.encode()) for text in pair) > self.room]
        tokens = self.offsets(list(dict.fromkeys(text for pair in over for text in pair)))
        made, owners, is_cut = [], [], np.zeros(len(pairs), np.bool_)
        half = self.room // 2
        step = max(1, half - half // 4)
        for number, pair in enumerate(pairs):
            text, other = pair[long], pair[1 - long]
            places = tokens.get(text, ())
            parts = [text]
            if len(places) + len(tokens.get(other, ())) > self.room:
                is_cut[number] = len(tokens[other]) > half
                starts = range(0, max(len(places) - half, 0) + step, step)
                parts = [text[places[at][0] : places[min(at + half, len(places)) - 1][1]] for at in starts]
            made += [(part, other) if long == 0 else (other, part) for part in parts]
            owners += [number] * len(parts)
        return made, np.array(owners, np.int64), is_cut


_GENERIC = re.compile(r"(?:LABEL_)?\d+", re.IGNORECASE)


def of_function(function: Function, settings: LocalSettings) -> Loaded:
    """A function as a model, whose labels are those of the settings.

    Raises ``OptionError`` for a folder to store its results in: nobody knows when it changes.
    """
    if settings.cache is not None:
        raise OptionError(Argument("cache", str(settings.cache)), ": results of a function are stored for one run only")
    labels = tuple(listed(settings.labels))
    return Loaded(f"function:{getattr(function, '__qualname__', type(function).__qualname__)}", labels, function)


def _fingerprint(folder: Path) -> str:
    """A digest of the files of a model, but for its description."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts) and path.suffix != ".md":
            digest.update(f"{inside} {path.stat().st_size} ".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _opened(source: Any, settings: LocalSettings) -> tuple[Path, Any, str]:
    """The folder of a model, PyTorch ready for it, and the device.

    Raises ``InputError`` for a path that holds no model, ``OptionError`` for a device that is absent.
    """
    folder = Path(source)
    argument("precision", settings.precision, Choice(*PRECISIONS))
    if not (folder / "config.json").is_file():
        raise InputError(f"model {source}: expected a folder with a config.json; it downloads none")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError.of("sentence-transformers", "sentence-transformers")
    import torch

    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(cores(settings.threads))
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(Argument("device", device), f": PyTorch cannot use it: {error}; choose cpu") from error
    if settings.precision == "int8" and device != "cpu":
        raise OptionError(Argument("precision", "int8"), " is for the device cpu; choose float16")
    return folder, torch, device


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars and reports of transformers on models that it loads."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging

    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()


def _ready(model: Any, tokenizer: Any, source: Any, torch: Any, precision: str) -> tuple[Any, int]:
    """The model in its precision, and the tokens that it can read."""
    if tokenizer is None or len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise InputError(
            f"model {source}: the folder has no tokenizer; save it there: tokenizer.save_pretrained(folder)"
        )
    config = model.config
    most = getattr(config, "max_position_embeddings", None) or 1 << 40
    if config.model_type in _WITHOUT_ZERO:
        most -= (config.pad_token_id or 0) + 1
    if precision == "int8":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on its move to another package
            model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    return model.eval(), min(most, tokenizer.model_max_length)


def of_folder(source: Any, settings: LocalSettings) -> Loaded:
    """A model of pairs, or of one text, as sentence-transformers reads it."""
    folder, torch, device = _opened(source, settings)
    from sentence_transformers import CrossEncoder

    dtype = torch.float32 if settings.precision == "int8" else getattr(torch, settings.precision)
    try:
        with _quiet():
            model = CrossEncoder(str(folder), device=device, local_files_only=True, model_kwargs={"dtype": dtype})
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"model {source}: cannot be loaded: {error}") from error
    if len(model) != 1:
        raise InputError(f"model {source}: expected a model with a head of classification, got other parts behind it")
    inner, most = _ready(model.model, model.tokenizer, source, torch, settings.precision)
    most = min(most, model.max_seq_length or most)
    stated = [str(label) for _, label in sorted((inner.config.id2label or {}).items())]
    labels = listed(settings.labels) or stated
    if model.num_labels == 1:
        labels = []
    elif len(labels) != model.num_labels or len(set(labels)) < len(labels) or any(map(_GENERIC.fullmatch, labels)):
        raise OptionError(
            f"model {source}: its {model.num_labels} labels are not stated ({quoted(labels)}); give them in order "
            "with ",
            Argument("labels", "contradiction,neutral,entailment"),
            ", or in id2label of its config.json",
        )
    of_many = getattr(inner.config, "problem_type", None) == "multi_label_classification"
    activation = model.activation_fn if not labels else torch.nn.Sigmoid() if of_many else torch.nn.Softmax(-1)

    def compute(pairs: Sequence[tuple[str, ...]]) -> npt.ArrayLike:
        sides = [list(side) for side in zip(*pairs, strict=True)]
        read = model.tokenizer(*sides, padding=True, truncation=True, max_length=most, return_tensors="pt")
        with torch.inference_mode():
            scores: npt.ArrayLike = activation(inner(**read.to(device)).logits.float()).cpu().numpy()
        return scores

    room = most - model.tokenizer.num_special_tokens_to_add(pair=True)
    signature = f"{folder.name}|{_fingerprint(folder)}|{settings.precision}"
    return Loaded(signature, tuple(labels), compute, model.tokenizer, room)


def of_vectors(
    source: Any, settings: LocalSettings, layer: int | None, weights_of: Callable[[], Floats | None]
) -> tuple[Loaded, int]:
    """A model of the vectors of tokens up to a layer, which compares pairs of texts by them; and the layer.

    ``weights_of`` returns the weight of each token by its number; None for equal weights.
    """
    folder, torch, device = _opened(source, settings)
    from torch.nn.utils.rnn import pad_sequence
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    dtype = torch.float32 if settings.precision == "int8" else getattr(torch, settings.precision)
    try:
        layers = AutoConfig.from_pretrained(folder, local_files_only=True).num_hidden_layers
        layer = argument("layer", layers if layer is None else layer, Whole(1, layers))
        # the layers behind it are not loaded
        with _quiet():
            model = AutoModel.from_pretrained(folder, local_files_only=True, num_hidden_layers=layer, dtype=dtype)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, KeyError, RuntimeError, AttributeError) as error:
        raise InputError(f"model {source}: cannot be loaded: {error}") from error
    model, most = _ready(model.to(device), tokenizer, source, torch, settings.precision)
    special = torch.tensor([tokenizer.cls_token_id, tokenizer.sep_token_id])

    def vectors(texts: list[str]) -> tuple[list[Any], list[Any]]:
        """The unit vectors of the tokens of each text, and their weights."""
        found, weights = [None] * len(texts), [None] * len(texts)
        ids, own = loaded.ids(texts), weights_of()
        order = sorted(range(len(texts)), key=lambda number: len(ids[number]))
        for start in range(0, len(order), 64):
            some = order[start : start + 64]
            read = tokenizer.pad({"input_ids": [ids[number] for number in some]}, return_tensors="pt").to(device)
            hidden = model(input_ids=read["input_ids"], attention_mask=read["attention_mask"])[0].float()
            hidden = hidden / hidden.norm(dim=-1, keepdim=True)
            for number, states in zip(some, hidden, strict=True):
                tokens = torch.tensor(ids[number])
                found[number] = states[: len(tokens)]
                if own is None:
                    weights[number] = torch.isin(tokens, special, invert=True).float()
                else:
                    weights[number] = torch.from_numpy(own)[tokens].float()
        return found, weights

    def compute(pairs: Sequence[tuple[str, ...]]) -> npt.ArrayLike:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        number = {text: place for place, text in enumerate(texts)}
        with torch.inference_mode():
            found, weights = vectors(texts)
        scores = []
        for start in range(0, len(pairs), 64):
            sides = [[number[pair[side]] for pair in pairs[start : start + 64]] for side in (0, 1)]
            answer, reference = (pad_sequence([found[at] for at in side], batch_first=True) for side in sides)
            lengths = [torch.tensor([len(found[at]) for at in side]) for side in sides]
            masks = [torch.arange(int(many.max())) < many[:, None] for many in lengths]
            cosines = answer @ reference.transpose(1, 2)
            cosines = cosines.masked_fill(~(masks[0][:, :, None] & masks[1][:, None, :]).to(device), -2.0)
            both = []
            for side, best in zip(sides, (cosines.amax(2), cosines.amax(1)), strict=True):
                weight = pad_sequence([weights[at] for at in side], batch_first=True)
                weight = weight / weight.sum(1, keepdim=True)
                both.append((best.cpu() * weight).sum(1))
            empty = (lengths[0] == 2) | (lengths[1] == 2)
            precision, recall = (side.masked_fill(empty, 0.0) for side in both)
            f1 = (2 * precision * recall / (precision + recall)).nan_to_num(0.0)
            scores.append(torch.stack([precision, recall, f1], 1))
        return torch.cat(scores).numpy()

    signature = f"{folder.name}|{_fingerprint(folder)}|{settings.precision}"
    loaded = Loaded(signature, (), compute, tokenizer, most)
    return loaded, layer
