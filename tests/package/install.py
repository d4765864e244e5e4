#!/usr/bin/python3
"""Tests an installed attnc in users' builds. The commands are those of examples/README.md. All folders have a blank
in their names."""
import fnmatch
import glob
import json
import os
import platform
import re
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))

import installed
from installed import TEXT
from suite import ROOT, WHOLE, Skip, Suite, cached, check, compiler, execute

CASES = []


def through_ccache():
    """Returns $PATH with ccache's compilers first. Debian's ccache has compilers with the names of real ones."""
    return ('/usr/lib/ccache:' if os.path.isdir('/usr/lib/ccache') else '') + os.environ['PATH']


def case(*arguments):
    def register(function):
        CASES.append((function, arguments))
        return function
    return register


class Place(installed.Place):
    """A folder for projects. They compile with -O0, which takes the least time in total, and mostly with clang. CMake's
    kernels have -O2 after the user's flags, so that clang gets -O0 last. The standalone example has the flags of its
    document.
    Every folder is mapped to one name, so that cases share entries of ccache."""

    def __init__(self, suite, folder, usual):
        super().__init__(suite, folder)
        self.environment |= {'CFLAGS': '-O0 -g0', 'CXXFLAGS': '-O0 -g0', 'CMAKE_BUILD_TYPE': 'None', 'CCACHE_BASEDIR': suite.folder,
                             'PATH': self.environment['PATH'].replace(os.environ['PATH'], through_ccache())}
        if not usual:
            self.environment['CC'] = 'quick-clang'
        with open(TEXT) as f:
            self.write('text', f.read(2000))   # a kernel takes quadratic time
        self.text = self.path('text')

    def examples(self):
        tracked = glob.glob(os.path.join(ROOT, 'examples', '*', '*'))
        for file in tracked:
            relative = os.path.relpath(file, ROOT)
            if os.path.isfile(file) and re.search(r'(main\.c|main\.cpp|\.yaml|meson\.build|CMakeLists\.txt|Makefile|'
                                                  r'(text|predict)\.[ch]|standalone/softmax\.[ch]|(decode|model|mpi|server)/\w+\.[ch]|'
                                                  r'picture\.py|plot\.py)$', file):
                os.makedirs(os.path.dirname(self.path(relative)), exist_ok=True)
                shutil.copy(file, self.path(relative))
        return self.path('examples')


def blocks(title):
    """Returns the commands in a section of examples/README.md."""
    return [text for word, text in installed.blocks(os.path.join('examples', 'README.md'), title) if not word]


def foresees(text, kernel='softmax, scale 16', least=44, most=65):
    found = re.search(re.escape(kernel) + r' +([0-9.]+)%', text)
    check(found and least <= float(found[1]) <= most,
          '%s: not from %d%% to %d%%:\n%s' % (kernel, least, most, text[-800:]))


def sources(place, folder):
    """Copies a clone's files, with uncommitted changes, into a folder. Returns their names."""
    if not os.path.exists(os.path.join(ROOT, '.git')):
        raise Skip('this is no clone')
    listed = place.run(['git', '-c', 'safe.directory=*', '-C', ROOT, 'ls-files', '-z', '--cached', '--others',
                        '--exclude-standard']).stdout.split('\0')
    files = sorted({f for f in listed if os.path.isfile(os.path.join(ROOT, f)) or os.path.islink(os.path.join(ROOT, f))})
    for file in files:
        os.makedirs(os.path.dirname(place.path(folder, file)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, file), place.path(folder, file), follow_symlinks=False)
    return files


def generator(folder):
    """Returns examples/meson/meson.build with the generator of examples/README.md, and its program."""
    with open(folder + '/meson.build') as f:
        head, rule, program = re.fullmatch(r"(.*?)(\n# Without --target.*endforeach\n)(.*)",
                                           f.read().replace("attnc = find_program('attnc', native: true)\n", ''),
                                           flags=re.S).groups()
    lines = [text for word, text in installed.blocks(os.path.join('examples', 'README.md'), 'meson') if word == 'meson']
    check(len(lines) == 1, 'not one block of meson: %s' % lines)
    return head, lines[0], program.replace(' kernels,', ' sources,')


def times(folder):
    """Returns the modification times of files that a build makes."""
    return {f: os.stat(f).st_mtime_ns for f in glob.glob(folder + '/**/*', recursive=True)
            if re.search(r'(softmax|poly\w+)(\.c)?\.[cho]$', f)}


def exported(place, file, *options):
    return [line.split()[-1] for line in place.run(['nm', '--defined-only', *options, file]).stdout.splitlines()
            if re.match(r'[0-9a-f]+ ', line)]


def needed(place, file):
    return sorted(re.findall(r'\(NEEDED\).*\[(\S+?)\]', place.run(['readelf', '-d', file]).stdout))


# ---------------------------------------------------------------- installed files

@case()
def what_belongs_is_there(place):
    library = place.library()
    files = {os.path.relpath(os.path.join(d, f), place.prefix) for d, _, names in os.walk(place.prefix) for f in names}
    version = place.run(['attnc', '--version']).stdout.split()[1]
    specs = {'share/attnc/specs/' + f for f in os.listdir(os.path.join(ROOT, 'specs')) if f.endswith('.yaml')}
    relative = os.path.relpath(library, place.prefix)
    wanted = {'bin/attnc', 'include/attnrt.h', 'include/attnrt_tiles.h', 'share/attnc/attnc.mk',
              'share/attnc/attnc.schema.json', 'share/man/man1/attnc.1', 'share/man/man5/attnc-spec.5',
              'share/man/man3/attnrt.3', 'share/bash-completion/completions/attnc', 'share/zsh/site-functions/_attnc',
              'share/fish/vendor_completions.d/attnc.fish'} | specs | {relative + '/' + f for f in (
        'libattnc_ort.so', 'libattnrt.a', 'libattnrt.so', 'libattnrt.so.0', 'libattnrt.so.' + version, 'pkgconfig/attnc.pc',
        'pkgconfig/attnrt.pc', 'cmake/attnc/attncAddKernel.cmake', 'cmake/attnc/attncConfig.cmake',
        'cmake/attnc/attncConfigVersion.cmake')}
    for folder in 'attnrt', 'attnrt/kernel':
        wanted |= {'include/%s/%s' % (folder, f) for f in os.listdir(os.path.join(ROOT, 'runtime', folder)) if f.endswith('.h')}
    if os.path.exists(library + '/libattnrt_mpi.a'):   # the build found MPI
        wanted |= {'include/attnrt_mpi.h', 'include/attnrt_ranks.h'} | {relative + '/' + f for f in (
            'libattnrt_mpi.a', 'libattnrt_mpi.so', 'libattnrt_mpi.so.0', 'libattnrt_mpi.so.' + version,
            'pkgconfig/attnrt_mpi.pc')}
    check(files == wanted, 'missing %s, too many %s' % (sorted(wanted - files), sorted(files - wanted)))
    for package in 'attnc', 'attnrt':
        check(place.run(['pkg-config', '--modversion', package]).stdout.strip() == version,
              package + '.pc has another version than attnc')
    for file in glob.glob(library + '/pkgconfig/*') + glob.glob(library + '/cmake/attnc/*') + [
            place.prefix + '/share/attnc/attnc.mk']:
        with open(file) as f:
            text = f.read()
        check('/usr' not in text and ROOT not in text and not re.search(r'@\w+@', text),
              file + ' has a path of the build in it')
    check('softmax' in place.run(['attnc', 'list']).stdout, 'attnc list')


