'use strict';
(() => {
const runs = JSON.parse(document.getElementById('runs').textContent).map(prepare);
const SVG = 'http://www.w3.org/2000/svg';

/* ---- elements ---- */

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const label = (x, y, text, attributes) => draw('text', {x: x.toFixed(1), y: y.toFixed(1), ...attributes}, text);
const line = (x1, y1, x2, y2, name) => draw('path', {d: `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`, class: name});
const path = (points, name) => draw('path', {d: points.map(([x, y], k) => `${k ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join(''), class: name});

/* The marks of statuses differ in shape, so that colour is not needed. */
const shapes = {
  measured: ['M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z', ''],
  wrong: ['M-4 -4L4 4M4 -4L-4 4', ' bad'],
  crashed: ['M0 -5L4.6 3.5H-4.6Z', ' bad'],
  late: ['M-4 -4H4V4H-4Z', ' bad'],
  refused: ['M0 -5L5 0L0 5L-5 0Z', ' bad'],
  unknown: ['M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z', ' bad'],
  low: ['M0 4.5L4.4 -3.5H-4.4Z', ' low'],
};
/* Marks are smaller if there are more trials. */
function mark(x, y, shape, trial, trials) {
  const [d, more] = shapes[shape], scale = trials > 600 ? 0.5 : trials > 150 ? 0.75 : 1;
  return draw('path', {d, class: 'mark' + more, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale})`, 'data-trial': trial});
}
function key(node, text) {
  return el('li', {}, draw('svg', {viewBox: '-11 -7 22 14', 'aria-hidden': 'true'}, node), text);
}
function shapeKey(shape, text) {
  const node = mark(0, 0, shape, 0, 1);
  node.removeAttribute('data-trial');
  return key(node, text);
}

/* ---- numbers ---- */

const median = list => {
  const sorted = [...list].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
function timeText(seconds) {
  const [unit, name] = seconds >= 0.9995 ? [1, 's'] : seconds >= 0.9995e-3 ? [1e-3, 'ms'] : [1e-6, 'µs'], value = seconds / unit;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${name}`;
}
const speedText = t => t.times === null ? t.status : `${t.times.toFixed(3)} times as fast (${t.low.toFixed(3)} to ${t.high.toFixed(3)})`;
function rate(value, unit) {
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let k = 0;
  while (value >= 999.5 && k < prefixes.length - 1) value /= 1000, k++;
  return `${value < 9.995 ? Number(value.toPrecision(2)) : Math.round(value)} ${prefixes[k]}${unit}`;
}
function steps(low, high, count) {
  const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find(f => unit * f >= rough * 0.999);
  const made = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) made.push(k * step);
  return {values: made, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9))};
}
/* 1, 2 and 5 in every decade, or only the decades if there are too many steps. */
function logSteps(low, high, most) {
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const made = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade++)
      for (const f of factors) if (f * 10 ** decade >= low && f * 10 ** decade <= high) made.push(f * 10 ** decade);
    if (made.length <= most || factors.length === 1) return made;
  }
}
const scheduleAt = (run, at) => run.knobs.map((k, j) => `${k.name}=${k.values[at[j]]}`).join(' ') || 'no knobs';
const scheduleOf = (run, t) => scheduleAt(run, t.at);

/* ---- facts about a run and its trials ---- */

/* Adds the values that several parts of the page show. A trial without samples has no speed: null. */
function prepare(run) {
  const most = name => run.trials.reduce((a, t) => Math.max(a, t[name] || 0), 0) || null;
  for (const t of run.trials) {
    const known = t.status === 'measured' && t.ratio > 0 && t.ratio_low > 0 && t.ratio_high !== null;
    const work = known && t.flops;
    t.at = run.knobs.map(k => k.values.indexOf(t.schedule[k.name]));
    t.usual = t.at.every((v, j) => v === run.knobs[j].usual);
    [t.times, t.low, t.high] = known ? [1 / t.ratio, 1 / t.ratio_high, 1 / t.ratio_low] : [null, null, null];
    t.took = known ? timeText(t.median_s) : '';
    t.samples = t.samples.length;
    t.intensity = work && t.bytes ? t.flops / t.bytes : null;
    t.flops = work ? t.flops / t.median_s : null;
  }
  const best = run.best === null ? -1 : run.best - 1;
  return {...run, title: `${run.spec}, ${run.shape}`, peak: most('peak_flops_s'), bandwidth: most('bandwidth_bytes_s'),
    best: best >= 0 && run.trials[best].times !== null ? best : -1, measured: run.trials.filter(t => t.times !== null).length};
}
/* Returns the result of a run as a phrase, and the confidence interval of its number, such as "1.20 to 1.31", or "". */
function gainOf(run) {
  const best = run.trials[run.best];
  if (!run.measured) return [run.trials.length ? 'no trial gave a measurement' : 'no trial yet', ''];
  if (!best) return ["no schedule beat the compiler's own choice", ''];
  return [`${best.times.toFixed(2)} times as fast as the compiler's own choice`, `${best.low.toFixed(2)} to ${best.high.toFixed(2)}`];
}

/* ---- the text and the tables of the page ---- */

const heading = (text, attributes) => el('th', {scope: 'col', ...attributes}, text);
const cell = (known, value, text) => known ? el('td', {'data-value': value}, text) : el('td', {}, el('span', {class: 'none'}, '–'));

function trialRow(run, t, k, number) {
  const known = t.times !== null, name = el('td', {}, t.status);
  if (k === run.best) name.append(' ', el('span', {class: 'tag best'}, 'best'));
  if (t.usual) name.append(' ', el('span', {class: 'tag'}, 'own choice'));
  const why = [t.why, t.same_as ? `the same C as trial ${t.same_as}` : ''].filter(Boolean).join('; ');
  return el('tr', {id: `run-${number}-trial-${k + 1}`, 'data-trial': k, class: t.status},
    el('th', {scope: 'row', 'data-value': k + 1}, k + 1), name,
    cell(known, t.times, known && t.times.toFixed(3)), cell(known, t.low, known && `${t.low.toFixed(3)} to ${t.high.toFixed(3)}`),
    cell(known, t.median_s, t.took), cell(true, t.samples, t.samples),
    ...run.knobs.map((knob, j) => cell(true, knob.values[t.at[j]], knob.values[t.at[j]])), el('td', {class: 'why'}, why));
}
function trialTable(run, number) {
  const down = {'data-first': 'descending'};
  const heads = [heading('trial'), heading('status'), heading('times as fast', down), heading('95% interval', down), heading('time of a call'), heading('samples'),
    ...run.knobs.map((knob, j) => heading(knob.name, {'data-knob': j})), heading('what went wrong')];
  return [el('h3', {id: `run-${number}-trials`}, 'Trials'),
    el('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-labelledby': `run-${number}-trials`},
      el('table', {class: 'trials'}, el('thead', {}, el('tr', {}, ...heads)), el('tbody', {}, ...run.trials.map((t, k) => trialRow(run, t, k, number)))))];
}
function scheduleText(run) {
  const own = scheduleAt(run, run.knobs.map(k => k.usual)), best = run.trials[run.best];
  if (!best) return el('p', {class: 'schedule'}, "The compiler's own choice ", el('code', {}, own));
  const says = best.samples < 6 ? ` The interval spans all samples, because there ${best.samples === 1 ? 'is' : 'are'} only ${best.samples}.`
    : ` The interval holds the median of ${best.samples} samples with 95% confidence.`;
  return el('p', {class: 'schedule'}, 'Best schedule ', el('code', {}, scheduleOf(run, best)), ", the compiler's own choice ", el('code', {}, own), '.', says,
    best.low <= 1 ? ' The interval contains 1: the gain may be noise.' : '');
}
function sectionOf(run, k) {
  const [gain, interval] = gainOf(run), number = k + 1, points = run.knobs.reduce((n, knob) => n * BigInt(knob.values.length), 1n);
  const statuses = Object.keys(shapes).map(s => [run.trials.filter(t => t.status === s).length, s]).filter(([n]) => n).map(([n, s]) => `${n} ${s}`);
  const facts = {Machine: run.machine, Compiler: `${run.compiler}, attnc ${run.attnc}`, Target: run.target, Seed: run.seed,
    Trials: run.trials.length + (statuses.length ? `: ${statuses.join(', ')}` : ''), 'Schedules in the space': points,
    Begun: run.begun ? new Date(1000 * run.begun).toISOString().replace('T', ' ').replace('.000Z', ' UTC') : 'not known', 'Spec hash': run.spec_hash.slice(0, 12)};
  return el('section', {class: 'run', id: `run-${number}`, tabindex: -1, 'aria-labelledby': `run-${number}-name`},
    el('h2', {id: `run-${number}-name`}, el('bdi', {}, run.spec), ' ', el('span', {class: 'shape'}, run.shape)),
    el('p', {class: 'gain'}, el('strong', {}, gain), interval ? ` (${interval})` : ''), scheduleText(run),
    el('dl', {class: 'facts'}, ...Object.entries(facts).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))),
    ...(run.spec_text ? [el('details', {}, el('summary', {}, 'The spec'), el('pre', {}, run.spec_text))] : []), ...(run.trials.length ? trialTable(run, number) : []));
}
/* A table of all runs with their gains. Each row links to the section of its run. */
function overview() {
  const rows = runs.map((run, k) => {
    const [gain, interval] = gainOf(run), best = run.trials[run.best];
    return el('tr', {'data-run': k}, el('th', {scope: 'row'}, el('a', {href: `#run-${k + 1}`}, el('bdi', {}, run.spec))),
      el('td', {}, best ? `${best.times.toFixed(2)} times as fast (${interval})` : gain), el('td', {}, run.shape), el('td', {}, run.trials.length));
  });
  return el('nav', {class: 'scroll', 'aria-label': 'Runs'}, el('table', {class: 'overview'},
    el('thead', {}, el('tr', {}, heading('spec'), heading('gain (95% interval)'), heading('shape'), heading('trials'))), el('tbody', {}, ...rows)));
}

