#!/usr/bin/env python3
"""Makes a page of the specs that come with attnc: the weights as a picture, the spec, the formula, the form that the
compiler chose, and the time of a call relative to softmax.

usage: gallery.py [--out DIR] [--attnc PROGRAM] [--no-times] [--length N] [NAME…]

The page is DIR/index.html (default: build/gallery). It needs no network. Measuring takes a few seconds for each spec.
"""
import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2933; --muted: #5b6774; --line: #dde3ea; --card: #f6f8fa; --link: #2f6fb0 }
@media (prefers-color-scheme: dark) { :root { --paper: #10161d; --ink: #e6edf3; --muted: #9aa7b4; --line: #26303b; --card: #161d26; --link: #7ab8ff } }
body { margin: 0 auto; max-width: 92rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif }
a { color: var(--link) } p { max-width: 60rem } code, pre { font: 12.5px/1.4 ui-monospace, monospace }
input { font: inherit; padding: .4rem .6rem; width: 22rem; max-width: 100%; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: inherit }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 1rem; margin-top: 1rem }
article { border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: 1rem; min-width: 0 }
article[hidden] { display: none } h2 { margin: 0 0 .3rem; font-size: 1.1rem } img { display: block; width: 100%; height: auto; border-radius: 4px }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .8rem; margin: .6rem 0 } dt { color: var(--muted) } dd { margin: 0 }
summary { cursor: pointer; color: var(--link) } pre { overflow-x: auto; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: .6rem }
small { color: var(--muted) }
"""
SCRIPT = """
const cards = [...document.querySelectorAll('article')], found = document.querySelector('#found')
document.querySelector('input').addEventListener('input', event => {
  const words = event.target.value.toLowerCase().split(/\\s+/)
  for (const card of cards) card.hidden = !words.every(word => card.textContent.toLowerCase().includes(word))
  found.textContent = cards.filter(card => !card.hidden).length
})
"""


def run(attnc, *words):
    done = subprocess.run([attnc, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit('gallery: attnc %s: %s' % (' '.join(words), done.stderr.strip()))
    return done.stdout


def formula(attnc, name):
    """Returns the formula that the kernel computes, from the comment at the top of its C."""
    text = run(attnc, name, '--stdout', '--emit', 'c', '--target', 'generic', '--quiet')
    return re.sub(r'^   ', '', re.search(r'^   Computes.*?(?=\n\n)', text, flags=re.M | re.S)[0], flags=re.M)


def form(attnc, name):
    return re.search(r'^Algorithm: (.*)', run(attnc, 'explain', name), flags=re.M)[1]


def times(attnc, name, length):
    """Measures the spec and softmax in turns. Returns the time of softmax divided by that of the spec, and the
    spec's time in milliseconds."""
    text = run(attnc, 'bench', 'softmax', name, '--lengths', str(length), '--heads', '4', '--time', '0.2', '--json',
               '--quiet')
    seconds = [row['best_s'] for row in json.loads(text)['results'] if row['pass'] == 'forward']
    return seconds[0] / seconds[-1], seconds[-1] * 1e3


def card(arguments, name, folder):
    spec = run(arguments.attnc, 'show', name)
    run(arguments.attnc, 'show', name, '--picture', os.path.join(folder, name + '.svg'))
    lines = re.search(r'^description: \|-?\n((?:  .*\n)+)', spec, flags=re.M)
    title, *papers = lines[1].replace('\n  ', '\n').strip().split('\n') if lines else [name]
    facts = [('form', form(arguments.attnc, name))]
    if arguments.times:
        ratio, milliseconds = times(arguments.attnc, name, arguments.length)
        facts.append(('time', '%.3g ms, softmax takes %.2f times as long' % (milliseconds, ratio)))
    escaped = html.escape
    return '\n'.join([
        '<article id="%s"><h2>%s</h2>' % (name, name), '<p>%s</p>' % escaped(title),
        '<img src="%s.svg" alt="weights of %s" loading="lazy">' % (name, name),
        '<dl>%s</dl>' % ''.join('<dt>%s</dt><dd>%s</dd>' % (word, escaped(text)) for word, text in facts),
        '<small>%s</small>' % escaped(' '.join(papers)),
        '<details><summary>Spec</summary><pre>%s</pre></details>' % escaped(spec.strip()),
        '<details><summary>Formula</summary><pre>%s</pre></details></article>' % escaped(formula(arguments.attnc, name))])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help='only these specs')
    parser.add_argument('--out', default=os.path.join(ROOT, 'build', 'gallery'), metavar='DIR')
    parser.add_argument('--attnc', default=os.path.join(ROOT, 'build', 'attnc'), metavar='PROGRAM')
    parser.add_argument('--length', type=int, default=4096, metavar='N', help='the length at which times are measured')
    parser.add_argument('--no-times', dest='times', action='store_false', help='measures nothing')
    arguments = parser.parse_args()
    listed = [line.split()[0] for line in run(arguments.attnc, 'list').splitlines() if line.startswith(' ')]
    unknown = [name for name in arguments.names if name not in listed]
    if unknown:
        parser.error('there is no spec %s; attnc list prints the names' % unknown[0])
    os.makedirs(arguments.out, exist_ok=True)
    names, cards = arguments.names or listed, []
    for number, name in enumerate(names, 1):
        print('%d of %d: %s' % (number, len(names), name), file=sys.stderr, flush=True)
        cards.append(card(arguments, name, arguments.out))
    what = ' Times are those of one call on this machine with %d positions and 4 heads.' % arguments.length if arguments.times else ''
    page = ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            '<title>attnc: variants of attention</title><style>%s</style></head><body><h1>Variants of attention</h1>'
            '<p>Each card is a spec that comes with attnc. The picture has queries from top to bottom and keys from left to '
            'right: the stronger the colour, the larger the weight in its row. It has enough positions that each part of the mask is '
            'visible; a cell stands for several. Queries and keys are random, but change slowly.%s</p>'
            '<input type="search" placeholder="Search names, papers, formulas" aria-label="Search"> <small><span id="found">%d'
            '</span> of %d</small><main>%s</main><script>%s</script></body></html>\n'
            % (STYLE, what, len(cards), len(cards), '\n'.join(cards), SCRIPT))
    with tempfile.NamedTemporaryFile('w', dir=arguments.out, delete=False, encoding='utf-8') as file:
        file.write(page)
    os.chmod(file.name, 0o644)
    os.replace(file.name, os.path.join(arguments.out, 'index.html'))
    print(os.path.join(arguments.out, 'index.html'))


if __name__ == '__main__':
    main()
