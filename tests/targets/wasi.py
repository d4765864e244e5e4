"""Runs a program for WASI in wasmtime of PyPI: wasi.py PROGRAM ARGUMENT…. It sees the current folder."""
import sys

import wasmtime

engine = wasmtime.Engine()
linker, store, wasi = wasmtime.Linker(engine), wasmtime.Store(engine), wasmtime.WasiConfig()
linker.define_wasi()
wasi.argv = sys.argv[1:]
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir('.', '.')
store.set_wasi(wasi)
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)['_start'](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