/* ---- shared by all charts of a run ---- */

/* The axis of speeds. A very slow trial would leave no room for the others, so it is drawn at the lower end with a different mark. */
function speedAxis(run) {
  const known = run.trials.filter(t => t.times !== null).map(t => t.times);
  let high = Math.max(1, ...known), low = Math.min(1, ...known);
  low = Math.max(low, 0.5);
  const pad = Math.max(0.06 * (high - low), 0.01);
  return {low: low - pad, high: high + pad, cut: low};
}
function speedTicks(axis, left, right, y) {
  const {values, digits} = steps(axis.low, axis.high, 5);
  return values.flatMap(v => [line(left, y(v), right, y(v), 'grid'), label(left - 6, y(v) + 4, v.toFixed(digits), {'text-anchor': 'end'})]);
}
/* Adds the mark of a measured trial to the nodes, and its position to the points that the pointer and the arrow keys select. */
function placeTrial(points, nodes, run, index, x, y, axis) {
  const t = run.trials[index], low = t.times < axis.cut, at = y(low ? axis.cut : t.times);
  nodes.push(mark(x, at, low ? 'low' : 'measured', index, run.trials.length));
  surround(nodes, run, index, x, at);
  points.push({x, y: at, trial: index});
}
function surround(nodes, run, index, x, y) {
  if (index === run.best) nodes.push(draw('circle', {cx: x.toFixed(1), cy: y.toFixed(1), r: 7.5, class: 'ring'}));
  if (run.trials[index].usual) nodes.push(draw('rect', {x: (x - 6.5).toFixed(1), y: (y - 6.5).toFixed(1), width: 13, height: 13, class: 'square'}));
}
function aroundKeys(run) {
  const keys = [];
  if (run.best >= 0) keys.push(key(draw('circle', {r: 5.5, class: 'ring'}), 'best schedule'));
  if (run.trials.some(t => t.usual && t.times !== null)) keys.push(key(draw('rect', {x: -5.5, y: -5.5, width: 11, height: 11, class: 'square'}), "compiler's own choice, as a candidate"));
  return keys;
}

