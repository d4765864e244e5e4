#!/usr/bin/env python3
"""Makes a page of the specs that come with attnc: the weights as a picture, the form that the compiler chose, the spec,
the formula, and links to the reference and the C.

usage: gallery.py [--out DIR] [--attnc PROGRAM] [--times] [--length N] [--links PREFIX] [--c DIR] [--part K/N] [NAME…]

The page is DIR/index.html (default: build/gallery). It needs no network. DIR/README.md has the same pictures for sites
that show such files. `./dev generate` makes generated/gallery/ so.
"""
import argparse
import concurrent.futures
import html
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2933; --muted: #5b6774; --line: #dde3ea; --card: #f6f8fa; --link: #2f6fb0; --on: #2f6fb0; --on-ink: #ffffff }
@media (prefers-color-scheme: dark) { :root { --paper: #10161d; --ink: #e6edf3; --muted: #9aa7b4; --line: #2b3642; --card: #161d26; --link: #7ab8ff; --on: #7ab8ff; --on-ink: #10161d } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 100rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.6rem } h2 { margin: 0; font-size: 1.1rem } a { color: var(--link) } header p { max-width: 60rem; margin: .5rem 0 }
nav { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.2rem; margin: 1rem -1.5rem; padding: .7rem 1.5rem; background: var(--paper); border-bottom: 1px solid var(--line) }
fieldset { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; margin: 0; padding: 0; border: 0 } legend { float: left; margin-right: .4rem; color: var(--muted) }
button, input { font: inherit; padding: .2rem .7rem; border: 1px solid var(--line); border-radius: 999px; background: var(--card); color: inherit }
button { cursor: pointer } button[aria-pressed=true] { background: var(--on); border-color: var(--on); color: var(--on-ink) }
:is(a, button, input, summary):focus-visible { outline: 2px solid var(--link); outline-offset: 2px } input { width: 17rem; max-width: 100% }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1rem }
article { display: flex; flex-direction: column; gap: .5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card); padding: 1rem; min-width: 0; scroll-margin-top: 4.5rem }
article[hidden] { display: none } article > p { margin: 0 } img { display: block; width: 100%; height: auto; aspect-ratio: 464 / 472; border: 1px solid var(--line); border-radius: 6px }
.form { align-self: start; padding: 0 .6rem; border: 1px solid var(--line); border-radius: 999px; font-size: 13px; color: var(--muted) } .form.linear, .form.both { border-color: var(--on); color: var(--link) }
small, .muted { color: var(--muted); font-size: 13px } .links { display: flex; flex-wrap: wrap; gap: 0 .8rem; font-size: 14px; margin-top: auto }
@media (max-width: 45rem) { body { padding: 1rem } nav { position: static; margin: 1rem -1rem; padding: .7rem 1rem } }
summary { cursor: pointer; color: var(--link); font-size: 14px } pre { overflow-x: auto; margin: .4rem 0 0; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: .6rem; font: 12.5px/1.45 ui-monospace, monospace }
"""
# A filter is a list of buttons, of which one is pressed.
SCRIPT = """
const cards = [...document.querySelectorAll('article')], found = document.querySelector('#found')
const search = document.querySelector('input'), chosen = {}
const show = () => {
  const words = search.value.toLowerCase().split(/\\s+/)
  for (const card of cards)
    card.hidden = !words.every(word => card.textContent.toLowerCase().includes(word)) ||
      Object.entries(chosen).some(([key, value]) => value && !card.dataset[key].split(' ').includes(value))
  found.textContent = cards.filter(card => !card.hidden).length
}
search.addEventListener('input', show)
for (const button of document.querySelectorAll('button'))
  button.addEventListener('click', () => {
    const {key, value} = button.dataset
    chosen[key] = value
    for (const other of button.parentNode.querySelectorAll('button')) other.ariaPressed = String(other === button)
    show()
  })
