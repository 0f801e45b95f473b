"""Small files of state: written whole or not at all, private where they hold a secret."""

import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, content: object, *, private: bool = False) -> None:
    """Replace a JSON file in one step; `private` makes it readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600 if private else 0o644)
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    draft.replace(path)


def read_json(path: Path) -> Any:
    """Return a JSON file's content; None if it is not there or was cut off."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
