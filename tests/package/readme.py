#!/usr/bin/python3
"""Tests the documents as a newcomer uses them. Every block is built or run without changes, with an installed
attnc. Blocks of output are compared.

All links must lead to files and headings that exist."""
import glob
import importlib.util
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))

import installed
import quick
from installed import TEXT
from suite import ROOT, WHOLE, Skip, Suite, check, compiler, execute

README, RUNTIME, PYTHON, EXAMPLES, SPECS, MANUAL, CONTRIBUTING = DOCUMENTS = (
    'README.md', 'runtime/README.md', 'runtime/python/README.md', 'examples/README.md', 'specs/README.md',
    'compiler/manual/attnc.md', 'CONTRIBUTING.md')
# the documents whose links are checked
LINKED = DOCUMENTS + ('CHANGELOG.md', 'examples/decode/README.md', 'examples/llama/README.md', 'examples/onnxruntime/README.md',
                      'examples/server/README.md', 'examples/train/README.md', 'tests/peers/README.md',
                      'compiler/manual/spec.md')
FIVE_MINUTES = 'C in five minutes'
USERS_FLAGS = FIVE_MINUTES, 'Python in three lines'
CASES = []
SHOWN = []


def shows(file, title, *words):
    """Registers a case that runs all blocks of a section. `words` are the words after the opening fences of these
    blocks."""
    def register(function):
        CASES.append((function, ()))
        SHOWN.append((file, title, words))
        return function
    return register


def run_by(suite, file, title, *words):
    """Registers blocks that another suite runs."""
    SHOWN.append((file, title, words))


def takes(function, file, title, *words):
    """Registers a case for one of several sections. The case gets the section as arguments."""
    CASES.append((function, (file, title)))
    SHOWN.append((file, title, words))


def case(*arguments):
    def register(function):
        CASES.append((function, arguments))
        return function
    return register


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
        return f.read()


def texts(file, title):
    return [text for _, text in installed.blocks(file, title)]


def said_in(file, pattern):
    """Returns what `pattern` finds in a document. Its sentences may have line ends anywhere."""
    found = re.search(pattern, re.sub(r'\s+', ' ', read(file)))
    check(found, '%s does not say %s' % (file, pattern))
    return found[1]


class Place(installed.Place):
    """A new user's folder. Kernels need not be fast, so `cc` is clang, and it and attnc
    ignore -O2. Sections named USERS_FLAGS do not."""

    def __init__(self, suite, folder):
        super().__init__(suite, folder, 'new')
        self.environment |= {'PATH': suite.quick + ':' + self.environment['PATH']} | suite.short
        self.write('longformer.yaml', texts(README, 'Ten lines of YAML')[0])

    def shell(self, commands, **options):
        if ' ' in self.prefix: # a shell splits pkg-config's output at blanks
            commands = re.sub(r'^(.*\$\(pkg-config.*)$', r'eval "\1"', commands, flags=re.M)
        return self.run(['bash', '-ec', commands], **options)

    def project(self, name, **files):
        """Makes a folder with longformer.yaml and `files`. Returns its path."""
        os.mkdir(self.path(name))
        for file, text in {'longformer.yaml': self.read('longformer.yaml'), **files}.items():
            self.write(os.path.join(name, file), text)
        return self.path(name)


# ---------------------------------------------------------------- all documents

def is_of_dev(word, text):
    """True for a block of only ./dev commands, which `commands_exist` checks."""
    return not word and all(line.startswith('./dev ') for line in text.splitlines())


@case()
def every_block_has_a_case(place):
    for file in DOCUMENTS:
        found = [(title, tuple(word for word, text in installed.blocks(file, title) if not is_of_dev(word, text)))
                 for title, _ in installed.sections(file)]
        found = sorted(f for f in found if f[1])
        wanted = sorted((title, words) for shown, title, words in SHOWN if shown == file)
        check(found == wanted, '%s has the blocks %s; cases take %s' % (
            file, [f for f in found if f not in wanted], [w for w in wanted if w not in found]))
        fences = read(file).count('\n```')
        check(fences == 2 * sum(len(installed.blocks(file, title)) for title, _ in installed.sections(file)),
              file + ' has a fence of another kind')


