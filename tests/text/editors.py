#!/usr/bin/python3
"""Tests files for editors and shells: the JSON Schema of the spec language, the completions, the manual."""
import fnmatch
import glob
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../cli', '../numeric/lib', '../lib')]

import yaml

import definitions
from cases import SOFTMAX, Place
from suite import ROOT, Skip, Suite, check, execute, header_of_runtime

COMPLETIONS = os.path.join(ROOT, 'compiler', 'install', 'completions')
MANUAL = os.path.join(ROOT, 'generated', 'man')
BUILD = os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build'))
CASES = []


def case(function):
    CASES.append(function)
    return function


# ---------------------------------------------------------------- the schema

# {rule that a schema cannot express: bad specs that the schema accepts}. The schema refuses all other bad specs.
BEYOND = {
    'what stands in an expression is text': ['expression_*', 'mask_of_s*', 'mask_reals*', 'rope_angle_heads', 'delta_names',
                                             'array_open', 'array_subscripts', 'decay_names', 'delta_erase_*', 'score_rows', 'score_after', 'score_heads', 'running_of_other',
                                             'decay_features', 'decay_sketch', 'array_names', 'array_of_parameter'],
    'the reader of YAML tells: keys there twice, leading zeros, other encodings, NUL': [
        'duplicate_key', 'duplicate_option', 'leading_zero', 'utf16', 'escaped_zero'],
    'JSON has no NaN, and 64.0 is an integer there': ['nan', 'head_dim_real'],
    "the file's name and --set are not in the file": ['file-name', 'overrides'],
    'words that C or a header has taken': ['name_attn_*', 'name_header', 'name_header_inside', 'name_keyword'],
    'one number depends on another': ['coefficients_count', 'number_of_dtype', 'rope_base', 'values_longer',
                                      'mask_blocks_differ', 'storage_blocks', 'storage_prepared_values'],
    'a key needs or excludes another': ['arrays_halves', 'delta_top', 'jvp_*', 'dropout_not_there', 'rope_angle_base', 'delta_blocks', 'delta_project', 'delta_sink',
                                          'decay_project', 'project_arrays', 'storage_backward', 'storage_dtype',
                                          'storage_values', 'delta_write_softmax', 'delta_write_values',
                                          'output_without_sums', 'sums_without_output', 'weights_of_sums'],
    'the value of an expression': ['rope_angle_infinite', 'sink_constant'],
    'whether there is a linear form, and what knobs do something, is for the compiler to find': [
        'linear_*', 'schedule_chunk_of_block', 'dropout_linear', 'delta_storage_decode', 'storage_sums',
        'running_of_two_masks', 'top_by_decayed_elements'],
    'whether a query sees only what came before it, too': ['decode_*', 'array_decode*', 'delta_decode',
                                                           'decay_ahead', 'decay_unmasked'],
}


def schema():
    try:
        import jsonschema
    except ImportError:
        raise Skip('python3-jsonschema is not installed')
    with open(os.path.join(ROOT, 'specs', 'attnc.schema.json')) as f:
        made = json.load(f)
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def good(validator, path):
    """Returns whether the schema accepts a file that YAML readers accept."""
    try:
        with open(path, 'rb') as f:
            return not list(validator.iter_errors(yaml.load(f.read(), Loader=definitions.Loader)))
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        return False   # An anchor that contains itself causes endless recursion.


@case
def schema_takes_good_specs(place):
    validator = schema()
    files = [f for pattern in ('specs/*.yaml', 'tests/spec/good/*.yaml', 'examples/*/*.yaml')
             for f in glob.glob(os.path.join(ROOT, pattern))]
    check(len(files) > 60, 'found %d specs' % len(files))
    for path in files:
        check(good(validator, path), '%s is refused' % path)


@case
def schema_refuses_bad_specs(place):
    validator = schema()
    names = sorted(os.path.basename(f)[:-5] for f in glob.glob(os.path.join(ROOT, 'tests/spec/bad/*.yaml')))
    listed = {name for patterns in BEYOND.values() for pattern in patterns for name in fnmatch.filter(names, pattern)}
    refused = 0
    for name in names:
        taken = good(validator, os.path.join(ROOT, 'tests/spec/bad', name + '.yaml'))
        check(not taken or name in listed, 'bad/%s.yaml is taken' % name)
        refused += not taken
    for rule, patterns in BEYOND.items():
        for pattern in patterns:
            check(any(good(validator, os.path.join(ROOT, 'tests/spec/bad', name + '.yaml'))
                      for name in fnmatch.filter(names, pattern)), '%s is listed (%s) but refused' % (pattern, rule))
    return '%d of %d refused' % (refused, len(names))