"""
# The buttons: {key: (legend, {value: text})}.
FILTERS = {
    'family': ('weight', {'softmax': 'softmax', 'polynomial': 'polynomial', 'polysketch': 'sketch', 'linear': 'linear',
                          'custom': 'formula'}),
    'has': ('with', {'mask': 'mask', 'decay': 'decay', 'delta': 'delta rule', 'scores': 'scores', 'sums': 'several sums',
                     'arrays': 'arrays'}),
    'form': ('form', {'quadratic': 'quadratic', 'linear': 'linear', 'both': 'both, by length'}),
}
# Keys of a spec and their sections in specs/README.md.
SECTIONS = {'arrays': 'arrays', 'scores': 'scores', 'running': 'running-sums', 'prepare': 'prepare', 'similarity': 'similarity',
            'mask': 'mask', 'sums': 'sums-and-output', 'decay': 'decay', 'delta': 'the-delta-rule', 'project': 'projection',
            'dropout': 'dropout', 'normalize': 'normalize'}


def run(attnc, *words):
    done = subprocess.run([attnc, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit('gallery: attnc %s: %s' % (' '.join(words), done.stderr.strip()))
    return done.stdout


def formula(arguments, name):
    """Returns the formula that the kernel computes, from the comment at the top of its C."""
    if arguments.c:
        with open(os.path.join(arguments.c, name + '.c'), encoding='utf-8') as file: text = file.read()
    else:
        text = run(arguments.attnc, name, '--stdout', '--emit', 'c', '--target', 'generic', '--quiet')
    return re.sub(r'^   ', '', re.search(r'^   Computes.*?(?=\n\n)', text, flags=re.M | re.S)[0], flags=re.M)


def form(arguments, name):
    """Returns the word of FILTERS for the form, and why: features and state, or what a linear form lacks."""
    said = run(arguments.attnc, 'explain', name, '--target', 'x86-64-v4', '--lengths', '64')
    chosen = re.search(r'^Algorithm: (.*)', said, flags=re.M)[1]
    word = 'both' if chosen.startswith('quadratic for short') else chosen.split()[0]
    why = re.search(r'^  (linear|no linear form): (.*)', said, flags=re.M)
    start = re.search(r'^  crossover: .* from (\d+) keys on', said, flags=re.M)
    text = {'both': 'linear from %s keys on' % start[1] if start else 'linear for long sequences'}.get(word, chosen)
    return word, text, '%s: %s' % (why[1].capitalize(), why[2]) if why else ''


def times(attnc, name, length):
    """Measures the spec and softmax in turns. Returns the time of softmax divided by that of the spec, and the
    spec's time in milliseconds."""
    text = run(attnc, 'bench', 'softmax', name, '--lengths', str(length), '--heads', '4', '--time', '0.2', '--json',
               '--quiet')
    seconds = [row['best_s'] for row in json.loads(text)['results'] if row['pass'] == 'forward']
    return seconds[0] / seconds[-1], seconds[-1] * 1e3


class Card:
    def __init__(self, arguments, name, drawn):
        self.name = name
        self.spec = run(arguments.attnc, 'show', name)
        if drawn:
            run(arguments.attnc, 'show', name, '--picture', os.path.join(arguments.out, name + '.svg'))
        lines = re.search(r'^description: \|-?\n((?:  .*\n)+)', self.spec, flags=re.M)
        self.title, *self.papers = lines[1].replace('\n  ', '\n').strip().split('\n') if lines else [name]
        self.keys = re.findall(r'^(\w+):', self.spec, flags=re.M)
        family = re.search(r'^similarity: *\{?\s*(\w+)', self.spec, flags=re.M)[1]
        self.family = family.removesuffix('_square')
        self.form, self.form_text, self.why = form(arguments, name)
        self.formula = formula(arguments, name)
        self.time = 'not measured'
        if arguments.times:
            ratio, milliseconds = times(arguments.attnc, name, arguments.length)
            self.time = '%.3g ms; softmax takes %.2f times as long' % (milliseconds, ratio)

    def html(self, arguments):
        escape, links = html.escape, arguments.links
        reference = ['<a href="%s/specs/README.md#%s">%s</a>' % (links, SECTIONS[key], key)
                     for key in self.keys if key in SECTIONS]
        data = {'family': self.family, 'form': self.form, 'has': ' '.join(self.keys)}
        facts = [self.why] if self.why else []
        if arguments.times: facts.append('Time: ' + self.time)
        return '\n'.join([
            '<article id="%s" %s><h2>%s</h2>' % (self.name, ' '.join('data-%s="%s"' % d for d in data.items()), self.name),
            '<p>%s</p>' % escape(self.title),
            '<img src="%s.svg" width="464" height="472" alt="weights of %s" loading="lazy">' % (self.name, self.name),
            '<span class="form %s">%s</span>' % (self.form, escape(self.form_text)),
            *('<small>%s</small>' % escape(fact) for fact in facts),
            '<small>%s</small>' % escape(' '.join(self.papers)),
            '<details><summary>Spec</summary><pre>%s</pre></details>' % escape(self.spec.strip()),
            '<details><summary>Formula</summary><pre>%s</pre></details>' % escape(self.formula),
            '<p class="links"><a href="{0}/specs/{1}.yaml">{1}.yaml</a><a href="{0}/generated/{1}.c">{1}.c</a>'
            '<a href="{0}/generated/{1}.h">{1}.h</a></p>'.format(links, self.name),
            '<small>Reference: %s</small></article>' % ', '.join(reference)])

    def markdown(self, arguments):
        return '<a href="{1}/specs/{0}.yaml"><img src="{0}.svg" width="200" alt="weights of {0}"></a><br>[{0}]({1}/specs/{0}.yaml) ([C](' \
               '{1}/generated/{0}.c))'.format(self.name, arguments.links)


