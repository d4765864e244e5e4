"""Tests the cache of compiled kernels: its owner and permissions, links in it, its size, and control characters in
names."""
import fcntl
import glob
import os
import shutil
import subprocess
import tempfile
import time

from cases import SOFTMAX, Place
from suite import Skip, check

CASES = []
RUN = ('run', 'soft.yaml', '--in', 'in', '--out', 'out')
CC = '#!/bin/sh\nfor w in "$@"; do case $w in */%s.c) echo x >> "%s";; esac; done\nexec clang-19 "$@" -O0\n'


def case(function):
    CASES.append(function)
    return function


class Cache:
    """A separate cache, and the number of compilations of a kernel in it."""

    def __init__(self, place, names=('soft',)):
        if not shutil.which('clang-19'):
            raise Skip('there is no clang-19')
        place.arrays()
        self.place, self.base, self.folder = place, place.path('cache'), place.path('cache', 'attnc')
        place.write('bin/mycc', CC % (names[0] if len(names) == 1 else '*', place.path('log')))
        os.chmod(place.path('bin', 'mycc'), 0o755)
        self.env = {'XDG_CACHE_HOME': self.base, 'ATTNC_CC': 'mycc',
                    'PATH': place.path('bin') + os.pathsep + os.environ['PATH'], 'TMPDIR': place.path('tmp')}
        os.mkdir(place.path('tmp'), 0o700)
        self.other = place.path('tmp', 'attnc-cache-%d' % os.geteuid())   # the cache for temporary use

    def run(self, *words, **env):
        """Returns True if the kernel was compiled, and standard error."""
        before = self.compiled()
        done = self.place.attnc(*RUN, *words, env={**self.env, **env})
        left = [name for name in os.listdir(self.place.path('tmp')) if name != os.path.basename(self.other)]
        check(left == [], 'left in TMPDIR: %s' % left)
        return self.compiled() > before, done.stderr

    def compiled(self):
        return self.place.read('log').count(b'x') if os.path.exists(self.place.path('log')) else 0

    def kernels(self):
        return sorted(glob.glob(self.folder + '/*.so'))


@case
def cache_is_private(place):
    cache = Cache(place)
    check(cache.run()[0], 'it was not compiled')
    check(os.stat(cache.folder).st_mode & 0o777 == 0o700, 'the folder has mode %o' % os.stat(cache.folder).st_mode)
    check([os.stat(k).st_mode & 0o022 for k in cache.kernels()] == [0], 'others can write to the kernel')
    check(not cache.run()[0], 'it was not kept')


@case
def cache_that_others_write_is_not_trusted(place):
    """Files in a folder that others can write to are neither loaded nor stored."""
    cache = Cache(place)
    cache.run()
    for mode in 0o770, 0o707, 0o777 | 0o1000:
        os.chmod(cache.folder, mode)
        compiled, said = cache.run()
        check(compiled, 'a kernel was loaded from a folder of mode %o' % mode)
        check(cache.folder in said and 'other users' in said and 'chmod go-w' in said and 'XDG_CACHE_HOME' in said, said)
        check('compiled kernels are stored in %s, because' % cache.other in said, said)
        compiled, said = cache.run()
        check(not compiled and 'stored' not in said, 'it is not in the cache for temporary use, or that is said twice: ' + said)
        check(os.stat(cache.other).st_mode & 0o777 == 0o700, 'the folder has mode %o' % os.stat(cache.other).st_mode)
        os.chmod(cache.other, mode)
        compiled, said = cache.run()
        check(compiled and '; and %s can be written to by other users' % cache.other in said, said)
        shutil.rmtree(cache.other)
    check(len(cache.kernels()) == 1, 'it was kept in a folder of mode %o' % mode)
    os.chmod(cache.folder, 0o755)
    check(not cache.run()[0], 'a folder that only others read is none to keep kernels in')
    os.chmod(cache.kernels()[0], 0o722)
    check(cache.run()[0], 'a kernel that others can write to was loaded')
    check(not cache.run()[0], 'it was not stored again')