def anchors(file):
    """Returns the anchors that GitHub gives to the headings."""
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title, _ in installed.sections(file)}


@case()
def links_lead_somewhere(place):
    gone, count = [], 0
    for file in LINKED:
        text = re.sub(r'^```.*?^```', '', read(file), flags=re.M | re.S)
        # The links in spec.md are relative to specs/.
        folder = 'specs' if file == 'compiler/manual/spec.md' else os.path.dirname(file)
        for link in re.findall(r'\]\(([^)\s]+)\)', text):
            if '://' in link:
                continue
            count += 1
            path, _, anchor = link.partition('#')
            target = os.path.normpath(os.path.join(folder, path)) if path else file
            if not os.path.exists(os.path.join(ROOT, target)) or anchor and anchor not in anchors(target):
                gone.append('%s: %s' % (file, link))
    check(count > 80 and not gone, '%d links; nowhere lead %s' % (count, gone))


@case()
def the_gallery_leads_somewhere(place):
    """Links and pictures of generated/gallery/ are files of this tree, and headings of the reference."""
    gone, count = [], 0
    for file, pattern in ('index.html', r'(?:href|src)="([^"]+)"'), ('README.md', r'\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"'):
        for found in re.finditer(pattern, read('generated', 'gallery', file)):
            path, _, anchor = (found[1] or found[2]).partition('#')
            target = os.path.normpath(os.path.join('generated/gallery', path))
            count += 1
            if not os.path.exists(os.path.join(ROOT, target)) or anchor and anchor not in anchors(target):
                gone.append('%s: %s' % (file, found[0]))
    check(count > 500 and not gone, '%d links; nowhere lead %s' % (count, gone))


@case()
def paths_exist(place):
    """Every file that the documents name as code exists."""
    gone = []
    for file in DOCUMENTS:
        text = re.sub(r'^```.*?^```', '', read(file), flags=re.M | re.S)
        for path in re.findall(r'`((?:ir|runtime|compiler|specs|generated|tests|examples)/[\w./-]*)`', text):
            if not os.path.exists(os.path.join(ROOT, path)):
                gone.append('%s: %s' % (file, path))
    check(not gone, 'there are no %s' % gone)


@case()
def commands_exist(place):
    """The documents name only commands and options of attnc and ./dev that exist."""
    usage = execute([os.path.join(ROOT, 'dev'), 'help'], cwd=place.folder).stdout
    known = set(re.findall(r'^  (\w+)', usage, flags=re.M))
    commands = set(re.findall(r'attnc ([a-z]+)', place.run(['attnc', '--help']).stdout.split('\n\n')[0]))
    manual = read('generated', 'man', 'attnc.1').replace('\\-', '-')
    wrong, named = [], set()
    for file in DOCUMENTS:
        text = read(file)
        wrong += ['%s: ./dev %s' % (file, word) for word in re.findall(r'\./dev (\w+)', text) if word not in known]
        shown = ''.join(block for title, _ in installed.sections(file)
                        for kind, block in installed.blocks(file, title) if not kind)
        for line in re.findall(r'`attnc ([^`]*)`', text) + re.findall(r'^attnc (.*)', shown, flags=re.M):
            word = line.split()[0]
            named.add(word)
            if re.fullmatch(r'[a-z]+', word) and word not in commands and not os.path.exists(
                    os.path.join(ROOT, 'specs', word + '.yaml')):
                wrong.append('%s: attnc %s' % (file, word))
            wrong += ['%s: %s of attnc %s' % (file, option, line) for option in re.findall(r'(?<!\S)--?[A-Za-z]+', line)
                      if not re.search(r'^\.B(?:R)? %s\b' % option, manual, flags=re.M)]
    check(not wrong and {'explain', 'check', 'bench', 'tune', 'run'} <= named,
          'wrong: %s; named: %s' % (wrong, sorted(named)))