/* ---- the charts: each returns {height, nodes, points, says, keys} for a width ---- */

function progress(run, width) {
  const axis = speedAxis(run), failed = run.trials.some(t => t.times === null), left = 44, right = width - 10, top = 10, bottom = 250;
  const lane = bottom + 20, foot = failed ? lane + 14 : bottom, count = run.trials.length;
  const x = k => left + (right - left) * (k + 0.5) / count, y = v => bottom - (bottom - top) * (v - axis.low) / (axis.high - axis.low);
  const nodes = speedTicks(axis, left, right, y), points = [], marks = [], best = [];
  const whole = Math.max(1, Math.ceil(count / 8)), unit = 10 ** Math.floor(Math.log10(whole)), step = unit * [1, 2, 5, 10].find(f => f * unit >= whole);
  nodes.push(line(left, foot, right, foot, 'axis'));
  for (let k = step; k <= count; k += step) nodes.push(label(x(k - 1), foot + 16, k, {'text-anchor': 'middle'}));
  nodes.push(label((left + right) / 2, foot + 34, 'trial', {'text-anchor': 'middle'}));
  nodes.push(line(left, y(1), right, y(1), 'own'));
  let leader = 0;
  run.trials.forEach((t, k) => {
    if (t.times === null) {
      marks.push(mark(x(k), lane, t.status === 'measured' ? 'unknown' : t.status, k, count));
      points.push({x: x(k), y: lane, trial: k});
    } else {
      if (t.times >= axis.cut) nodes.push(line(x(k), y(Math.min(axis.high, t.high)), x(k), y(Math.max(axis.low, t.low)), 'spread'));
      placeTrial(points, marks, run, k, x(k), y, axis);
      if (t.times > leader && t.times >= axis.cut) {
        if (leader) best.push([x(k), y(leader)]);
        best.push([x(k), y(t.times)]);
        leader = t.times;
      }
    }
  });
  if (best.length) nodes.push(path([...best, [right, y(leader)]], 'step'));
  if (failed) nodes.push(label(left - 6, lane + 4, 'failed', {'text-anchor': 'end'}));
  const statuses = [...new Set(run.trials.filter(t => t.times === null).map(t => t.status))].filter(s => s !== 'measured');
  const keys = [];
  if (points.some(p => run.trials[p.trial].times !== null)) keys.push(shapeKey('measured', 'measured, with its 95% interval'));
  if (run.trials.some(t => t.times !== null && t.times < axis.cut)) keys.push(shapeKey('low', `slower than ${axis.cut.toFixed(1)}`));
  if (best.length) keys.push(key(line(-11, 0, 11, 0, 'step'), 'best so far'));
  keys.push(key(line(-11, 0, 11, 0, 'own'), "compiler's own choice"), ...aroundKeys(run), ...statuses.map(s => shapeKey(s, s)));
  const says = `Times as fast as the compiler's own choice, by trial. ${count} trials, ${run.measured} of them measured.` +
    (run.best >= 0 ? ` The best, ${run.trials[run.best].times.toFixed(3)}, is trial ${run.best + 1}.` : ' None is better than the compiler’s own choice.');
  return {height: foot + 40, nodes: [...nodes, ...marks], points, says, keys};
}

