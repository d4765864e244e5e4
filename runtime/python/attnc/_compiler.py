"""Runs the compiler, the program attnc, and turns its errors into exceptions."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.resources
import importlib.util
import json
import math
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence, Tuple, Union

from ._header import _header_text

First = Tuple[int, int, int]  # sizes of a first call: queries, keys, and query heads that share keys
Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]

SAYS_SO_AFTER = 1.0  # seconds of compiling, after which a message says so
ENDS_WITHIN = 5.0  # seconds from SIGTERM to SIGKILL


# Lines of attnc that this package does not repeat. It prints the first line itself. The second is wrong here, because
# kernels without OpenMP run on threads of this package.
_UNSAID = re.compile(r"compiling .* \(first time\)$|attnc: note: OpenMP does not work ")
_STORED = re.compile(r"^attnc: note: (compiled kernels are (?:stored in|not cached).*)\n", re.MULTILINE)


class SpecError(ValueError):
    """The spec is invalid. The message is the compiler's message, with file, line and column."""


class CompilerError(RuntimeError):
    """The compiler failed because of this machine: no C compiler, a full disk, or a cache folder that others can
    write to."""


def program() -> str:
    """Returns the path of the program attnc: $ATTNC, or the package's."""
    return os.environ.get("ATTNC") or _own_program()


@functools.lru_cache(maxsize=None)
def _own_program() -> str:
    with importlib.resources.as_file(importlib.resources.files(__package__) / "_bin" / "attnc") as path:
        if not path.exists():
            raise CompilerError(f"{path} does not exist; reinstall attnc, or set $ATTNC to its path")
        return str(path)


def library_path(name: str, folder: str = "") -> str | None:
    """Returns the path of a library of the package, or of the build of $ATTNC, there in a folder. Returns None if there is
    none."""
    of_package, build = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.environ.get("ATTNC", ""))
    places = [os.path.join(of_package, "_bin", name), *([os.path.join(build, folder, name)] if build else [])]
    return next(filter(os.path.exists, places), None)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _folder_of(package: str) -> str | None:
    """Returns the folder of an installed package, which is not imported."""
    try:
        found = importlib.util.find_spec(package)
    except ImportError:
        return None
    places = list(found.submodule_search_locations or ()) if found else []
    return places[0] if places else None


def compiler() -> list[str]:
    """Returns the command of the C compiler that attnc uses: $ATTNC_CC, clang, $CC, cc, or the compiler of the package
    ziglang. Returns an empty list if there is none."""
    own = shlex.split(os.environ.get("ATTNC_CC", ""))
    if own:
        return own
    of_user = shlex.split(os.environ.get("CC", ""))
    for words in (["clang"], *([f"clang-{version}"] for version in range(19, 13, -1)), of_user, ["cc"]):
        if words and shutil.which(words[0]):
            return words
    zig = os.path.join(_folder_of("ziglang") or "", "zig")
    return [zig, "cc"] if os.path.isfile(zig) else []


@functools.lru_cache(maxsize=None)
def _of_packages(_: tuple[str | None, ...]) -> dict[str, str]:
    made = {}
    if not os.environ.get("ATTNC_CC"):
        words = compiler()
        if words[1:] == ["cc"]:
            made["ATTNC_CC"] = shlex.join(words)
    library = os.path.join(_folder_of("clang") or "", "native", "libclang.so")
    if not os.environ.get("ATTNC_LIBCLANG") and os.path.isfile(library):
        made["ATTNC_LIBCLANG"] = library
    return made


def environment() -> dict[str, str]:
    """Returns the environment for attnc. It is the environment of this process, with the compiler and libclang of
    installed packages."""
    return {**os.environ, **_of_packages(tuple(map(os.environ.get, ("ATTNC_CC", "CC", "PATH", "ATTNC_LIBCLANG"))))}


def _distrust(info: os.stat_result, allowed: int = 0) -> str:
    """Returns why others could put code into a folder, or "". A mode with a bit of `allowed` keeps them from it."""
    others = info.st_mode & 0o022 and not info.st_mode & allowed
    return "" if stat.S_ISDIR(info.st_mode) and info.st_uid in (0, os.geteuid()) and not others else "others can put code there"


