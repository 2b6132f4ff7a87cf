"""What every page carries: style sheets, icons, and its reader's theme, set before the first paint."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from pathlib import Path

from nicegui import ui

from app.language import Language
from ui.language import words_script

ASSETS = Path(__file__).resolve().parent.parent / "assets"
LIGHT, DARK = "#FCFAF8", "#171412"      # --bg of tokens.css, for what the browser paints itself
ICONS = (ASSETS / "icons" / "lucide.svg").read_text(encoding="utf-8")


class Theme(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"

    @classmethod
    def of(cls, value: object) -> Theme:
        """Of a stored setting; SYSTEM for anything unknown."""
        return next((theme for theme in cls if theme == value), cls.SYSTEM)

    @property
    def is_dark(self) -> bool | None:
        """As NiceGUI wants it: None follows the system."""
        return {Theme.LIGHT: False, Theme.DARK: True}.get(self)


def _digest() -> str:
    """A name for this state of the assets: a changed file is fetched again, an unchanged one is never asked for."""
    digest = hashlib.sha256()
    for path in [*sorted((ASSETS / "styles").glob("*.css")), *sorted((ASSETS / "scripts").glob("*.js"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


VERSION = _digest()


def asset(path: str) -> str:
    return f"/assets/{path}?v={VERSION}"


HEAD = "\n".join([
    '<link rel="preload" href="/assets/fonts/figtree-latin-wght-normal.woff2" as="font" type="font/woff2" crossorigin>',
    '<link rel="icon" href="/assets/brand/favicon.svg" type="image/svg+xml">',
    '<link rel="apple-touch-icon" href="/assets/brand/apple-touch-180.png">',
])

_BEFORE_PAINT = """
<script>
  (() => {
    const theme = "%s";
    document.documentElement.dir = "%s";
    localStorage.setItem("inglenook.theme", theme);
    const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.body.classList.add(dark ? "body--dark" : "body--light");
    if (localStorage.getItem("inglenook.side") === "off") document.body.classList.add("nk-side-off");
  })();
</script>
"""


def words_address(language: Language) -> str:
    """Of the script with the words that the browser's components use."""
    digest = hashlib.sha256(words_script(language.code).encode()).hexdigest()[:10]
    return f"/assets/words/{language.code}.js?v={digest}"


def web_app_head(language: Language) -> str:
    """What makes this an app of the browser, in the head of every page: see ui/web_app.py."""
    return (
        f'<link rel="manifest" href="/manifest.webmanifest?lang={language.code}">\n'
        f'<meta name="theme-color" media="(prefers-color-scheme: light)" content="{LIGHT}">\n'
        f'<meta name="theme-color" media="(prefers-color-scheme: dark)" content="{DARK}">\n'
        '<meta name="apple-mobile-web-app-title" content="Inglenook">'
    )


def dress(theme: Theme, language: Language) -> ui.dark_mode:
    """Put the look on the page that is being made. The result's `value` changes the theme later on."""
    around = next(ui.context.client.content.ancestors())
    around.props("role=presentation")       # Quasar's own <main>, with ours and the sidebar in it
    ui.add_head_html(f'{HEAD}\n{web_app_head(language)}\n<script defer src="{words_address(language)}"></script>')
    ui.add_body_html(_BEFORE_PAINT % (theme, language.direction) + f"<div hidden>{ICONS}</div>")
    return ui.dark_mode(theme.is_dark)


def change_theme(dark_mode: ui.dark_mode, theme: Theme) -> None:
    """On an open page, and for the sign-in page of this browser."""
    dark_mode.value = theme.is_dark
    ui.run_javascript(f'localStorage.setItem("inglenook.theme", "{theme}")')