function effect(run, j, width) {
  const knob = run.knobs[j], axis = speedAxis(run), left = 44, right = width - 6, top = 10, bottom = 190, band = (right - left) / knob.values.length;
  const x = v => left + (v + 0.5) * band, y = v => bottom - (bottom - top) * (v - axis.low) / (axis.high - axis.low);
  const nodes = speedTicks(axis, left, right, y), points = [], marks = [], best = [], middle = [], said = [];
  nodes.push(line(left, bottom, right, bottom, 'axis'), line(left, y(1), right, y(1), 'own'));
  const wide = 8 * Math.max(...knob.values.map(v => String(v).length)) + 8, every = Math.max(1, Math.ceil(wide / band));
  knob.values.forEach((value, v) => {
    const own = v === knob.usual;
    const here = run.trials.map((t, k) => k).filter(k => run.trials[k].at[j] === v && run.trials[k].times !== null);
    const near = !own && knob.usual >= 0 && Math.abs(v - knob.usual) < every;
    if (own || (v % every === 0 && !near)) nodes.push(label(x(v), bottom + 16, value, {'text-anchor': 'middle', class: own ? 'ink usual' : ''}));
    here.forEach((k, n) => placeTrial(points, marks, run, k, x(v) + (here.length > 1 ? ((k * 0.618034) % 1 - 0.5) * Math.min(band * 0.7, 60) : 0), y, axis));
    if (!here.length) return said.push(`${value}: no measurement`);
    const speeds = here.map(k => run.trials[k].times), most = Math.max(...speeds), half = median(speeds);
    best.push([x(v), y(Math.max(axis.cut, most))]);
    middle.push([x(v), y(Math.max(axis.cut, half))]);
    said.push(`${value}: best ${most.toFixed(3)}, median ${half.toFixed(3)} of ${here.length}`);
  });
  nodes.push(label((left + right) / 2, bottom + 34, knob.name, {'text-anchor': 'middle'}));
  points.sort((a, b) => a.trial - b.trial);
  const over = [path(best, 'step'), path(middle, 'median')];
  for (const [px, py] of best) over.push(draw('path', {d: `M${(px - 5).toFixed(1)} ${(py - 2.5).toFixed(1)}h10v5h-10z`, class: 'best point'}));
  for (const [px, py] of middle) over.push(draw('path', {d: `M${px.toFixed(1)} ${(py - 4.5).toFixed(1)}l4.5 4.5l-4.5 4.5l-4.5 -4.5Z`, class: 'median point'}));
  return {height: bottom + 40, nodes: [...nodes, ...marks, ...(best.length ? over : [])], points, keys: [],
    says: `Times as fast as the compiler's own choice, by ${knob.name}. ${said.join('; ')}.`};
}

