"""The small answers of the OpenAI- and Gemini-shaped routes: who is let in, what models there are, vectors."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

from agents.llm.scripted_server.dialects import Dialect, GeminiDialect, OllamaDialect, OpenAIDialect
from agents.llm.scripted_server.pace import embed
from agents.llm.tokens import count_tokens

if TYPE_CHECKING:
    from agents.llm.scripted_server.handler import Handler


def dialect_of(http: Handler) -> Dialect:
    """The protocol that an address belongs to."""
    model = http.desk.scenario.model
    if http.path.startswith("/v1beta"):
        return GeminiDialect(http, model)
    if http.path.startswith("/v1/"):
        return OpenAIDialect(http, model)
    return OllamaDialect(http, model, lambda text: {"response": text})


def let_in(http: Handler, body: dict[str, Any] | None = None) -> bool:
    """Look at the key and at the parameters; answers itself when one of them will not do."""
    key, dialect = http.desk.key, dialect_of(http)
    google = isinstance(dialect, GeminiDialect)
    shown = http.headers.get("x-goog-api-key") if google else http.headers.get("Authorization")
    if key and not hmac.compare_digest((shown or "").encode(), (key if google else f"Bearer {key}").encode()):
        part = (shown or "nothing").removeprefix("Bearer ")
        if google:
            words = "API key not valid. Please pass a valid API key."
            if not shown:
                words = "Method doesn't allow unregistered callers (callers without established identity)."
            dialect.refuse(401, words, reason="invalid_api_key" if shown else "no_api_key")
        else:
            words = f"Incorrect API key provided: {part}." if shown else "You didn't provide an API key."
            dialect.refuse(401, words, reason="invalid_api_key" if shown else "")
        return False
    for name in http.desk.refuses:
        if body and name in json.dumps({key: value for key, value in body.items() if key != "messages"}):
            dialect.refuse(
                400,
                f"Unsupported parameter: '{name}' is not supported with this model.",
                reason="unsupported_parameter",
            )
            return False
    return True


def openai_models(http: Handler) -> dict[str, Any]:
    """GET /v1/models."""
    desk = http.desk
    entry = {"id": desk.scenario.model, "object": "model", "owned_by": "recording", "max_model_len": desk.window}
    return {"object": "list", "data": [entry]}


def openai_embed(http: Handler, body: dict[str, Any]) -> None:
    """POST /v1/embeddings; the rows come last first, which the protocol allows."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        dialect_of(http).refuse(400, "input must be a text or a list of texts")
        return
    rows = [{"object": "embedding", "index": at, "embedding": embed(text)} for at, text in enumerate(texts)]
    tokens = sum(count_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    http.send_json(200, {"object": "list", "data": rows[::-1], "model": body.get("model"), "usage": usage})


def gemini_model(http: Handler) -> None:
    """GET /v1beta/models/NAME."""
    desk = http.desk
    name = http.path.removeprefix("/v1beta/models/").replace("%3A", ":")
    if name != desk.scenario.model:
        dialect_of(http).refuse(404, f"models/{name} is not found for API version v1beta")
        return
    http.send_json(200, {
        "name": f"models/{name}", "version": "recording", "displayName": desk.scenario.title,
        "inputTokenLimit": desk.window, "outputTokenLimit": 8_192,
        "supportedGenerationMethods": ["generateContent"],
    })  # fmt: skip


def gemini_embed(http: Handler, body: dict[str, Any]) -> None:
    """POST /v1beta/models/NAME:batchEmbedContents."""
    wanted = body.get("requests")
    try:
        texts = ["\n".join(part["text"] for part in each["content"]["parts"]) for each in wanted or []]
    except (TypeError, KeyError):
        dialect_of(http).refuse(400, "Invalid JSON payload received.")
        return
    http.send_json(200, {"embeddings": [{"values": embed(text)} for text in texts]})