@case()
def variants_and_papers(place):
    """The table of variants has each spec and its paper."""
    rows = [[cell.strip() for cell in line.strip('|\n').split('|')]
            for line in dict(installed.sections(SPECS))['Variants'].splitlines() if line.startswith('|')][2:]
    there = sorted(os.path.basename(f)[:-5] for f in glob.glob(os.path.join(ROOT, 'specs', '*.yaml')))
    check([link for link, *_ in rows] == ['[%s](%s.yaml)' % (name, name) for name in there],
          'the table is not that of specs/')
    for link, variant, source in rows:
        check(variant, link + ' does not say what it is')
        check(re.search(r'\w+,? [^()]*\([\w ]+ \d{4}\)', source) or 'thesis' in source
              or link.startswith('[packed_documents]'), '%s: it does not say where it appeared: %s' % (link, source))
    for command in re.findall(r'`attnc ([a-z]+)', dict(installed.sections(SPECS))['Variants']):
        place.run(['attnc', command] + (['softmax'] if command == 'show' else []))
    check(os.path.isfile(place.prefix + '/share/attnc/specs/softmax.yaml'), 'no share/attnc/specs')


# ---------------------------------------------------------------- speed

@case()
def figures_of_peers(place):
    """The table in README.md has five ratios of the table in tests/peers/README.md."""
    def table(*path):
        text = read(*path).split('<!-- table: written by tests/peers/run.py --write -->\n')[1].split(
            '<!-- end of the table -->')[0].splitlines()
        return text[0], [[cell.strip() for cell in line.strip('|').split('|')] for line in text if line.startswith('| ')]
    (machine, rows), (wanted, (heads, _, *jobs)) = table(README), table('tests', 'peers', 'README.md')
    check(machine == wanted, 'other machines: %s and %s' % (machine, wanted))
    cells = {(job[0], head.split(' / ')[0]): cell for job in jobs for head, cell in zip(heads, job)}
    check(len(rows) == 2 + 5, 'not five rows: %s' % rows[2:])
    for job, form, _, _, ratio in rows[2:]:
        library, name = form.split(': ', 1)
        check('%s (%s)' % (ratio, name) in cells[job, library], '%s, %s: not in tests/peers/README.md' % (job, form))
    libraries = {row[1].split(':')[0] for row in rows[2:]}
    check(libraries == {'PyTorch', 'JAX', 'OpenBLAS'}, 'the libraries are %s' % sorted(libraries))


@case()
def comparison_starts(place):
    """tests/peers/run.py leaves out missing libraries, and says why."""
    build = os.path.dirname(os.path.abspath(place.suite.attnc))
    done = execute([sys.executable, os.path.join('tests', 'peers', 'run.py'), '--quick', '--only', 'no such job'],
                   cwd=ROOT, env=dict(os.environ, ATTNC_BUILD=build), timeout=300)
    check(done.returncode == 1, 'exit status %d, though nothing was measured' % done.returncode)
    check('exit status' not in done.stdout + done.stderr, done.stderr)
    started = re.findall(r'^peers: (\w+) left out: ', done.stderr, re.M) + done.stdout.splitlines()[0].split('; ')
    check(len(started) >= 5, 'some libraries neither started nor were left out: %s' % done.stderr)


# ---------------------------------------------------------------- the demo

@shows(EXAMPLES, 'The demo', '')
def the_demo(place):
    program = os.path.join(os.path.dirname(place.suite.attnc), 'examples', 'next_byte', 'next_byte')
    if not os.path.exists(program):
        raise Skip('the demo is not built')
    command, shown = texts(EXAMPLES, 'The demo')
    check(command == './dev demo\n', command)
    table, text = shown.split('\n\n', 1)
    # A short text has the same rows. `./dev test whole` predicts the whole text.
    said = place.run([program, TEXT, *([] if WHOLE else ['--bytes', '2048'])], timeout=600).stdout.splitlines()
    head, *rows = table.splitlines()
    first = next((i for i, line in enumerate(said) if line.split() == head.split()), None)
    check(first is not None, 'no line is ' + head)
    for shown, line in zip(rows, said[first + 1:]):
        pattern = r'(.*?) +([0-9.]+)% +([0-9.]+) ms +([0-9.]+)x +([0-9.e+-]+)$'
        one, two = re.match(pattern, shown), re.match(pattern, line)
        check(one and two and one[1] == two[1], 'shown %s\nsaid %s' % (shown, line))
        if WHOLE:
            check(abs(float(one[2]) - float(two[2])) < 0.4, 'shown %s\nsaid %s' % (shown, line))
            check(float(one[5]) / 3 < float(two[5]) < float(one[5]) * 3, 'another error: %s\n%s' % (shown, line))
        first_time = re.match(pattern, rows[0])[3]
        check(abs(float(first_time) / float(one[3]) - float(one[4])) < 0.06,
              'not the speed against the first row: ' + shown)
    check(not said[first + 1 + len(rows)], 'more rows than shown')
    if not WHOLE: return
    shown = text.splitlines()
    at = said.index(shown[0]) if shown[0] in said else None
    check(at is not None and said[at:at + len(shown):2] == shown[::2], 'the text is another')
    # if two bytes are equally likely, another processor may predict the other
    pairs = [(a, b) for one, two in zip(shown[1::2], said[at + 1::2]) for a, b in zip(one.ljust(80), two.ljust(80))]
    check(sum('^' in pair for pair in pairs) > 50 and sum(a != b for a, b in pairs) <= 4, 'other bytes are foreseen')
    check('Its most frequent byte alone predicts %s' % said_in(
        EXAMPLES, r'most frequent byte each time \(([0-9.]+%)\)') in '\n'.join(said), 'the most frequent byte')


