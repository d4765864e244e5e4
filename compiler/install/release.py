#!/usr/bin/env python3
"""Makes all files of a release in one folder, and proves them in bare systems.

`./dev release` runs this. A run that was stopped leaves no incomplete file. The folder is complete if it has
SHA256SUMS, which is written last."""
from __future__ import annotations

import argparse
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import uuid
import zipfile
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "build-release")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "tests", "package")]

from bare import Bare, must  # noqa: E402
from suite import Failure, Skip, check, execute  # noqa: E402

FLASH = os.path.join(ROOT, "tests", "package", "flash.c")
SOURCE_PACKAGES = ["gcc", "libc6-dev", "meson", "ninja-build", "pkg-config", "libyaml-dev", "libmd-dev",
                   "libjansson-dev", "libclang-19-dev", "python3"]
WINDOWS = """[binaries]
c = 'x86_64-w64-mingw32-gcc'
ar = 'x86_64-w64-mingw32-ar'
strip = 'x86_64-w64-mingw32-strip'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '%s'
[host_machine]
system = 'windows'
cpu_family = 'x86_64'
cpu = 'x86_64'
endian = 'little'
"""
FOR_WINDOWS = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-ffp-contract=off"]


def version() -> str:
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as file:
        return re.search(r"^project\('attnc', 'c', version: '([^']*)'", file.read(), re.M).group(1)  # type: ignore[union-attr]


def names_version(path: str, start: str) -> None:
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        check(any(line.startswith(start) for line in file), f"{path} has no entry '{start}'")