@case
def schema_agrees_with_the_compiler(place):
    """The schema and attnc agree on small changes to a spec."""
    validator = schema()
    base = {'similarity': 'softmax', 'shape': {'head_dim': 64}}
    changes = ({'mask': 'causal'}, {'mask': 'casual'}, {'mask': {'window': {'left': 4}}},
               {'mask': {'window': {'left': -1}}}, {'mask': {'window': None}},
               {'mask': {'causal': {'left': 1}}}, {'mask': {'causal': None}}, {'mask': {'any': []}},
               {'mask': {'any': ['causal', {'not': {'prefix': {'length': 4}}}]}},
               {'mask': {'global': {}}}, {'mask': {'global': {'count': 1, 'tokens': [1]}}},
               {'mask': {'global': {'tokens': [1, 1]}}}, {'mask': 'global'}, {'mask': None},
               {'prepare': ['rope']}, {'prepare': 'rope'}, {'prepare': []}, {'prepare': [{'rope': {'base': 0}}]},
               {'prepare': ['scale']}, {'prepare': [{'layernorm': {'affine': 1}}]},
               {'shape': {'head_dim': 0}}, {'shape': {}}, {'shape': {'head_dim': 63}, 'prepare': ['rope']},
               {'shape': {'head_dim': 64, 'value': 1}},
               {'similarity': {'polynomial': {'degree': 3}}}, {'similarity': {'polynomial': {'degree': 4, 'beta': 0}}},
               {'similarity': 'polynomial'},
               {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}},
               {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'block': 16},
               {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'map': 'learned', 'seed': 1}}},
               {'similarity': {'polysketch': {'degree': 6, 'sketch': 8}}},
               {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'seed': 18446744073709551615}}},
               {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'seed': 18446744073709551616}}},
               {'similarity': {'softmax': {}, 'linear': {'features': 'relu'}}},
               {'similarity': {'linear': {'features': {'relu': {'eps': -1}}}}},
               {'normalize': {'sum_plus': 1}}, {'normalize': {'sum_plus': -1}}, {'normalize': 'sum_plus'},
               {'normalize': 'none'},
               {'project': {'linformer': {'size': 16}}}, {'project': {'linformer': {'size': 16}}, 'mask': 'causal'},
               {'project': {'linformer': {'size': 16}}, 'prepare': ['rope']},
               {'dtype': 'f8'}, {'dtype': 'bf16'}, {'algorithm': 'quadratic'}, {'block': 'auto'}, {'block': 0},
               {'block': 'none'}, {'emit': []}, {'emit': ['forward']},
               {'emit': ['forward', 'forward']}, {'schedule': {'tile_q': 64}}, {'schedule': {'tile_q': 63}},
               {'schedule': {'tile_x': 1}}, {'schedule': None},
               {'schedule': []}, {'schedule': [None, {'from': 9, 'rows': 8}]},
               {'schedule': [{'from': 1, 'tile_k': 3}, {'from': 9, 'tile_q': 8}]}, {'schedule': [{'from': 2}]},
               {'schedule': [{}, {'rows': 8}]}, {'schedule': {'from': 2}},
               {'schedule': [{}] + [{'from': k} for k in range(2, 9)]},
               {'schedule': [{}] + [{'from': k} for k in range(2, 10)]},
               {'schedule': [{}, None]}, {'schedule': [{}, {'from': 0}]}, {'schedule': {'rows': 17}},
               {'schedule': {'unroll': 0}},
               {'name': 'good_name'}, {'name': 'no-name'}, {'name': '_X'}, {'name': 'x' * 101}, {'name': 7},
               {'description': 7}, {'extra': 1})
    for number, change in enumerate(changes):
        spec = {**base, **change}
        path = place.write('spec%d.yaml' % number, json.dumps(spec))
        taken = not list(validator.iter_errors(spec))
        status = place.attnc(path, '--stdout', '--target', 'generic', status=(0, 1)).returncode
        check(taken == (status == 0), '%s: the schema %s it, attnc gives %d' % (
            change, 'takes' if taken else 'refuses', status))