@case('named', ['--libdir', 'odd/libraries'])
@case('default', [])
def libraries_lie_where_debian_looks(place, name, options):
    """Without dpkg-dev, libraries go to `lib` or the folder that the user names."""
    if not os.path.exists('/etc/debian_version'):
        raise Skip('this is no Debian')
    os.mkdir(place.path('bin'))
    place.write('bin/dpkg-architecture', '#!/bin/sh\nexit 127\n')
    os.chmod(place.path('bin', 'dpkg-architecture'), 0o755)
    without = {'PATH': place.path('bin') + ':' + os.environ['PATH'],
               'PKG_CONFIG_PATH': os.environ.get('PKG_CONFIG_PATH', '')}
    place.run(['meson', 'setup', 'build', ROOT, '-Dtests=disabled', '-Ddemo=false', *options], env=without)
    told = {o['name']: o['value']
            for o in json.loads(place.run(['meson', 'introspect', '--buildoptions', 'build'], env=without).stdout)}
    check(told['libdir'] == (options[1] if options else 'lib'), 'libdir is ' + told['libdir'])


@case()
def libraries_show_what_belongs(place):
    library = place.library()
    shared = os.path.join(library, 'libattnrt.so')
    declared = set()
    headers = [*glob.glob(place.prefix + '/include/attnrt/*.h'), *(place.prefix + '/include/' + h for h in ('attnrt.h', 'attnrt/kernel/call.h'))]
    for header in headers:
        with open(header) as f:
            declared |= set(re.findall(r'\b(attn_\w+)\(', re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)))
    names = exported(place, shared, '-D')
    check(set(names) == declared, 'exported: %s' % sorted(set(names) ^ declared))
    check(re.search(r'SONAME.*\[libattnrt\.so\.0\]', place.run(['readelf', '-d', shared]).stdout),
          'no soname libattnrt.so.0')
    check(set(needed(place, shared)) <= {'libc.so.6', 'libm.so.6'}, 'libattnrt.so needs %s' % needed(place, shared))
    loaded = place.run(['ldd', os.path.join(place.prefix, 'bin/attnc')]).stdout
    check('not found' not in loaded and 'attnrt' not in loaded and 'libclang' not in loaded and 'omp' not in loaded,
          'attnc loads ' + loaded)


@case()
def debian_packages(place):
    """Every installed file is in exactly one Debian package."""
    debian = os.path.join(ROOT, 'compiler', 'install', 'debian')
    version = place.run(['attnc', '--version']).stdout.split()[1]
    with open(debian + '/control') as f:
        control = f.read()
    packages = re.findall(r'^Package: (.*)', control, flags=re.M)
    with open(os.path.join(ROOT, 'dev')) as f:
        libraries = {p for p in re.search(r'^build_packages=\(([^)]*)\)', f.read(), flags=re.M)[1].split()
                     if re.match('lib.*-dev$', p)}
    needed_to_build = set(re.findall(r'[\w.-]+', re.search(r'^Build-Depends:((?:\n .*)*)', control, flags=re.M)[1]))
    # libc6-dev is for every machine. The other packages are for tests, for clang, and for ranks, which no package has.
    missing = libraries - {'libc6-dev', 'libcunit1-dev', 'libomp-19-dev', 'libopenmpi-dev'} - needed_to_build
    check(not missing, 'Build-Depends lacks %s' % sorted(missing))
    soname = re.search(r'SONAME.*\[libattnrt\.so\.(\d+)\]',
                       place.run(['readelf', '-d', place.library() + '/libattnrt.so']).stdout)[1]
    check(packages == ['attnc', 'libattnrt' + soname, 'libattnrt-dev'], 'packages: %s' % packages)
    libraries = os.path.relpath(place.library(), place.prefix)
    there = []
    for d, folders, names in os.walk(place.prefix):
        there += [re.sub('^%s/' % re.escape(libraries), 'lib/triplet/',
                         os.path.relpath(os.path.join(d, n), place.prefix)) for n in names if not re.search('attnrt_(mpi|ranks)', n)]
    held = []
    for package in packages:
        with open(debian + '/' + package + '.install') as f:
            for pattern in f.read().split():
                found = [name for name in there if fnmatch.fnmatch('usr/' + name, pattern)
                         or fnmatch.fnmatch('usr/' + name, pattern + '/*')]
                check(found, '%s: there is no %s' % (package, pattern))
                held += found
    check(sorted(held) == sorted(there), 'in no package: %s; in two: %s' % (
        sorted(set(there) - set(held)), sorted(n for n in held if held.count(n) > 1)))
    with open(debian + '/changelog') as f:
        check(f.readline().startswith('attnc (%s-' % version), 'debian/changelog has another version')


@case()
def debian_build(place):
    place.needs('dpkg-buildpackage', 'dpkg-deb', 'dh', 'make', 'cc')
    with open(os.path.join(ROOT, 'examples', 'README.md')) as f:
        command = re.search(r'`(cp -r compiler/install/debian .*dpkg-buildpackage .*?)`', f.read())[1]
    sources(place, 'source')
    if execute(['dpkg-checkbuilddeps', 'compiler/install/debian/control'], cwd=place.path('source')).returncode:
        raise Skip('not all packages that the build needs are installed')
    without = {'PATH': through_ccache(), 'PKG_CONFIG_PATH': os.environ.get('PKG_CONFIG_PATH', ''),
               'DEB_BUILD_OPTIONS': 'noautodbgsym parallel=2'}
    place.run(['bash', '-ec', command], cwd=place.path('source'), env=without, timeout=400)
    packages = glob.glob(place.path('*.deb'))
    check(len(packages) == 3, 'packages: %s' % packages)
    for package in packages:
        place.run(['dpkg-deb', '-x', package, place.path('root')])
    found = os.path.dirname(glob.glob(place.path('root', 'usr', 'lib', '*', 'pkgconfig', 'attnc.pc'))[0])
    folder = os.path.join(place.examples(), 'make')
    place.run(['make'], cwd=folder,
              env={'PATH': place.path('root', 'usr', 'bin') + ':' + through_ccache(), 'PKG_CONFIG_PATH': found})
    foresees(place.run([folder + '/predict', place.text], cwd=folder).stdout)
    with open(folder + '/softmax.yaml.d') as f:
        check('softmax.c' in f.read(), 'no depfile')
    check(place.run([place.path('root', 'usr', 'bin', 'attnc'), 'list']).stdout == place.run(['attnc', 'list']).stdout,
          'attnc list')


@case()
def shared_runtime(place):
    """Builds a project that finds attnc through pkg-config and links the shared library."""
    folder = os.path.join(place.examples(), 'make')
    place.run(['bash', '-ec', '''attnc softmax.yaml polynomial.yaml
        flags=$(pkg-config --cflags --libs attnrt)
        eval "cc -O0 -fopenmp main.c softmax.c polynomial.c ../text/predict.c ../text/text.c $flags -lm -o predict"'''],
              cwd=folder)
    program = os.path.join(folder, 'predict')
    check('libattnrt.so.0' in needed(place, program), 'needs %s' % needed(place, program))
    foresees(place.run([program, place.text], cwd=folder).stdout)