function roofline(run, width) {
  const known = run.trials.map((t, k) => k).filter(k => run.trials[k].flops !== null && run.trials[k].intensity !== null);
  if (!known.length) return null;
  const left = 76, right = width - 10, top = 12, bottom = 250;
  const spread = (values, least) => {
    let low = Math.min(...values), high = Math.max(...values);
    const room = Math.max(1.25, Math.sqrt(least / (high / low)));
    return [low / room, high * room];
  };
  const ridge = run.peak !== null && run.bandwidth !== null ? [run.peak / run.bandwidth] : [];
  const [xl, xh] = spread([...known.map(k => run.trials[k].intensity), ...ridge], 10);
  const [yl, yh] = spread([...known.map(k => run.trials[k].flops), ...(run.peak === null ? [] : [run.peak])], 4);
  const x = v => left + (right - left) * Math.log(v / xl) / Math.log(xh / xl), y = v => bottom - (bottom - top) * Math.log(v / yl) / Math.log(yh / yl);
  const nodes = [], points = [], marks = [];
  for (const v of logSteps(yl, yh, 8)) nodes.push(line(left, y(v), right, y(v), 'grid'), label(left - 6, y(v) + 4, rate(v, 'FLOP/s'), {'text-anchor': 'end'}));
  for (const v of logSteps(xl, xh, 6)) nodes.push(line(x(v), top, x(v), bottom, 'grid'), label(x(v), bottom + 16, v >= 1 ? v.toLocaleString('en') : v, {'text-anchor': 'middle'}));
  nodes.push(line(left, bottom, right, bottom, 'axis'), line(left, top, left, bottom, 'axis'));
  nodes.push(label((left + right) / 2, bottom + 34, 'FLOPs for a byte moved', {'text-anchor': 'middle'}));
  if (run.bandwidth !== null) {
    const low = Math.max(xl, yl / run.bandwidth), high = Math.min(xh, (run.peak === null ? yh : run.peak) / run.bandwidth);
    if (low < high) {
      const from = [x(low), y(low * run.bandwidth)], to = [x(high), y(high * run.bandwidth)], turn = Math.atan2(to[1] - from[1], to[0] - from[0]) * 180 / Math.PI;
      nodes.push(line(...from, ...to, 'bound'), label(0, -6, `memory, ${rate(run.bandwidth, 'B/s')}`, {class: 'ink', 'text-anchor': 'middle',
        transform: `translate(${((from[0] + to[0]) / 2).toFixed(1)} ${((from[1] + to[1]) / 2).toFixed(1)}) rotate(${turn.toFixed(1)})`}));
    }
  }
  if (run.peak !== null) nodes.push(line(ridge.length ? x(ridge[0]) : left, y(run.peak), right, y(run.peak), 'bound'), label(right - 4, y(run.peak) - 6, `peak of the machine, ${rate(run.peak, 'FLOP/s')}`, {'text-anchor': 'end', class: 'ink'}));
  for (const k of known) {
    const t = run.trials[k], at = [x(t.intensity), y(t.flops)];
    marks.push(mark(...at, 'measured', k, run.trials.length));
    surround(marks, run, k, ...at);
    points.push({x: at[0], y: at[1], trial: k});
  }
  const fastest = known.reduce((a, b) => run.trials[b].flops > run.trials[a].flops ? b : a), most = run.trials[fastest];
  const says = `FLOPs a second by FLOPs for a byte. Candidates reach ${rate(Math.min(...known.map(k => run.trials[k].flops)), 'FLOP/s')} to ${rate(most.flops, 'FLOP/s')}` +
    (run.peak === null ? '; the peak of the machine is not known.' : `, at most ${(100 * most.flops / run.peak).toFixed(0)}% of the machine's peak of ${rate(run.peak, 'FLOP/s')}.`);
  return {height: bottom + 40, nodes: [...nodes, ...marks], points, says, keys: [shapeKey('measured', 'measured'), ...aroundKeys(run)]};
}