def page(arguments, cards):
    def buttons(key, legend, values):
        there = [v for v in values if any(v in {'family': c.family, 'form': c.form, 'has': ' '.join(c.keys)}[key].split()
                                          for c in cards)]
        pairs = [('', 'all')] + [(v, values[v]) for v in there]
        return '<fieldset><legend>%s</legend>%s</fieldset>' % (legend, ''.join(
            '<button data-key="%s" data-value="%s" aria-pressed="%s">%s</button>' % (key, v, str(not v).lower(), text)
            for v, text in pairs))
    what = ' Times are those of one call on this machine with %d positions and 4 heads.' % arguments.length if arguments.times else ''
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            '<title>attnc: variants of attention</title><style>%s</style></head><body><header><h1>Variants of attention</h1>'
            '<p>Each card is a spec that comes with <a href="%s/README.md">attnc</a>. The picture has queries from top to '
            'bottom and keys from left to right: the stronger the colour, the larger the weight in its row; red weights are negative. It has '
            'enough positions that each part of the mask is visible; a cell stands for several. Queries and keys are random, '
            'but change slowly.%s</p></header><nav><input type="search" placeholder="Search names, papers, formulas" '
            'aria-label="Search">%s<span class="muted"><span id="found">%d</span> of %d</span></nav><main>%s</main>'
            '<script>%s</script></body></html>\n'
            % (STYLE, arguments.links, what, ''.join(buttons(key, *f) for key, f in FILTERS.items()), len(cards), len(cards),
               '\n'.join(card.html(arguments) for card in cards), SCRIPT))


def markdown(arguments, cards):
    lines = ['# Variants of attention',
             'The weights of each spec that comes with [attnc](%s/README.md): queries from top to bottom, keys from left to right. '
             'Red weights are negative. [index.html](index.html) also shows specs, formulas and forms, and has filters.' % arguments.links]
    for family, title in FILTERS['family'][1].items():
        cells = [card.markdown(arguments) for card in cards if card.family == family]
        if not cells: continue
        cells += [''] * (-len(cells) % 4)
        lines += ['', '## ' + title.capitalize(), '', '| | | | |', '| --- | --- | --- | --- |']
        lines += ['| %s |' % ' | '.join(cells[at:at + 4]) for at in range(0, len(cells), 4)]
    return '\n'.join(lines) + '\n'


def write(folder, name, text):
    with tempfile.NamedTemporaryFile('w', dir=folder, delete=False, encoding='utf-8') as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help='only these specs')
    parser.add_argument('--out', default=os.path.join(ROOT, 'build', 'gallery'), metavar='DIR')
    parser.add_argument('--attnc', default=os.path.join(ROOT, 'build', 'attnc'), metavar='PROGRAM')
    parser.add_argument('--times', action='store_true', help='measures each spec and softmax, for some seconds')
    parser.add_argument('--length', type=int, default=4096, metavar='N', help='the length at which times are measured')
    parser.add_argument('--links', metavar='PREFIX', help='where links find the folders of attnc (default: this checkout)')
    parser.add_argument('--c', metavar='DIR', help='a folder with the C of the specs, which has their formulas')
    parser.add_argument('--part', default='0/1', metavar='K/N', help='draws the pictures of this part of the specs')
    arguments = parser.parse_args()
    listed = [line.split()[0] for line in run(arguments.attnc, 'list').splitlines() if line.startswith(' ')]
    unknown = [name for name in arguments.names if name not in listed]
    if unknown:
        parser.error('there is no spec %s; attnc list prints the names' % unknown[0])
    part, parts = map(int, arguments.part.split('/'))
    os.makedirs(arguments.out, exist_ok=True)
    arguments.links = arguments.links or os.path.relpath(ROOT, arguments.out)
    names = arguments.names or listed
    # Several at a time, but alone if times are measured.
    with concurrent.futures.ThreadPoolExecutor(1 if arguments.times else os.cpu_count()) as pool:
        cards = list(pool.map(lambda at: Card(arguments, names[at], at % parts == part), range(len(names))))
    write(arguments.out, 'index.html', page(arguments, cards))
    write(arguments.out, 'README.md', markdown(arguments, cards))
    print(os.path.join(arguments.out, 'index.html'))


if __name__ == '__main__':
    main()
