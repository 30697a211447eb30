"""The tiny wire of every program, and how they are served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class TranslateBody(BaseModel):
    """The body of ``POST /translate``."""

    text: str
    source_lang: str
    target_lang: str


class TranslateResult(BaseModel):
    """Its answer."""

    translation: str


def serve(app: FastAPI, drain: Callable[[], dict[str, Any]], port: int) -> None:
    """Serve until told to stop; ``GET /record`` says what was noted since it was asked last."""
    app.add_api_route("/record", drain, methods=["GET"])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