@case()
def headers_in_cpp(place):
    """One C++ program includes the headers of all specs."""
    place.needs('g++')
    specs = sorted(glob.glob(place.prefix + '/share/attnc/specs/*.yaml'))
    names = [os.path.basename(s)[:-5] for s in specs]
    with open(place.path('all.cpp'), 'w') as f:
        f.write(''.join('#include "%s.h"\n' % n for n in names)
                + '#include <attnrt.h>\nconst attn_kernel *const all[] = {%s};\n' % ', '.join(
                    '&%s_kernel' % n for n in names)
                + 'const char *why() { return attn_strerror(all[0]->version != nullptr); }\n')
    for options in [], ['--standalone']:
        place.run(['attnc', *specs, '--emit', 'h', '--quiet', *options])
        place.run(['g++', '-std=c++11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-I', place.prefix + '/include',
                   '-fsyntax-only', 'all.cpp'])
        spoken = [n for n in names if ('attn_strerror' in place.read(n + '.h')) == bool(options)]
        check(not spoken, 'attn_strerror, which a standalone header lacks, is spoken of otherwise in %s' % spoken)
        place.run(['attnc', specs[0], '--emit', 'c', '--quiet', *options])
        name = names[0]
        with open(place.path(name + '.c')) as f:
            check('C11 with GNU extensions, for a C compiler; C++ includes %s.h.' % name in f.read().split('\n')[1],
                  'the second line does not say what language it is')


@case()
def other_languages(place):
    """Compiling a kernel's C as another language gives one clear error. The kernel's header can be included in
    other languages."""
    place.needs('gcc', 'g++', 'clang-19')
    for options in [], ['--standalone']:
        place.run(['attnc', 'softmax', '--emit', 'c,h', '--set', 'emit=[forward, backward, decode]', '--set', 'mask=causal',
                   '--quiet', *options])
        place.write('program.c', '#include "softmax.h"\nint main(void) { return softmax_kernel.head_dim != 64; }\n')
        for language, error in (['c++', '-std=c++11'], 'C, not C++'), (['c', '-std=c89'], 'not C89'), (
                ['c', '-std=gnu89'], 'not C89'), (['c', '-U__GNUC__'], 'GNU C'), (['c', '-std=gnu99'], None), (['c'], None):
            for cc in 'gcc', 'clang-19':
                line = [cc, '-Wall', '-Wextra', '-I', place.prefix + '/include', '-fsyntax-only', '-x', *language]
                refused = place.run([*line, '-Wpedantic', '-Wno-builtin-macro-redefined', 'softmax.c'] if error else
                                    [*line, 'softmax.c'], status=1 if error else 0).stderr
                said = re.findall('(?:error|warning): .*', refused)
                check(len(said) == bool(error) and (not error or error in said[0]),
                      '%s %s says %s' % (cc, language, said[:5]))
                if '-U__GNUC__' not in language:
                    place.run([*line, '-Wpedantic', '-Werror', 'program.c'])


@case()
def kernels_do_not_clash(place):
    """One program links the kernels of many specs. Each kernel exports only names that begin with the spec's name."""
    place.needs('cc', 'nm')
    cc = shutil.which('clang-19') or 'cc'   # without optimisation, clang takes half the time
    specs = sorted(glob.glob(place.prefix + '/share/attnc/specs/*.yaml'))[::1 if WHOLE else 3]
    names = [os.path.basename(s)[:-5] for s in specs]
    place.run(['attnc', *specs[::2], '--target', 'generic', '--quiet'])
    place.run(['attnc', *specs[1::2], '--target', 'generic', '--quiet', '--standalone'])
    place.write('main.c', ''.join('#include "%s.h"\n' % n for n in names) + '#include <stdio.h>\nint main(void)\n{\n'
                + ''.join('    puts(%s_kernel.name);\n' % n for n in names) + '    return 0;\n}\n')
    place.run(['bash', '-ec', 'for file in *.c; do "$CC" -O0 -fopenmp -I "$PREFIX/include" -c "$file"; done\n'
               '"$CC" -fopenmp *.o "$LIB/libattnrt.a" -lm -o all'], env={'CC': cc, 'LIB': place.library()})
    check(place.run([place.path('all')]).stdout.split() == names, 'a kernel is another')
    for name in names:
        found = exported(place, name + '.o', '-g')
        check(name + '_forward' in found and all(n.startswith(name + '_') for n in found),
              '%s exports %s' % (name, found))


@case()
def library_with_kernels(place):
    place.needs('cmake', 'cc', 'nm', 'ldd')
    folder = os.path.join(place.examples(), 'cmake')
    place.write('examples/cmake/mine.c', '#include "softmax.h"\n#include "polysketch.h"\nint mine(void);\n'
                'int mine(void) { return softmax_kernel.params + polysketch_kernel.params; }\n')
    with open(folder + '/CMakeLists.txt') as f:
        text = f.read().replace('add_executable(predict main.c', 'add_library(predict SHARED mine.c')
    with open(folder + '/CMakeLists.txt', 'w') as f:
        f.write(text)
    place.run(['bash', '-ec', 'cmake -S . -B build\ncmake --build build'], cwd=folder, env={'CMAKE_BUILD_TYPE': ''})
    names = exported(place, folder + '/build/libpredict.so', '-D')
    check('mine' in names and 'softmax_forward' in names and 'polysketch_forward' in names, 'exported: %s' % names)
    check(not [n for n in names if n not in ('mine', 'predict') and not re.match('(softmax|polysketch|text)_', n)],
          'exported: %s' % names)
    check(not [n for n in needed(place, folder + '/build/libpredict.so') if not re.match(r'lib(c|m|gomp|omp)\.', n)],
          'needs %s' % needed(place, folder + '/build/libpredict.so'))
    loaded = place.run(['ldd', folder + '/build/libpredict.so']).stdout
    check('not found' not in loaded and 'attnrt' not in loaded, 'loads ' + loaded)


@case()
def library_by_hand(place):
    """A user's shared library contains the static runtime and does not export it."""
    place.write('soft.yaml', 'name: soft\nsimilarity: softmax\nmask: causal\nshape: {head_dim: 8}\n')
    place.run(['bash', '-ec', 'attnc soft.yaml\n'
               'cc -O0 -shared -fPIC -I "$PREFIX/include" soft.c '
               '-Wl,--whole-archive "$LIB/libattnrt.a" -Wl,--no-whole-archive -lm -o libsoft.so'],
              env={'LIB': place.library()})
    names = exported(place, 'libsoft.so', '-D')
    check('soft_forward' in names and not [n for n in names if n.startswith('attn')], 'exported: %s' % names)
    check('attn_problem_check' in exported(place, 'libsoft.so'), 'the runtime is not in it')
    # A program with hidden visibility finds attn_strerror in the shared runtime.
    place.write('main.c',
                '#include <attnrt.h>\n#include <stdio.h>\nint main(void) { return puts(attn_strerror(0)) < 0; }\n')
    place.run(['bash', '-ec', 'eval "cc -fvisibility=hidden main.c $(pkg-config --cflags --libs attnrt) -o main"'])
    check('libattnrt.so.0' in needed(place, 'main') and place.run([place.path('main')]).stdout,
          'the shared runtime is not found where it was installed')


# CMake's options of a cross build.
CROSS = ['-DCMAKE_SYSTEM_NAME=Linux', '-DCMAKE_SYSTEM_PROCESSOR=aarch64', '-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc']
# A spec whose name differs from the name of its file.
FLOW = ('{name: softmax, description: in one line, similarity: {softmax: {scale: 16}}, mask: causal, '
        'shape: {head_dim: 64}}\n')


