"""Prints comments of the tree, drawn by a seed, each with the code after it. A strict reader judges them.

python3 draw_comments.py [--seed N] [--number N] [--code LINES] [PATH…]     PATH: only comments of these files and folders
python3 draw_comments.py --count [PATH…]                            counts comments and their words by folder
"""
import argparse
import ast
import bisect
import collections
import io
import os
import random
import re
import subprocess
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ('compiler/', 'ir/', 'runtime/', 'tests/', 'examples/', 'dev')
MADE = re.compile(r'examples/standalone/softmax\.[ch]$')
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

Comment = collections.namedtuple('Comment', 'path start end words')  # start, end: offsets in the text


def of_c(text):
    for token in C_TOKEN.finditer(text):
        if token.group().startswith('/'):
            yield token.start(), token.end()


def joined(text, spans):
    """Joins comments on successive lines that have only a comment, at one indent."""
    made = []
    for start, end in spans:
        alone = text[text.rfind('\n', 0, start) + 1:start]
        if made and not alone.strip() and re.fullmatch(r'\n' + re.escape(alone), text[made[-1][1]:start]) \
                and not text[text.rfind('\n', 0, made[-1][0]) + 1:made[-1][0]].strip():
            made[-1] = made[-1][0], end
        else:
            made.append((start, end))
    return made


def of_python(text):
    """Yields the places of comments and docstrings."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    spans = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith('#!'):
            start = lines[token.start[0] - 1] + token.start[1]
            spans.append((start, start + len(token.string)))
    spans = joined(text, spans)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            said = node.body[0]

            def offset(line, column):
                first = text[lines[line - 1]:lines[line]].encode()
                return lines[line - 1] + len(first[:column].decode())
            spans.append((offset(said.lineno, said.col_offset), offset(said.end_lineno, said.end_col_offset)))
    return sorted(spans)


def of_shell(text):
    spans = [(found.start(1), found.end(1)) for found in re.finditer(r'(?:^|(?<=\s))(#(?!!) .*)', text, re.M)]
    return joined(text, spans)


def comments(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        text = f.read()
    if path.endswith(('.c', '.h', '.def')): spans = of_c(text)
    elif path.endswith('.py'): spans = of_python(text)
    else: spans = of_shell(text)
    for start, end in spans:
        words = re.findall(r'[\w.]*\w', text[start:end])
        if words:
            yield Comment(path, start, end, len(words)), text


def files(only):
    listed = subprocess.run(['git', 'ls-files'], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    for path in listed.split('\n'):
        if path.startswith(FOLDERS) and not MADE.search(path) and (
                path.endswith(('.c', '.h', '.def', '.py', '.sh', '.bash')) or path == 'dev'):
            if os.path.islink(os.path.join(ROOT, path)): continue
            if not only or any(path == p or path.startswith(p.rstrip('/') + '/') for p in only):
                yield path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('path', nargs='*')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--number', type=int, default=60)
    p.add_argument('--code', type=int, default=4, metavar='LINES')
    p.add_argument('--count', action='store_true')
    options = p.parse_args()
    found = [c for path in files(options.path) for c in comments(path)]
    if options.count:
        counts = collections.Counter()
        for c, _ in found:
            folder = os.path.dirname(c.path) or c.path
            counts[folder] += 1
            counts[folder, 'words'] += c.words
        for folder in sorted(key for key in counts if isinstance(key, str)):
            print('%6d %7d %s' % (counts[folder], counts[folder, 'words'], folder))
        print('%6d %7d in all' % (len(found), sum(c.words for c, _ in found)))
        return 0
    drawn = random.Random(options.seed).sample(found, min(options.number, len(found)))
    for number, (c, text) in enumerate(drawn, 1):
        starts = [0] + [m.end() for m in re.finditer('\n', text)]
        first, last = bisect.bisect(starts, c.start), bisect.bisect(starts, c.end - 1)
        shown = text.split('\n')[first - 1:last + options.code]
        print('%d. %s:%d\n%s\n' % (number, c.path, first, '\n'.join('    ' + line for line in shown)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