@case
def cache_of_another_user_is_not_trusted(place):
    if os.geteuid() != 0:
        raise Skip('only root can make a folder that is another user\'s')
    cache = Cache(place)
    cache.run()
    os.chown(cache.folder, 65534, 65534)
    compiled, said = cache.run()
    check(compiled and 'belongs to another user (65534)' in said, said)
    os.chown(cache.other, 65534, 65534)
    compiled, said = cache.run()
    check(compiled and '; and %s belongs to another user' % cache.other in said, said)
    os.chown(cache.folder, 0, 0)
    os.chown(cache.kernels()[0], 65534, 65534)
    check(cache.run()[0], 'another user\'s kernel was loaded')
    check(not cache.run()[0], 'it was not stored again')


@case
def cache_of_nobody_is_temporary(place):
    """Without a folder for the cache, kernels are stored among the temporary files, if nobody can replace that folder."""
    cache = Cache(place)
    for number, env in enumerate(({'XDG_CACHE_HOME': None, 'HOME': None}, {'XDG_CACHE_HOME': '/proc/nothing'},
                                  {'XDG_CACHE_HOME': place.path('soft.yaml')})):
        words = '--set', 'name=soft', '--set', 'similarity.softmax.scale=%d' % (number + 1)
        compiled, said = cache.run(*words, **env)
        check(compiled and 'stored in %s, because the cache cannot be used: ' % cache.other in said, said)
        compiled, said = cache.run(*words, **env)
        check(not compiled and 'stored' not in said, 'it was not kept: ' + said)
    built = place.attnc('build', 'soft.yaml', env={**cache.env, 'XDG_CACHE_HOME': '/proc/nothing'})
    check(os.path.dirname(built.stdout.strip()) == cache.other, built.stdout + built.stderr)
    shutil.rmtree(cache.other)
    os.chmod(place.path('tmp'), 0o777)
    for _ in range(2):
        compiled, said = cache.run(XDG_CACHE_HOME='/proc/nothing')
        check(compiled and '; and others can replace folders in %s' % place.path('tmp') in said, said)


@case
def cache_may_be_read_only(place):
    """Another user reads the kernels of root, and stores its own among the temporary files."""
    if os.geteuid() != 0 or not shutil.which('setpriv'):
        raise Skip('only root can run a program as another user')
    cache = Cache(place)
    os.makedirs(cache.folder, 0o700)
    other, shared = ['setpriv', '--reuid', '65534', '--clear-groups'], place.path('shared')
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    folder = place.folder
    while folder != tempfile.gettempdir() and folder != '/':   # the other user reaches the test's folder
        os.chmod(folder, os.stat(folder).st_mode | 0o055)
        folder = os.path.dirname(folder)
    if subprocess.run([*other, 'test', '-x', place.suite.attnc, '-a', '-w', shared], check=False).returncode != 0:
        raise Skip('another user cannot reach the program and the folder of temporary files')
    def build(*words, user=True):
        before = cache.compiled()
        done = subprocess.run([*(other if user else []), place.suite.attnc, 'build', 'soft.yaml', *words], cwd=place.folder,
                              env={**place.environment, **cache.env, 'TMPDIR': shared}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == 0, done.stderr)
        return os.path.dirname(done.stdout.strip()), cache.compiled() - before, done.stderr
    place.write('log', '')
    os.chmod(place.path('log'), 0o666)
    check(build(user=False) == (cache.folder, 1, 'compiling soft … (first time)\n'), 'root builds it')
    subprocess.run(['chmod', '-R', 'go+rX', cache.base], check=True)
    check(build() == (cache.folder, 0, ''), 'the kernel of root was not read')
    folder, count, said = build('--set', 'mask=none')
    check((folder, count) == (shared + '/attnc-cache-65534', 1) and cache.folder + ': Permission denied' in said, said)
    check(build('--set', 'mask=none') == (folder, 0, ''), 'it was not kept')
    check(len(cache.kernels()) == 1, 'a kernel is in a folder that is read-only')