/* ---- pointing at a trial ---- */

const tip = el('div', {class: 'tip', hidden: '', 'aria-hidden': 'true'}), heard = el('div', {class: 'heard', role: 'status'});
document.body.append(tip, heard);

function hide() {
  tip.hidden = true;
  for (const node of document.querySelectorAll('.on')) node.classList.remove('on');
}
function light(section, trial) {
  for (const node of document.querySelectorAll('.on')) node.classList.remove('on');
  for (const node of section.querySelectorAll(`[data-trial="${trial}"]`)) node.classList.add('on');
}
function point(view, svg, at, aloud) {
  const run = view.run, t = run.trials[at.trial], box = svg.getBoundingClientRect();
  const lines = [`Trial ${at.trial + 1}: ${t.status}` + (at.trial === run.best ? ', best' : '') + (t.usual ? ", the compiler's own choice" : '')];
  if (t.times !== null) lines.push(speedText(t), `${t.took}, ${t.samples} sample${t.samples === 1 ? '' : 's'}` + (t.flops === null ? '' : `, ${rate(t.flops, 'FLOP/s')}`));
  lines.push(scheduleOf(run, t));
  if (t.why) lines.push(t.why);
  light(view.section, at.trial);
  tip.replaceChildren(...lines.map(text => el('div', {}, text)));
  tip.hidden = false;
  const x = box.left + at.x, y = box.top + at.y, size = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - size.width - 4)) + 'px';
  tip.style.top = (y - size.height - 14 >= 4 ? y - size.height - 14 : y + 16) + 'px';
  if (aloud) heard.textContent = lines.join('. ');
}
function goToRow(view, trial) {
  const row = view.rows[trial];
  if (row.hidden) view.clear();
  for (const other of view.rows) other.removeAttribute('aria-current');
  row.setAttribute('aria-current', 'true');
  row.tabIndex = -1;
  row.scrollIntoView({block: 'center'});
  row.focus({preventScroll: true});
}