@case('Unix Makefiles')
@case('Ninja')
def cmake_kernels_of_another_directory(place, generator):
    """Kernels are built below the directory of their program. If a spec changes, its kernel is built again."""
    place.needs('cmake', {'Ninja': 'ninja', 'Unix Makefiles': 'make'}[generator])
    folder = os.path.join(place.examples(), 'cmake')
    os.remove(folder + '/softmax.yaml')
    os.mkdir(folder + '/kernels')
    os.rename(folder + '/polysketch.yaml', folder + '/kernels/polysketch.yaml')
    place.write('examples/cmake/kernels/one line.yaml', FLOW)
    place.write('examples/cmake/kernels/CMakeLists.txt',
                'find_package(attnc 0.2 REQUIRED)\nattnc_add_kernel(predict "one line.yaml")\n'
                'attnc_add_kernel(predict polysketch.yaml SET name=polysketch TARGETS generic)\n')
    place.write('examples/cmake/CMakeLists.txt', 'cmake_minimum_required(VERSION 3.20)\nproject(predict LANGUAGES C)\n'
                'add_executable(predict main.c ../text/predict.c ../text/text.c)\ntarget_link_libraries(predict m)\n'
                'add_subdirectory(kernels)\n')
    place.run(['cmake', '-S', '.', '-B', 'build', '-G', generator], cwd=folder)
    build = ['cmake', '--build', 'build', '-j2']
    place.run(build, cwd=folder)
    foresees(place.run([folder + '/build/predict', place.text], cwd=folder).stdout)
    first = times(folder + '/build')
    check(sorted({os.path.basename(f) for f in first})
          == ['polysketch.c', 'polysketch.c.o', 'polysketch.h', 'softmax.c', 'softmax.c.o', 'softmax.h'],
          'made: %s' % sorted(first))
    place.run(build, cwd=folder)
    check(times(folder + '/build') == first, 'a second build compiles kernels again')
    place.write('examples/cmake/kernels/one line.yaml', FLOW.replace('scale: 16', 'scale: 0.01'))
    place.run(build, cwd=folder)
    second = times(folder + '/build')
    changed = {os.path.basename(f).split('.')[0] for f in first if second[f] != first[f]}
    check(second.keys() == first.keys() and changed == {'softmax'}, 'made again: %s' % changed)
    foresees(place.run([folder + '/build/predict', place.text], cwd=folder).stdout, least=5, most=40)
    place.write('examples/cmake/kernels/one line.yaml', FLOW.replace('similarity', 'similarty'))
    broken = execute(build, cwd=folder, env=place.environment)
    check(broken.returncode != 0 and 'one line.yaml:1:' in broken.stdout + broken.stderr,
          'a wrong spec: ' + (broken.stdout + broken.stderr)[-500:])
    place.write('examples/cmake/kernels/one line.yaml', FLOW)
    place.run(build, cwd=folder)
    foresees(place.run([folder + '/build/predict', place.text], cwd=folder).stdout)


@case()
def make_asks_for_names(place):
    """Build rules ask attnc for a kernel's name."""
    place.needs('make', 'cc')
    folder = os.path.join(place.examples(), 'make')
    os.remove(folder + '/softmax.yaml')
    os.mkdir(folder + '/kernels')
    place.write('examples/make/kernels/line.yaml', FLOW)
    with open(folder + '/Makefile') as f:
        text = f.read()
    with open(folder + '/Makefile', 'w') as f:
        f.write(text.replace('KERNELS := softmax.yaml', 'KERNELS := kernels/line.yaml').replace(
            'main.o: main.c', 'main.o: CPPFLAGS += -Ikernels\nmain.o: main.c')
                .replace('$(ATTNC_CFLAGS) -c', '$(CPPFLAGS) $(ATTNC_CFLAGS) -c'))

    def make(*words):
        return place.run(['make', '-j2', *words], cwd=folder).stdout

    make()
    foresees(place.run([folder + '/predict', place.text], cwd=folder).stdout)
    check(sorted(os.listdir(folder + '/kernels'))
          == ['line.yaml', 'line.yaml.d', 'softmax.c', 'softmax.h', 'softmax.o'],
          'made: %s' % os.listdir(folder + '/kernels'))
    first = times(folder)
    make()
    check(times(folder) == first, 'a second make compiles kernels again')
    os.remove(folder + '/kernels/softmax.h')
    make()
    check(os.path.exists(folder + '/kernels/softmax.h'), 'a header that was removed is not made again')
    make()
    place.write('examples/make/kernels/line.yaml', FLOW.replace('scale: 16', 'scale: 0.01'))
    first = times(folder)
    make()
    second = times(folder)
    changed = {os.path.basename(f).split('.')[0] for f in first if second[f] != first[f]}
    check(second.keys() == first.keys() and changed == {'softmax'}, 'made again: %s' % changed)
    foresees(place.run([folder + '/predict', place.text], cwd=folder).stdout, least=5, most=40)
    place.write('examples/make/kernels/line.yaml', FLOW.replace('similarity', 'similarty'))
    broken = execute(['make'], cwd=folder, env=place.environment)
    check(broken.returncode != 0 and broken.stderr.count('kernels/line.yaml:1:') == 2,
          'a wrong spec: ' + (broken.stdout + broken.stderr)[-600:])


@case()
def folders_leave_no_trace(place):
    """One project in two folders gives equal files."""
    place.needs('make', 'cc')
    made = []
    for name in 'one', 'another one':
        os.mkdir(place.path(name))
        os.rename(place.examples(), place.path(name, 'examples'))
        folder = place.path(name, 'examples', 'make')
        place.run(['make'], cwd=folder)
        found = {}
        for file in os.listdir(folder):
            if re.match(r'(softmax|polynomial)\.', file):
                with open(os.path.join(folder, file), 'rb') as f:
                    found[file] = f.read()
        made.append(found)
    check({os.path.splitext(f)[1] for f in made[0]} == {'.c', '.h', '.o', '.d', '.yaml'}, 'made: %s' % sorted(made[0]))
    check(made[0].keys() == made[1].keys(), 'made: %s' % sorted(made[0].keys() ^ made[1].keys()))
    check(made[0] == made[1], 'they differ: %s' % [f for f in made[0] if made[0][f] != made[1][f]])


