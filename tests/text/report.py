#!/usr/bin/python3
"""Tests the HTML page of attnc tune --report: its contents, and clicks in a browser."""
import html.parser
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

from browser import Browser, Page
from suite import Suite, check, execute

# Each entry is (trials, measured trials) of a run on the page `several`. report_runs.c makes that page.
RUNS = [(60, 45), (240, 178), (0, 0), (5, 0), (40, 29), (6, 4)]
HOSTILE = '</script><script>document.title=\'taken\'</script><!--<script> & "quoted" \'names\' \ufffd\ufffd( \ufffd é'
TITLE = 'Schedules measured by attnc tune'
KNOBS = ['tile_q', 'tile_k', 'unroll', 'pack']
CASES = []


def case(function):
    CASES.append(function)
    return function


class Place:
    """A case's folder, the program that makes pages, and the shared browser."""

    def __init__(self, folder, maker, browser):
        self.folder, self.maker, self.browser = folder, maker, browser
        self.made = 0

    def make(self, name):
        self.made += 1
        path = os.path.join(self.folder, '%s%d.html' % (name, self.made))
        with open(path, 'wb') as f:
            made = execute([self.maker, name], stdout=f)
        check(made.returncode == 0 and not made.stderr,
              'report_runs %s: status %d\n%s' % (name, made.returncode, made.stderr))
        return path

    def open(self, name, **options):
        return Page(self.browser, self.make(name), **options)


