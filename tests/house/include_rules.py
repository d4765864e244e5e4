#!/usr/bin/env python3
"""Checks which folders a folder uses, by #include and by symbols (nm), and which modules a module of Python imports.

include_rules.py [ROOT [BUILD]] checks a tree and its build folder. Without arguments it checks this tree, and that
it finds broken rules in a copy."""
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Each line is a folder and the folders that it uses, from bottom to top. A folder may also use everything that these
# folders may use.
ARROWS = '''
ir
runtime
runtime/mpi          runtime
compiler/target      ir runtime
compiler/support     ir target
compiler/expression  ir support
compiler/spec        ir support expression
compiler/host        ir support runtime
compiler/variant     ir spec expression
compiler/schedule    ir target spec
compiler/analysis    ir schedule
compiler/cost        ir schedule analysis target spec runtime
compiler/pass        ir schedule analysis cost
compiler/emit        ir schedule analysis target spec support
compiler/driver      ir target support expression spec variant schedule analysis cost pass emit
compiler/view        ir driver emit cost
compiler/binding     ir view emit
compiler/bench       ir driver host cost
compiler/tune        ir driver host cost
compiler/command     ir target support expression spec host variant schedule analysis cost pass emit driver view \
binding bench tune
compiler/manual      ir command driver spec
'''


def table():
    rooms = {}
    for line in ARROWS.split('\n'):
        if line:
            room, *below = line.split()
            names = {r.split('/')[-1]: r for r in rooms}
            rooms[room] = {names[b] for b in below}  # A KeyError means that an arrow points upwards.
            for b in list(rooms[room]):
                rooms[room] |= rooms[b]
    return rooms


BELOW = table()
CARRIED = 'compiler/emit/embedded'
KERNEL = 'runtime/kernel'  # headers of emitted code, which runtime/ includes as well
TYPES = 'runtime/attnrt'  # headers that attnrt.h includes
FREE = ('tests', 'examples', 'generated')  # these folders may use all public headers


def room_of(path):
    parts = path.split('/')
    return '/'.join(parts[:2]) if parts[0] == 'compiler' or parts[:2] == ['runtime', 'mpi'] else parts[0]


def face_of(folder):
    """Returns the public header of a folder, X/X.h."""
    return 'runtime/attnrt.h' if folder == 'runtime' else os.path.join(folder, os.path.basename(folder) + '.h')


def is_face(root, path):
    """True for a public header, and for the headers and tables of its folder that a public header includes."""
    folder = os.path.dirname(path)
    public, waiting = set(), [face_of(folder)]
    while waiting:
        header = waiting.pop()
        if header in public or not os.path.isfile(os.path.join(root, header)):
            continue
        public.add(header)
        with open(os.path.join(root, header), encoding='utf-8') as f:
            waiting += [os.path.join(folder, name) for name in re.findall(r'#\s*include "([\w.]+)"', f.read())]
    return path in public


def private_to(root, path):
    """Returns the only folder whose files may include this one. Returns None if higher folders may include it as
    well."""
    folder = os.path.dirname(path)
    if folder in (KERNEL, TYPES):
        return 'runtime'
    if not is_face(root, path):
        return folder
    return None if folder == room_of(path) else os.path.dirname(folder)


def sources(root):
    for top in ('ir', 'runtime', 'compiler') + FREE:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for f in files:
                # the C that kernels contain is not a source of attnc
                if (f.endswith(('.c', '.h', '.def')) and not folder.endswith(CARRIED)
                        and not os.path.islink(os.path.join(folder, f))):
                    yield os.path.relpath(os.path.join(folder, f), root)


def circle(edges):
    """Returns a cycle in `edges`, {from: {to, …}}, or None. The cycle is a list that ends with its first element."""
    state = {}
    for start in sorted(edges):
        if start in state:
            continue
        path, waiting = [start], [iter(sorted(edges[start]))]
        state[start] = 'open'
        while path:
            for to in waiting[-1]:
                if state.get(to) == 'open':
                    return path[path.index(to):] + [to]
                if to not in state:
                    state[to] = 'open'
                    path.append(to)
                    waiting.append(iter(sorted(edges.get(to, ()))))
                    break
            else:
                state[path.pop()] = 'done'
                waiting.pop()
    return None