@case()
def distribution(place):
    """The tarball of `meson dist` builds and can be installed."""
    place.needs('git', 'meson', 'cc', 'tar', 'gzip')
    files = sources(place, 'clone')
    place.run(['bash', '-ec', '''git init -q
        git add -f .
        git -c user.name=me -c user.email=me@localhost -c commit.gpgsign=false commit -q -m all
        meson setup build -Dtests=disabled -Ddemo=false
        meson dist -C build --no-tests --formats gztar
        tar xf build/meson-dist/attnc-*.tar.gz -C ..'''], cwd=place.path('clone'),
              env={'PKG_CONFIG_PATH': os.environ.get('PKG_CONFIG_PATH', '')})
    version = place.run(['attnc', '--version']).stdout.split()[1]
    top = place.path('attnc-' + version)
    carried = sorted(os.path.relpath(os.path.join(d, n), top) for d, folders, names in os.walk(top)
                     for n in (*names, *(f for f in folders if os.path.islink(os.path.join(d, f)))))
    check(carried == files,
          'not carried: %s; too many: %s' % (sorted(set(files) - set(carried)), sorted(set(carried) - set(files))))
    check('compiler/install/debian/control' in files, 'no Debian package')
    prefix, (install, export) = os.path.join(top, 'pre fix'), blocks('Examples')
    # With the options and file names of `./dev build`, ccache has the objects if ./dev runs this.
    place.run(
        ['bash', '-ec', 'meson setup build --buildtype=release -Dtests=disabled -Ddemo=false\n' + install], cwd=top,
        env={'PKG_CONFIG_PATH': os.environ.get('PKG_CONFIG_PATH', ''), 'PREFIX': prefix, 'CC': cached('clang'),
             'CFLAGS': ''}, timeout=400)

    def tree(folder, libraries):
        return sorted(os.path.relpath(os.path.join(d, n), folder).replace(libraries, 'lib')
                      for d, _, names in os.walk(folder) for n in names)

    ours, wanted = tree(prefix, 'lib'), tree(place.prefix, os.path.relpath(place.library(), place.prefix))
    check(ours == wanted, 'installed otherwise: %s' % sorted(set(ours) ^ set(wanted)))
    folder = os.path.join(place.examples(), 'make')
    out = place.run(['bash', '-ec', export + '''attnc softmax.yaml polynomial.yaml --quiet
        eval "cc -O0 -fopenmp main.c softmax.c polynomial.c ../text/predict.c ../text/text.c \
            $(pkg-config --cflags --libs attnrt) -lm -o predict"
        ldd predict
        ./predict "$TEXT"'''], cwd=folder,
                    env={'PREFIX': prefix, 'TEXT': place.text, 'PATH': through_ccache(), 'PKG_CONFIG_PATH': '/none'}).stdout
    foresees(out)
    check('libattnrt.so.0 => ' + prefix in out.replace('lib/pkgconfig/../../', ''), 'another libattnrt: ' + out[:800])
    specs = sorted(glob.glob(prefix + '/share/attnc/specs/*.yaml'))
    for attnc, out in (os.path.join(prefix, 'bin', 'attnc'), 'one'), ('attnc', 'two'):
        os.mkdir(place.path(out))
        place.run([attnc, *specs, '--quiet', '--emit', 'c,h,json,dot,py', '-o', out])
    check(len(os.listdir(place.path('one'))) == 5 * len(specs), 'not all was made')
    place.run(['diff', '-r', 'one', 'two'])


@case()
def release(place):
    """`./dev release` archives a commit, and lists its files with checksums and in an SBOM."""
    place.needs('git', 'tar', 'pkg-config')
    files = sources(place, 'clone')
    clone, version = place.path('clone'), place.run(['attnc', '--version']).stdout.split()[1]
    program, name = ['python3', clone + '/compiler/install/release.py', '--only', 'source', '--no-proof'], 'attnc-' + version
    place.run(['bash', '-ec', '''git init -q
        git add -f .
        git -c user.name=me -c user.email=me@localhost -c commit.gpgsign=false commit -q -m all'''], cwd=clone)
    place.run(program, cwd=clone)
    made = os.path.join(clone, 'build-release', name)
    place.run(['sha256sum', '--quiet', '-c', 'SHA256SUMS'], cwd=made)
    carried = place.run(['tar', '-tzf', name + '.tar.gz'], cwd=made).stdout.split('\n')
    check(sorted(f[len(name) + 1:] for f in carried if f and not f.endswith('/')) == files, 'not all is in the archive')
    with open('%s/%s.cdx.json' % (made, name)) as f: listed = json.load(f)
    check([c['name'] for c in listed['components'] if c['type'] == 'file'] == [name + '.tar.gz'], listed['components'])
    # A version that the changelog does not name is no release, and leaves no checksums.
    with open(clone + '/CHANGELOG.md', 'w') as f: f.write('# Changelog\n')
    said = place.run(program, cwd=clone, status=1).stdout
    check("CHANGELOG.md has no entry '## [%s]'" % version in said, said)
    check(not os.path.exists(made + '/SHA256SUMS'), 'there are checksums of a release that failed')


# ---------------------------------------------------------------- the examples

@case()
def continues_a_text(place):
    """Runs the commands of examples/decode/README.md."""
    place.needs('make', 'cc')
    folder = os.path.join(place.examples(), 'decode')
    first, _, saved = [text for _, text in installed.blocks(os.path.join('examples', 'decode', 'README.md'),
                                                            'A text continued, byte by byte')]
    short = ' --train 2 --times 1024\n'
    place.environment |= {'CFLAGS': '-O1 -g0', 'CC': os.path.basename(compiler('clang'))}   # training takes longer than compiling
    place.run(['bash', '-ec', 'make() { command make "ATTNCFLAGS=--target generic"; }\n' + first.replace('decode\n', 'decode' + short)],
              cwd=folder)
    said = place.run(['bash', '-ec', saved.replace('length 80\n', 'length 80' + short)], cwd=folder).stdout
    check(said.count('polysketch, trained on GPL-3: ') == 2 and 'loaded' in said and os.path.exists(folder + '/text.state'), said)
    check(not [n for n in needed(place, folder + '/decode') if not re.match(r'lib(c|m|gomp|omp)\.', n)],
          'needs %s' % needed(place, folder + '/decode'))


@case()
def serves(place):
    """Runs the server of examples/server with one kernel, and draws its pictures."""
    place.needs('make', 'cc')
    folder = os.path.join(place.examples(), 'server')
    place.run(['make', 'CC=' + cached('clang'), 'ATTNCFLAGS=--target native'], cwd=folder, env={'PATH': through_ccache()})
    said = place.run(['./server', '--check', '--only', 'window', 'steps.csv'], cwd=folder).stdout
    check('the same bits' in said, said)
    counted = lambda text: re.search(r'^window +(\d+ tokens) .*(at most +[\d.]+ MiB)', text, re.M).groups()
    with open(os.path.join(ROOT, 'examples', 'server', 'README.md')) as f: check(counted(said) == counted(f.read()), said)
    place.run([sys.executable, 'picture.py', 'steps.csv', 'memory.svg', 'speed.svg'], cwd=folder)
    with open(os.path.join(folder, 'speed.svg')) as f: check('window' in f.read(), 'no curve')
    alone = os.path.join(folder, 'alone')
    os.mkdir(alone)
    shutil.copy(os.path.join(folder, 'picture.py'), alone)
    done = execute([sys.executable, 'picture.py', '../steps.csv', 'memory.svg', 'speed.svg'], cwd=alone)
    check(done.returncode == 1 and 'copy examples/train/plot.py' in done.stderr, done.stderr)


@case()
def long_over_ranks(place):
    """Builds examples/mpi with Meson and with CMake. Results have the same bits on any number of ranks."""
    place.needs('mpirun', 'cmake')
    folder = os.path.join(place.examples(), 'mpi')
    for line in blocks('mpi')[0].splitlines()[1:3] + ['cmake -S . -B with_cmake', 'cmake --build with_cmake']:
        place.run(['bash', '-ec', line], cwd=folder)
    said = []
    for program, ranks in ('build/long', 1), ('build/long', 3), ('with_cmake/long', 2):
        done = place.run(['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', str(ranks), program, '2000', '2'], cwd=folder,
                         env={'OMP_NUM_THREADS': '1', 'LD_LIBRARY_PATH': place.prefix + '/lib'})
        said.append(re.findall('bits: ([0-9a-f]{8})', done.stdout))
        check(len(re.findall(r'^ +\d', done.stdout, re.M)) == 2 * ranks, done.stdout)
    check(len(said[0]) == 2 and said[0] == said[1] == said[2], said)
    with open(folder + '/ranks.svg') as f: check(f.read().count('<text') == 2 + 2 * 2 * 2, 'not all ranks are drawn')