def cache_folders() -> list[str]:
    """Returns the folders in which this process may look for compiled code: attnc's cache, and the one for temporary use if
    the cache cannot be used or is read-only (compiler/host/cache.c). The last one can be written to.

    Raises CompilerError if there is none."""
    base, home, shared = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME", "TMPDIR"))
    base = base if base.startswith("/") else os.path.join(home, ".cache") if home.startswith("/") else ""
    shared = shared if shared.startswith("/") else "/tmp"
    found, said = [], []
    for path in (os.path.join(base, "attnc") if base else "", os.path.join(shared, f"attnc-cache-{os.geteuid()}")):
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            why = _distrust(os.lstat(path))
            if os.path.dirname(path) == shared:
                why = why or _distrust(os.stat(shared), stat.S_ISVTX)
        except OSError as error:
            why = str(error.strerror)
        if not why:
            found.append(path)
            if os.access(path, os.W_OK):
                return found
        said.append(f"{path or 'neither XDG_CACHE_HOME nor HOME is set'}: {why or 'it is read-only'}")
    raise CompilerError(f"there is no folder for compiled code: {'; '.join(said)}; set XDG_CACHE_HOME to a folder")


def main() -> None:
    """Runs the installed script `attnc`. Replaces this process by the program."""
    os.execve(program(), [program(), *sys.argv[1:]], environment())


def _scalar(value: Any) -> Any:
    item = getattr(value, "item", None)  # converts a NumPy scalar
    if item is None:
        raise TypeError(f"a spec cannot contain {value!r}, a {type(value).__name__}")
    return item()


def _not_finite(value: Any, path: str) -> Iterator[str]:
    """Yields the places of numbers that YAML's numbers are not, such as nan."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _not_finite(one, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from _not_finite(one, f"{path}[{number}]")
    elif getattr(value, "item", None) is not None:
        yield from _not_finite(value.item(), path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{path} is {value}"


def _flow(value: Any, path: str) -> str:
    """Returns the value at a path of the spec as YAML on one line. Raises SpecError if a number is not finite."""
    try:
        return json.dumps(value, default=_scalar, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        try:
            places = ", ".join(_not_finite(value, path))
        except RecursionError:  # a list that contains itself
            places = ""
        raise SpecError(f"{places}; expected a finite number" if places else
                        f"{path} cannot be written as YAML: {error}") from None


def settings_of(set_: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Returns the settings as texts "key=value" for --set."""
    made = []
    for key, value in (set_ or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"set= has the key {key!r}; expected a path of the spec, such as 'mask.window.left'")
        made.append(f"{key}={value if isinstance(value, str) else _flow(value, key)}")
    return tuple(made)


