"""Puts the pages on the FastAPI app. `app.main` calls `install`; the middleware asks `client_owner`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, Response
from nicegui import Client, ui
from nicegui import app as nicegui_app
from nicegui.nicegui import _shutdown, _startup
from nicegui.translations import translations
from starlette.staticfiles import StaticFiles
from starlette.types import Lifespan, Scope

from app.language import language_named, languages, preferred_language
from app.services.container import Services
from store.tables import User, UserRole
from ui.delivery.install import deliver
from ui.gate import gate_routes, language_of, page, place_of
from ui.language import NICEGUI_NAMES, speak_in_request, t, words_script
from ui.lists import list_routes
from ui.pages.bench import bench_page
from ui.pages.chat import chat_page
from ui.pages.find import find_page
from ui.pages.hub_model import hub_model_page
from ui.pages.library import library_page
from ui.pages.model import model_page
from ui.pages.models import models_page
from ui.pages.people import people_page
from ui.pages.settings import settings_page
from ui.signatures import tell_signatures
from ui.sockets import drop_pages_of, hold_sockets_to_their_pages, owner_of
from ui.stream import stream_routes
from ui.theme import ASSETS
from ui.web_app import web_app_routes

RECONNECT_TIMEOUT_S = 20.0      # how long a page that lost its line is kept: a short walk between two access points
LANGUAGE: Final = "en-US"
PAGE_TIMEOUT_S = 30.0           # where all cores compute a page may have to wait: late is better than an error
DAY_S = 24 * 3600


def install(app: FastAPI, services: Services) -> None:
    app.include_router(gate_routes(services))
    app.include_router(web_app_routes(services))
    app.include_router(stream_routes(services))
    app.include_router(list_routes(services))
    deliver(app)
    _serve_assets(app)
    _forget_earlier_install()
    _make_pages(services)
    hold_sockets_to_their_pages()
    services.accounts.on_demoted(drop_pages_of)
    tell_signatures()
    for language in languages().values():
        nicegui_words = cast(dict[str, dict[str, str]], translations)[NICEGUI_NAMES.get(language.code, language.code)]
        nicegui_words |= {
            "connection_lost": language("connection-lost"),
            "trying_to_reconnect": language("connection-again"),
        }
    own_lifespan = app.router.lifespan_context
    ui.run_with(
        app,
        title="Inglenook",
        viewport="width=device-width, initial-scale=1, viewport-fit=cover",
        favicon=ASSETS / "brand" / "favicon.ico",
        dark=None,
        language=LANGUAGE,
        binding_refresh_interval=None,      # no page binds anything: at rest there is nothing to do
        reconnect_timeout=RECONNECT_TIMEOUT_S,
        message_history_length=200,
        gzip_middleware_factory=None,       # `app.main` has one around everything
        tailwind=False,
        prod_js=True,
        show_welcome_message=False,
    )
    app.router.lifespan_context = _with_nicegui(own_lifespan)


def client_owner(client_id: str) -> User | None:
    """For whom this NiceGUI client's page was made: only they may open its websocket. None where there is none."""
    client = Client.instances.get(client_id)
    return owner_of(client) if client is not None else None


def _with_nicegui(own_lifespan: Lifespan[FastAPI]) -> Lifespan[FastAPI]:
    """As `ui.run_with` makes it, which looks through all objects of the process for the server, at every start: a
    tenth of a second and more, for `nicegui.app.shutdown`, which nobody calls here.
    """
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        await _startup()
        async with own_lifespan(app) as state:
            yield state
        await _shutdown()

    return lifespan