@case('meson', 'build', ['ninja', '-C', 'build'])
@case('cmake', 'build', ['cmake', '--build', 'build'])
@case('make', '.', ['make'])
@case('cpp', 'build', ['cmake', '--build', 'build'])
@case('standalone', None, None)
def example(place, name, build, command):
    """The example works as documented. Editing a spec rebuilds only its kernel. A wrong spec ends the build with
    attnc's message."""
    place.needs('cc', *({'cmake': ['cmake'], 'cpp': ['cmake', 'c++']}.get(name, [])))
    top = place.examples()
    commands = blocks(name)[0]
    check(TEXT in commands, 'no %s in %s' % (TEXT, commands))
    commands = commands.replace(TEXT, '"$TEXT"')   # a part of it, because kernels of -O0 take quadratic time
    if name == 'standalone':
        done = place.run(['bash', '-ec', commands.replace('cc ', 'cc -Wall -Wextra -Wpedantic -Werror ')],
                         cwd=top, env={'PATH': through_ccache(), 'TEXT': place.text})
        foresees(done.stdout)
        return check(not [n for n in exported(place, top + '/standalone/predict', '--extern-only') if n.startswith('attn')],
                     'something of the runtime is in it')
    done = place.run(['bash', '-ec', commands], cwd=top, env={'TEXT': place.text})
    foresees(done.stdout)
    folder = os.path.join(top, name)
    built = os.path.normpath(os.path.join(folder, build))
    first = times(built)
    kernels = {re.sub(r'(\.c)?\.o$', '', os.path.basename(f)).split('_.._')[-1]: f for f in first if f.endswith('.o')}
    check(len(kernels) == 2, 'kernels: %s' % kernels)
    for kernel, file in kernels.items():
        names = exported(place, file, '-g')
        check(names and all(n.startswith(kernel + '_') for n in names), '%s exports %s' % (kernel, names))
    check(not [n for n in needed(place, built + '/predict')
               if not re.match(r'lib(c|m|gomp|omp|stdc\+\+|gcc_s|attnrt)\.', n)],
          'needs %s' % needed(place, built + '/predict'))

    check(not [n for n in exported(place, built + '/predict', '-D') if re.match('softmax|poly|attn', n)],
          'the program exports what it is linked with')
    loaded = place.run(['ldd', built + '/predict']).stdout
    check('not found' not in loaded, 'loads ' + loaded)

    # attnc makes the same bytes when run by hand
    options = {'meson': ['--target', 'x86-64-v4,x86-64-v3,generic' if platform.machine() == 'x86_64'
                         else 'aarch64,generic']}.get(name, [])
    place.run(['attnc', folder + '/softmax.yaml', *options])
    emitted = [f for f in first if f.endswith('/softmax.c')]
    check(len(emitted) == 1, 'not one softmax.c: %s' % emitted)
    with open(emitted[0], 'rb') as one, open(place.path('softmax.c'), 'rb') as two:
        check(one.read() == two.read(), 'softmax.c is another in another folder')

    place.run(command, cwd=folder)
    check(times(built) == first, 'a second build compiles kernels again')
    spec = folder + '/softmax.yaml'
    with open(spec) as f:
        text = f.read()

    def rewrite(new):
        with open(spec, 'w') as f:
            f.write(new)

    rewrite(text.replace('scale: 16', 'scale: 0.01'))
    place.run(command, cwd=folder)
    second = times(built)
    changed = sorted({re.sub(r'^.*_\.\._', '', os.path.basename(f)).split('.')[0]
                      for f in second if second[f] != first.get(f)})
    check(changed == ['softmax'], 'made again: %s' % changed)
    check({os.path.splitext(f)[1] for f in second if second[f] != first[f]} == {'.c', '.h', '.o'},
          'not all of softmax was made again')
    foresees(place.run([built + '/predict', place.text], cwd=folder).stdout, least=5, most=40)

    rewrite(text.replace('softmax: {', 'sofmax: {'))
    broken = execute(command, cwd=folder, env=place.environment)
    said = broken.stdout + broken.stderr
    place_of = re.search(r'^(.*softmax\.yaml):3:\d+: error: .*sofmax', said, flags=re.M)
    check(broken.returncode != 0 and place_of and 'did you mean' in said,
          'a wrong spec: status %d: %s' % (broken.returncode, said[-800:]))
    check(any(os.path.realpath(os.path.join(start, place_of[1])) == os.path.realpath(spec)
              for start in (built, folder)), 'an editor would not find ' + place_of[1])
    rewrite(text)
    place.run(command, cwd=folder)
    foresees(place.run([built + '/predict', place.text], cwd=folder).stdout)


@case('meson', 'build', 'command: [attnc,', "command: [attnc] + (name == 'softmax' ? ['--tuned'] : []) + [",
      'meson.build', ['ninja', '-C', 'build'])
@case('cmake', 'build', '(predict softmax.yaml)', '(predict softmax.yaml TUNED)', 'CMakeLists.txt',
      ['cmake', '--build', 'build'])
@case('make', '.', 'KERNELS :=', 'TUNED := softmax.yaml\nKERNELS :=', 'Makefile', ['make'])
def tuned(place, name, build, line, with_tuned, file, command):
    """A tuned kernel is made again when SPEC.tuned.yaml changes."""
    place.needs(name)
    folder = os.path.join(place.examples(), name)
    built = os.path.join(folder, build)
    with open(os.path.join(folder, file)) as f:
        text = f.read()
    with open(folder + '/softmax.yaml') as f:
        spec = f.read()
    check(line in text, 'no %s in %s' % (line, file))
    with open(os.path.join(folder, file), 'w') as f:
        f.write(text.replace(line, with_tuned))
    configure = {'meson': ['meson', 'setup', 'build'], 'cmake': ['cmake', '-S', '.', '-B', 'build']}.get(name)
    if name == 'cmake':
        done = place.run(configure, cwd=folder, status=1)
        check('there is no file' in done.stderr and 'softmax.tuned.yaml' in done.stderr, done.stderr[-500:])
    elif configure:
        place.run(configure, cwd=folder)
    if name != 'cmake':
        done = execute(command, cwd=folder, env=place.environment)
        check(done.returncode != 0 and 'attnc tune' in done.stdout + done.stderr,
              'without the file: %d %s' % (done.returncode, (done.stdout + done.stderr)[-500:]))

    def tune(rows):
        with open(folder + '/softmax.tuned.yaml', 'w') as f:
            f.write(spec + 'schedule: [{tile_q: 48}, {from: 2000, rows: %d}]\n' % rows)

    def emitted():
        files = [f for f in times(built) if f.endswith('/softmax.c')]
        check(len(files) == 1, 'not one softmax.c: %s' % files)
        with open(files[0]) as f:
            return f.read()

    tune(8)
    if name == 'cmake':
        place.run(configure, cwd=folder)
    place.run(command, cwd=folder)
    first = times(built)
    check('.from = 2000' in emitted() and 'blocks of 8 rows' in emitted() and 'tiles of 48 queries' in emitted(),
          'softmax.c has no tuned schedule')
    foresees(place.run([built + '/predict', place.text], cwd=folder).stdout)
    place.run(command, cwd=folder)
    check(times(built) == first, 'a second build compiles kernels again')
    tune(4)
    place.run(command, cwd=folder)
    second = times(built)
    changed = sorted({re.sub(r'^.*_\.\._', '', os.path.basename(f)).split('.')[0]
                      for f in second if second[f] != first.get(f)})
    check(changed == ['softmax'] and 'blocks of 4 rows' in emitted(), 'made again: %s' % changed)


