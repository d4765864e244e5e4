"""Builds wheels with meson-python, which gives a package with a program a tag for one Python version. Corrects the
tag."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import mesonpy
from mesonpy import build_editable, build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist
from mesonpy import get_requires_for_build_wheel

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel"]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds a wheel for every Python 3 on this platform, because its only binary is a program."""
    made = mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    done = subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", "py3", "--abi-tag", "none",
                           os.path.join(wheel_directory, made)], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