# ---------------------------------------------------------------- spec and kernel

@shows(README, 'Ten lines of YAML', 'yaml')
def a_spec_that_ships(place):
    check(read('specs', 'longformer.yaml') == place.read('longformer.yaml'), 'it is not specs/longformer.yaml')
    check(len(place.read('longformer.yaml').splitlines()) <= 10, 'more than ten lines')




@shows(README, FIVE_MINUTES, '', 'c', '')
def a_kernel_in_five_minutes(place):
    """Follows README.md with nothing installed. attnc is in the build folder."""
    build, program, commands = texts(README, FIVE_MINUTES)
    check([line.split('#')[0].strip() for line in build.splitlines()] == [
        './dev build', 'export PATH="$PWD/build:$PATH"'], 'other commands: ' + build)
    os.mkdir(place.path('own'))
    place.write('own/program.c', program)
    bare = {'PATH': os.path.dirname(place.suite.attnc) + ':' + os.environ['PATH'], 'PKG_CONFIG_PATH': '/none'}
    done = place.shell(commands.replace('cc ', 'cc -Wall -Wextra -Wpedantic -Werror '), cwd=place.path('own'), env=bare)
    check(done.stdout == printed() + '\n', 'printed ' + done.stdout)
    check(sorted(os.listdir(place.path('own'))) == ['a.out', 'longformer.c', 'longformer.h', 'longformer.yaml',
                                                    'program.c'], 'made %s' % os.listdir(place.path('own')))
    check(place.read('own/longformer.yaml') == place.read('longformer.yaml'), 'attnc show gives another spec')


def printed():
    return said_in(README, r'It prints `(.*?)`')


run_by('install', EXAMPLES, 'Examples', '', '')
run_by('install', EXAMPLES, 'meson', '', 'ini', 'meson')
run_by('install', EXAMPLES, 'cmake', '', 'cmake')
for name in 'make', 'cpp', 'standalone':
    run_by('install', EXAMPLES, name, '')


@shows(EXAMPLES, 'In your own build', '', 'cmake', 'meson', 'make')
def a_kernel_in_your_build(place):
    """Follows the instructions to build by hand, and with CMake, Meson and make."""
    place.needs('cmake', 'meson', 'make')
    hand, cmake, meson, make = texts(EXAMPLES, 'In your own build')
    lines = cmake.splitlines()
    check(lines[0].startswith('find_package') and len(lines) == 2, 'CMake: ' + cmake)
    lists = ('cmake_minimum_required(VERSION 3.20)\nproject(x C)\n%s\n'
             'add_executable(program program.c)\n%s\n' % tuple(lines))
    check(hand.count('\ncc ') == 1, 'no command of cc')
    for name, files, commands in (('hand', {}, hand + './a.out'),
                                  ('cmake', {'CMakeLists.txt': lists},
                                   'cmake -S . -B build\ncmake --build build\nbuild/program'),
                                  ('meson', {'meson.build': "project('x', 'c')\n" + meson},
                                   'meson setup build\nninja -C build\nbuild/program'),
                                  ('make', {'Makefile': make}, 'make\n./program')):
        done = place.shell(commands, cwd=place.project(name, **{'program.c': texts(README, FIVE_MINUTES)[1], **files}))
        check(done.stdout.endswith(printed() + '\n'), '%s: %s' % (name, done.stdout[-300:]))


