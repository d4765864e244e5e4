"""A Debian in a folder, without a C compiler and without network, for this processor or another one. Commands run in it
by `run`; it sees nothing else of this machine. It needs root, unshare and debootstrap.

Programs for another processor run in qemu-user-static. Only the processes of `run` know that (binfmt_misc of a user
namespace), so this system's settings stay as they are."""
import glob
import os
import platform
import shutil

from suite import check, execute

# The devices of the Debian are its own.
ENTER = '''
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for each in "null 3" "zero 5" "urandom 9"; do mknod -m 666 "$1/dev/${each% *}" c 1 "${each#* }"; done
exec chroot "$@"
'''
# A user namespace cannot make devices, so it shows those of this system.
ENTER_FOREIGN = '''
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s ':attnc-arm:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:/usr/bin/qemu-aarch64-static:F' \\
    >/proc/sys/fs/binfmt_misc/register
mount --rbind /proc "$1/proc"
for each in null zero urandom; do touch "$1/dev/$each"; mount --bind "/dev/$each" "$1/dev/$each"; done
exec chroot "$@"
'''
OWN = 'PATH=/root/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'LANG=C.UTF-8'
ARCHITECTURES = {'x86_64': 'amd64', 'aarch64': 'arm64'}


def must(words, **options):
    done = execute(words, **options)
    check(done.returncode == 0, '%s\n%s%s' % (' '.join(words), done.stdout, done.stderr))
    return done.stdout


class Bare:
    def __init__(self, root, packages, machine=platform.machine()):
        self.root, self.foreign = root, machine != platform.machine()
        if os.path.exists(os.path.join(root, 'complete')): return
        shutil.rmtree(root, ignore_errors=True)
        sources = must(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']).split()
        options = ['--variant=minbase', '--include=' + ','.join(packages), '--arch=' + ARCHITECTURES[machine]]
        must(['debootstrap', *options, *['--foreign'] * self.foreign, 'bookworm', root, *sources[:1]], timeout=1800)
        # The scripts of the packages are not run, because Python and the libraries work without them.
        for package in sorted(glob.glob(root + '/var/cache/apt/archives/*.deb')) if self.foreign else ():
            must(['sh', '-ec', 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"', 'sh', package, root])
        with open(os.path.join(root, 'complete'), 'w'):
            pass

    def run(self, *words, timeout=900):
        spaces = ['--mount', '--pid', '--net', '--fork', '--kill-child']
        if self.foreign: spaces = ['--user', '--map-root-user', *spaces]
        return execute(['unshare', *spaces, 'sh', '-euc', ENTER_FOREIGN if self.foreign else ENTER, 'sh', self.root,
                        '/usr/bin/env', '-i', *OWN, *words], timeout=timeout)

    def of(self, *words):
        """Returns the output of a command that succeeds there."""
        done = self.run(*words)
        check(done.returncode == 0, '%s\n%s%s' % (' '.join(words)[:80], done.stdout, done.stderr))
        return done.stdout.strip()
