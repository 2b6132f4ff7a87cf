"""Inglenook as an app of the browser: its manifest, its service worker, and the page shown where the server is away.

`ui.install` adds the routes; all three are open to everybody (`app.door`) and tell nothing of anybody.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from app.language import Language, language_named, preferred_language
from app.services.container import Services
from ui.gate import page, place_of
from ui.language import speak_in_request
from ui.theme import ASSETS, LIGHT

AWAY_PATH: Final = "/away"
WORKER = (ASSETS / "scripts" / "worker.js").read_text(encoding="utf-8")
_ADDRESS = re.compile(r'(?:href|src)="(/assets/[^"]+)"')


def web_app_routes(services: Services) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    place = place_of(services.settings)

    @router.get("/manifest.webmanifest")
    async def manifest(request: Request, lang: str = "") -> Response:
        return JSONResponse(
            _manifest(_language(lang, request)), media_type="application/manifest+json",
            headers={"Cache-Control": "no-cache"},
        )

    @router.get(AWAY_PATH)
    async def away(request: Request, lang: str = "") -> Response:
        speak_in_request(_language(lang, request))
        return page("away.html", away_path=AWAY_PATH, **place)

    @router.get("/sw.js")
    async def worker(request: Request, lang: str = "") -> Response:
        language = _language(lang, request)
        speak_in_request(language)
        address = f"{AWAY_PATH}?lang={language.code}"
        html = bytes(page("away.html", away_path=AWAY_PATH, **place).body).decode()
        script = _worker(address, html)
        return Response(script, media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    return router


def _language(code: str, request: Request) -> Language:
    return language_named(code) or preferred_language(request.headers.get("accept-language", ""))


def _manifest(say: Language) -> dict[str, Any]:
    icon = {"purpose": "any", "type": "image/png"}
    shortcuts = (("new-chat", "/"), ("library", "/library"), ("settings", "/settings"))     # what everybody may open
    return {
        "id": "/",
        "name": "Inglenook",
        "short_name": "Inglenook",
        "description": say("app-description"),
        "lang": say.code,
        "dir": say.direction,
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": LIGHT,
        "theme_color": LIGHT,       # the pages' own tags follow the reader's theme
        "icons": [
            {"src": "/assets/brand/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"},
            {"src": "/assets/brand/icon-192.png", "sizes": "192x192", **icon},
            {"src": "/assets/brand/icon-512.png", "sizes": "512x512", **icon},
            {"src": "/assets/brand/icon-512-maskable.png", "sizes": "512x512", **icon, "purpose": "maskable"},
        ],
        "shortcuts": [
            {
                "name": say(f"command-{name}"), "url": url,
                "icons": [{"src": "/assets/brand/icon-192.png", "sizes": "192x192", "type": "image/png"}],
            }
            for name, url in shortcuts
        ],
    }


def _worker(away_address: str, away_html: str) -> str:
    """The worker with what it keeps: the page and all that this names. Its text changes when any of that does."""
    files = [away_address, *dict.fromkeys(_ADDRESS.findall(away_html.replace("&amp;", "&")))]
    version = hashlib.sha256(f"{away_html}{WORKER}".encode()).hexdigest()[:10]
    settings = {"VERSION": version, "FILES": files, "AWAY": away_address}
    return "".join(f"const {name} = {json.dumps(value)};\n" for name, value in settings.items()) + WORKER
