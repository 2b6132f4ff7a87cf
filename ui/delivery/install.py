"""Serves the joined files, and has NiceGUI's pages name them. Called by `ui.install`, before NiceGUI is mounted."""

from __future__ import annotations

from functools import cache

from fastapi import FastAPI, Response
from nicegui.nicegui import _get_component
from nicegui.version import __version__ as NICEGUI_VERSION

from ui.delivery.components import join_components
from ui.delivery.files import MadeFile
from ui.delivery.scripts import SCRIPT, VUE
from ui.delivery.styles import SHEET
from ui.delivery.template import use_derived_template

FOR_EVER = "public, max-age=31536000, immutable"        # the address changes with the content


def deliver(app: FastAPI) -> None:
    joined = join_components()
    for file in (SHEET, SCRIPT, VUE, *joined.files):
        _serve(app, file)

    @app.get(f"/_nicegui/{NICEGUI_VERSION}/components/{{key:path}}", include_in_schema=False)
    def component(key: str) -> Response:
        """One that a page begins to use later on. It must be the same that other pages of it have."""
        stub = joined.stub(key)
        if stub is None:
            return _get_component(key)
        return Response(stub, media_type="text/javascript", headers={"Cache-Control": "no-store"})

    use_derived_template(joined)


def _serve(app: FastAPI, file: MadeFile) -> None:
    content = cache(file.make)

    @app.get(file.path, include_in_schema=False)
    def made() -> Response:        # on a thread: the first time it is made
        return Response(content(), media_type=file.media_type, headers={"Cache-Control": FOR_EVER})