/* A chart, which is redrawn when the width changes. */
function chart(view, title, make) {
  const svg = draw('svg', {role: 'img', tabindex: 0}), keys = el('ul', {class: 'keys'}), said = el('figcaption', {}, ...title);
  const figure = el('figure', {}, said, svg, keys);
  let points = [], at = -1, drawn = 0;
  figure.redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width < 50 || width === drawn) return;
    drawn = width;
    const made = make(width);
    points = made.points;
    at = -1;
    svg.setAttribute('viewBox', `0 0 ${width} ${made.height}`);
    svg.setAttribute('height', made.height);
    svg.setAttribute('aria-label', made.says + ' Arrow keys go from trial to trial, Enter to the row of the table.');
    svg.replaceChildren(...made.nodes);
    keys.replaceChildren(...made.keys);
    view.dim(svg);
  };
  const nearest = event => {
    const box = svg.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let found = null, least = 24 ** 2;
    for (const p of points) {
      const far = (p.x - x) ** 2 + (p.y - y) ** 2;
      if (far < least) [found, least] = [p, far];
    }
    return found;
  };
  svg.addEventListener('pointermove', event => {
    const p = nearest(event);
    svg.style.cursor = p ? 'pointer' : '';
    if (p) point(view, svg, p, false); else hide();
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('click', event => {
    const p = nearest(event);
    if (p) goToRow(view, p.trial);
  });
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: points.length - 1}[event.key];
    if (event.key === 'Escape') return hide();
    if (event.key === 'Enter' && at >= 0) goToRow(view, points[at].trial);
    else if (to === undefined || !points.length) return;
    else point(view, svg, points[at = Math.max(0, Math.min(points.length - 1, to))], true);
    event.preventDefault();
  });
  return figure;
}

/* ---- the table ---- */

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.querySelector('.none') ? null : cell.textContent;
  };
  heads.forEach((head, column) => {
    const button = el('button', {type: 'button'}, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const was = head.getAttribute('aria-sort'), first = head.dataset.first || 'ascending', other = first === 'ascending' ? 'descending' : 'ascending';
      const order = was === first ? other : first, sign = order === 'ascending' ? 1 : -1;
      for (const h of heads) h.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      /* unknown values come last in both directions; equal values are in the order of the trials */
      const rows = [...body.rows].map(row => [valueOf(row, column), Number(row.dataset.trial), row]).sort((a, b) => {
        const [p, q] = [a[0], b[0]], none = [p, q].map(v => v === null || v === '');
        if (none[0] !== none[1]) return none[0] ? 1 : -1;
        return (none[0] || p === q ? 0 : p < q ? -sign : sign) || a[1] - b[1];
      });
      body.append(...rows.map(r => r[2]));
    });
  });
  heads[0].setAttribute('aria-sort', 'ascending');
}

function tools(view, table, number) {
  const statuses = [...new Set(view.run.trials.map(t => t.status))];
  const text = el('input', {type: 'search', id: `filter-${number}`, placeholder: view.run.knobs.length ? `${view.run.knobs[0].name}=${view.run.knobs[0].values[0]}` : 'measured', autocomplete: 'off'});
  const status = el('select', {id: `status-${number}`}, el('option', {value: ''}, 'all'), ...statuses.map(s => el('option', {value: s}, s)));
  const count = el('output', {for: `filter-${number} status-${number}`});
  const words = view.rows.map((row, k) => `${row.textContent} ${scheduleOf(view.run, view.run.trials[k])} `.toLowerCase());
  const show = () => {
    const asked = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    view.rows.forEach((row, k) => {
      row.hidden = (status.value && view.run.trials[k].status !== status.value) || !asked.every(word => words[k].includes(word));
    });
    count.textContent = `${view.rows.filter(row => !row.hidden).length} of ${view.rows.length} trials`;
    for (const svg of view.section.querySelectorAll('figure > svg')) view.dim(svg);
  };
  view.clear = () => {
    text.value = status.value = '';
    show();
  };
  text.addEventListener('input', show);
  status.addEventListener('change', show);
  table.closest('.scroll').before(el('div', {class: 'tools'}, el('label', {}, 'Only rows with', text), el('label', {}, 'Status', status), count));
  show();
}

/* ---- a run ---- */