@case
def cache_follows_no_link(place):
    cache = Cache(place)
    cache.run()
    os.rename(cache.folder, place.path('elsewhere'))
    os.symlink(place.path('elsewhere'), cache.folder)
    compiled, said = cache.run()
    check(compiled and 'is a link' in said and len(os.listdir(place.path('elsewhere'))) == 1, said)
    os.remove(cache.folder)
    os.mkdir(cache.folder, 0o700)
    kernel = os.listdir(place.path('elsewhere'))[0]
    os.symlink(place.path('elsewhere', kernel), os.path.join(cache.folder, kernel))
    check(cache.run()[0] and not os.path.islink(cache.kernels()[0]), 'a kernel was loaded through a link')
    os.rename(cache.base, place.path('real'))     # a folder of the user's environment may be a link
    os.symlink('real', cache.base)
    check(not cache.run()[0], 'XDG_CACHE_HOME may not be a link')


@case
def failed_source_follows_no_link(place):
    """If failed-NAME is a link, the files in its target stay."""
    cache = Cache(place)
    place.write('bin/mycc', '#!/bin/sh\ncase "$*" in *soft.c*) mkdir -p "$TMPDIR/deep/er"; '
                'touch "$TMPDIR/deep/er/left"; exit 1 ;; esac\nexec clang-19 "$@"\n')
    place.write('precious/file', 'precious')
    os.makedirs(cache.folder, 0o700)
    os.symlink(place.path('precious'), os.path.join(cache.folder, 'failed-soft'))
    for _ in range(2):                            # The second time, a folder with that name exists.
        said = place.attnc(*RUN, env=cache.env, status=3).stderr
        kept = os.path.join(cache.folder, 'failed-soft')
        check('the source is in %s/soft.c' % kept in said and os.path.isfile(kept + '/soft.c') and not os.path.islink(kept),
              said)
        check(place.read('precious/file') == b'precious', 'what the link led to is gone')
    check(os.listdir(cache.folder) == ['failed-soft'], 'left: %s' % os.listdir(cache.folder))


@case
def cache_has_a_size(place):
    """The least recently used files are removed first."""
    cache = Cache(place, ('soft', 'all'))
    heads = ('--set', 'shape.head_dim=8'), ('--set', 'mask=none'), ('--set', 'mask={window: {left: 3}}')
    cache.run(*heads[0])
    size = os.path.getsize(cache.kernels()[0])
    first, = cache.kernels()
    cache.run(*heads[1])
    second, = set(cache.kernels()) - {first}
    os.makedirs(cache.folder + '/failed-x')
    with open(cache.folder + '/failed-x/x.c', 'wb') as file:
        file.write(bytes(1000))
    place.write('cache/attnc/mine.txt', 'mine')
    now = time.time()
    for age, path in enumerate((second, first, cache.folder + '/failed-x')):
        os.utime(path, (now - 1000 * age - 1000,) * 2)
    check(not cache.run(*heads[0])[0], 'the kernel is gone')
    check(os.stat(first).st_mtime > now - 100, 'that the kernel was used is not noted')
    limit = str(int(2.5 * size))
    check(cache.run(*heads[2], ATTNC_CACHE_SIZE=limit)[0], 'the third was there')
    left = cache.kernels()
    check(first in left and second not in left and len(left) == 2, 'left: %s' % os.listdir(cache.folder))
    check(not os.path.exists(cache.folder + '/failed-x') and place.read('cache/attnc/mine.txt') == b'mine',
          'left: %s' % os.listdir(cache.folder))
    check(cache.run(*heads[1], ATTNC_CACHE_SIZE='1')[0] and not cache.kernels(), 'more than the size is kept')
    check(cache.run(*heads[1], ATTNC_CACHE_SIZE='0')[0] and not cache.kernels(),
          'something is kept where the size is 0')
    for bad in '-1', '1Q', 'M', '12 ', '9999999999G', '5MB':
        check("ATTNC_CACHE_SIZE takes a size such as 500M or 2G, not '%s'" % bad in cache.run(*heads[1], ATTNC_CACHE_SIZE=bad)[1], bad)
        os.remove(cache.kernels()[0])
    check('ATTNC_CACHE_SIZE' not in cache.run(*heads[1], ATTNC_CACHE_SIZE='2g')[1] and len(cache.kernels()) == 1,
          '2g is a size')