def check_includes(root):
    wrong, edges = [], {}
    for path in sources(root):
        folder, mine = os.path.dirname(path), room_of(path)
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            text = f.read()
        for number, line in enumerate(text.split('\n'), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not m:
                continue
            at = f'{path}:{number}'
            if m[1] == '<':
                installed = folder == KERNEL and m[2] == 'attnrt.h'
                if mine not in FREE and not installed and re.match(r'attn|ir/|ir\.h|compiler|runtime', m[2]):
                    wrong.append(f'{at} includes <{m[2]}>, a way round the rules')
                continue
            to = next((t for t in (os.path.normpath(os.path.join(folder, m[2])), os.path.normpath(m[2]),
                                   os.path.normpath(os.path.join('runtime', m[2])))
                       if os.path.isfile(os.path.join(root, t))), None)
            if to is None:
                if mine not in FREE:
                    wrong.append(f'{at} includes {m[2]}, which is not there')
                continue
            theirs = room_of(to)
            edges.setdefault(path, set()).add(to)
            if mine in FREE:
                if mine != 'tests' and theirs not in (mine, 'generated', 'runtime', 'ir', 'examples'):
                    wrong.append(f'{at} includes {to}')
                continue
            if theirs in FREE:
                wrong.append(f'{at} includes {to}')
            elif theirs != mine and mine in BELOW and theirs not in BELOW[mine]:
                wrong.append(f'{at} includes {to}: {theirs} is not below {mine}')
            elif to.endswith(('.h', '.def')):
                within = private_to(root, to)
                if within is not None and not (folder + '/').startswith(within + '/'):
                    wrong.append(f'{at} includes {to}, which is private to {within}')
            if theirs.startswith('compiler') and theirs not in BELOW:
                wrong.append(f'{to} is in no room of the table')
    found = circle(edges)
    if found:
        wrong.append('a circle of headers: ' + ' -> '.join(found))
    for path in sources(root):
        if path.startswith('compiler/') and room_of(path) not in BELOW:
            wrong.append(f'{path} is in no room of the table')
    return wrong


def objects(root, build):
    """Returns {source: object file} from the compile_commands.json of a build folder."""
    with open(os.path.join(build, 'compile_commands.json')) as f:
        commands = json.load(f)
    made = {}
    for c in commands:
        source = os.path.relpath(os.path.realpath(os.path.join(c['directory'], c['file'])), os.path.realpath(root))
        output = os.path.join(build, c['output'])
        if (source.split('/')[0] in ('ir', 'runtime', 'compiler')
                and re.match(r'(lib(ir|compiler|attnrt)\.a|attnc|runtime/mpi/libattnrt_ranks\.a)\.p/', c['output'])
                and os.path.exists(output)):
            made[source] = output
    return made


def check_symbols(root, build):
    wrong, edges, defines, takes = [], {}, {}, {}
    made = objects(root, build)
    if not any(s.startswith('compiler/') for s in made):
        return [f'{build} has no objects of compiler/']
    rooms = ('compiler/', 'ir/', 'runtime/mpi/')
    for source in sorted(s for s in sources(root) if s.startswith(rooms) and s.endswith('.c')):
        if source not in made and os.path.basename(source) not in ('embed.c', 'probe.c', 'mpi.c'):
            wrong.append(f'{source} has no object in {build}')
    of = {output: source for source, output in made.items()}
    # One call for all files is faster, because every nm loads plugins.
    listing = subprocess.run(['nm', '-P', '-A', *of], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        output, _, symbol = line.rpartition(': ')
        name, kind = symbol.split()[:2]
        if kind == 'U':
            takes.setdefault(of[output], set()).add(name)
        elif kind.isupper():
            defines[name] = of[output]
    for source, names in takes.items():
        mine = room_of(source)
        for name in sorted(names):
            to = defines.get(name)
            if to is None or to == source:
                continue
            theirs = room_of(to)
            edges.setdefault(source, set()).add(to)
            if theirs != mine and theirs not in BELOW.get(mine, ()):
                wrong.append(f'{source} uses {name} of {to}: {theirs} is not below {mine}')
    # a cycle consists of objects that use each other's symbols
    found = circle(edges)
    if found:
        wrong.append('a circle of files: ' + ' -> '.join(found))
    return wrong


MODULES = 'runtime/python/attnc'


def imported(tree, modules):
    """Returns the modules of the package that a module imports, also inside functions and by a name such as ".flex"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split('.')[0] == 'attnc']
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or '').split('.')[0] == 'attnc'):
            of = 'attnc.' + (node.module or '') if node.level else node.module
            names = [f'{of.rstrip(".")}.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r'\.\w+', node.value):
            names = ['attnc' + node.value] if node.value[1:] in modules else []
        else:
            continue
        for name in names:
            inner = name.split('.')[1] if '.' in name else ''
            yield inner if inner in modules else '__init__'


def check_modules(root):
    edges = {}
    modules = {f[:-len('.py')] for f in os.listdir(os.path.join(root, MODULES)) if f.endswith('.py')}
    for module in modules:
        with open(os.path.join(root, MODULES, module + '.py'), encoding='utf-8') as f:
            edges[module] = set(imported(ast.parse(f.read()), modules))
    if sum(map(len, edges.values())) < len(modules):
        return [f'{MODULES} has {len(modules)} modules that import almost nothing']
    found = circle(edges)
    return ['a circle of modules: ' + ' -> '.join(found)] if found else []


CHECKS = {'includes': check_includes, 'symbols': check_symbols, 'modules': check_modules}

passed = failed = 0


def report(name, good, why=''):
    global passed, failed
    print(f'{"ok" if good else "FAIL"} include_rules/{name}{"" if good else " " + why}')
    passed, failed = passed + bool(good), failed + (not good)


def table_shown(root):
    """Returns whether CONTRIBUTING.md shows ARROWS."""
    with open(os.path.join(root, 'CONTRIBUTING.md')) as f:
        return ARROWS.strip() in f.read()


# ---- the test of the test: each of these breaks a rule, in a copy

def append(root, path, text):
    with open(os.path.join(root, path), 'a') as f:
        f.write(text)


def compile_in(root, build, path, text):
    """Adds text to a source and compiles its object again."""
    append(root, path, text)
    with open(os.path.join(build, 'compile_commands.json')) as f:
        command = next(c for c in json.load(f) if c['file'].endswith('/' + path)
                       or os.path.normpath(os.path.join(c['directory'], c['file'])).endswith('/' + path))
    subprocess.run(['cc', '-c', '-w', '-D_GNU_SOURCE', '-I' + root, '-I' + root + '/runtime', '-o',
                    os.path.join(build, command['output']), os.path.join(root, path)], check=True)


def broken_rules(root, build):
    def copy(change, check):
        with tempfile.TemporaryDirectory() as d:
            there, objects_there = os.path.join(d, 'tree'), os.path.join(d, 'tree', 'build')
            for top in ('ir', 'runtime', 'compiler'):
                shutil.copytree(os.path.join(root, top), os.path.join(there, top), symlinks=True)
            os.makedirs(objects_there)
            with open(os.path.join(build, 'compile_commands.json')) as f:
                commands = json.load(f)
            here = os.path.realpath(root)
            for c in commands:
                source = os.path.relpath(os.path.realpath(os.path.join(c['directory'], c['file'])), here)
                c['directory'], c['file'] = objects_there, os.path.join(os.path.realpath(there), source)
            with open(os.path.join(objects_there, 'compile_commands.json'), 'w') as f:
                json.dump(commands, f)
            for output in objects(root, build).values():
                to = os.path.join(objects_there, os.path.relpath(output, build))
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(output, to)
            change(there, objects_there)
            return check(there, objects_there) if check is check_symbols else check(there)

    def breaks(name, change, check, words):
        wrong = copy(change, check)
        report('broken/' + name, any(words in w for w in wrong), f'not found; only {wrong[:2]}')

    report('broken/nothing', not any(copy(lambda t, b: None, check) for check in CHECKS.values()), 'a copy breaks rules')
    breaks('include_up', lambda t, b: append(t, 'compiler/target/target.c', '#include "../driver/driver.h"\n'),
           check_includes, 'compiler/driver is not below compiler/target')
    breaks('include_of_ir', lambda t, b: append(t, 'ir/expr.c', '#include "../compiler/spec/spec.h"\n'), check_includes,
           'compiler/spec is not below ir')
    breaks('private_header', lambda t, b: append(t, 'compiler/view/view.c', '#include "../emit/printer.h"\n'),
           check_includes, 'private to compiler/emit')

    def table_of_another(tree, build):
        append(tree, 'compiler/target/spare.def', '')
        append(tree, 'compiler/driver/unit.c', '#include "../target/spare.def"\n')

    breaks('table_of_another', table_of_another, check_includes, 'private to compiler/target')

    def folder_inside(includes):
        def change(tree, build):
            os.makedirs(os.path.join(tree, 'compiler/target/inner'))
            for header in 'inner', 'detail':
                append(tree, f'compiler/target/inner/{header}.h', '')
            append(tree, includes[0], f'#include "{includes[1]}"\n')
        return change

    breaks('folder_inside_another', folder_inside(('compiler/driver/unit.c', '../target/inner/inner.h')),
           check_includes, 'private to compiler/target')
    breaks('inside_of_a_folder', folder_inside(('compiler/target/target.c', 'inner/detail.h')), check_includes,
           'private to compiler/target/inner')
    report('broken/folder_inside', not copy(folder_inside(('compiler/target/target.c', 'inner/inner.h')), check_includes),
           'a folder may not include a header of a folder inside it')
    breaks('circle_of_headers', lambda t, b: append(t, 'compiler/spec/spec.h', '#include "reader.h"\n'), check_includes,
           'a circle of headers')
    breaks('system_header', lambda t, b: append(t, 'compiler/spec/spec.c', '#include <attnrt.h>\n'),
           check_includes, 'a way round')
    breaks('header_of_kernels', lambda t, b: append(t, 'compiler/host/cache.c', '#include "runtime/kernel/basic.h"\n'),
           check_includes, 'private to runtime')
    breaks('kernel_header_up', lambda t, b: append(t, 'runtime/kernel/basic.h', '#include "../call/call.h"\n'),
           check_includes, 'a circle of headers')
    breaks('no_room', lambda t, b: append(t, 'compiler/spare.c', '/* nothing */\n'), check_includes, 'in no room')
    breaks('symbol_up', lambda t, b: compile_in(t, b, 'compiler/target/target.c',
                                                'extern int passes_run(void);\nint planted(void);\n'
                                                'int planted(void) { return passes_run(); }\n'),
           check_symbols, 'uses passes_run of compiler/pass/pipeline.c')

    def round_about(*paths):
        def change(tree, build):
            for path, mine, other in zip(paths, 'ab', 'ba'):
                compile_in(tree, build, path, f'int planted_a(void), planted_b(void);\n'
                           f'int planted_{mine}(void) {{ return planted_{other}(); }}\n')
        return change

    breaks('circle_of_files', round_about('ir/arena.c', 'ir/dtype.c'), check_symbols, 'a circle of files: ')
    breaks('circle_of_ranks', round_about('runtime/mpi/runs.c', 'runtime/mpi/slice.c'), check_symbols,
           'a circle of files: ')
    for name, text in (('modules', 'from ._kernel import Kernel\n'),
                       ('modules_in_a_function', 'def planted():\n    from . import _kernel\n'),
                       ('modules_by_name', 'def planted():\n    return importlib.import_module("._kernel", __package__)\n'),
                       ('modules_by_package', 'def planted():\n    from attnc import kernel\n')):
        breaks('circle_of_' + name, lambda t, b: append(t, MODULES + '/_arrays.py', text), check_modules,
               'a circle of modules: ')


def main():
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = sys.argv[1] if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else here
    build = sys.argv[2] if len(sys.argv) > 2 else os.environ.get('ATTNC_BUILD', os.path.join(root, 'build'))
    for name, check in CHECKS.items():
        wrong = check(root, build) if check is check_symbols else check(root)
        report(name, not wrong, '; '.join(wrong[:20]))
    report('table', table_shown(root), 'CONTRIBUTING.md shows other arrows than this test')
    if root == here:
        broken_rules(root, build)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