function open(run, section, number) {
  const view = {run, section, rows: [...section.querySelectorAll('.trials tbody tr')], figures: []};
  const heading = section.querySelector('h3'), table = section.querySelector('.trials');
  if (!table) return view;
  view.dim = svg => {
    for (const node of svg.querySelectorAll('[data-trial]')) node.classList.toggle('out', view.rows[node.dataset.trial].hidden);
  };
  const first = [chart(view, [el('h4', {}, 'Progress of the search'), "Times as fast as the compiler's own choice, trial by trial."], width => progress(run, width))];
  if (roofline(run, 600))
    first.push(chart(view, [el('h4', {}, 'Roofline'), 'Useful FLOPs a second against FLOPs for a byte moved, both logarithmic.'], width => roofline(run, width)));
  const knobs = run.knobs.map((knob, j) => chart(view, [el('h4', {}, knob.name), knob.says], width => effect(run, j, width)));
  view.figures = [...first, ...knobs];
  heading.before(el('div', {class: 'pair progress'}, ...first));
  if (first.length === 1) heading.before(el('p', {class: 'none'}, 'Work and bytes of a call are not known, so there is no roofline.'));
  if (knobs.length) {
    const keys = el('ul', {class: 'keys'}, shapeKey('measured', 'trial'),
      key(draw('g', {}, line(-11, 0, 11, 0, 'step'), draw('path', {d: 'M-5 -2.5h10v5h-10z', class: 'best point'})), 'best of each value'),
      key(draw('g', {}, line(-11, 0, 11, 0, 'median'), draw('path', {d: 'M0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5Z', class: 'median point'})), 'median of each value'),
      key(line(-11, 0, 11, 0, 'own'), "compiler's own choice, whose values are bold"), ...aroundKeys(run));
    heading.before(el('h3', {}, 'Effect of each knob'), keys, el('div', {class: 'knobs'}, ...knobs));
  }
  sortable(table);
  tools(view, table, number);
  const watch = new ResizeObserver(entries => entries.forEach(entry => entry.target.redraw()));
  view.figures.forEach(figure => watch.observe(figure));
  section.addEventListener('pointerover', event => {
    const row = event.target.closest('.trials tbody tr');
    if (row) light(section, row.dataset.trial);
  });
  table.addEventListener('pointerleave', hide);
  return view;
}

/* ---- the page: one run at a time, light or dark ---- */

const sections = runs.map(sectionOf);
document.querySelector('main').replaceChildren(...(runs.length > 1 ? [overview()] : []), ...sections);
if (!runs.length) document.querySelector('main').append(el('p', {class: 'gain'}, 'There is no run to show.'));
const header = document.querySelector('header'), chooser = el('select', {id: 'run'}), opened = [];
function choose(k) {
  hide();
  sections.forEach((section, n) => { section.hidden = n !== k; });
  opened[k] = opened[k] || open(runs[k], sections[k], k + 1);
  chooser.value = k;
  for (const row of document.querySelectorAll('.overview tbody tr'))
    if (Number(row.dataset.run) === k) row.setAttribute('aria-current', 'true'); else row.removeAttribute('aria-current');
}
if (runs.length > 1) {
  runs.forEach((run, k) => chooser.append(el('option', {value: k}, `${k + 1}: ${run.title}`)));
  chooser.addEventListener('change', () => choose(Number(chooser.value)));
  header.append(el('label', {class: 'choose'}, 'Run', chooser));
  for (const link of document.querySelectorAll('.overview a'))
    link.addEventListener('click', event => {
      event.preventDefault();
      const k = Number(link.closest('tr').dataset.run);
      choose(k);
      sections[k].scrollIntoView();
      sections[k].focus({preventScroll: true});
    });
}
const root = document.documentElement, night = matchMedia('(prefers-color-scheme: dark)'), toggle = el('button', {type: 'button', id: 'theme'});
const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' : night.matches;
const name = () => { toggle.textContent = dark() ? 'Light colours' : 'Dark colours'; };
toggle.addEventListener('click', () => {
  root.dataset.theme = dark() ? 'light' : 'dark';
  name();
});
night.addEventListener('change', name);
name();
header.append(toggle);
addEventListener('scroll', () => { if (!tip.hidden) hide(); }, {passive: true});
if (runs.length) {
  const asked = /^#run-(\d+)/.exec(location.hash);
  choose(asked && asked[1] >= 1 && asked[1] <= runs.length ? asked[1] - 1 : 0);
}
})();
