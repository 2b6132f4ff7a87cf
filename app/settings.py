"""Settings: a flag wins over the environment (`INGLENOOK_*`), the environment over `inglenook.toml` in the data folder.

Read once at start by `app.main` and `app.cli`, and passed down; nothing else reads the environment, but for
`app.other_apps`, which is asked from here.
"""

from __future__ import annotations

import os
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from app import other_apps
from engine.memory import KvType

DEFAULT_PORT = 8420
CONFIG_FILE_NAME = "inglenook.toml"
MOST_BYTES = 2**50              # what is more is a slip of the keys; and far more than that is no number for the system
TEN_YEARS_S = 10 * 365 * 86_400


def _first_of(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name, ""))), "")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="INGLENOOK_", env_ignore_empty=True, extra="forbid", frozen=True)

    data_dir: Path = Field(default_factory=lambda: user_data_path("inglenook", appauthor=False))
    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    model: str | None = None                                  # to load at start: an id or a path; None: the default
    allowed_hosts: tuple[str, ...] = ()                       # names beside localhost and this machine's addresses
    session_days: int = Field(default=30, ge=1, le=365)
    threads: int | None = Field(default=None, ge=1, le=1024)  # for decoding; None: as many as are fastest
    context_tokens: int | None = Field(default=None, ge=256, le=2**24)      # a sequence's window; None: from the plan
    max_num_seqs: int | None = Field(default=None, ge=1, le=256)
    cache_bytes: int | None = Field(default=None, ge=0, le=MOST_BYTES)      # memory for idle prefixes; None: planned
    cache_disk_bytes: int | None = Field(default=None, ge=0, le=MOST_BYTES)     # disk for those; None: at most 4 GiB
    kv_type: KvType = "f16"                                   # of a context's KV; q8_0 takes half, and is less exact
    gpu_layers: int | None = Field(default=None, ge=0, le=1000)     # the output counts as one; None: as many as fit
    main_gpu: int | None = Field(default=None, ge=0, le=99)   # by number; None: the one with most free memory
    import_max_bytes: int = Field(default=2 * 2**30, ge=1, le=MOST_BYTES)       # of a file of chats somebody brings
    draft_model: Path | None = None                           # file of a small model of the same family, to guess ahead
    # The model hub. What Hugging Face's own tools are told by HF_… holds here too, where nothing else is said.
    hub_endpoint: str = Field(default_factory=lambda: _first_of("HF_ENDPOINT") or "https://huggingface.co")
    hub_token: SecretStr | None = Field(default_factory=lambda: SecretStr(_first_of("HF_TOKEN") or "") or None)
    hub_offline: bool = Field(default_factory=lambda: _first_of("HF_HUB_OFFLINE").lower() in ("1", "true", "yes", "on"))
    # Where other programs keep models: Hugging Face's tools share a cache, the others' are offered here.
    hub_cache_dir: Path = Field(default_factory=other_apps.hub_cache_dir)
    ollama_dirs: tuple[Path, ...] = Field(default_factory=other_apps.ollama_dirs)
    lm_studio_dirs: tuple[Path, ...] = Field(default_factory=other_apps.lm_studio_dirs)
    jan_dirs: tuple[Path, ...] = Field(default_factory=other_apps.jan_dirs)
    download_layout: Literal["own", "shared"] = "own"         # the models folder, or the shared cache
    download_bytes_per_s: int | None = Field(default=None, ge=1024, le=MOST_BYTES)   # of all downloads together
    download_hours: str = Field(default="", pattern=r"^(|([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9])$")
    # For all models together; None: what there is.
    memory_budget_gib: float | None = Field(default=None, gt=0, le=1_000_000, allow_inf_nan=False)
    keep_alive_s: int | None = Field(default=None, ge=0, le=TEN_YEARS_S)    # after its last use; None: as room allows
    max_queue: int = Field(default=256, ge=1, le=1_000_000)   # waiting requests before 429

    @field_validator("hub_endpoint")
    @classmethod
    def _address(cls, endpoint: str) -> str:
        if not endpoint.startswith(("https://", "http://")):
            raise ValueError("write it with https:// or http:// before it")
        return endpoint.rstrip("/")

    @field_validator("data_dir", "draft_model", "hub_cache_dir")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else absolute(path)

    @field_validator("ollama_dirs", "lm_studio_dirs", "jan_dirs")
    @classmethod
    def _all_absolute(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(map(absolute, paths))

    @property
    def memory_budget_bytes(self) -> int | None:
        return None if self.memory_budget_gib is None else int(self.memory_budget_gib * 2**30)

    @property
    def database_path(self) -> Path:
        return self.data_dir / "inglenook.sqlite3"

    @property
    def models_dir(self) -> Path:
        return self.data_dir / "models"

    @property
    def imports_dir(self) -> Path:
        return self.data_dir / "imports"

    @classmethod
    def load(cls, **flags: Any) -> Settings:
        """`flags` whose value is None are as if not given.

        Raises pydantic's ValidationError with the field's name, SettingsError or TOMLDecodeError; the file's path is
        their note.
        """
        given = {name: value for name, value in flags.items() if value is not None}
        try:
            return cls._of(given)
        except ValueError as error:
            error.add_note(str(_folder(given.get("data_dir")) / CONFIG_FILE_NAME))
            raise

    @classmethod
    def _of(cls, given: dict[str, Any]) -> Settings:
        try:
            return cls(**given)
        except UnicodeDecodeError as error:
            raise TOMLDecodeError("it is not UTF-8 text") from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        data_dir = init_settings().get("data_dir") or env_settings().get("data_dir")
        file = TomlConfigSettingsSource(settings_cls, toml_file=_folder(data_dir) / CONFIG_FILE_NAME)
        return init_settings, env_settings, file


def _folder(data_dir: str | Path | None) -> Path:
    wanted = data_dir or os.environ.get("INGLENOOK_DATA_DIR")
    return absolute(Path(wanted)) if wanted else user_data_path("inglenook", appauthor=False)


def absolute(path: Path) -> Path:
    """`~` is the home folder, where there is one."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        return path.absolute()