def equal(got, wanted, what):
    if got == wanted:
        return
    if isinstance(got, list) and isinstance(wanted, list) and len(got) + len(wanted) > 12:
        at = next((k for k, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        what += ' (%d of them instead of %d) from number %d on' % (len(got), len(wanted), at + 1)
        got, wanted = got[at:at + 4], wanted[at:at + 4]
    check(False, '%s: %.600r instead of %.600r' % (what, got, wanted))


# ---------------------------------------------------------------- contents of the file


class Reader(html.parser.HTMLParser):
    """Parses the page. Every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.scripts, self.wrong, self.addresses = [], [], [], []
        self.feed(text)
        self.close()
        check(not self.stack and not self.wrong, 'elements that are not closed: %s %s' % (self.stack, self.wrong))

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes
                           if name in ('src', 'href', 'action', 'data', 'poster', 'srcset')]
        check(not any(name.startswith('on') for name, _ in attributes), 'a handler in the markup: %s' % attributes)
        if tag in ('meta', 'link'):
            return
        self.stack.append(tag)
        if tag == 'script':
            self.scripts.append('')

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if 'script' in self.stack:
            self.scripts[-1] += data


def read(path):
    with open(path, encoding='utf-8') as f:
        return Reader(f.read())


@case
def same_runs_same_bytes(place):
    with open(place.make('several'), 'rb') as f:
        first = f.read()
    with open(place.make('several'), 'rb') as f:
        check(f.read() == first, 'two pages of the same runs differ')


@case
def names_do_no_harm(place):
    page = read(place.make('several'))
    equal(len(page.scripts), 2, 'script elements')
    data = json.loads(page.scripts[0])
    equal(data[1]['spec'], HOSTILE, 'the name of the second run')
    check('<' not in page.scripts[0], 'the data have a < in them')
    equal(page.addresses, ['data:,'], 'what it loads')
    with place.open('several') as shown:
        equal(shown.run('document.title'), TITLE, 'the title')
        heading = shown.run('document.querySelector("#run-2 h2").textContent')
        check(heading.startswith(HOSTILE + ' '), 'its heading: %r' % heading)
        leads = shown.run('[...document.querySelectorAll("[href],[src]")].map(e => e.getAttribute("href") || e.src)')
        check(all(a == 'data:,' or re.fullmatch(r'#run-\d', a) for a in leads), 'it leads elsewhere: %s' % leads)
        shown.quiet()


@case
def numbers_known_by_heart(place):
    with place.open('several') as shown:
        table = '[...document.querySelectorAll(%s)].map(r => [...r.cells].map(c => c.textContent))'
        head, *rows = shown.run(table % '"#run-6 .trials tr"')
        overview = shown.run(table % '".overview tr"')
    equal(head, ['trial', 'status', 'times as fast', '95% interval', 'time of a call', 'samples', *KNOBS,
                 'what went wrong'], 'the columns')
    equal(rows, [['1', 'measured own choice', '1.000', '0.800 to 1.250', '250 ms', '3', '48', '192', '2', '1', ''],
                 ['2', 'measured best', '2.000', '1.600 to 2.500', '125 ms', '3', '32', '192', '2', '1', ''],
                 ['3', 'measured', '0.500', '0.400 to 0.625', '500 ms', '3', '128', '192', '2', '1', ''],
                 ['4', 'measured', '0.125', '0.100 to 0.156', '2.00 s', '3', '16', '192', '2', '1', ''],
                 ['5', 'crashed', '–', '–', '–', '0', '96', '192', '2', '1', 'killed by SIGILL'],
                 ['6', 'measured', '–', '–', '–', '0', '128', '192', '2', '1', '']], 'the rows')
    equal(overview[-1][:2], ['by_hand', '2.00 times as fast (1.60 to 2.50)'], 'the row of all runs')
    with place.open('several', fragment='#run-6') as shown:
        equal(shown.run('document.querySelector("#run-6 .gain").innerText'),
              "2.00 times as fast as the compiler's own choice (1.60 to 2.50)", 'the gain')
        equal(shown.run('document.querySelector("#run-6 .schedule code").innerText'),
              'tile_q=32 tile_k=192 unroll=2 pack=1', 'the best schedule')
        equal(shown.run('[...document.querySelectorAll("section.run")].map(s => !s.hidden)'), [False] * 5 + [True],
              'the run that #run-6 shows')
        said = shown.run('document.querySelectorAll("#run-6 .knobs svg[role=img]")[0].getAttribute("aria-label")')
        for part in ('16: best 0.125, median 0.125 of 1;', '32: best 2.000', '64: no measurement', '96: no measurement',
                     '128: best 0.500, median 0.500 of 1'):
            check(part in said, 'the effect of tile_q: %r is not in %r' % (part, said))
        shown.quiet()


# ---------------------------------------------------------------- without scripts


@case
def without_scripts(place):
    with place.open('several', script=False) as page:
        document = page.ask('DOM.getDocument')['root']['nodeId']

        def heights(selector):
            return [page.ask('DOM.getBoxModel', nodeId=node)['model']['height']
                    for node in page.ask('DOM.querySelectorAll', nodeId=document, selector=selector)['nodeIds']]
        check(min(heights('noscript p')) > 10, 'the reason is not shown')
        equal(heights('svg') + heights('select') + heights('button'), [], 'what does nothing without scripts')
        page.quiet()


# ---------------------------------------------------------------- the table

ROWS = '''[...document.querySelectorAll("section.run:not([hidden]) .trials tbody tr")].filter(r => !r.hidden)'''


def column(page, k):
    return page.run('%s.map(r => r.cells[%d].innerText.trim())' % (ROWS, k))


def head(k):
    return 'section.run:not([hidden]) .trials th:nth-child(%d) button' % (k + 1)


def order_of(page):
    return page.run('[...document.querySelectorAll("section.run:not([hidden]) .trials thead th")]'
                    '.map(h => h.getAttribute("aria-sort"))')


def measure(text):
    """Returns the sort key of a table cell: its number in base units, its text, or None. For an interval, the
    number is its lower end."""
    number = re.match(r'([\d.]+)(?: to [\d.]+| (s|ms|µs))?$', text)
    if number:
        return float(number[1]) * {'ms': 1e-3, 'µs': 1e-6}.get(number[2], 1)
    return None if text in ('', '–') else text


@case
def a_click_sorts(place):
    with place.open('several') as page:
        start = column(page, 0)
        equal(start, [str(k + 1) for k in range(RUNS[0][0])], 'the order at first')
        equal(order_of(page), ['ascending'] + [None] * 10, 'what is sorted at first')
        for k in range(1, 11):
            before = {row[0]: row for row in zip(*(column(page, c) for c in (0, k)))}
            for turn in range(2):
                page.click(head(k))
                down = (k in (2, 3)) != (turn == 1)
                equal(order_of(page), [('descending' if down else 'ascending') if c == k else None for c in range(11)],
                      'aria-sort of column %d' % k)
                got = [measure(text) for text in column(page, k)]
                known = [value for value in got if value is not None]
                equal(got, sorted(known, reverse=down) + [None] * (len(got) - len(known)), 'column %d, sorted' % k)
                check(len(set(known)) > 1, 'column %d has nothing to sort' % k)
                equal({row[0]: row for row in zip(*(column(page, c) for c in (0, k)))}, before, 'the cells of the rows')
        page.click(head(0))
        equal(column(page, 0), start, 'sorted by trial again')
        page.quiet()


@case
def keys_sort(place):
    with place.open('several') as page:
        page.run('document.getElementById("status-1").focus()')
        for _ in range(12):
            page.press('Tab')
            if page.run('document.activeElement === document.querySelector(%s)' % json.dumps(head(2))):
                break
        else:
            check(False, 'the tab key does not lead to the header of the third column')
        for key, way, sign in ('Enter', 'descending', -1), (' ', 'ascending', 1):
            page.press(key)
            equal(order_of(page)[2], way, 'aria-sort after the key %r' % key)
            known = [float(text) for text in column(page, 2) if text != '–']
            equal(known, sorted(known, key=lambda v: sign * v), 'the order after the key %r' % key)
        page.quiet()


@case
def the_filter_filters(place):
    with place.open('several') as page:
        every = list(zip(*(column(page, c) for c in (0, 1, 6, 9))))
        count = 'document.querySelector("#run-1 output").value'
        equal(page.run(count), '60 of 60 trials', 'the count')
        page.click('#filter-1')
        page.type('tile_q=64 PACK=1')
        wanted = [row for row in every if row[2] == '64' and row[3] == '1']
        check(0 < len(wanted) < 60, 'the case needs other rows')
        equal(list(zip(*(column(page, c) for c in (0, 1, 6, 9)))), wanted, 'the rows with tile_q=64 and pack=1')
        equal(page.run(count), '%d of 60 trials' % len(wanted), 'the count')
        shown = page.run('[...document.querySelectorAll("#run-1 .progress figure:first-child [data-trial]")]'
                         '.filter(d => !d.classList.contains("out")).map(d => +d.dataset.trial + 1)')
        equal(sorted(map(str, shown), key=int), [row[0] for row in wanted], 'the dots that are not dimmed')
        page.run('document.getElementById("filter-1").select()')
        page.type('sigsegv')
        equal(column(page, 0), [row[0] for row in every if row[1] == 'crashed'], 'the rows that SIGSEGV killed')
        page.type(' and what no row has')
        equal(column(page, 0), [], 'the rows of a text that none has')
        page.run('''(() => { const t = document.getElementById("filter-1"), s = document.getElementById("status-1");
            t.value = ""; t.dispatchEvent(new Event("input"));
            s.value = "late"; s.dispatchEvent(new Event("change")); })()''')
        equal(column(page, 0), [row[0] for row in every if row[1] == 'late'], 'the rows that are late')
        page.click(head(0))
        equal(column(page, 0), [row[0] for row in reversed(every) if row[1] == 'late'], 'these, the other way round')
        page.quiet()


# ---------------------------------------------------------------- the charts

# JavaScript that returns [trial, x, y] for each mark of a chart.
MARKS = '''[...document.querySelectorAll("%s [data-trial]")].map(
    d => [+d.dataset.trial, ...d.getAttribute("transform").match(/[\\d.]+/g).slice(0, 2).map(Number)])'''


@case
def every_trial_has_its_dots(place):
    with place.open('several') as page:
        equal(page.run('[...document.querySelectorAll("#run option")].length'), len(RUNS), 'runs to choose from')
        for k, (trials, measured) in enumerate(RUNS):
            page.run('(() => { const s = document.getElementById("run"); s.value = "%d"; '
                     's.dispatchEvent(new Event("change")); })()' % k)
            page.settle()
            equal(page.run('[...document.querySelectorAll("section.run")].map(s => s.hidden)'),
                  [n != k for n in range(len(RUNS))], 'hidden runs')
            equal(len(column(page, 0)), trials, 'rows of run %d' % (k + 1))
            charts = page.run('document.querySelectorAll("#run-%d figure").length' % (k + 1))
            equal(charts, 0 if not trials else 1 + len(KNOBS) + (k in (0, 1, 4)), 'charts of run %d' % (k + 1))
            if not trials:
                continue
            progress = page.run(MARKS % ('#run-%d .progress figure:first-child' % (k + 1)))
            equal(sorted(m[0] for m in progress), list(range(trials)), 'dots of the progress of run %d' % (k + 1))
            equal([m[1] for m in progress], sorted(m[1] for m in sorted(progress)),
                  'places of the dots of run %d' % (k + 1))
            for j in range(len(KNOBS)):
                dots = page.run(MARKS % ('#run-%d .knobs figure:nth-child(%d)' % (k + 1, j + 1)))
                equal(len(dots), measured, 'dots of %s of run %d' % (KNOBS[j], k + 1))
            if k in (0, 1, 4):
                equal(len(page.run(MARKS % ('#run-%d .progress figure:nth-child(2)' % (k + 1)))), measured,
                      'dots of the roofline of run %d' % (k + 1))
            check(not page.run('[...document.querySelectorAll("svg *")].some(n => '
                               '[...n.attributes].some(a => /NaN|Infinity|undefined/.test(a.value)))'),
                  'a chart of run %d has a place that is no number' % (k + 1))
        page.quiet()


@case
def dots_stand_where_they_should(place):
    with place.open('several') as page:
        times = {int(n) - 1: float(t) for n, t in zip(column(page, 0), column(page, 2)) if t != '–'}
        seconds = {int(n) - 1: measure(t) for n, t in zip(column(page, 0), column(page, 4)) if t != '–'}
        at = {trial: (x, y) for trial, x, y in page.run(MARKS % '#run-1 .progress figure:first-child')}
        # A line through two of the points contains all points.
        (a, b), = [sorted(times, key=times.get)[::len(times) - 1]]
        slope = (at[b][1] - at[a][1]) / (times[b] - times[a])
        check(slope < 0, 'the faster ones stand lower')
        for k in times:
            check(abs(at[a][1] + slope * (times[k] - times[a]) - at[k][1]) < 1.5,
                  'trial %d stands at %s' % (k + 1, at[k]))
        check(all(at[k][1] > max(at[m][1] for m in times) for k in at if k not in times),
              'those that failed do not stand apart')
        # The line shows the best result so far, step by step.
        path = page.run('document.querySelector("#run-1 .progress figure:first-child svg[role=img] .step")'
                        '.getAttribute("d")')
        heights = [float(y) for _, y in re.findall(r'([\d.]+) ([\d.]+)', path)]
        equal(heights, sorted(heights, reverse=True), 'the steps')
        check(abs(heights[-1] - min(at[k][1] for k in times)) < 0.2, 'the last step is not at the best')
        # less time means more FLOPs per second
        roof = {trial: y for trial, _, y in page.run(MARKS % '#run-1 .progress figure:nth-child(2)')}
        by_time = sorted(roof, key=lambda trial: (seconds[trial], roof[trial]))   # printed times may be equal
        check(all(roof[p] <= roof[q] + 0.11 for p, q in zip(by_time, by_time[1:])),
              'the roofline is not in the order of times')
        said = page.run('document.querySelector("#run-1 .progress figure:nth-child(2) svg[role=img]").textContent')
        check('24 TFLOP/s' in said and '60 GB/s' in said, 'the lines of the roofline: %r' % said)
        # The dots of a smaller value of tile_q are further left.
        values = dict(zip((int(n) - 1 for n in column(page, 0)), map(int, column(page, 6))))
        dots = page.run(MARKS % '#run-1 .knobs figure:first-child')
        places = {v: [x for trial, x, _ in dots if values[trial] == v] for v in sorted(set(values.values()))}
        ends = [end for xs in places.values() if xs for end in (min(xs), max(xs))]
        equal(ends, sorted(ends), 'the places of the values of tile_q')
        page.quiet()


@case
def pointing_at_a_dot(place):
    with place.open('several', height=1200) as page:
        tip = '(document.querySelector(".tip").hidden ? "" : document.querySelector(".tip").innerText)'
        best = page.run('+document.querySelector("#run-1 .trials .tag.best").closest("tr").dataset.trial')
        dot = '#run-1 .progress figure:first-child [data-trial="%d"]' % best
        row = 'document.querySelector("#run-1-trial-%d")' % (best + 1)
        equal(page.run(tip), '', 'the tip at first')
        place_of = page.run('''(() => { const d = document.querySelector('%s'); d.scrollIntoView({block: "center"});
            const b = d.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()''' % dot)
        page.settle()
        page.mouse('mouseMoved', *place_of)
        page.settle()
        times = page.run(row + '.cells[2].innerText')
        said = page.run(tip)
        for part in 'Trial %d: measured, best' % (best + 1), times + ' times as fast', 'tile_q=':
            check(part in said, 'the tip has no %r: %r' % (part, said))
        check(page.run(row + '.classList.contains("on")'), 'the row is not lit')
        equal(page.run('document.querySelectorAll("#run-1 .mark.on").length'), 2 + len(KNOBS),
              'dots of the trial that are lit')
        page.run('(() => { const t = document.getElementById("filter-1"); t.value = "crashed"; '
                 't.dispatchEvent(new Event("input")); })()')
        page.click(dot)
        check(page.run('document.activeElement === %s && !%s.hidden' % (row, row)),
              'the click does not lead to the row')
        equal(page.run(row + '.getAttribute("aria-current")'), 'true', 'the row that was clicked for')
        page.quiet()


@case
def keys_walk_through_a_chart(place):
    with place.open('several') as page:
        page.run('document.querySelector("#run-1 .progress figure:first-child svg[role=img]").focus()')
        heard = 'document.querySelector("[role=status].heard").textContent'
        for key, start in (('ArrowRight', 'Trial 1: measured'), ('ArrowRight', 'Trial 2: '),
                           ('End', 'Trial 60: crashed'), ('ArrowLeft', 'Trial 59: '), ('Home', 'Trial 1: ')):
            page.press(key)
            check(page.run(heard).startswith(start), 'after %s: %r' % (key, page.run(heard)))
        page.press('Enter')
        equal(page.run('document.activeElement.id'), 'run-1-trial-1', 'where Enter leads')
        page.quiet()


# ---------------------------------------------------------------- the page


@case
def runs_are_chosen(place):
    with place.open('several') as page:
        title = 'document.querySelector("section.run:not([hidden]) h2").innerText'
        check(page.run(title).startswith('softmax_8k'), 'the first run')
        page.run('document.getElementById("run").focus()')
        page.run('(() => { const s = document.getElementById("run"); s.selectedIndex = 1; '
                 's.dispatchEvent(new Event("change")); })()')
        page.settle()
        check(page.run(title).startswith(HOSTILE), 'the second run: %r' % page.run(title))
        check(page.run('document.querySelector("#run-2 figure svg").getBoundingClientRect().height') > 100,
              'its charts are not drawn')
        page.click('.overview tbody tr:nth-child(5) a')
        check(page.run(title).startswith('no_gain'), 'the run of the fifth row: %r' % page.run(title))
        equal(page.run('document.getElementById("run").value'), '4', 'the run in the list')
        equal(page.run('document.querySelector("#run-5 .gain").innerText'),
              "No schedule beat the compiler's own choice", 'its gain')
        page.quiet()


def background(page):
    return page.run('getComputedStyle(document.body).backgroundColor')


@case
def light_and_dark(place):
    for dark in False, True:
        with place.open('one', dark=dark) as page:
            first = background(page)
            equal(sum(map(int, re.findall(r'\d+', first))) < 384, dark, 'a dark background')
            said = page.run('document.getElementById("theme").innerText')
            equal(said, 'Light colours' if dark else 'Dark colours', 'the button')
            page.click('#theme')
            second = background(page)
            equal(sum(map(int, re.findall(r'\d+', second))) < 384, not dark, 'a dark background after the click')
            page.click('#theme')
            equal(background(page), first, 'the background after two clicks')
            page.quiet()


def luminance(colour):
    def linear(c):
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    return sum(w * linear(int(c) / 255) for w, c in zip((0.2126, 0.7152, 0.0722), re.findall(r'\d+', colour)))


@case
def colours_stand_out(place):
    for dark in False, True:
        with place.open('several', dark=dark) as page:
            colours = page.run('''Object.fromEntries(
                ["paper", "raised", "ink", "muted", "link", "dot", "best", "failed"].map(name => {
                    const e = document.createElement("i"); e.style.color = `var(--${name})`; document.body.append(e);
                    return [name, getComputedStyle(e).color]; }))''')
            for under in 'paper', 'raised':
                for name, least in (('ink', 7), ('muted', 4.5), ('link', 4.5), ('best', 4.5),
                                    ('failed', 4.5), ('dot', 3)):
                    a, b = sorted((luminance(colours[name]), luminance(colours[under])))
                    check((b + 0.05) / (a + 0.05) >= least, '%s on %s (%s): %.2f to 1' % (
                        name, under, 'dark' if dark else 'light', (b + 0.05) / (a + 0.05)))
            page.quiet()


@case
def fits_every_width(place):
    for name, runs in ('several', len(RUNS)), ('one', 1), ('none', 0):
        with place.open(name, width=360, height=740) as page:
            for width in 360, 768, 1600:
                page.resize(width, 740)
                for k in range(max(runs, 1)):
                    if runs > 1:
                        page.run('(() => { const s = document.getElementById("run"); s.value = "%d"; '
                                 's.dispatchEvent(new Event("change")); })()' % k)
                    page.settle()
                    equal(page.run('document.documentElement.scrollWidth'), width,
                          '%s at %d px, run %d' % (name, width, k + 1))
                    wrong = page.run('''[...document.querySelectorAll("section.run:not([hidden]) figure > svg")].filter(
                        s => { const f = s.getBoundingClientRect();
                               return f.right > %d || [...s.querySelectorAll("text")].some(t => {
                                   const b = t.getBoundingClientRect();
                                   return b.left < 0 || b.right > %d; }); }).length''' % (width, width))
                    equal(wrong, 0, 'charts of %s that do not fit %d px, run %d' % (name, width, k + 1))
            page.quiet()


@case
def few_trials(place):
    with place.open('none') as page:
        equal(page.run('document.querySelector("main").innerText.trim()'), 'There is no run to show.',
              'the page without runs')
        page.quiet()
    with place.open('one') as page:
        equal(page.run('document.querySelectorAll("#run, .overview").length'), 0, 'what chooses a run')
        equal(column(page, 1), ['measured own choice'], 'its trial')
        equal(page.run(MARKS % '.progress figure:first-child').__len__(), 1, 'its dot')
        page.quiet()


@case
def many_trials(place):
    with place.open('large') as page:
        equal(len(column(page, 0)), 2000, 'rows')
        equal(page.run('document.querySelectorAll(".progress figure:first-child [data-trial]").length'), 2000, 'dots')
        page.click(head(2))
        known = [float(text) for text in column(page, 2) if text != '–']
        equal(known, sorted(known, reverse=True), 'the order by speed')
        page.quiet()


@case
def everything_has_a_name(place):
    with place.open('several') as page:
        nodes = [n for n in page.ask('Accessibility.getFullAXTree')['nodes'] if not n.get('ignored')]
        roles = {}
        for node in nodes:
            roles.setdefault(node['role']['value'], []).append(node.get('name', {}).get('value', ''))
        for role in ('button', 'combobox', 'searchbox', 'image', 'region', 'columnheader', 'rowheader', 'heading',
                     'link', 'navigation'):
            check(roles.get(role), 'nothing is a %s: %s' % (role, sorted(roles)))
            check(all(roles[role]), 'without a name: %s in %s' % (role, roles[role]))
        equal(len(roles['image']), 2 + len(KNOBS), 'charts with a text')
        equal(len([n for n in nodes if n['role']['value'] == 'columnheader']), 4 + 11, 'headers of columns')
        check(page.run('document.documentElement.lang') == 'en', 'the language is not named')
        page.quiet()


def main():
    suite = Suite(__doc__.split('\n')[0])
    if suite.options.list:
        for function in CASES:
            suite.case(function.__name__, function)
        return suite.run()
    maker = os.path.join(os.path.dirname(suite.attnc), 'tests', 'report_runs')
    browser = Browser()
    try:
        for function in CASES:
            suite.case(function.__name__, lambda place, f: f(Place(place, maker, browser)), function)
        return suite.run()
    finally:
        browser.close()


if __name__ == '__main__':
    sys.exit(main())