@case()
def standalone_and_set_follow(place):
    """Tests the keywords of attnc_add_kernel() that examples/README.md lists."""
    place.needs('cmake')
    words = said_in(EXAMPLES, r'CMake [\d.]+; (.*?) may follow:')
    check({'TARGETS', 'SET', 'STANDALONE'} <= set(re.findall(r'`(\w+)', words)), words)
    line = texts(EXAMPLES, 'In your own build')[1].splitlines()[1].replace(
        ')', ' TARGETS generic SET mask=none STANDALONE)')
    folder = place.project('more', **{
        'program.c': '#include "longformer.h"\nint main(void) { return longformer_kernel.head_dim != 64; }\n',
        'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.20)\nproject(x C)\n'
                          'find_package(attnc REQUIRED)\nadd_executable(program program.c)\n%s\n' % line})
    place.shell('cmake -S . -B build\ncmake --build build\nbuild/program', cwd=folder)
    made = glob.glob(folder + '/build/**/longformer.c', recursive=True)
    check(len(made) == 1, 'made: %s' % made)
    with open(made[0]) as f:
        text = f.read()
    check("--set 'mask=none'" in text and 'TARGET_v4' not in text and '<attnrt' not in text,
          'options were lost: ' + text[:600])


# ---------------------------------------------------------------- calling a kernel from C

@shows(RUNTIME, 'Forward', 'c')
def forward(place):
    """The declarations in runtime/README.md are those of an emitted header."""
    words = lambda text: ' '.join(re.sub(r'([()])', r' \1 ', text).split())
    place.run(['attnc', 'longformer.yaml', '--quiet'])
    header = words(place.read('longformer.h'))
    for declaration in words(texts(RUNTIME, 'Forward')[0].replace('NAME', 'longformer')).split(';')[:-1]:
        check(declaration.strip() in header, 'longformer.h does not declare ' + declaration)


@shows(RUNTIME, 'Threads', 'c')
def threads(place):
    """Runs the program of README.md on a team of threads."""
    program = texts(README, FIVE_MINUTES)[1]
    team = re.sub(r'(?=\nint main)', '\n' + texts(RUNTIME, 'Threads')[0], program, count=1)
    team = team.replace('.n_k = N};', '.n_k = N, .team = &team, .threads = 2};')
    check(team.count('team') > program.count('team') + 2, 'the program has no problem')
    place.write('program.c', team)
    place.shell('attnc longformer.yaml --standalone\ncc -O2 -c longformer.c\n'
                'cc -Wall -Wextra -Wpedantic -Werror -fopenmp program.c longformer.o -lm')
    check(place.run([place.path('a.out')]).stdout == printed() + '\n', 'another result')


@shows(RUNTIME, 'One sequence over several ranks', 'c')
def ranks(place):
    """Compiles the lines of runtime/README.md as the body of a function."""
    if not shutil.which('mpicc') or not os.path.exists(os.path.join(place.prefix, 'include', 'attnrt_mpi.h')):
        raise Skip('there is no MPI')
    include, lines = texts(RUNTIME, 'One sequence over several ranks')[0].replace('NAME', 'longformer').split('\n\n', 1)
    place.run(['attnc', 'longformer.yaml', '--quiet'])
    head = ('static inline int all(struct attn_problem problem, const void *params, const float *q, const float *k,\n'
            '    const float *v, float *out, void *workspace, int64_t my_tokens)\n')
    place.write('ranks.c', include + '\n#include "longformer.h"\n' + head + '{\n' + lines + '\nreturn error;\n}\n')
    place.shell('mpicc -Wall -Wextra -Werror -c ranks.c $(pkg-config --cflags attnrt_mpi)')


def program_in_c(place, file, title):
    """The program prints what the document says."""
    program, commands = texts(file, title)
    name = re.search(r'-o (\w+)$', commands, flags=re.M)[1]
    place.write(name + '.c', program)
    done = place.shell(commands.replace('cc ', 'cc -Wall -Wextra -Wpedantic -Werror '))
    section = ' '.join(dict(installed.sections(file))[title].split())
    wanted = re.search(r'It prints `(.*?)`', section)[1]
    check(done.stdout == wanted + '\n' and '`%s.c`' % name in section, '%s printed %s' % (name, done.stdout))


