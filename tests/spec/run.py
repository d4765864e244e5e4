#!/usr/bin/env python3
"""Tests the spec reader on good and bad specs: run.py [--update] [ATTNC] [--only CASE]

- bad/NAME.yaml, or a graph bad/NAME.graph, must give exactly bad/NAME.stderr, status 1 and no file.
- good/NAME.yaml must be accepted, with exactly the warnings of good/NAME.stderr, or none. It may be "not compiled yet".
- NAME.set has --set options, one a line.

ATTNC defaults to $ATTNC. --update rewrites the expected files."""
import fnmatch, os, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
update = '--update' in sys.argv
arguments = [a for a in sys.argv[1:] if a != '--update']
only = ''
if '--only' in arguments[:-1]:
    at = arguments.index('--only')
    only = arguments[at + 1]
    del arguments[at:at + 2]
attnc = os.path.abspath(arguments[0] if arguments else os.environ['ATTNC'])
passed = failed = 0


def is_chosen(name):
    return fnmatch.fnmatch(name, '*%s*' % only)


def result(name, why):
    global passed, failed
    if why is None: passed += 1; print('ok', name)
    else: failed += 1; print('FAIL', name, why)


def run(folder, spec, options=()):
    """Returns the exit status, standard error, and the files written."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([attnc, spec, '-o', out, *options], cwd=folder, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stderr, sorted(os.listdir(out))


def specs(folder):
    return sorted(f.rsplit('.', 1)[0] for f in os.listdir(os.path.join(here, folder)) if f.endswith(('.yaml', '.graph')))


def file_of(folder, name):
    graph = name + '.graph'
    return graph if os.path.exists(os.path.join(here, folder, graph)) else name + '.yaml'


def options(folder, name):
    path = os.path.join(here, folder, name + '.set')
    if not os.path.exists(path): return []
    with open(path) as f: return [word for line in f.read().splitlines() for word in ('--set', line)]


def refused(status, written):
    if status != 1: return 'status %d' % status
    return 'wrote ' + ' '.join(written) if written else None


def other_words(folder, name, errors, without):
    """Returns why the diagnostics differ from NAME.stderr, or None. If there is no such file, they must equal
    `without`."""
    path = os.path.join(here, folder, name + '.stderr')
    if update and errors != without:
        with open(path, 'wb') as f: f.write(errors)
    expected = without
    if os.path.exists(path):
        with open(path, 'rb') as f: expected = f.read()
    return None if errors == expected else 'other diagnostics than in %s.stderr:\n%s' % (
        name, errors.decode(errors='replace'))


def bad(name):
    if not is_chosen('bad/' + name): return
    status, errors, written = run(os.path.join(here, 'bad'), file_of('bad', name), options('bad', name))
    result('bad/' + name, refused(status, written) or other_words('bad', name, errors, None))


def good(name):
    if not is_chosen('good/' + name): return
    status, errors, written = run(os.path.join(here, 'good'), file_of('good', name), options('good', name))
    lines = [x for x in errors.decode(errors='replace').splitlines() if ': error: ' in x]
    if status == 0: result('good/' + name, other_words('good', name, errors, b'') if written else 'wrote nothing')
    elif status == 1 and lines and all('not compiled yet' in x for x in lines):
        result('good/' + name, refused(status, written))
    else: result('good/' + name, 'status %d\n%s' % (status, errors.decode(errors='replace')))


def made(name, content, *words):
    """Tests a spec that is too large for a file in the tree. Its diagnostics must contain the given words."""
    if not is_chosen('made/' + name): return
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'made.yaml'), 'wb') as f:
            for part in content: f.write(part)
        status, errors, written = run(folder, 'made.yaml')
    why = refused(status, written)
    for word in words:
        if why is None and word.encode() not in errors:
            why = 'no %r in:\n%s' % (word, errors[:1000].decode(errors='replace'))
    if why is None and len(errors) > 100000: why = 'says %d bytes' % len(errors)
    result('made/' + name, why)


for name in specs('bad'): bad(name)
for name in specs('good'): good(name)
head = b'similarity: softmax\nshape: {head_dim: 64}\n'
made('huge_file', (b'# a comment that goes on\n' * 4096 for _ in range(1024)), 'made.yaml: error:', 'larger than')
made('over_limit', [head, b'#' * (1 << 20)], 'made.yaml: error:', 'larger than')
made('deep_flow', [head, b'mask: ' + b'[' * 10000 + b']' * 10000], 'made.yaml:3:', 'nested more than 100 deep')
made('deep_maps', [head, b'mask: ' + b'{not: ' * 10000 + b'causal' + b'}' * 10000], 'nested more than 100 deep')
made('deep_block', [head, b'mask:\n'] + [b' ' * (i + 1) + b'not:\n' for i in range(1000)], 'nested more than 100 deep')
made('many_steps', [head, b'prepare: [' + b', '.join([b'layernorm'] * 1000) + b']\n'], 'made.yaml:3:',
     "'prepare' has 1000 steps; the maximum is 32")
made('many_tokens', [head, b'mask: {global: {tokens: [' + b', '.join(b'%d' % i for i in range(10000)) + b']}}\n'],
     'made.yaml:3:', "'tokens' has 10000 tokens; the maximum is 1024")
made('many_masks', [head, b'mask: {any: [' + b', '.join([b'causal'] * 1000) + b']}\n'], 'made.yaml:3:',
     'there are more than 256 masks')
made('many_keys', [head] + [b'key_%d: %d\n' % (i, i) for i in range(5000)], "unknown key 'key_0'",
     'errors that are not shown: 4900')
made('same_key', [head] + [b'mask: none\n'] * 5000, "the key 'mask' is given twice", 'errors that are not shown')
made('long_key', [head, b'k' * 100000 + b': 1\n'], 'error')
made('long_word', [b'similarity: ' + b'w' * 100000 + b'\nshape: {head_dim: 64}\n'], 'unknown similarity')
made('alias_bomb', [b'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n']
     + [b'a%d: &a%d [%s]\n' % (i, i, b', '.join([b'*a%d' % (i - 1)] * 10)) for i in range(1, 30)],
     'aliases expand to more than 100000 values')
made('mask_bomb', [head, b'mask:\n  any:\n    - &m0 causal\n'] +
     [b'    - &m%d {any: [%s]}\n' % (i, b', '.join([b'*m%d' % (i - 1)] * 10)) for i in range(1, 9)],
     'aliases expand to more than 100000 values')
made('many_anchors', [head, b'mask:\n  any:\n'] + [b'    - &a%d causal\n' % i for i in range(2000)],
     'more than 1000 anchors')
made('many_aliases', [head, b'mask:\n  any:\n    - &a causal\n'] + [b'    - *a\n'] * 60000 + [b'    - *b\n'],
     "the alias '*b' has no anchor")
mask = b'similarity: softmax\nshape: {head_dim: 64}\nmask: {expr: "'
made('expression_long', [mask, b'j + ' * 2000, b'j"}'], 'made.yaml:3:15: error: the expression has more than 4096 bytes')
made('expression_tokens', [mask, b'j+' * 1000, b'j"}'], 'error: the expression has more than 1000 names, numbers and signs')
made('expression_deep', [mask, b'(' * 2000, b'j', b')' * 2000, b'"}'],
     'made.yaml:3:65: error: parentheses more than 50 deep')
made('expression_calls', [mask, b'floor(' * 60, b'j', b')' * 60, b'"}'], 'error: parentheses more than 50 deep')
made('expression_signs', [mask, b'-!' * 60, b'j"}'], "error: more than 50 ")
made('expression_choices', [mask, b'j?i:' * 60, b'j"}'], "error: more than 50 '?' in one expression")
made('expression_choices_inside', [mask, b'j?' * 60, b'i', b':j' * 60, b'"}'],
     "error: more than 50 '?' in one expression")
made('expression_number', [mask, b'9' * 4000, b'"}'], 'does not fit 64 bits')
made('expressions_many', [head, b'mask:\n  any:\n'] + [b'  - expr: j < %d\n' % i for i in range(300)],
     'more than 200 expressions in one spec')
made('zeros', [bytes(100000)], 'made.yaml:1:1: error: control character U+0000')
if not passed + failed:
    print('no case matches %r' % only)
    sys.exit(2)
print('%d passed, %d failed' % (passed, failed))
sys.exit(1 if failed else 0)
