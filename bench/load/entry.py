"""The HTTP function's own application in this process: its containers start too slowly for a crowd here."""

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

from equerry.runtime.http import build_http_app


class Entry:
    """Calls the application as API Gateway would, one request at a time."""

    def __init__(self, environment: Mapping[str, str], token: str) -> None:
        os.environ.update(environment)
        self._app = build_http_app(environment)
        self._token = token
        self._lock = threading.Lock()

    def post(self, path: str, content: object = None) -> dict[str, Any]:
        """Return what was answered to a POST."""
        address = f"/api/assistant{path}"
        event = {
            "version": "2.0",
            "rawPath": address,
            "rawQueryString": "",
            "headers": {"authorization": f"Bearer {self._token}"},
            "requestContext": {
                "http": {"method": "POST", "path": address},
                "requestId": "load",
                "stage": "$default",
            },
            "body": json.dumps(content or {}),
            "isBase64Encoded": False,
        }
        with self._lock:
            answer = self._app(event, None)
        assert answer["statusCode"] < 300, answer
        found: dict[str, Any] = json.loads(answer["body"])
        return found