# ---------------------------------------------------------------- completions

def bash_offers(place, line):
    """Returns the words that completion offers for TAB after `line`."""
    words = [part for word in line.split(' ') for part in (re.split('(=)', word) if '=' in word else [word])]
    if words[-1] == '' and words[-2:-1] == ['=']: # bash then makes the = a word
        words.pop()
    words = [w for w in words[:-1] if w] + [words[-1]]
    script = ('source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; shift 2; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); '
              '_attnc; printf "%s\\n" "${COMPREPLY[@]}"')
    environment = {**place.environment, 'PATH': os.path.dirname(place.suite.attnc) + ':' + os.environ['PATH']}
    done = execute(['bash', '-c', script, 'bash', os.path.join(COMPLETIONS, 'attnc.bash'), line, *words],
                   cwd=place.folder, env=environment)
    check(done.returncode == 0 and not done.stderr, done.stderr)
    return sorted(done.stdout.split('\n')[:-1] if done.stdout.strip() else [])


def names_of_specs(place):
    return [line.split()[0] for line in place.attnc('list').stdout.splitlines() if line.startswith(' ')]


@case
def bash_completes(place):
    os.mkdir(place.path('folder'))
    place.write('other.txt', '')
    place.write('a spec.yaml', SOFTMAX)
    named = [n for n in names_of_specs(place) if n.startswith('poly')]
    for line, wanted in (
            ('attnc be', ['bench']), ('attnc s', ['show', 'soft.yaml']), ('attnc --emi', ['--emit']), ('attnc -', None),
            ('attnc show poly', named),
            ('attnc show softmax_causal_', ['softmax_causal_bf16', 'softmax_causal_gradients']),
            ('attnc list ', []),
            ('attnc soft.yaml --emit c,', ['c,' + w for w in ('c', 'dot', 'graph', 'h', 'json', 'loops', 'py')]),
            ('attnc --emit=c,d', ['c,dot']),
            ('attnc --emit ', ['c', 'dot', 'graph', 'h', 'json', 'loops', 'py']),
            ('attnc --target x86-64-v4,x86-64-v3,gen', ['x86-64-v4,x86-64-v3,generic']),
            ('attnc --color ', ['always', 'auto', 'never']),
            ('attnc --dump-after sep', ['separate']), ('attnc --set mask=ca', ['causal']),
            ('attnc --set mask.window.d', ['mask.window.dilation=']),
            ('attnc --set similarity.polysketch.local=', ['exact', 'sketched']),
            ('attnc --set=shape.v', ['shape.value_dim=', 'shape.values=given', 'shape.values=keys']), ('attnc --set=dtype=b', ['bf16']),
            ('attnc -o f', ['folder']), ('attnc explain ', ['a spec.yaml', 'folder', 'soft.yaml']),
            ('attnc bench --l', ['--lengths', '--limit']),
            ('attnc explain --l', ['--lengths', '--link']), ('attnc soft.yaml --l', []), ('attnc check --th', ['--threads']),
            ('attnc run soft.yaml --in fo', ['folder'])):
        offered = bash_offers(place, line)
        check(offered == sorted(wanted) if wanted is not None else len(offered) > 10,
              '%r gives %s, not %s' % (line, offered, wanted))


@case
def bash_completes_at_a_prompt(place):
    """Completes through readline, which replaces a part of a word."""
    place.write('rc', "PS1='READY> '; bind 'set enable-bracketed-paste off'; "
                "attnc() { printf '<%%s>' \"$@\"; echo; }; . '%s'\n" % os.path.join(COMPLETIONS, 'attnc.bash'))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.folder)
        os.execvpe('bash', ['bash', '--noprofile', '--rcfile', place.path('rc'), '-i'],
                   {**os.environ, 'TERM': 'dumb', 'HISTFILE': '/dev/null',
                    'PATH': os.path.dirname(place.suite.attnc) + ':' + os.environ['PATH']})
    said = b''

    def until_ready():
        nonlocal said
        said, end = b'', time.monotonic() + 60
        while not said.endswith(b'READY> ') and time.monotonic() < end:
            if select.select([terminal], [], [], 0.5)[0]:
                said += os.read(terminal, 65536)
        check(said.endswith(b'READY> '), 'bash says %r' % said)
        return said.decode(errors='replace')
    try:
        until_ready()
        for typed, wanted in (('attnc so\t--emit=do\t', '<soft.yaml><--emit=dot>'),
                              ('attnc --set mask=caus\t', '<--set><mask=causal>'),
                              ('attnc --set=mask.prefix.l\t7', '<--set=mask.prefix.length=7>')):
            os.write(terminal, typed.encode() + b'\n')
            text = until_ready()
            check(wanted in text.replace(' >', '>'), '%r becomes %r, not %s' % (typed, text, wanted))
    finally:
        os.write(terminal, b'exit\n')
        os.close(terminal)
        os.waitpid(pid, 0)