@case()
def meson_generator(place):
    """The generator of examples/README.md works like custom_target."""
    place.needs('meson', 'cc')
    folder = os.path.join(place.examples(), 'meson')
    text = ''.join(generator(folder))
    with open(folder + '/meson.build', 'w') as f:
        f.write(text)
    place.run(['bash', '-ec', 'meson setup build\nninja -C build'], cwd=folder)
    out = place.run(['build/predict', place.text], cwd=folder).stdout
    foresees(out)
    first = times(folder + '/build')
    check(len(first) == 6, 'made: %s' % sorted(first))
    place.run(['ninja', '-C', 'build'], cwd=folder)
    check(times(folder + '/build') == first, 'a second build compiles kernels again')
    with open(folder + '/polysketch.yaml', 'a') as f:
        f.write('# changed\n')
    place.run(['ninja', '-C', 'build'], cwd=folder)
    second = times(folder + '/build')
    changed = {re.search(r'(softmax|polysketch)[.\w]*$', f)[1] for f in first if second[f] != first[f]}
    check(second.keys() == first.keys() and changed == {'polysketch'}, 'made again: %s' % changed)
    check(place.run(['build/predict', place.text], cwd=folder).stdout == out, 'a comment in a spec changes what is foreseen')


def without_attnc(place):
    """Returns the environment of a user without attnc. ccache does not run the preprocessor first, because it has none of
    the objects of attnc."""
    return {'PATH': through_ccache(), 'CMAKE_PREFIX_PATH': '', 'PKG_CONFIG_PATH': os.environ.get('PKG_CONFIG_PATH', ''),
            'CCACHE_DEPEND': '1'}


def fetching(place, folder):
    """Builds examples/cmake with attnc as a subproject, using the lines of examples/README.md."""
    lines = [text for word, text in installed.blocks(os.path.join('examples', 'README.md'), 'cmake') if word == 'cmake']
    check(len(lines) == 1, 'not one block of CMake: %s' % lines)
    with open(folder + '/CMakeLists.txt') as f:
        text = f.read()
    find = '\nfind_package(attnc 0.2 REQUIRED)\n'
    check(find in text, text)
    with open(folder + '/CMakeLists.txt', 'w') as f:
        f.write(text.replace(find, '\n' + lines[0] + find))
    os.symlink(ROOT, folder + '/attnc')


def cmake_fetches_attnc(place):
    place.needs('cmake', 'meson', 'ninja')
    folder = os.path.join(place.examples(), 'cmake')
    fetching(place, folder)
    place.environment['CC'] = 'quick-clang'   # ccache has none of the objects of this attnc
    configure = ['cmake', '-S', '.', '-B', 'build', '-DATTNC_MESON_OPTIONS=-Doptimization=0;-Dc_args=-g0']
    without = without_attnc(place)
    said = place.run(configure, cwd=folder, env=without, timeout=400).stdout
    check('Building attnc' in said, said)
    without['CCACHE_NAMESPACE'] = folder   # depfiles from an earlier run have the paths of that run
    place.run(['cmake', '--build', 'build', '-j2'], cwd=folder, env=without)
    foresees(place.run([folder + '/build/predict', place.text], cwd=folder).stdout)
    with open(folder + '/build/CMakeCache.txt') as f:
        cache = dict(re.findall(r'^(\w+):\w+=(.*)$', f.read(), flags=re.M))
    own = os.path.realpath(folder + '/build/_deps')
    for name in 'ATTNC_EXECUTABLE', 'attnc_DIR':
        check(os.path.realpath(cache[name]).startswith(own), '%s is %s' % (name, cache[name]))
    shared = [f for f in glob.glob(folder + '/build/**/libattnrt.so*', recursive=True) if os.path.isfile(f)]
    check(not shared, 'a shared runtime that nobody wants is built')
    first = times(folder + '/build')
    place.run(['cmake', '--build', 'build'], cwd=folder, env=without)
    check(times(folder + '/build') == first, 'a second build compiles kernels again')


if WHOLE: case()(cmake_fetches_attnc)   # subproject_in_a_cross_build builds attnc, too


@case()
def cmake_fetches_the_runtime_in_a_cross_build(place):
    """attnc runs on this machine. The runtime is built for another machine."""
    place.needs('cmake', 'aarch64-linux-gnu-gcc', 'qemu-aarch64')
    if platform.machine() == 'aarch64':
        raise Skip('this is the other machine')
    folder = os.path.join(place.examples(), 'cmake')
    fetching(place, folder)
    place.run(['cmake', '-S', '.', '-B', 'build', *CROSS, '-DATTNC_EXECUTABLE=' + place.prefix + '/bin/attnc'],
              cwd=folder, env=without_attnc(place))
    place.run(['cmake', '--build', 'build', '-j2'], cwd=folder)
    place.write('few', place.read('text')[:1000])
    check(re.search(r'softmax.* [0-9.]+%', place.run(['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu',
                                                      folder + '/build/predict', place.path('few')]).stdout),
          'nothing is foreseen')


@case()
def cmake_finds_a_build_folder(place):
    """CMake uses attnc from its build folder, without installation."""
    place.needs('cmake')
    folder, built = os.path.join(place.examples(), 'cmake'), os.path.dirname(place.suite.attnc)
    with open(folder + '/CMakeLists.txt', 'a') as f:
        f.write('message(STATUS "specs: ${ATTNC_SPECS}")\n'
                'add_executable(shared shared.c)\ntarget_link_libraries(shared attnc::rt_shared)\n')
    place.write('examples/cmake/shared.c',
                '#include <attnrt.h>\nint main(void) { return !attn_strerror(0); }\n')
    said = place.run(['cmake', '-S', '.', '-B', 'build', '-Dattnc_DIR=' + built], cwd=folder).stdout
    specs = re.search('specs: (.*)', said)[1]
    check(os.path.isfile(specs + '/softmax.yaml'), 'no specs in ' + specs)
    with open(folder + '/build/CMakeCache.txt') as f:
        found = re.search(r'^ATTNC_EXECUTABLE:\w+=(.*)$', f.read(), flags=re.M)[1]
    check(os.path.realpath(found) == os.path.realpath(place.suite.attnc), 'another attnc: ' + found)
    place.run(['cmake', '--build', 'build', '-j2'], cwd=folder)
    foresees(place.run([folder + '/build/predict', place.text], cwd=folder).stdout)
    place.run([folder + '/build/shared'])


@case()
def cmake_refuses_what_it_does_not_understand(place):
    place.needs('cmake')
    folder = os.path.join(place.examples(), 'cmake')
    with open(folder + '/CMakeLists.txt') as f:
        text = f.read()
    for line, said in (('attnc_add_kernel(predict none.yaml)', 'there is no file'),
                       ('attnc_add_kernel(other softmax.yaml)', 'there is no target other'),
                       ('attnc_add_kernel(predict softmax.yaml SETS a=b)', 'not understood: SETS'),
                       ('find_package(attnc 99 REQUIRED)', 'compatible')):
        with open(folder + '/CMakeLists.txt', 'w') as f:
            f.write(text + line + '\n')
        done = place.run(['cmake', '-S', '.', '-B', 'build'], cwd=folder, status=1)
        check(said in ' '.join(done.stderr.split()), '%s: %s' % (line, done.stderr[-600:]))