for title in 'Gradients', 'Positions of queries', 'Masks that several calls share', 'Results for parts of the keys', 'Decoding':
    takes(program_in_c, RUNTIME, title, 'c', '')


# ---------------------------------------------------------------- Python

def python(place, file, title):
    blocks = [text for word, text in installed.blocks(file, title) if word == 'python']
    for name in 'torch', 'jax':
        wanted = any(re.search(r'^import %s\b' % name, text, flags=re.M) for text in blocks)
        if wanted and not importlib.util.find_spec(name):
            raise Skip('this Python has no %s; tests/python installs one' % name)
    for text in blocks:
        place.run([sys.executable, '-c', text], timeout=300, env={
            'ATTNC_CFLAGS': '' if title in USERS_FLAGS else '-O0',
            'ATTNC': place.suite.attnc, 'PYTHONPATH': os.path.join(ROOT, 'runtime', 'python'), 'JAX_PLATFORMS': 'cpu'})


takes(python, README, 'Python in three lines', '', 'python')
takes(python, PYTHON, 'NumPy', 'python', 'python')
for title in 'PyTorch', 'scaled_dot_product_attention', 'FlexAttention', 'Models that exist', 'transformers', 'JAX', 'Results for parts of the keys':
    takes(python, PYTHON, title, 'python')
takes(python, PYTHON, 'Sequences that grow', 'python', 'python', 'python')
run_by('include_rules', CONTRIBUTING, 'Folders', '')
run_by('python', PYTHON, 'attnc for Python', '')
run_by('python', PYTHON, 'One sequence over several processes', 'python')
run_by('install', EXAMPLES, 'mpi', '')


@case()
def python_in_three_lines(place):
    install, lines = texts(README, 'Python in three lines')
    check([install] == texts(PYTHON, 'attnc for Python') == ['pip install .\n'], 'it is installed by ' + install)
    check(len(lines.splitlines()) == 3, 'more than three lines')


@shows(PYTHON, 'One kernel without this package', '', 'python')
def a_module_of_one_kernel(place):
    commands, lines = texts(PYTHON, 'One kernel without this package')
    place.shell(commands)
    place.write('user.py', '''import numpy as np
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal((1, h, 600, 64)).astype(np.float32) for h in (4, 2, 2))
dout = np.ones_like(q)
%s
i, j = np.indices((600, 600))
seen = (abs(i - j) <= 256) | (i == 0) | (j == 0)
weight = np.where(seen, np.exp(np.einsum('hid,hjd->hij', q[0].astype(float), k[0].repeat(2, 0)) / 8), 0)
weight /= weight.sum(-1, keepdims=True)
right = weight @ v[0].repeat(2, 0)
assert np.abs(out[0] - right).max() < 1e-5, np.abs(out[0] - right).max()
right = weight.sum(1).reshape(2, 2, 600).sum(1)
assert np.abs(dv[0, :, :, 5] - right).max() < 1e-3, np.abs(dv[0, :, :, 5] - right).max()
help(longformer.forward)
try:
    longformer.forward(q, k[..., :32], v)
except ValueError as error:
    print('refused:', error)
''' % lines)
    said = place.run([sys.executable, 'user.py']).stdout
    check(re.search(r'refused: .*\bk\b.*32', said) and 'n_q' in said, said)


# ---------------------------------------------------------------- specs and the command line

@shows(SPECS, 'The spec language', 'yaml')
def the_spec_language(place):
    place.write('p.yaml', texts(SPECS, 'The spec language')[0])
    place.run(['attnc', 'p.yaml', '--quiet'])
    check(os.path.isfile(place.path('polynomial_p4.c')), 'there is no polynomial_p4.c')
    for setting in re.findall(r'`--set ([^`]*)`', dict(installed.sections(SPECS))['The spec language']):
        spec = {'mask.window.left': 'sliding_window', 'prepare.0.rope.base': 'softmax_softcap'}.get(
            setting.split('=')[0], 'p.yaml')
        place.run(['attnc', spec, '--set', setting, '--quiet'])


