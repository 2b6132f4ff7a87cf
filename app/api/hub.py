"""The model hub and downloads from it, for admins with a session; API keys are not good here.

    GET    /hub/search?text=&format=gguf&licence=&parameters=&sort=downloads&limit=30
    GET    /hub/models/{owner}/{name}           its files by quantisation, and which of them fit here
    GET    /hub/plan?repo=&wanted=              what a download would take, and whether it fits
    GET    /hub/downloads                       all, oldest first;  POST {repo, wanted, anyway} asks for one
    GET    /hub/downloads/{id}                  DELETE gives it up; POST …/pause, …/resume
    GET    /hub/rules                           PUT {layout, bytes_per_s, hours}
    POST   /hub/upload?name=…                   a model's file, as the body itself; 202 {missing} where others of its
                                                files are still to come
    GET    /hub/token                           whether there is one; PUT {token}, "" forgets it
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from app.api.dependencies import Admin, JsonObject, ServicesOf, check_fields, flag_in, text_in
from app.errors import InvalidInput
from app.hub.client import FoundModel, Sort
from app.language import Said
from app.schemas import UPLOAD_PATH
from app.services.downloads import DownloadRules

router = APIRouter(include_in_schema=False, prefix="/hub")


@router.get("/search")
async def search(
    services: ServicesOf, _admin: Admin, text: str = "", licence: str = "", parameters: str = "",
    file_format: Literal["gguf", "safetensors", ""] = Query("gguf", alias="format"), sort: Sort = "downloads",
    limit: int = 30,
) -> dict[str, Any]:
    found = await services.hub.search(
        text, file_format=file_format, licence=licence, parameters=parameters, sort=sort, limit=limit
    )
    return {"models": [_model_body(each) for each in found]}


@router.get("/models/{owner}/{name}")
async def show(services: ServicesOf, _admin: Admin, owner: str, name: str) -> dict[str, Any]:
    page = await services.hub.page(f"{owner}/{name}")
    foretold = await services.model_speeds.bodies(await services.hub.fits(page))
    variants = [each.as_json() | foretold[each.label] for each in page.variants]
    return {"model": _model_body(page.model), "commit_sha": page.commit_sha, "variants": variants}


@router.get("/plan")
async def plan(services: ServicesOf, _admin: Admin, repo: str, wanted: str = "") -> dict[str, Any]:
    commit_sha, variant = await services.downloads.plan(repo, wanted)
    foretold = await services.model_speeds.bodies({variant.label: await services.hub.fit(repo, commit_sha, variant)})
    return {"repo": repo, "commit_sha": commit_sha} | variant.as_json() | foretold[variant.label]


@router.get("/downloads")
async def list_downloads(services: ServicesOf, _admin: Admin) -> dict[str, Any]:
    return {"downloads": [each.as_json() for each in services.downloads.list()]}


@router.post("/downloads", status_code=202)
async def request(services: ServicesOf, _admin: Admin, body: JsonObject) -> dict[str, Any]:
    check_fields(body, "repo", may_have=("wanted", "anyway"))
    repo, wanted = text_in(body, "repo"), text_in(body, "wanted")
    return (await services.downloads.request(repo, wanted, anyway=flag_in(body, "anyway"))).as_json()


@router.get("/downloads/{download_id}")
async def get_download(services: ServicesOf, _admin: Admin, download_id: str) -> dict[str, Any]:
    return services.downloads.get(download_id).as_json()


@router.post("/downloads/{download_id}/pause")
async def pause(services: ServicesOf, _admin: Admin, download_id: str) -> dict[str, Any]:
    return (await services.downloads.pause(download_id)).as_json()


@router.post("/downloads/{download_id}/resume")
async def resume(services: ServicesOf, _admin: Admin, download_id: str) -> dict[str, Any]:
    return (await services.downloads.resume(download_id)).as_json()


@router.delete("/downloads/{download_id}")
async def cancel(services: ServicesOf, _admin: Admin, download_id: str) -> Response:
    await services.downloads.cancel(download_id)
    return Response(status_code=204)


@router.post(UPLOAD_PATH.removeprefix("/hub"), status_code=201)
async def upload(
    request: Request, response: Response, services: ServicesOf, _admin: Admin, name: str = "",
    content_length: Annotated[int | None, Header()] = None,
) -> dict[str, Any]:
    received = await services.model_uploads.receive(name, request.stream(), num_bytes=content_length)
    if received.model is None:
        response.status_code = 202
        return {"missing": received.missing}
    return {"id": received.model.id, "name": received.model.name}


@router.get("/rules")
async def get_rules(services: ServicesOf, _admin: Admin) -> dict[str, Any]:
    return asdict(services.downloads.rules)


@router.put("/rules")
async def set_rules(services: ServicesOf, _admin: Admin, body: JsonObject) -> dict[str, Any]:
    try:
        rules = DownloadRules(**asdict(services.downloads.rules) | body)
    except TypeError as error:
        raise InvalidInput(Said("download-rules-known"), field="rules") from error
    await services.downloads.set_rules(rules)
    return asdict(services.downloads.rules)


@router.get("/token")
async def has_token(services: ServicesOf, _admin: Admin) -> dict[str, bool]:
    return {"is_set": await services.hub.tokens.is_set()}


@router.put("/token")
async def set_token(services: ServicesOf, _admin: Admin, body: JsonObject) -> dict[str, bool]:
    check_fields(body, "token")         # "" forgets it
    await services.hub.tokens.set(text_in(body, "token"))
    return {"is_set": await services.hub.tokens.is_set()}


def _model_body(model: FoundModel) -> dict[str, Any]:
    return asdict(model) | {"modified_at": model.modified_at.isoformat() if model.modified_at else None}