# ---------------------------------------------------------------- compilers and machines

@case()
def compilers_mixed(place):
    """A program compiled by clang calls a kernel compiled by gcc, and the reverse, with both OpenMP libraries."""
    place.needs('gcc', 'clang-19')
    folder = os.path.join(place.examples(), 'make')
    place.run(['attnc', 'softmax.yaml', 'polynomial.yaml'], cwd=folder)
    libomp = place.run(['clang-19', '-print-file-name=libomp.so']).stdout.strip()
    if not os.path.isabs(libomp):
        raise Skip('clang has no libomp')
    said = set()
    for program, softmax, polynomial, link in (
            ('gcc', 'clang-19', 'gcc', [libomp, '-Wl,-rpath,' + os.path.dirname(libomp)]),
            ('clang-19', 'gcc', 'clang-19', ['-lgomp'])):
        flags = ['-O0', '-fopenmp', '-I', place.prefix + '/include', '-c']
        place.run([softmax, *flags, 'softmax.c'], cwd=folder)
        place.run([polynomial, *flags, 'polynomial.c'], cwd=folder)
        place.run([program, '-O0', '-fopenmp', '-I', place.prefix + '/include', 'main.c',
                   '../text/predict.c', '../text/text.c', 'softmax.o', 'polynomial.o', '-Wl,--no-as-needed', *link,
                   place.library() + '/libattnrt.a', '-lm', '-o', 'predict'], cwd=folder)
        loaded = place.run(['ldd', folder + '/predict']).stdout
        check('libomp' in loaded and 'libgomp' in loaded, 'loads ' + loaded)
        out = place.run([folder + '/predict', place.text], cwd=folder).stdout
        foresees(out)
        said.add(out)
    check(len(said) == 1, 'other predictions: %s' % said)


@case()
def subproject_in_a_cross_build(place):
    """attnc runs on this machine. The kernels and the runtime are compiled for another machine."""
    place.needs('gcc', 'aarch64-linux-gnu-gcc', 'qemu-aarch64', 'meson')
    if platform.machine() == 'aarch64':
        raise Skip('this is the other machine')
    folder = os.path.join(place.examples(), 'meson')
    _, lines, program = generator(folder)
    with open(folder + '/meson.build', 'a') as f: # appends after the rule
        f.write(lines + program.replace("'predict'", "'generated'"))
    os.mkdir(folder + '/subprojects')
    os.symlink(ROOT, folder + '/subprojects/attnc')
    with open(os.path.join(ROOT, 'examples', 'README.md')) as f, open(folder + '/subprojects/attnc.wrap', 'w') as wrap:
        wrap.write(re.search(r'```ini\n(.*?)```', f.read(), flags=re.S)[1])
    with open(folder + '/cross.ini', 'w') as f:
        f.write("[binaries]\nc = 'aarch64-linux-gnu-gcc'\nar = 'aarch64-linux-gnu-ar'\npkgconfig = 'false'\n"
                "[host_machine]\nsystem = 'linux'\ncpu_family = 'aarch64'\ncpu = 'aarch64'\nendian = 'little'\n")
    without = without_attnc(place) | {'CC_FOR_BUILD': 'gcc'}
    place.run(['meson', 'setup', 'build', '--cross-file', 'cross.ini', '-Dbuild.c_args=-O0 -g0', '-Dattnc:optimization=0',
               '-Dattnc:werror=true'],
              cwd=folder, env=without)
    place.run(['ninja', '-j2', '-C', 'build', 'predict', 'generated'], cwd=folder, env=without)
    for program in 'predict', 'generated':
        check('AArch64' in place.run(['readelf', '-h', folder + '/build/' + program]).stdout,
              program + ' is for this machine')
    check('AArch64' not in place.run(['readelf', '-h', folder + '/build/subprojects/attnc/attnc']).stdout,
          'attnc is for the other machine')
    place.write('few', place.read('text')[:1000])
    said = [place.run(['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', 'build/' + program, place.path('few')],
                      cwd=folder).stdout for program in ('predict', 'generated')]
    check(re.search(r'softmax, scale 16 +\d', said[0]) and said[0].split('\n\n')[0] == said[1].split('\n\n')[0],
          'they foresee: %s' % said)


@case()
def cmake_in_a_cross_build(place):
    """An installed attnc makes standalone kernels for another machine."""
    place.needs('cmake', 'aarch64-linux-gnu-gcc', 'qemu-aarch64')
    if platform.machine() == 'aarch64':
        raise Skip('this is the other machine')
    folder = os.path.join(place.examples(), 'standalone')
    place.write('examples/standalone/CMakeLists.txt',
                'cmake_minimum_required(VERSION 3.20)\nproject(predict C)\nfind_package(attnc REQUIRED)\n'
                'add_executable(predict main.c ../text/predict.c ../text/text.c)\n'
                'attnc_add_kernel(predict softmax.yaml STANDALONE)\n')
    for file in 'softmax.c', 'softmax.h': # the build must not use the files in the spec's folder
        os.remove(os.path.join(folder, file))
    configure = ['cmake', '-S', '.', '-B', 'build', *CROSS, '-Dattnc_DIR=' + place.library() + '/cmake/attnc']
    with open(folder + '/CMakeLists.txt') as f:
        lists = f.read()
    place.write('examples/standalone/CMakeLists.txt', lists.replace(' STANDALONE', ''))
    refused = ' '.join(place.run(configure, cwd=folder, status=1).stderr.split())
    check('libattnrt.a cannot be linked for Linux on aarch64' in refused and 'STANDALONE' in refused, refused)
    place.write('examples/standalone/CMakeLists.txt', lists)
    place.run(configure, cwd=folder)
    place.run(['cmake', '--build', 'build'], cwd=folder)
    with open(folder + '/build/attnc/predict/softmax.c') as f:
        check('--target aarch64,generic' in f.readline(), 'other targets')
    check('AArch64' in place.run(['readelf', '-h', folder + '/build/predict']).stdout, 'predict is for this machine')
    place.write('few', place.read('text')[:1000])
    check(re.search(r'softmax.* [0-9.]+%', place.run(['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu',
                                                      folder + '/build/predict', place.path('few')]).stdout),
          'nothing is foreseen')


def one(folder, suite, function, arguments):
    usual = function is example and arguments[0] == 'standalone'
    return function(Place(suite, folder, usual), *arguments)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    # The longest cases come first.
    for function, arguments in sorted(CASES, key=lambda c: c[0] not in (subproject_in_a_cross_build, cmake_fetches_attnc)):
        suite.case('/'.join([function.__name__, *arguments[:1]]), one, suite, function, arguments)
    if not suite.options.list:
        # It is found in $PATH, because make and CMake split $CC at blanks.
        folder = os.path.join(suite.folder, 'bin')
        os.mkdir(folder)
        with open(folder + '/quick-clang', 'w') as f:
            f.write('#!/bin/sh\nexec %s "$@" -O0\n' % os.path.basename(compiler('clang')))
        os.chmod(folder + '/quick-clang', 0o755)
        os.environ['PATH'] += os.pathsep + folder
        failed = installed.install(suite)
        if failed:
            print('FAIL install ' + failed)
            print('0 passed, 1 failed')
            return 1
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