@case
def cache_loses_abandoned_folders(place):
    cache = Cache(place)
    for name in 'attnc-dead00', 'attnc-alive0', 'attnc-new000':
        os.makedirs(os.path.join(cache.folder, name), 0o700)
        if name != 'attnc-new000':
            os.utime(os.path.join(cache.folder, name), (1e9, 1e9))
    os.chmod(cache.folder, 0o700)
    held = os.open(cache.folder + '/attnc-alive0', os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    cache.run()
    os.close(held)
    left = sorted(name for name in os.listdir(cache.folder) if not name.endswith('.so'))
    check(left == ['attnc-alive0', 'attnc-new000'], 'left: %s' % left)


@case
def cache_loses_what_a_killed_run_left(place):
    """If attnc is killed while compiling, its folder stays and its lock is released. A later run removes the folder."""
    cache = Cache(place)
    cache.run()
    place.write('bin/slow', '#!/bin/sh\necho $$ > "%s.new"; mv "%s.new" "%s"; exec sleep 60\n' % ((place.path('pid'),) * 3))
    os.chmod(place.path('bin', 'slow'), 0o755)
    process = subprocess.Popen([place.suite.attnc, *RUN], cwd=place.folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**place.environment, **cache.env, 'ATTNC_CC': 'slow'})
    until = time.monotonic() + 60
    while not os.path.exists(place.path('pid')):
        check(time.monotonic() < until and process.poll() is None, 'the compiler never started')
        time.sleep(0.02)
    builds = lambda: [name for name in os.listdir(cache.folder) if name.startswith('attnc-')]
    left = builds()
    check(len(left) == 1, 'it compiles in %s' % left)
    minutes_ago = (time.time() - 180,) * 2
    os.utime(os.path.join(cache.folder, left[0]), minutes_ago)
    check(not cache.run()[0] and builds() == left, 'a folder that a run works in was removed')
    process.kill()
    process.wait()
    os.kill(int(place.read('pid')), 9)
    os.utime(os.path.join(cache.folder, left[0]), minutes_ago)
    check(not cache.run()[0] and not builds(), 'left: %s' % builds())


@case
def cache_is_trimmed_by_many(place):
    """Each process gets its kernel, even if another process removes the kernel from the cache."""
    cache = Cache(place)
    masks = ['{window: {left: %d}}' % k for k in range(3)]
    many = [subprocess.Popen([place.suite.attnc, *RUN[:-1], 'out%d' % k, '--set', 'mask=' + masks[k % 3]],
                             cwd=place.folder, env={**place.environment, **cache.env, 'ATTNC_CACHE_SIZE': '1K'},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for k in range(6)]
    for process in many:
        said = process.communicate(timeout=120)[1]
        check(process.returncode == 0 and 'error' not in said, said)
    check(os.listdir(cache.folder) == [], 'left: %s' % os.listdir(cache.folder))


@case
def control_characters_in_names(place):
    """Names are printed without control characters, but with letters of all scripts."""
    name = 'ä\x1b[2J\x9b31m\nx\x7f.yaml'
    place.write(name, SOFTMAX + 'description: "é\\e[31m\\x9b1m\\u202f"\n')
    place.write('bad' + name, 'similarity: softmax\nname: x\n')
    for words, status in ((('explain', name), 0), (('no' + name,), 1), (('bad' + name,), 1),
                          (('run', name, '--in', 'no' + name, '--out', name), 1),
                          (('explain', 'soft.yaml', '--set', name), (1, 2)), (('tune', 'no' + name), 1)):
        done = place.attnc(*words, status=status)
        said = done.stdout + done.stderr
        check(not any(ord(c) < 32 and c not in '\n\t' or 127 <= ord(c) < 160 for c in said), repr(said))
        check('ä?[2J' in said or 'é?[31m?1m' in said, repr(said))


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX))


def register(suite):
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
