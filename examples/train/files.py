"""Writes files completely or not at all."""
from __future__ import annotations

import os
from typing import Union


def write(path: str, content: Union[str, bytes]) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    beside = f"{path}.{os.getpid()}.new"
    with open(beside, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    os.replace(beside, path)
