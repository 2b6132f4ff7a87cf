"""What a model on disk is, by its own words and before any native code sees it: of a GGUF, or of safetensors.

Called where models become known, on any thread: milliseconds, and at most a few seconds whatever the files claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.backends.torch.folder import read_folder
from engine.errors import ModelLoadError
from engine.gguf import parts_by_name, read_header
from engine.gguf_vocabulary import SpecialTokens, read_special_tokens
from engine.lora import Adapter, read_adapters
from engine.safetensors import ENDING, read_safetensors
from engine.select import select_backend
from engine.template_doctor import TemplateReport, examine
from engine.told import Told

TEMPLATE_KEY = "tokenizer.chat_template"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    path: Path
    file_format: str                    # "gguf", "safetensors"
    name: str                           # "" where the file does not say
    architecture: str
    quantisation: str
    context_tokens: int                 # that it was trained for; 0 where nothing says it
    weight_bytes: int
    file_bytes: int
    part_paths: tuple[Path, ...]
    embeds: bool
    chat_template: str | None
    tokens: SpecialTokens
    refusal: Told | None                # why nothing here can run it, and what to take instead; None where it can

    def examine_template(self, template: str | None = None) -> TemplateReport:
        """Of its own chat template, or of one that is to take its place."""
        return TemplateReport() if self.embeds else examine(template or self.chat_template, self.tokens)


def judge(path: Path, adapters: Sequence[Adapter] = ()) -> Judgement:
    """Raises ModelLoadError for what is no model, or a damaged or unfinished one."""
    if path.suffix.lower() == ENDING or any(path.glob(f"*{ENDING}")):
        return _judge_safetensors(path, adapters)
    select_backend(path)
    header = read_header(path)
    read_adapters(adapters, header)
    template = header.metadata.get(TEMPLATE_KEY)
    return Judgement(
        path=path,
        file_format="gguf",
        name=header.name,
        architecture=header.architecture,
        quantisation=header.quantisation,
        context_tokens=header.context_length,
        weight_bytes=header.weight_bytes,
        file_bytes=header.file_bytes,
        part_paths=header.part_paths,
        embeds=bool(header.pooling),
        chat_template=template if isinstance(template, str) else None,
        tokens=read_special_tokens(header),
        refusal=None if header.has_tokenizer else Told("file-no-tokenizer", file=path.name),
    )


def _judge_safetensors(path: Path, adapters: Sequence[Adapter]) -> Judgement:
    """Damaged files are told before what cannot be run."""
    header = read_safetensors(path)
    if adapters:
        raise ModelLoadError(Told("adapter-gguf"))
    return Judgement(
        path=path,
        file_format="safetensors",
        name="",
        architecture=header.architecture,
        quantisation=header.quantisation,
        context_tokens=header.context_length,
        weight_bytes=header.weight_bytes,
        file_bytes=header.file_bytes,
        part_paths=header.part_paths,
        embeds=False,
        chat_template=header.chat_template,
        tokens=SpecialTokens(
            spellings=frozenset(header.special_tokens), bos=header.bos_token, eos=header.eos_token
        ),
        refusal=_refusal(path),
    )


def _refusal(path: Path) -> Told | None:
    """Of a kind that does not run here, or without what runs it."""
    try:
        select_backend(path)
        read_folder(path)
    except ModelLoadError as error:
        return error.told
    return None


def files_of(path: Path) -> tuple[Path, ...]:
    """All files of a model, the first first, by their names alone; some may not be there."""
    if path.is_dir():
        return tuple(sorted(file for file in path.iterdir() if file.is_file()))
    return parts_by_name(path)
