"""Keeps clang in memory, and keeps files that several suites need. See resident.c."""
import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile

from suite import ROOT, residents

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'resident.c')


@functools.cache
def version(cc):
    return subprocess.run([cc, '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout


def is_clang(cc):
    return 'clang' in version(cc)


def temporary(folder=None):
    made = tempfile.mkdtemp(prefix='attnc-kept-', dir=folder)
    atexit.register(shutil.rmtree, made, True)
    return made


@contextlib.contextmanager
def shared(cc, *words):
    """Gives the folder for what `cc` makes of these words, for one process at a time. It is in the build folder, or in
    $TMPDIR if the build folder cannot be written."""
    key = hashlib.sha256('\0'.join([shutil.which(cc), version(cc), *words]).encode()).hexdigest()[:16]
    folder = os.path.join(os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build')), 'kept', key)
    try:
        os.makedirs(folder, exist_ok=True)
        lock = open(folder + '/lock', 'w')
    except OSError:
        yield temporary()
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@functools.cache
def programs(cc):
    """Returns the paths of the server and the client."""
    with open(SOURCE) as f: text = f.read()
    with shared(cc, text) as folder:
        made = os.path.join(folder, 'server.so'), os.path.join(folder, 'client')
        for path, options in zip(made, (['-DSERVER', '-shared', '-fPIC', '-ldl'], [])):
            if os.path.exists(path): continue
            subprocess.run([cc, '-O1', '-D_GNU_SOURCE', '-o', path + '.new', SOURCE, *options], check=True)
            os.rename(path + '.new', path)
    return made


@functools.cache
def command(cc):
    """Returns the words that begin a command of the compiler: with the one that is in memory if it is clang."""
    if not is_clang(cc): return [cc]
    server, client = programs(cc)
    socket = os.path.join(temporary(), 's')
    if len(socket) > 100: socket = os.path.join(temporary('/tmp'), 's')   # the kernel's limit is 107
    if ' ' in server or ':' in server: return [cc]   # they separate the files of $LD_PRELOAD
    process = subprocess.Popen([cc], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=os.environ | {'LD_PRELOAD': server, 'RESIDENT_SOCKET': socket})
    if process.stdout.read(1) != b'\n':
        process.wait()
        return [cc]
    residents.append(process)
    atexit.register(end, process)
    return [client, socket, cc]


def end(process):
    """Waits for the compiler, so that its time counts as this process's."""
    residents.remove(process)
    process.stdin.close()
    process.wait()