def section_of_a_key(place, file, title):
    for spec in texts(file, title)[::2]:    # its formula follows a spec
        check(len(spec.splitlines()) <= 8, '%s: the spec has more than eight lines' % title)
        place.write('a.yaml', spec)
        place.run(['attnc', 'a.yaml', '--quiet'])
        place.run(['attnc', 'check', 'a.yaml', '--lengths', '33', '--quiet'])


for title in ('Arrays', 'Sums and output', 'Running sums', 'Decay', 'The delta rule', 'The best keys of a row', 'Projection',
              'Stored types'):
    takes(section_of_a_key, SPECS, title, 'yaml', '')
takes(section_of_a_key, SPECS, 'Scores', 'yaml', '', 'yaml', '')


@shows(RUNTIME, 'Drafts', 'yaml', 'yaml')
def drafts(place):
    for name, spec in zip(('plain', 'rotated'), texts(RUNTIME, 'Drafts')):
        place.write(name + '.yaml', spec)
        place.run(['attnc', name + '.yaml', '--quiet'])
        check('int %s_state_keep(' % name in place.read(name + '.h'), name + ' keeps no path')


@shows(CONTRIBUTING, 'How a spec becomes C', 'yaml', '', '')
def how_a_spec_becomes_c(place):
    spec, command, shown = texts(CONTRIBUTING, 'How a spec becomes C')
    place.write('square.yaml', spec)
    check(place.shell(command).stdout.endswith(shown), 'the graph is another')


@case()
def commands_of_attnc(place):
    import numpy as np
    help = place.run(['attnc', '--help']).stdout
    lines = re.findall(r'^(?:usage:)? +(attnc .*?)(?:  .*)?$', help.split('\n\n')[0], flags=re.M)
    check(len(lines) == 9, 'lines: %s' % lines)
    os.mkdir(place.path('in'))
    for name, heads in ('q', 4), ('k', 2), ('v', 2):
        np.save(place.path('in', name + '.npy'), np.ones((1, heads, 20, 64), np.float32))
    for usage in lines:
        for command in usage.split(' | '):
            command = command.replace('[options] ', '').replace('[WORD]', 'window').replace('[COMMAND]', 'bench').replace('SPEC.yaml...', 'SPEC.yaml').replace(
                'SPEC', 'longformer').replace('--in DIR', '--in in').replace('--out DIR', '--out out').replace(
                'NAME', 'softmax')
            place.shell(command + (' --lengths 128 --time 0.01' if ' bench ' in command
                                   else ' --shape n=64 --time 5' if ' tune ' in command else ''))
    check(np.allclose(np.load(place.path('out', 'out.npy')), 1), 'attnc run')
    for status, argv in (0, ['list']), (1, ['none.yaml']), (2, ['--none']):
        place.run(['attnc', *argv], status=status)


@case()
def figures_that_commands_print(place):
    """Sizes and bytes that documents state are those that commands print."""
    place.needs('gcc', 'size')
    said = re.search(r'shrinks from (\d+) KB to (\d+) KB \(gcc (\d+)\)', re.sub(r'\s+', ' ', read(EXAMPLES)))
    version = place.run(['gcc', '-dumpversion']).stdout.split('.')[0]
    for kilobytes, options in zip(map(int, said.groups()), ([], ['--target', 'x86-64-v3'])):
        if version != said[3] or os.uname().machine != 'x86_64': break   # another compiler makes other code
        place.run(['attnc', 'longformer', *options, '--quiet'])
        place.run([shutil.which('gcc'), '-O2', '-fopenmp', '-I', os.path.join(ROOT, 'runtime'), '-c', 'longformer.c'])
        text = int(place.run(['size', 'longformer.o']).stdout.split('\n')[1].split()[0])
        check(abs(text / 1024 - kilobytes) < 0.03 * kilobytes, 'longformer.o has %.0f KB of code, not %d' % (text / 1024, kilobytes))
    place.write('narrow.yaml', 'similarity: softmax\nshape: {head_dim: 8}\n')
    for pattern, options in ((r'`shape: \{head_dim: 8\}` needs ([\d,]+) bytes', []),
                             (r'max_length: 16\}` ([\d,]+)\.', ['--set', 'shape.max_length=16'])):
        text = place.run(['attnc', 'explain', 'narrow.yaml', '--target', 'x86-64-v4', *options]).stdout
        bytes_of = re.search(r'workspace on x86-64-v4 *\n +\d+ +(\d+)', text)[1]
        check(said_in('specs/README.md', pattern).replace(',', '') == bytes_of, 'the workspace has %s bytes' % bytes_of)