class Release:
    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.version, self.machine = given, version(), platform.machine()
        self.work = os.path.join(PLACE, "work")
        self.out = os.path.join(PLACE, "attnc-" + self.version + "-quick" * given.quick)
        os.makedirs(self.work, exist_ok=True)
        os.makedirs(self.out, exist_ok=True)

    def path(self, *names: str) -> str:
        return os.path.join(self.work, *names)

    def dev(self, *words: str) -> None:
        """Runs a command of ./dev, whose progress the user sees."""
        done = subprocess.run([os.path.join(ROOT, "dev"), *words], stdout=sys.stderr, check=False)
        check(done.returncode == 0, f"./dev {' '.join(words)} ended with status {done.returncode}")

    def put(self, made: str, name: str = "") -> str:
        """Moves a finished file into the release."""
        to = os.path.join(self.out, name or os.path.basename(made))
        shutil.copyfile(made, to + ".new")
        os.replace(to + ".new", to)
        return os.path.basename(to)

    # ---- what is made; each returns the file's name

    def source(self) -> str:
        names_version("CHANGELOG.md", f"## [{self.version}]")
        names_version("compiler/install/debian/changelog", f"attnc ({self.version}-")
        if must(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]):
            print("release: note: the archive has the last commit; files here have changes", file=sys.stderr)
        made = self.path(f"attnc-{self.version}.tar.gz")
        must(["git", "-C", ROOT, "archive", "--format=tar.gz", f"--prefix=attnc-{self.version}/", "-o", made, "HEAD"])
        return self.put(made)

    def wheel(self, machine: str) -> str:
        kernels = ["--only", self.given.kernels] if self.given.kernels else []
        self.dev("wheel", "--machine", machine, *kernels)
        folder = "build-manylinux" if machine == self.machine else f"build-manylinux/{machine}"
        return self.put(glob.glob(os.path.join(ROOT, folder, "dist", "*.whl"))[0])

    def ggml(self, platform_tag: str) -> str:
        """Returns the folder of ggml's headers and libraries, from the Python package libggml-python."""
        folder = self.path("ggml-" + platform_tag)
        if not os.path.exists(folder + "/libggml"):
            must([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform",
                  platform_tag, "--python-version", "3.11", "-d", folder, "libggml-python"], timeout=600)
            with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as packed: packed.extractall(folder)
        return folder + "/libggml"

    def meson(self, name: str, example: str, environment: dict[str, str], *options: str) -> str:
        """Builds an example with the attnc of build/, and returns the build folder."""
        folder = self.path(name + "-quick" * self.given.quick)
        native = self.path("native.ini")
        with open(native, "w", encoding="utf-8") as file:
            file.write(f"[binaries]\nattnc = '{ROOT}/build/attnc'\n")
        if not os.path.exists(folder + "/build.ninja"):
            shutil.rmtree(folder, ignore_errors=True)
            must(["meson", "setup", folder, os.path.join(ROOT, "examples", example), "--native-file", native,
                  "--buildtype=release", "-Db_ndebug=true", *options], env={**os.environ, **environment}, timeout=300)
        done = subprocess.run(["ninja", "-C", folder], stdout=sys.stderr, check=False, env={**os.environ, **environment})
        check(done.returncode == 0, f"ninja -C {folder} ended with status {done.returncode}")
        return folder

    def package(self, libraries: str, name: str) -> str:
        """Returns a folder with attnrt.pc, for the libattnrt.a in a folder."""
        os.makedirs(self.path(name), exist_ok=True)
        with open(self.path(name, "attnrt.pc"), "w", encoding="utf-8") as file:
            file.write(f"Name: attnrt\nDescription: attnrt\nVersion: {self.version}\nLibs: -L{libraries} -lattnrt\n"
                       f"Cflags: -I{ROOT}/runtime\n")
        return self.path(name)

    def heads(self) -> list[str]:
        return ["-Dhead_dims=64", "-Dtypes=f16", "-Dmasks=range,bias", "-Dtargets=x86-64-v3"] if self.given.quick else []

    def linked_with_old_glibc(self) -> dict[str, str]:
        """Returns the environment in which wheel/cc links for older systems than this one."""
        python = os.path.join(ROOT, "build-manylinux", "venv", "bin", "python")
        check(os.path.exists(python), "there is no zig: make the wheel first")
        return {"CC": os.path.join(ROOT, "runtime", "python", "wheel", "cc"), "WHEEL_PYTHON": python, "WHEEL_CC": "clang-19",
                "WHEEL_TARGET": self.machine + "-linux-gnu.2.28",
                "PKG_CONFIG_PATH": self.package(os.path.join(ROOT, "build"), "linux")}

    def llama(self) -> str:
        folder = self.meson("llama", "llama", self.linked_with_old_glibc(),
                            "-Dggml=" + self.ggml("manylinux_2_28_" + self.machine), *self.heads())
        # Installed, because it names the folders of this machine before.
        must(["meson", "install", "-C", folder, "--no-rebuild", "--destdir", folder + "/installed"])
        made = glob.glob(folder + "/installed/**/libggml-attnc.so", recursive=True)
        return self.put(made[0], f"libggml-attnc-{self.version}-linux-{self.machine}.so")

    def llama_windows(self) -> str:
        runtime, ggml = os.path.join(ROOT, "runtime"), self.ggml("win_amd64")
        library = self.path("windows")
        os.makedirs(library, exist_ok=True)
        sources = sorted(glob.glob(runtime + "/*.c") + glob.glob(runtime + "/call/*.c"))
        must(["x86_64-w64-mingw32-gcc", *FOR_WINDOWS, "-I", runtime, "-c", *sources], cwd=library, timeout=600)
        if os.path.exists(library + "/libattnrt.a"): os.remove(library + "/libattnrt.a")
        must(["x86_64-w64-mingw32-ar", "rcs", "libattnrt.a", *(os.path.basename(s)[:-2] + ".o" for s in sources)], cwd=library)
        self.package(library, "windows")
        with open(library + "/windows.ini", "w", encoding="utf-8") as file: file.write(WINDOWS % library)
        folder = self.meson("llama-windows", "llama", {}, "--cross-file", library + "/windows.ini", "-Dggml=" + ggml,
                            "-Dc_link_args=-static -static-libgcc -fopenmp", *self.heads())
        return self.put(glob.glob(folder + "/*ggml-attnc.dll")[0], f"ggml-attnc-{self.version}-windows-x86_64.dll")

    def onnxruntime(self) -> str:
        made = os.path.join(ROOT, "build", "examples", "onnxruntime", "libattnc_ort.so")
        if not os.path.exists(made): raise Skip("there is no examples/onnxruntime")
        return self.put(made, f"libattnc_ort-{self.version}-linux-{self.machine}.so")

    def sbom(self) -> str:
        """Writes what the files contain, as CycloneDX JSON. Libraries are in the programs of wheels."""
        def component(kind: str, name: str, number: str, licence: str, **more: Any) -> dict[str, Any]:
            return {"type": kind, "name": name, "version": number, "licenses": [{"license": {"id": licence}}], **more}
        libraries = [component("library", name, must(["pkg-config", "--modversion", package]).strip(), licence)
                     for name, package, licence in (("libyaml", "yaml-0.1", "MIT"), ("jansson", "jansson", "MIT"),
                                                    ("libmd", "libmd", "BSD-3-Clause"))]
        if any("windows" in name for name in self.files()):
            number = must(["x86_64-w64-mingw32-gcc", "-dumpfullversion"]).strip()
            libraries += [component("library", name, number, "GPL-3.0-or-later WITH GCC-exception-3.1")
                          for name in ("libgcc", "libgomp")]
        for one in libraries:   # an expression is no id
            if " WITH " in one["licenses"][0]["license"]["id"]:
                one["licenses"] = [{"expression": one["licenses"][0]["license"]["id"]}]
        files = [component("file", name, self.version, "Apache-2.0", hashes=[{"alg": "SHA-256", "content": self.hash_of(name)}])
                 for name in self.files()]
        serial = uuid.uuid5(uuid.NAMESPACE_URL, "attnc-" + self.version + "".join(map(self.hash_of, self.files())))
        content = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1,
                   "metadata": {"component": component("application", "attnc", self.version, "Apache-2.0")},
                   "components": libraries + files}
        with open(self.path("sbom.json"), "w", encoding="utf-8") as file: json.dump(content, file, indent=1)
        return self.put(self.path("sbom.json"), f"attnc-{self.version}.cdx.json")

    def files(self) -> list[str]:
        return sorted(name for name in os.listdir(self.out)
                      if name != "SHA256SUMS" and not name.endswith((".new", ".cdx.json")))

    def hash_of(self, name: str) -> str:
        with open(os.path.join(self.out, name), "rb") as file: return hashlib.sha256(file.read()).hexdigest()

    def checksums(self) -> str:
        with open(self.path("sums"), "w", encoding="utf-8") as file:
            for name in sorted([*self.files(), f"attnc-{self.version}.cdx.json"]): file.write(f"{self.hash_of(name)}  {name}\n")
        return self.put(self.path("sums"), "SHA256SUMS")

    # ---- proofs; each returns what was shown

    def bare(self, name: str, packages: list[str]) -> Bare:
        if os.geteuid() != 0 or not shutil.which("debootstrap"): raise Skip("a bare Debian needs root and debootstrap")
        return Bare(self.path(name), packages)

    def prove_source(self, name: str) -> str:
        debian = self.bare("debian-source", SOURCE_PACKAGES)
        home = os.path.join(debian.root, "root")
        shutil.rmtree(os.path.join(home, f"attnc-{self.version}"), ignore_errors=True)
        shutil.copy(os.path.join(self.out, name), home)
        debian.of("tar", "-xzf", f"/root/{name}", "-C", "/root")
        source = f"/root/attnc-{self.version}"
        debian.of("sh", "-ec", f"cd {source} && meson setup build -Ddemo=false -Dtests=disabled -Dc_args=-O1")
        done = debian.run("ninja", "-C", source + "/build", timeout=3600)
        check(done.returncode == 0, done.stdout[-3000:])
        said = debian.of("sh", "-ec", f"cd /tmp && {source}/build/attnc --version && {source}/build/attnc check softmax")
        return " ".join(said.split())

    def prove_wheel(self, name: str) -> str:
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            place = self.path("venv-" + name)
            must([sys.executable, "-m", "venv", "--clear", place])
            must([place + "/bin/pip", "install", "--quiet", os.path.join(self.out, name)], timeout=600)
            must([place + "/bin/attnc", "check", "softmax"], timeout=600)
            return "without root and debootstrap, only in a new virtual environment: attnc check softmax: ok"
        folder = self.path("wheel-" + name.rsplit("_", 1)[-1][:-4])
        os.makedirs(folder, exist_ok=True)
        done = execute([sys.executable, os.path.join(ROOT, "tests", "package", "wheel.py"), os.path.join(self.out, name), folder],
                       timeout=3600)
        check(done.returncode == 0, done.stdout + done.stderr)
        return done.stdout.strip().splitlines()[-1]

    def prove_llama(self, name: str) -> str:
        """ggml in a bare Debian computes attention with the library (tests/package/flash.c)."""
        debian, ggml = self.bare("debian-python", ["python3"]), self.ggml("manylinux_2_28_" + self.machine)
        home = os.path.join(debian.root, "root", "ggml")
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(ggml, home)
        shutil.copy(os.path.join(self.out, name), home)
        libraries = [f"-l:{library}" for library in ("libggml.so", "libggml-base.so", "libggml-cpu.so")]
        must(["gcc", FLASH, "-O1", "-isystem", ggml + "/include", "-L" + ggml + "/lib64", *libraries,
              "-Wl,--allow-shlib-undefined", "-lm", "-o", home + "/flash"])
        return "in a bare Debian, ggml computes with it: " + debian.of(
            "env", "LD_LIBRARY_PATH=/root/ggml/lib64", "/root/ggml/flash", "/root/ggml/" + name).splitlines()[-1]

    def prove_onnxruntime(self, name: str) -> str:
        """ONNX Runtime of PyPI registers the library, in a new virtual environment."""
        place = self.path("venv-onnxruntime")
        if not os.path.exists(place + "/complete"):
            must([sys.executable, "-m", "venv", "--clear", place])
            must([place + "/bin/pip", "install", "--quiet", "onnxruntime>=1.23"], timeout=900)
            with open(place + "/complete", "w", encoding="utf-8"): pass
        program = ("import onnxruntime as ort, sys\nort.register_execution_provider_library('attnc', sys.argv[1])\n"
                   "print(sorted({device.ep_name for device in ort.get_ep_devices()}))")
        said = must([place + "/bin/python", "-c", program, os.path.join(self.out, name)]).splitlines()[-1]
        check("attnc" in said.lower(), "ONNX Runtime has not the provider: " + said)
        return "in a new virtual environment, ONNX Runtime has the providers " + said

    def prove_windows(self, name: str) -> str:
        """ggml in Wine computes attention with the library."""
        if not shutil.which("wine"): raise Skip("there is no wine")
        folder, ggml = self.path("wine-ggml"), self.ggml("win_amd64")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ggml + "/bin", folder)
        shutil.copy(os.path.join(self.out, name), folder)
        must(["x86_64-w64-mingw32-gcc", FLASH, "-O1", "-isystem", ggml + "/include", "-o", folder + "/flash.exe",
              *(f"{ggml}/lib/{library}.lib" for library in ("ggml", "ggml-base", "ggml-cpu"))])
        settings = os.path.join(ROOT, "build", "systems", "wine")
        os.makedirs(os.path.dirname(settings), exist_ok=True)
        done = execute(["wine", "flash.exe", name], cwd=folder, timeout=600, env={
            **os.environ, "WINEPREFIX": settings, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="})
        check(done.returncode == 0, done.stdout + done.stderr)
        return "in Wine, ggml computes with it: " + done.stdout.splitlines()[-1].strip()


def main() -> None:
    options = argparse.ArgumentParser(usage="./dev release [--only WORD,…] [--quick] [--kernels WORD,…] [--no-proof]",
                                      description=__doc__, epilog="Kernels take most of the time: one of the 113 of each "
                                      "wheel 7 to 15 seconds of a core. A line for each shows the progress.")
    options.add_argument("--only", default="", metavar="WORD,…", help="only the files whose step contains one of these words")
    options.add_argument("--quick", action="store_true", help="few kernels, to try this command: no files to publish")
    options.add_argument("--kernels", default="", metavar="WORD,…", help="the kernels of wheels, as ./dev wheel --only")
    options.add_argument("--no-proof", action="store_true", help="make the files, and prove nothing")
    given = options.parse_args()
    if given.quick and not given.kernels: given.kernels = "softmax_causal/f32/64/,numbers/f32/64/"
    release = Release(given)
    foreign = [] if release.machine != "x86_64" else ["aarch64"]
    steps: list[tuple[str, Callable[[], str], Callable[[str], str] | None]] = [
        ("source", release.source, release.prove_source)]
    for machine in [release.machine, *foreign]:
        steps.append((f"wheel-{machine}", lambda machine=machine: release.wheel(machine), release.prove_wheel))  # type: ignore[misc]
    steps.append(("llama-linux", release.llama, release.prove_llama))
    if foreign: steps.append(("llama-windows", release.llama_windows, release.prove_windows))
    steps.append(("onnxruntime", release.onnxruntime, release.prove_onnxruntime))
    chosen = [step for step in steps if any(word in step[0] for word in given.only.split(","))]
    if not chosen: options.error(f"no step contains '{given.only}'; the steps: {' '.join(step[0] for step in steps)}")
    steps = [*chosen, ("sbom", release.sbom, None), ("checksums", release.checksums, None)]
    # A folder without this file is not complete.
    if os.path.exists(os.path.join(release.out, "SHA256SUMS")): os.remove(os.path.join(release.out, "SHA256SUMS"))
    failed, unproven = 0, 0
    for number, (name, make, prove) in enumerate(steps, 1):
        began = time.monotonic()
        if failed and name in ("sbom", "checksums"): continue
        print(f"release: [{number}/{len(steps)}] {name}", file=sys.stderr, flush=True)
        try:
            made = make()
            shown = "" if given.no_proof or not prove else ", proved: " + prove(made)
            print(f"ok {name}: {made} ({os.path.getsize(os.path.join(release.out, made)) / 1e6:.1f} MB, "
                  f"{time.monotonic() - began:.0f} s){shown}", flush=True)
        except Skip as skip:
            unproven += 1
            print(f"skip {name}: {skip}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAIL {name}: {failure}", flush=True)
    print(f"{release.out}: {failed} failed, {unproven} skipped; " + ("no checksums" if failed else "complete"))
    sys.exit(failed > 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("release: stopped; the next run goes on with what is compiled")
