"""A model in safetensors is a folder, as the hub has it: what can be known of it without torch. Any thread."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.backends.torch.checkpoint_format import CheckpointFormat
from engine.backends.torch.config import DecoderConfig, read_config
from engine.backends.torch.other_config import OtherConfig
from engine.errors import ModelLoadError
from engine.memory_plan import KvType
from engine.small_file import read_small
from engine.told import Told

ITEM_BYTES: Final = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
FORMAT_BYTES: Final = {"fp8": 1.01, "int8": 1.01, "int4": 0.5 + 5 / 64}     # a number, with its share of the scales
SHORT_NAMES: Final = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    path: Path
    config: DecoderConfig | OtherConfig
    files: tuple[Path, ...]
    size_bytes: int                 # of all files with weights
    modified_ns: int                # of the newest of them
    quantisation: str = ""          # of a GGUF, which is a file: "Q4_1"

    @property
    def checkpoint(self) -> CheckpointFormat | None:
        """How it was quantised, if it was."""
        return self.config.checkpoint if isinstance(self.config, DecoderConfig) else None

    @property
    def takes_formats(self) -> bool:
        """Its matrices can be made smaller as they are loaded."""
        return isinstance(self.config, DecoderConfig) and self.checkpoint is None and not self.quantisation

    @property
    def format_name(self) -> str:
        """Of the weights on disk: "BF16", "AWQ INT4"."""
        if self.quantisation:
            return self.quantisation
        if self.checkpoint is not None:
            return f"{self.checkpoint.method.upper()} INT4"
        return SHORT_NAMES.get(self.config.dtype, self.config.dtype)

    def weight_bytes(self, dtype: str, weight_format: str | None = None) -> int:
        """Once they are loaded as `dtype`, matrices of layers in `weight_format`, if in any. An upper bound."""
        if self.checkpoint is not None:
            return self.size_bytes * 11 // 10       # scales and zeros take more room here than there
        num_bytes = self.size_bytes * ITEM_BYTES[dtype] // ITEM_BYTES.get(self.config.dtype, 2)
        if weight_format is None or not isinstance(self.config, DecoderConfig):
            return num_bytes
        return num_bytes - int(self.config.matrix_values * (ITEM_BYTES[dtype] - FORMAT_BYTES[weight_format]))

    def bytes_per_token(self, dtype: str, weight_format: str | None = None) -> int:
        """Of weights that a token of an answer reads: all but the table of embeddings, unless that is the output too.
        0 where the model does not run by our own decoder.
        """
        if not isinstance(self.config, DecoderConfig):
            return 0
        table = 0 if self.config.ties_embeddings else self.config.vocab_size * self.config.hidden_size
        return max(0, self.weight_bytes(dtype, weight_format) - table * ITEM_BYTES[dtype])

    def kv_bytes_per_token(self, dtype: str, kv_type: KvType = "f16") -> int:
        """In 8 bits, `q8_0`, each head has a scale of 16 for a token's key, and one for its value."""
        values = self.config.kv_values_per_token
        return values + 2 * values // self.config.head_dim if kv_type == "q8_0" else values * ITEM_BYTES[dtype]


def read_folder(path: Path) -> ModelFolder:
    """Raises ModelLoadError where a file is missing or broken, or the model is of a kind that does not run here."""
    config = read_config(path)
    files = weight_files(path)
    if not (path / "tokenizer.json").is_file():
        raise ModelLoadError(Told("folder-no-tokenizer", folder=path.name))
    facts = [file.stat() for file in files]
    return ModelFolder(
        path=path,
        config=config,
        files=tuple(files),
        size_bytes=sum(each.st_size for each in facts),
        modified_ns=max(each.st_mtime_ns for each in facts),
    )


def weight_files(folder: Path) -> list[Path]:
    """All shards, in order. Raises ModelLoadError with the name of one that is missing."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            raise ModelLoadError(Told("folder-no-weights", folder=folder.name))
        return files
    try:
        names = sorted({str(name) for name in json.loads(read_small(index))["weight_map"].values()})
    except (OSError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise ModelLoadError(
            Told("folder-file-broken", file=index.name, folder=folder.name, detail=str(error))
        ) from error
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise ModelLoadError(Told("folder-file-missing", file=name, folder=folder.name))
    return [folder / name for name in names]