@case
def fish_completes(place):
    if not shutil.which('fish'):
        raise Skip('fish is not installed')
    environment = {**place.environment, 'PATH': os.path.dirname(place.suite.attnc) + ':' + os.environ['PATH'],
                   'HOME': place.folder, 'XDG_CONFIG_HOME': place.folder}
    named = [n for n in names_of_specs(place) if n.startswith('poly')]
    lines = (('attnc be', ['bench']), ('attnc --emi', ['--emit']), ('attnc show poly', named),
             ('attnc x.yaml --emit c,d', ['c,dot']), ('attnc --emit=c,d', None),
             ('attnc --set mask=ca', ['mask=causal']), ('attnc --dump-after sep', ['separate']),
             ('attnc bench --li', ['--limit']), ('attnc check --li', []),
             ('attnc x.yaml -M', ['-MD', '-MF', '-MT']), ('attnc explain so', ['soft.yaml']))
    script = 'source $argv[1]\nfor line in $argv[2..]\n echo "> $line"\n complete -C $line\nend'
    done = execute(['fish', '--no-config', '-c', script, os.path.join(COMPLETIONS, 'attnc.fish'),
                    *(line for line, _ in lines)], cwd=place.folder, env=environment)
    check(done.returncode == 0 and not done.stderr, done.stderr)
    for (line, wanted), text in zip(lines, done.stdout.split('> ')[1:]):
        offered = sorted(w.split('\t')[0] for w in text.split('\n')[1:] if w)
        check(offered == sorted(wanted) if wanted is not None else offered
              and all(w.endswith('c,dot') for w in offered), '%r gives %s, not %s' % (line, offered, wanted))


ZSH = r'''
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "PS1='READY> '; unsetopt zle_bracketed_paste; TERM=dumb; fpath=(${(q)1} \$fpath); \
autoload -Uz compinit && compinit -u -d $PWD/dump; zstyle ':completion:*' list-prompt ''; \
attnc() { local a; for a; do print -rn -- \"<\$a>\"; done; print D''ONE }; print STARTED"
zpty -r -m shell text '*STARTED*STARTED*'
shift
for line; do
    zpty -w shell "$line"
    zpty -r -m shell text "*DONE*"
    print -r -- "${text}"
done
zpty -d shell
'''


@case
def zsh_completes(place):
    if not shutil.which('zsh'):
        raise Skip('zsh is not installed')
    done = execute(['zsh', '-f', '-n', os.path.join(COMPLETIONS, '_attnc')])
    check(done.returncode == 0 and not done.stderr, done.stderr)
    lines = (('attnc ben\t', '<bench>'), ('attnc --emi\tdo\t', '<--emit=dot>'),
             ('attnc --set mask=caus\t', '<--set><mask=causal>'), ('attnc explain so\t', '<explain><soft.yaml>'),
             ('attnc bench --lim\t3', '<bench><--limit=3>'))
    environment = {**place.environment, 'TERM': 'dumb', 'HOME': place.folder, 'ZDOTDIR': place.folder,
                   'PATH': os.path.dirname(place.suite.attnc) + ':' + os.environ['PATH']}
    done = execute(['zsh', '-f', '-c', ZSH, 'zsh', COMPLETIONS, *(line for line, _ in lines)], cwd=place.folder,
                   env=environment, timeout=60)
    for line, wanted in lines:
        check(wanted in done.stdout, '%r does not become %s: %r' % (line, wanted, done.stdout))


