// Runs a program for WASI in Node.js: node wasi.mjs PROGRAM ARGUMENT…. It sees the current folder.
import {readFile} from 'node:fs/promises';
import {argv, exit} from 'node:process';
import {WASI} from 'node:wasi';

const wasi = new WASI({version: 'preview1', args: argv.slice(2), preopens: {'.': '.'}});
const {instance} = await WebAssembly.instantiate(await readFile(argv[2]), wasi.getImportObject());
exit(wasi.start(instance));
