"""Setup, sign-in and sign-out: plain forms without NiceGUI, so that who is not signed in never touches it.

`ui.install` adds these routes to the FastAPI app. They work without JavaScript and run on the event loop.
"""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import AfterValidator

from app.errors import AppError, Conflict, InvalidInput, NotAllowed, TooManyAttempts
from app.language import Language
from app.security import MIN_PASSWORD_CHARS, SESSION_COOKIE
from app.services.accounts import AccountService
from app.services.container import Services
from app.services.endings import Ending
from app.settings import Settings
from store.tables import User
from ui.components.elements import MARK
from ui.language import LANGUAGE_SETTING, here, speak_in_request, t, told, wanted_language
from ui.place import is_here
from ui.theme import ICONS, asset, web_app_head

SEE_OTHER = 303
ENDED = "ended"                 # in the query of /login: see assets/scripts/frame.js

# Decoded as its sender says: UTF-7, say, has letters that no page and no database can hold.
FormText = Annotated[str, Form(), AfterValidator(lambda text: text.encode(errors="replace").decode())]


def _icon(name: str, size_px: int) -> Markup:
    return Markup('<svg class="nk-i nk-i-{}" aria-hidden="true"><use href="#nk-{}"/></svg>').format(size_px, name)


templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)
templates.globals |= {
    "asset": asset, "icon": _icon, "icons": Markup(ICONS), "mark": MARK, "min_password": MIN_PASSWORD_CHARS, "t": t,
    "web_app_head": lambda language: Markup(web_app_head(language)),
}


def page(template: str, status_code: int = 200, /, **values: Any) -> HTMLResponse:
    """In the language of the request: see `speak_in_request`."""
    html = templates.get_template(template).render(values, language=here())
    return HTMLResponse(html, status_code, headers={"Cache-Control": "no-store"})


def place_of(settings: Settings) -> dict[str, Any]:
    """What every template says of where the server is."""
    return {"is_here": is_here(settings), "host_name": socket.gethostname()}


async def language_of(services: Services, request: Request) -> Language:
    """Of who is signed in, what they chose; of anybody else, what their browser asks for."""
    user: User | None = request.state.user
    setting = await services.accounts.get_setting(user.id, LANGUAGE_SETTING) if user is not None else None
    return wanted_language(setting, request)


def gate_routes(services: Services) -> APIRouter:
    async def speak(request: Request) -> None:
        speak_in_request(await language_of(services, request))

    router = APIRouter(include_in_schema=False, dependencies=[Depends(speak)])
    accounts, settings = services.accounts, services.settings
    place = place_of(settings)

    @router.get("/setup")
    async def show_setup(token: str = "") -> Response:
        if not await accounts.needs_setup():
            return page("setup_done.html", **place)
        if not secrets.compare_digest(token.encode(), accounts.setup_token().encode()):
            return page("setup_link.html", 403 if token else 200, tried=bool(token), **place)
        return page("setup.html", token=token, name="", problem=None, **place)

    @router.post("/setup")
    async def set_up(
        request: Request, token: FormText = "", name: FormText = "",
        password: FormText = "",
    ) -> Response:
        try:
            user = await accounts.set_up(token, name, password)
        except InvalidInput as error:
            return page("setup.html", 400, token=token, name=name, problem=error, **place)
        except NotAllowed:
            return page("setup_link.html", 403, tried=True, **place)
        except Conflict as error:
            if not await accounts.needs_setup():
                return page("setup_done.html", 409, **place)
            return page("setup.html", 409, token=token, name=name, problem=error, **place)
        token = await accounts.start_session(user, user_agent=_user_agent(request))
        return _let_in(request, settings, token, "/")

    @router.get("/login")
    async def show_login(request: Request, next: str = "/") -> Response:  # noqa: A002 - the query's name
        if await accounts.needs_setup():
            return RedirectResponse("/setup", SEE_OTHER)
        if request.state.user is not None:
            return RedirectResponse(local_path(next), SEE_OTHER)
        why = _why_signed_out(accounts, request)
        return page("login.html", name="", next=local_path(next), problem=None, why=why, **place)

    @router.post("/login")
    async def sign_in(
        request: Request, name: FormText = "", password: FormText = "",
        next: FormText = "/",  # noqa: A002 - the field's name
    ) -> Response:
        client = request.client.host if request.client else ""
        try:
            _, token = await accounts.sign_in(name, password, user_agent=_user_agent(request), client=client)
        except (InvalidInput, TooManyAttempts, NotAllowed) as error:
            status_code = 429 if isinstance(error, TooManyAttempts) else 400
            response = page(
                "login.html", status_code, name=name, next=local_path(next), problem=error, why=None, **place
            )
            if isinstance(error, TooManyAttempts):
                response.headers["Retry-After"] = str(error.retry_after_s)
            return response
        return _let_in(request, settings, token, local_path(next))

    @router.post("/logout")
    async def sign_out(request: Request) -> Response:
        if request.state.session_token is not None:
            await accounts.sign_out(request.state.session_token)
        response = RedirectResponse("/login", SEE_OTHER)
        response.delete_cookie(SESSION_COOKIE, path="/")
        return response

    return router


def _why_signed_out(accounts: AccountService, request: Request) -> str | None:
    """The message for whoever had a session: by its cookie, else (signed out in another tab) as their page says
    that was open. No other word of an address is shown.
    """
    if token := request.cookies.get(SESSION_COOKIE):
        return f"ended-{accounts.ending_of(token)}"
    return f"ended-{Ending.SIGNED_OUT}" if ENDED in request.query_params else None


def _let_in(request: Request, settings: Settings, token: str, path: str) -> Response:
    response = RedirectResponse(path, SEE_OTHER)
    response.set_cookie(
        SESSION_COOKIE, token, max_age=settings.session_days * 24 * 3600, path="/",
        httponly=True, samesite="lax", secure=request.url.scheme == "https",
    )
    return response


def local_path(target: str) -> str:
    """`target` where it is a path of this server, else "/": a sign-in link must not lead anywhere else."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not target.startswith("/") or target.startswith("//") or "\\" in target:
        return "/"
    if any(ord(character) < 32 for character in target):
        return "/"
    return quote(target, safe="/?&=#%:@!$'()*+,;~-._")


def _user_agent(request: Request) -> str:
    return request.headers.get("user-agent", "")


def _problem_field(problem: AppError) -> str:
    """Under which field it is told. A conflict is one of names."""
    return "password" if isinstance(problem, InvalidInput) and problem.field == "password" else "name"


templates.filters |= {"field": _problem_field, "told": told}