@case
def options_are_those_of_help(place):
    """Completion offers exactly the options that --help names."""
    commands = (), ('run',), ('explain',), ('bench',), ('tune',)
    helped = ''.join(place.attnc(*words, '--help').stdout for words in commands)
    told = set(re.findall(r'(?<![\w-])(--[a-z-]+|-M[DFT]|-o)(?=[\s,=\[)]|$)', helped, re.M))
    offered = {line.split('\t')[0].rstrip('=') for words in (*commands, ('check',), ('show',))
               for line in place.attnc('--complete', *words, '-').stdout.splitlines()[1:]}
    check(told == offered, '--help alone: %s; completion alone: %s' % (sorted(told - offered), sorted(offered - told)))
    for option in offered:
        done = place.attnc(option + ('=' if option.startswith('--') else ''), status=(0, 1, 2))
        said = done.stderr or ''   # Every option is given with an empty value or without one.
        check(option in ('--help', '--version') or 'there is no option' not in said
              or "did you mean '%s'?" % option in said, '%s is no option' % option)


# ---------------------------------------------------------------- the manual

@case
def manual_is_clean(place):
    pages = sorted(os.listdir(MANUAL))
    check(pages == ['attnc-spec.5', 'attnc.1', 'attnrt.3'], 'the pages are %s' % pages)
    for page in pages:
        path = os.path.join(MANUAL, page)
        if shutil.which('mandoc'):
            # No page has a date, so the bytes do not change.
            said = [line for line in execute(['mandoc', '-T', 'lint', '-W', 'warning', path]).stdout.splitlines()
                    if 'missing date' not in line]
            check(not said, '%s: %s' % (page, said))
        if shutil.which('groff'):
            done = execute(['groff', '-man', '-Tutf8', '-K', 'utf8', '-ww', '-rF0', path],
                           env={**os.environ, 'LC_ALL': 'C.UTF-8'})
            check(done.returncode == 0 and not done.stderr and len(done.stdout) > 2000, '%s: %s' % (page, done.stderr))
    if not shutil.which('mandoc') and not shutil.which('groff'):
        raise Skip('neither mandoc nor groff is installed')


def shown(page):
    if not shutil.which('mandoc'):
        raise Skip('mandoc is not installed')
    text = execute(['mandoc', '-T', 'utf8', '-O', 'width=1000', os.path.join(MANUAL, page)]).stdout
    return re.sub('.\b', '', text)


@case
def manual_is_whole(place):
    text = shown('attnc.1')
    for word in re.findall(r'(?<![\w-])--[a-z-]+',
                           place.attnc('--help').stdout + place.attnc('bench', '--help').stdout):
        check(word in text, 'attnc(1) has no ' + word)
    text = shown('attnc-spec.5')
    with open(os.path.join(ROOT, 'specs', 'README.md')) as f:
        for word in re.findall(r'^\| `(\w+)` \|', f.read(), re.M):
            check(re.search(r'^ +%s\b' % word, text, re.M), 'attnc-spec(5) has no ' + word)
    text = shown('attnrt.3')
    for word in set(re.findall(r'\b(?:attn|ATTN)_\w+', header_of_runtime())):
        check(word in text, 'attnrt(3) has no ' + word)


@case
def parameters_are_named(place):
    """The reference lists every array under the name that it has in the kernel."""
    reference = execute([os.path.join(BUILD, 'tests', 'written'), 'specs/README.md']).stdout
    sketch = 'similarity.polysketch={degree: 8, sketch: 2, map: %s}'
    named = set()
    for spec, *settings in ([['polysketch_r32', '--set', sketch % word] for word in ('random', 'learned')]
                            + [[name] for name in ('hedgehog', 'bahdanau', 'luong', 'linformer', 'softmax_bias',
                                                   'performer_positive', 'packed_documents')]
                            + [['softmax', '--set', 'prepare=[{layernorm: {affine: true}}]']]):
        made = json.loads(place.attnc(spec, *settings, '--emit', 'json', '--stdout', '--quiet').stdout)
        named |= {p['name'] for p in made['parameters']}
    check({'bias', 'sketch.1.g2.w3', 'project.f', 'features.wq', 'document'} <= named, 'parameters: %s' % sorted(named))
    # The reference calls every product of the sketch P, and describes only the first of its two networks.
    general = {re.sub(r'^P\.g2\.', 'P.g1.', re.sub(r'^sketch(\.[01])*', 'P', name)) for name in named}
    missing = [name for name in sorted(general) if '`%s`' % name not in reference]
    check(not missing, 'not in the reference: %s' % missing)


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX))


def main():
    suite = Suite(__doc__.split('\n')[0])
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