def _make_pages(services: Services) -> None:
    @ui.page("/", response_timeout=PAGE_TIMEOUT_S)
    async def new_chat(request: Request) -> None:
        await chat_page(services, request, None)

    @ui.page("/c/{conversation_id}", response_timeout=PAGE_TIMEOUT_S)
    async def chat(request: Request, conversation_id: str, m: str | None = None) -> None:
        await chat_page(services, request, conversation_id, m)

    @ui.page("/models", response_timeout=PAGE_TIMEOUT_S)
    async def models(request: Request) -> Response | None:
        return await for_admins(request, models_page(services, request))

    @ui.page("/models/installed/{model_id}", response_timeout=PAGE_TIMEOUT_S)
    async def model(request: Request, model_id: str) -> Response | None:
        return await for_admins(request, model_page(services, request, model_id))

    @ui.page("/models/bench", response_timeout=PAGE_TIMEOUT_S)
    async def bench(request: Request) -> Response | None:
        return await for_admins(request, bench_page(services, request))

    @ui.page("/models/find", response_timeout=PAGE_TIMEOUT_S)
    async def find(request: Request) -> Response | None:
        return await for_admins(request, find_page(services, request))

    @ui.page("/models/find/{owner}/{name}", response_timeout=PAGE_TIMEOUT_S)
    async def hub_model(request: Request, owner: str, name: str) -> Response | None:
        return await for_admins(request, hub_model_page(services, request, f"{owner}/{name}"))

    @ui.page("/people", response_timeout=PAGE_TIMEOUT_S)
    async def people(request: Request) -> Response | None:
        return await for_admins(request, people_page(services, request))

    @ui.page("/library", response_timeout=PAGE_TIMEOUT_S)
    async def library(request: Request) -> None:
        await library_page(services, request)

    @ui.page("/settings", response_timeout=PAGE_TIMEOUT_S)
    async def settings(request: Request) -> None:
        await settings_page(services, request)

    async def for_admins(request: Request, making: Coroutine[Any, Any, bool]) -> Response | None:
        """Others are told for whom it is, whether it is there or not; and who asks for what is not, that they are lost.
        `making` says whether it is.
        """
        is_admin = request.state.user.role is UserRole.ADMIN
        if not is_admin:
            making.close()
        elif await making:
            return None
        speak_in_request(await language_of(services, request))
        return _lost(services, 404, "lost") if is_admin else _lost(services, 403, "admins")

    @nicegui_app.exception_handler(404)
    async def not_found(request: Request, error: Exception) -> Response:
        speak_in_request(await language_of(services, request))
        return _lost(services, 404, "lost")

    @nicegui_app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:      # it is raised on, and logged, after this
        speak_in_request(preferred_language(request.headers.get("accept-language", "")))
        return _lost(services, 500, "broken")


def _lost(services: Services, status_code: int, what: str) -> Response:
    title, text = t(f"{what}-title"), t(f"{what}-about")
    return page("lost.html", status_code, title=title, text=text, **place_of(services.settings))


class Assets(StaticFiles):
    """Files of a named version are never asked for again; others, fonts say, are asked for once a day."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        lasts = "31536000, immutable" if b"v=" in scope["query_string"] else str(DAY_S)
        response.headers["Cache-Control"] = f"public, max-age={lasts}"
        return response


def _serve_assets(app: FastAPI) -> None:
    """/assets: the style sheets name fonts/ and brand/ beside themselves, so they are served at its root."""
    @app.get("/assets/words/{code}.js", include_in_schema=False)
    async def words(code: str) -> Response:
        if language_named(code) is None:
            raise HTTPException(404)
        return Response(
            words_script(code), media_type="text/javascript",
            headers={"Cache-Control": "public, max-age=31536000, immutable"},
        )

    @app.get("/favicon.ico", include_in_schema=False)
    async def favicon() -> FileResponse:
        return FileResponse(ASSETS / "brand" / "favicon.ico", headers={"Cache-Control": f"public, max-age={DAY_S}"})

    for folder in ("brand", "fonts", "scripts"):
        app.mount(f"/assets/{folder}", Assets(directory=ASSETS / folder))
    app.mount("/assets", Assets(directory=ASSETS / "styles"))


def _forget_earlier_install() -> None:
    """NiceGUI has one app a process, tests make many of ours: the last one's pages must not answer for this one."""
    for path in [*Client.page_routes.values()]:
        nicegui_app.remove_route(path)
    Client.page_routes.clear()
    nicegui_app.user_middleware.clear()
    nicegui_app.middleware_stack = None
