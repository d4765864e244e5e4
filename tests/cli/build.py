"""Tests attnc build, which compiles kernels once and finds them again without the compiler."""
import concurrent.futures
import ctypes
import json
import os

from cache import CC, Cache
from cases import AFFINE, DENSE, POLYNOMIAL, SKETCH, SOFTMAX, WRONG, Place
from suite import check

CASES = []


def case(function):
    CASES.append(function)
    return function


class Builds(Cache):
    def build(self, *words, status=0, **env):
        """Returns the output, the number of compilations, and standard error."""
        before = self.compiled()
        done = self.place.attnc('build', *words, env={**self.env, **env}, status=status)
        return done.stdout.splitlines(), self.compiled() - before, done.stderr


@case
def build_names_a_library(place):
    builds = Builds(place)
    (path,), compiled, said = builds.build('soft.yaml', '--quiet')
    check(compiled == 1 and not said and path == builds.kernels()[0], 'compiled %d times: %s' % (compiled, path))
    kernel = ctypes.c_char_p.in_dll(ctypes.CDLL(path), 'soft_kernel')
    check(kernel.value == b'soft', 'it is the kernel %s' % kernel.value)
    (line,), compiled, _ = builds.build('soft.yaml', '--json')
    says = json.loads(line)
    check(compiled == 0 and says['library'] == path and says['name'] == 'soft' and says['head_dim'] == 8, line)
    place.attnc('soft.yaml', '--emit', 'json', '--target', 'native')
    check(says['symbol'] == 'soft', 'it names the symbol %s' % says['symbol'])
    del says['library'], says['symbol'], says['quick']
    check(says == json.loads(place.read('soft.json')), 'it says something else than soft.json')


@case
def build_finds_what_was_compiled_ahead(place):
    """A kernel in $ATTNC_KERNELS is found without a C compiler, whatever its spec's name and entry points are."""
    builds = Builds(place)
    place.attnc('soft.yaml', '--emit', 'json')
    hash_ = json.loads(place.read('soft.json'))['hash'][:32]
    folder = os.path.join(place.folder, 'ahead')
    os.makedirs(folder)
    ahead = os.path.join(folder, hash_ + '-3.so')
    place.write('ahead/' + os.path.basename(ahead), 'not a library')
    none = {'ATTNC_KERNELS': folder, 'ATTNC_CC': '/no/compiler'}
    for words in (), ('--set', 'name=other'), ('--set', 'emit=[forward, backward]'):
        (line,), compiled, _ = builds.build('soft.yaml', '--json', *words, **none)
        says = json.loads(line)
        check(compiled == 0 and says['library'] == ahead and says['symbol'] == 'attention' and says['gradients'], line)
        check(says['name'] == ('other' if 'name=other' in words else 'soft'), 'its name is %s' % says['name'])
    for words in ('--set', 'mask=none'), ('--set', 'emit=[forward, decode]'), ('--target', 'generic'):
        _, compiled, said = builds.build('soft.yaml', *words, status=3, **none)
        check(compiled == 0 and 'no C compiler found' in said, 'with %s: %s' % (words, said))


@case
def build_takes_several_specs(place):
    builds = Builds(place, names=('soft', 'poly'))
    paths, compiled, _ = builds.build('soft.yaml', 'poly.yaml')
    check(compiled == 2 and [os.path.basename(p)[:4] for p in paths] == ['soft', 'poly'], 'made %s' % paths)
    paths, compiled, said = builds.build('wrong.yaml', 'poly.yaml', status=1)
    check(compiled == 0 and len(paths) == 1 and "did you mean 'softmax'" in said, 'made %s: %s' % (paths, said))


