"""Draws curves as SVG."""
from __future__ import annotations

import html
import math
from typing import Dict, List, Sequence, Tuple

Points = Sequence[Tuple[float, float]]
COLORS = ("#1f5fa8", "#c2410c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#a16207", "#4b5563", "#be185d", "#365314")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 800, 400, 64, 40, 250, 48


def _ticks(low: float, high: float, is_log: bool) -> List[float]:
    if is_log:
        every = [10.0 ** n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
        if len(every) < 4:
            every = [step * power for power in every for step in (1, 2, 5)]
        return [t for t in every if low * 0.999 <= t <= high * 1.001]
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 6)
    return [step * n for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def lines(title: str, x_name: str, y_name: str, curves: Dict[str, Points], log_x: bool = False,
          log_y: bool = False, dashed: Sequence[str] = ()) -> str:
    """Returns the SVG text. `curves` maps names in the legend to points. The curves in `dashed` are dashed."""
    xs = [x for points in curves.values() for x, _ in points if x > 0 or not log_x]
    ys = [y for points in curves.values() for _, y in points if y > 0 or not log_y]
    spans = []
    for values, is_log in ((xs, log_x), (ys, log_y)):
        low, high = min(values), max(values)
        if high <= low:
            high = low * 2 or 1.0
        spans.append((low, high, is_log))

    def place(value: float, span: Tuple[float, float, bool], begin: float, size: float) -> float:
        low, high, is_log = span
        if is_log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low * 1e-9))
        return begin + size * (value - low) / (high - low)

    def x_of(x: float) -> float:
        return place(x, spans[0], LEFT, WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return place(y, spans[1], HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT)

    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            f'font-size="12" fill="#222"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            f'<text x="{LEFT}" y="22" font-size="14">{html.escape(title)}</text>']
    for t in _ticks(*spans[0]):
        made.append(f'<path d="M{x_of(t):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e5e5e5"/>'
                    f'<text x="{x_of(t):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{t:g}</text>')
    for t in _ticks(*spans[1]):
        made.append(f'<path d="M{LEFT} {y_of(t):.1f}H{WIDTH - RIGHT}" stroke="#e5e5e5"/>'
                    f'<text x="{LEFT - 6}" y="{y_of(t) + 4:.1f}" text-anchor="end">{t:g}</text>')
    made.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{html.escape(x_name)}'
                f'</text><text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
                f'text-anchor="middle">{html.escape(y_name)}</text>')
    for number, (name, points) in enumerate(curves.items()):
        color, y = COLORS[number % len(COLORS)], TOP + 10 + 18 * number
        dash = ' stroke-dasharray="5 3"' if number >= len(COLORS) or name in dashed else ""
        path = " ".join(f"{x_of(a):.1f},{y_of(b):.1f}" for a, b in points
                        if (a > 0 or not log_x) and (b > 0 or not log_y))
        made.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.8"{dash}/>'
                    f'<path d="M{WIDTH - RIGHT + 12} {y}h22" stroke="{color}" stroke-width="2.5"{dash}/>'
                    f'<text x="{WIDTH - RIGHT + 40}" y="{y + 4}">{html.escape(name)}</text>')
    return "\n".join(made) + "\n</svg>\n"