@shows(MANUAL, 'Measure kernels', '', '')
def measure_kernels(place):
    """Runs the commands of the manual with shorter lengths."""
    for command, lengths in zip(texts(MANUAL, 'Measure kernels'), ('1k..64k', '1k..32k')):
        check('--lengths %s ' % lengths in command, 'other lengths')
        place.shell(command.replace(lengths, '128..256').rstrip() + ' --time 0.01')
    check('<svg' in place.read('time.svg') and '<svg' in place.read('tokens.svg'), 'no picture')
    points = json.loads(place.read('all.json'))
    check('polysketch_r32_local' in json.dumps(points), 'no figures')


@shows(MANUAL, 'Tune schedules', '')
def tune_schedules(place):
    """Runs the commands of the manual with shorter lengths and less time."""
    search, take = texts(MANUAL, 'Tune schedules')[0].rstrip().split('\n')
    check('n=4k..16k,heads=8 --time 600' in search, 'another search')
    place.shell(search.replace('n=4k..16k,heads=8 --time 600', 'n=64..128,heads=2 --time 15')
                + ' --samples 3 --trials 4')
    place.shell(take)
    check('schedule' in place.read('longformer.tuned.yaml') and '<html' in place.read('tuned.html'),
          'no schedule, or no page')
    help = place.run(['attnc', 'tune', '--help']).stdout
    for word in re.findall(r'`(--[a-z]+)',
                           dict(installed.sections(MANUAL))['Tune schedules']):
        check(word in help or word == '--tuned', 'attnc tune --help does not name ' + word)


@shows(MANUAL, 'Compile a graph', '', '')
def compile_a_graph(place):
    commands, graph = texts(MANUAL, 'Compile a graph')
    check(commands.count('--backward\n') == 1, 'no attnc check')
    place.write('two.graph', graph)
    place.shell(commands.replace('--backward\n', '--backward --lengths 17\n')
                + 'attnc check two.graph --backward --lengths 17\n')


@shows(MANUAL, 'Examples', '')
def examples_of_the_manual(place):
    place.write('program.c', '#include "my.h"\nint main(void) { return my_kernel.head_dim != 64; }\n')
    os.mkdir(place.path('src'))
    lines = texts(MANUAL, 'Examples')[0]
    check(lines.count('sketch=64\n') == 1, 'no attnc check')
    lines = lines.replace('sketch=64\n', 'sketch=64 --lengths 17\n')   # one length, because the interpreter is slow
    picture = 'dot -Tsvg my.dot -o my.svg\n'
    check(picture in lines, 'no picture')
    place.shell(lines.replace(picture, '') + './a.out')
    check('attention' in json.loads(place.read('my.json'))['description'] and os.path.isfile(place.path('src', 'my.d')),
          'files are missing')
    place.needs('dot')
    place.shell(picture)


def one(folder, suite, function, *arguments):
    return function(Place(suite, folder), *arguments)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.quick = os.path.join(suite.folder, 'quick')
    os.mkdir(suite.quick)
    with open(suite.quick + '/cc', 'w') as f: f.write('#!/bin/sh\nexec %s "$@" -O0\n' % compiler('clang'))
    os.chmod(suite.quick + '/cc', 0o755)
    suite.short = {} if suite.options.list else quick.short()
    for function, arguments in CASES:
        name = '-'.join([function.__name__, *arguments[1:]])
        suite.case(name.replace(' ', '_'), one, suite, function, *arguments)
    if not suite.options.list:
        # The test installs to a folder instead of /usr/local.
        command = said_in(EXAMPLES, r'`(sudo meson install .*?)`')
        failed = installed.install(suite, 'sudo() { "$@"; }\n' + command, folder='installed')
        if failed:
            print('FAIL install ' + failed)
            print('0 passed, 1 failed')
            return 1
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