@case
def build_finds_what_it_made(place):
    """A library is not found if something that it depends on changed, or if it is damaged."""
    builds = Builds(place)
    (path,), compiled, _ = builds.build('soft.yaml')
    check(builds.build('soft.yaml')[1] == 0, 'it was compiled again')
    for words in ('--set', 'mask=none'), ('--set', 'shape.head_dim=16'), ('--target', 'generic'):
        (other,), compiled, _ = builds.build('soft.yaml', *words)
        check(compiled == 1 and other != path, '%s took the other kernel' % ' '.join(words))
    (other,), compiled, _ = builds.build('soft.yaml', ATTNC_CFLAGS='-O1')
    check(compiled == 1 and other != path, 'other flags took the other kernel')
    place.write('soft.yaml', place.read('soft.yaml') + b'prepare: [l2norm]\n')
    (other,), compiled, _ = builds.build('soft.yaml')
    check(compiled == 1 and other != path, 'another text took the other kernel')
    for broken in other, *(os.path.join(builds.folder, n) for n in os.listdir(builds.folder) if n.endswith('.note')):
        with open(broken, 'r+b') as f:
            f.truncate(os.path.getsize(broken) // 2)
    check(builds.build('soft.yaml') == ([other], 1, 'compiling soft … (first time)\n'), 'it is taken although it is cut short')
    os.remove(other)
    check(builds.build('soft.yaml')[:2] == ([other], 1), 'a note of a library that is gone')


@case
def build_asks_the_processor(place):
    """attnc gets the features of the processor from the processor, not from the C compiler."""
    place.arrays()
    place.attnc('run', 'soft.yaml', '--in', 'in', '--out', 'out',
                env=Builds(place).env | dict(ATTNC_CFLAGS='-D__builtin_cpu_supports(x)=0 -D__builtin_cpu_is(x)=0'))


@case
def build_at_once_compiles_once(place):
    builds = Builds(place)
    place.write('bin/mycc', CC.replace('exec', 'sleep 1; exec') % ('soft', place.path('log')))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = [r.result() for r in [pool.submit(place.attnc, 'build', 'soft.yaml', env=builds.env) for _ in range(4)]]
    check(builds.compiled() == 1, '%d of four processes compiled' % builds.compiled())
    check({m.stdout for m in made} == {builds.kernels()[0] + '\n'}, 'they name different libraries')
    check(not [n for n in os.listdir(builds.folder) if n.endswith('.lock')], 'left %s' % os.listdir(builds.folder))


@case
def build_goes_on_after_one_that_was_killed(place):
    """The lock of a killed process does not block others."""
    builds = Builds(place)
    (path,), *_ = builds.build('soft.yaml')
    os.remove(path)
    place.write('cache/attnc/%s.lock' % os.path.basename(path), '')
    check(builds.build('soft.yaml')[:2] == ([path], 1), 'it was not compiled')
    check(not os.path.exists(path + '.lock'), 'the lock is still there')


@case
def build_needs_a_cache(place):
    builds = Builds(place)
    _, _, said = builds.build('soft.yaml', '--quiet', status=3, ATTNC_CACHE_SIZE='0')
    check("cannot store the library of 'soft'" in said and 'XDG_CACHE_HOME' in said, said)
    check('--json takes no file' in builds.build('soft.yaml', '--json=x', status=2)[2], 'writes JSON to a file')
    check('build takes a spec' in builds.build(status=2)[2], 'builds nothing')


@case
def json_says_what_parameters_begin_as(place):
    place.write('dense.yaml', DENSE)
    place.write('sketch.yaml', SKETCH)
    place.write('square.yaml', POLYNOMIAL.replace('poly', 'square', 1).replace(
        '{polynomial: {degree: 4}}', '{polynomial_square: {degree: 2, coefficients: param}}'))
    wanted = {'dense': ['zeros'], 'affine': ['ones', 'zeros', 'ones', 'zeros'], 'square': ['exponential'],
              'sketch': [None, None], 'hedgehog': ['identity', 'identity'], 'packed_documents': [None]}
    for name, initial in wanted.items():
        spec = name + '.yaml' if os.path.exists(place.path(name + '.yaml')) else name
        says = json.loads(place.attnc(spec, '--emit', 'json', '--stdout', '--target', 'generic').stdout)
        check([p['initial'] for p in says['parameters']] == initial, '%s: %s' % (name, says['parameters']))


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL, wrong=WRONG, affine=AFFINE))


def register(suite):
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
