#!/usr/bin/python3
"""Finds words that make a reader read twice, in comments, messages, documents and emitted C.

words.py            checks the tree: `ok FILE`, or `FAIL FILE LINE: words: what to write`
words.py --count    counts by rule and folder
words.py FILE…      checks only these files

The rules and the allowed uses are below. architecture.md and CONTRIBUTING.md say how we write.
"""
import argparse
import ast
import collections
import io
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Each rule is (name, pattern, what to write instead).
RULES = (
    ('meet', r'\b(meets?|meeting|met)\b', 'a query attends to keys; operands are multiplied; threads synchronise'),
    ('behind', r'\bbehind\b', 'after'),
    ('in front of', r'\bin front of\b', 'before, ahead of'),
    ('so many', r'\bso many\b', 'a number, or that many'),
    ('anew', r'\banew\b', 'again, regenerate, recompile'),
    ('beside', r'\bbeside\b', 'next to, with, in addition to'),
    ('of its own', r'\bof (its|their) own\b', 'its own'),
    ('leave it to', r'\b(leaves?|left|leaving) (it|this|that) to\b', 'the subject does it'),
    ('lie', r'\b(lies?|lying|lay)\b', 'is stored, is, stands'),
    ('gradient by', r'\b(gradients?|derivatives?|differentiated?) by\b', 'with respect to'),
    ('the same', r'^The same\b', 'say what it does'),
    ('a clause first', r'(^|[.:;] )What\b(?![^.;]*\?)', 'a noun as the subject'),
    ('that of', r'\b(that|those) of\b[^.;]*\b(that|those) of\b', 'name the second one'),
)
# Each row is a pattern of file names, and a pattern of text that is right there.
ALLOWED = (
    (r'tests/numeric/lib/draw_spec\.py', r'\bmeet least\b'),   # These words are in a list of names.
    (r'examples/decode/main\.c', r'--anew\b'),   # the name of an option
    (r'runtime/kernel\.c', r'met\b'),
)
SKIPPED = re.compile(r'^(generated/|examples/standalone/.*\.[ch]$|LICENSE$|examples/text/|tests/house/words\.py$|tests/fuzz/(?!.*\.c$)'
                     r'|specs/(README\.md|attnc\.schema\.json)$|tests/(pass|spec)/.*\.(expected|graph|loops)$)')
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def of_c(text):
    """Yields comments and string literals that are sentences. Adjacent literals count as one."""
    said, end_of_said = None, 0
    for token in C_TOKEN.finditer(text):
        t, line = token.group(), text.count('\n', 0, token.start()) + 1
        if t.startswith('/*'):
            yield line, re.sub(r'\n\s*\*?', ' ', t[2:-2]).strip()
        elif t.startswith('//'):
            yield line, t[2:].strip()
        elif t.startswith('"') and t.count(' ') >= 2:
            yield line, t[1:-1].replace('\\n', ' ').replace('\\"', '"').strip()


def of_python(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(' ') >= 3:
            yield node.lineno, ' '.join(node.value.split())
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip('#! ')


def of_lines(text):
    """Yields the comments of a script, of YAML and of Meson's files."""
    for line, t in enumerate(text.split('\n'), 1):
        found = re.search(r'(^|\s)#(?!!)(.*)', t)
        if found:
            yield line, found.group(2).strip()
        elif t.startswith('description:'):
            yield line, t[len('description:'):].strip()


def of_markdown(text):
    code = False
    for line, t in enumerate(text.split('\n'), 1):
        if t.startswith('```'):
            code = not code
        elif not code:
            yield line, re.sub(r'`[^`]*`', '', t).strip(' |*#')


def prose(path, text):
    if path.endswith(('.c', '.h', '.def')):
        return of_c(text)
    if path.endswith('.py') or re.match(r'#!.*python', text):
        return of_python(text)
    if path.endswith('.md'):
        return of_markdown(text)
    return of_lines(text)


def findings(path, text):
    for line, said in prose(path, text):
        for name, pattern, write in RULES:
            found = re.search(pattern, said)
            if not found:
                continue
            if any(re.match(file, path) and re.search(use, said) for file, use in ALLOWED):
                continue
            around = said[max(0, found.start() - 30):found.end() + 30]
            yield line, name, around, write


def files():
    listed = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout.decode()
    for path in listed.split('\0'):
        if path and not SKIPPED.match(path):
            yield path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('file', nargs='*')
    p.add_argument('--count', action='store_true', help='count by rule and folder')
    options = p.parse_args()
    passed = failed = 0
    counts = collections.Counter()
    for path in options.file or files():
        try:
            with open(os.path.join(ROOT, path), encoding='utf-8') as f:
                text = f.read()
        except (UnicodeDecodeError, IsADirectoryError):
            continue
        found = list(findings(path, text))
        for line, name, around, write in found:
            counts[name, os.path.dirname(path)] += 1
            if not options.count:
                print('FAIL words/%s %d: "…%s…" (%s): %s' % (path, line, around, name, write))
        failed += bool(found)
        passed += not found
        if not found and not options.count and not options.file:
            print('ok words/' + path)
    if options.count:
        for (name, folder), n in sorted(counts.items()):
            print('%5d  %-16s %s' % (n, name, folder))
        print('%5d  in all' % sum(counts.values()))
    print('%d passed, %d failed' % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