@dataclasses.dataclass(frozen=True)
class Source:
    """A spec for the compiler: the name of a spec of attnc, or a text with a file name."""

    operand: str  # the name of the spec, or the file name of the text
    text: str | None  # None for a spec that comes with attnc
    settings: tuple[str, ...] = ()
    folder: str | None = dataclasses.field(default=None, compare=False)  # the folder of the text
    options: tuple[str, ...] = ()  # additional options of the command line

    @staticmethod
    def of(spec: Spec, set_: Mapping[str, Any] | None = None) -> Source:
        settings = settings_of(set_)
        if isinstance(spec, Mapping):
            for key in spec:
                if not isinstance(key, str):
                    raise TypeError(f"the spec has the key {key!r}; expected a word")
            text = "".join(f"{key}: {_flow(value, key)}\n" for key, value in spec.items())
            name = spec.get("name")
            return Source(f"{name if isinstance(name, str) and name.isidentifier() else 'attention'}.yaml", text, settings)
        if not isinstance(spec, (str, os.PathLike)):
            raise TypeError(f"the spec is a {type(spec).__name__}; expected a file, the name of a spec that comes with "
                            "attnc, or a dictionary")
        path = os.fspath(spec)
        # A name without dot and slash is a spec of attnc, unless it is a file, as on the command line.
        if isinstance(spec, str) and not re.search("[./]", path) and not os.path.isfile(path):
            return Source(path, None, settings)
        try:
            text = _read(path)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, path) from None
        return Source(os.path.basename(path), text, settings, os.path.dirname(path))

    @staticmethod
    def named(name: str) -> Source:
        """Returns the source with this name()."""
        operand, text, *settings = json.loads(name)
        return Source(operand, text, tuple(settings))

    def name(self) -> str:
        """Returns a text that says all but the folder and options."""
        return json.dumps([self.operand, self.text, *self.settings])

    def with_settings(self, *more: str) -> Source:
        return dataclasses.replace(self, settings=self.settings + more)

    def run(self, *words: str, background: Callable[[Any], None] | None = None) -> str:
        """Runs attnc on the spec and returns its output. `background`: as for _run()

        Raises SpecError if the spec is wrong, CompilerError if the machine failed."""
        sets = [*self.options, *(word for setting in self.settings for word in ("--set", setting))]
        if self.text is None:
            return _run([*words, *sets, "--", self.operand], what=self.what(), background=background)
        if self.folder is not None:
            path = os.path.join(self.folder, self.operand)
            try:
                there = _read(path) == self.text
            except OSError:
                there = False
            if there:
                return _run([*words, *sets, "--", path], what=self.what(), background=background)
        with tempfile.TemporaryDirectory(prefix="attnc-") as folder:
            path = os.path.join(folder, self.operand)
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(self.text)
            return _run([*words, *sets, "--", path], folder + os.sep, self.what(), background)

    def what(self) -> str:
        """Returns the kernel's name, and what tells it from others: the lines of a spec without a file, and settings."""
        lines = self.text.splitlines() if self.text is not None and self.folder is None else []
        words = [re.sub(r'["{}]', "", line) for line in lines if not line.startswith(("name:", "description:"))]
        words.extend(self.settings)
        rest = ", ".join(words)
        return self.operand.removesuffix(".yaml") + (f" ({rest if len(rest) < 120 else rest[:117] + '…'})" if rest else "")

    def show(self) -> str:
        """Returns the text of the spec."""
        return self.text if self.text is not None else _run(["show", self.operand])

    def description(self, first: First | None = None, background: Callable[[Any], None] | None = None) -> dict[str, Any]:
        """Returns the contents of NAME.json with `library`, the path of the kernel. Compiles the kernel if needed.

        first: the sizes of a call. A kernel that is not compiled yet is compiled for it, in less time. Then `quick` is
            True
        background: as for _run()"""
        words = [f"--quick={first[0]},{first[1]},{first[2]}"] if first else ["--background"] if background else []
        made: dict[str, Any] = json.loads(self.run("build", "--json", *words, background=background))
        if made.get("header") != _header():
            raise CompilerError(f"{program()} is from another version of attnc than the Python package in "
                                f"{os.path.dirname(os.path.abspath(__file__))}; unset $ATTNC, or set it to a program of "
                                "the package's version")
        return made


@functools.lru_cache(maxsize=None)
def _header() -> str:
    """Returns the hash of this package's attnrt.h, which says how kernels are called."""
    return hashlib.sha256(_header_text().encode()).hexdigest()


class Progress(threading.local):
    """The kernels that this thread helps to compile: (a list with their number and how many are ready), or None."""

    now: list[int] | None = None


progress = Progress()


def _says(what: str) -> str:
    """Returns the message while a kernel is compiled."""
    count, ready = progress.now or (1, 0)
    left = f"; {ready} of {count} kernels are ready" if count > 1 else ""
    return f"attnc: compiling {what} … (first time{left})"


def _run(words: Sequence[str], hidden: str = "", what: str = "", background: Callable[[Any], None] | None = None) -> str:
    """Runs attnc and returns its output. Removes `hidden`, a temporary folder, from messages. `what` describes the kernel
    that is compiled. `background` gets the process, which says nothing and does not end by Ctrl-C."""
    with subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
                          env=environment(), start_new_session=background is not None) as process:
        try:
            if background:
                background(process)
            try:
                out, said = process.communicate(timeout=SAYS_SO_AFTER)
            except subprocess.TimeoutExpired:
                if words[0] == "build" and not background:
                    print(_says(what), file=sys.stderr, flush=True)
                out, said = process.communicate()
        except BaseException:
            process.terminate()  # attnc then stops the C compiler
            try:
                process.wait(ENDS_WITHIN)
            except BaseException:
                process.kill()
            raise
    if hidden:
        said = said.replace(hidden, "")
    for note in _STORED.findall(said) if not background else ():  # said once, not with each kernel
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    said = "".join(line for line in _STORED.sub("", said).splitlines(True) if not _UNSAID.match(line))
    if process.returncode == 0:
        if said and not background:
            sys.stderr.write(said)
        return out
    said = re.sub(r"\Aattnc: error: ", "", said).rstrip("\n")
    if process.returncode in (1, 2):
        raise SpecError(said)
    raise CompilerError(said or f"attnc ended with status {process.returncode}")
