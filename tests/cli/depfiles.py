"""Tests rules for make and ninja (-MD, -MF, -MT), and --outputs."""
import json
import os
import shutil
import subprocess
import time

from cases import POLYNOMIAL, SOFTMAX, WRONG, Place
from suite import Skip, check, execute

CASES = []


def case(function):
    CASES.append(function)
    return function


def depfile(text):
    """Parses a rule like make. Returns its targets and prerequisites."""
    text = text.replace('\\\n', ' ')
    words, word, at = [], '', 0
    while at < len(text):
        c = text[at]
        if c == '\\' and at + 1 < len(text) and text[at + 1] in ' #\\:':
            word += text[at + 1]
            at += 1
        elif text.startswith('$$', at):
            word += '$'
            at += 1
        elif c == ':' and (at + 1 == len(text) or text[at + 1].isspace()):
            words += [word] if word else []
            words.append(None)
            word = ''
        elif c.isspace():
            words += [word] if word else []
            word = ''
        else:
            word += c
        at += 1
    split = words.index(None)
    return set(words[:split]), [w for w in words[split + 1:] if w is not None]


@case
def depfile_beside_the_output(place):
    os.mkdir(place.path('out'))
    place.attnc('soft.yaml', '-MD', '-o', 'out')
    check(place.files('out') == ['soft.c', 'soft.d', 'soft.h'], 'wrote %s' % place.files('out'))
    targets, sources = depfile(place.read('out/soft.d').decode())
    check(targets == {'out/soft.c', 'out/soft.h'} and sources == ['soft.yaml'], place.read('out/soft.d').decode())


@case
def depfile_by_name(place):
    place.attnc('soft.yaml', '-MD', '-MF', 'x.dep', '-MT', 'all.c')
    check('soft.d' not in place.files(), '-MF also wrote soft.d')
    check(depfile(place.read('x.dep').decode()) == ({'all.c'}, ['soft.yaml']), place.read('x.dep').decode())


@case
def depfile_of_several(place):
    """One file has a rule for each spec. The name of the folder has a blank."""
    place.write('a b/soft.yaml', SOFTMAX)
    place.write('a b/other file.yaml', '{name: poly, similarity: {polynomial: {degree: 4}}, shape: {head_dim: 8}}\n')
    place.write('a b/Makefile', """stamp:
\t'%s' soft.yaml other\\ file.yaml -o "$(CURDIR)" -MD -MF rules.d -MT $@ && touch $@ && echo made
-include rules.d
""" % place.suite.attnc)

    def make():
        done = execute(['make'], cwd=place.path('a b'), env=place.environment)
        check(done.returncode == 0, done.stdout + done.stderr)
        return 'made' in done.stdout.splitlines()

    check(make() and not make(), 'made twice, or never')
    for spec in 'soft.yaml', 'other file.yaml':
        later = time.time() + 2
        os.utime(place.path('a b', spec), (later, later))
        check(make(), 'not made again after %s' % spec)
        os.utime(place.path('a b', spec), (0, 0))
    os.mkdir(place.path('a b', 'o u t'))
    place.attnc('soft.yaml', 'other file.yaml', '-o', 'o u t', '-MD', '-MF', 'x.d', cwd=place.path('a b'))
    rules = place.read('a b/x.d').decode().splitlines(keepends=True)
    check([depfile(r) for r in rules] == [({'o u t/soft.c', 'o u t/soft.h'}, ['soft.yaml']),
                                          ({'o u t/poly.c', 'o u t/poly.h'}, ['other file.yaml'])], rules)
    place.write('wrong.yaml', WRONG)
    place.attnc('soft.yaml', 'wrong.yaml', '-MD', '-MF', 'y.d', status=1)
    check('y.d' not in place.files(), 'a depfile although a spec was refused')


@case
def outputs_are_named(place):
    """--outputs prints the files that the command would write without this option."""
    place.write('a b/one line.yaml', '{similarity: softmax, name: flow, shape: {head_dim: 8}}\n')
    place.write('a b/plain.yaml', SOFTMAX.replace('name: soft\n', ''))
    for words in (('a b/one line.yaml', 'a b/plain.yaml'), ('a b/plain.yaml', '-o', 'o u t'),
                  ('a b/plain.yaml', '-o', 'o u t/', '--emit', 'c,py,json'),
                  ('a b/plain.yaml', 'a b/one line.yaml', '--emit', 'h', '-o', '.'),
                  ('a b/plain.yaml', '--set', 'name=other', '-o', place.path('o u t'))):
        os.makedirs(place.path('o u t'), exist_ok=True)
        before = place.files()
        named = place.attnc(*words, '--outputs').stdout.splitlines()
        check(place.files() == before, '--outputs writes %s' % sorted(set(place.files()) - set(before)))
        place.attnc(*words)
        wrote = sorted(os.path.join(place.folder, f) for f in set(place.files()) - set(before))
        check(sorted(os.path.join(place.folder, n) for n in named) == wrote,
              '%s named %s and wrote %s' % (words, named, wrote))
        for file in wrote:
            os.remove(file)
    place.write('wrong.yaml', WRONG)
    said = place.attnc('wrong.yaml', 'a b/plain.yaml', '--outputs', status=1)
    check(said.stdout == 'plain.c\nplain.h\n' and 'wrong.yaml:2:13: error' in said.stderr, said.stdout + said.stderr)


@case
def depfile_escapes_as_gcc_does(place):
    name = 'a b$c#d.yaml'
    place.write('odd $1 folder/' + name, SOFTMAX)
    os.mkdir(place.path('o u$t'))
    place.attnc('odd $1 folder/' + name, '-MD', '-MF', 'x.d', '-o', 'o u$t')
    text = place.read('x.d').decode()
    check(r'odd\ $$1\ folder/a\ b$$c\#d.yaml' in text and r'o\ u$$t/soft.c' in text, text)
    check(depfile(text) == ({'o u$t/soft.c', 'o u$t/soft.h'}, ['odd $1 folder/' + name]), text)
    gcc = shutil.which('gcc')
    if gcc:
        place.write(name[:-5] + '.c', 'int x;\n')
        wanted = subprocess.run([gcc, '-MM', '-MQ', 'o u$t/soft.c', name[:-5] + '.c'], cwd=place.folder,
                                capture_output=True, text=True).stdout
        check(r'a\ b$$c\#d.c' in wanted and r'o\ u$$t/soft.c' in wanted, 'gcc escapes otherwise: ' + wanted)


@case
def depfile_works_in_make(place):
    if not shutil.which('make'):
        raise Skip('there is no make')
    place.write('Makefile',
                "soft.c: soft.yaml\n\t'%s' soft.yaml -MD && echo made\n-include soft.d\n" % place.suite.attnc)
    def make():
        return subprocess.run(['make', '-s'], cwd=place.folder, env=place.environment, capture_output=True, text=True)
    first, second = make(), make()
    later = time.time() + 5
    os.utime(place.path('soft.yaml'), (later, later))
    third = make()
    check('made' in first.stdout and 'made' not in second.stdout and 'made' in third.stdout,
          str((first, second, third)))


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL))


def register(suite):
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
