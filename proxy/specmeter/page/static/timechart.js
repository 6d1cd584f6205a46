// One chart over time, as SVG: lines with a band, or bars about 0.

import { el, svg } from "./dom.js";
import { linear, tickText, ticks, timeTicks } from "./axes.js";
import { clock } from "./format.js";

const LEFT = 42;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;

export class TimeChart {
  // spec: title, unit, lines [{key, name, value(point)}] or bars(point), band(point), reference,
  //       floor (the axis begins at 0), text(point): what the tooltip says, as [name, value, more]
  constructor(spec) {
    this.spec = spec;
    this.points = [];
    this.at = null;
    this.plot = el("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": "chart" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.said = el("p", { class: "visually-hidden", role: "status" });
    this.note = el("p", { class: "hint" });
    this.now = el("p", { class: "now" });
    this.element = el(
      "figure",
      { class: `card chart ${spec.wide ? "wide" : ""}`, "data-chart": spec.key },
      el("figcaption", {}, el("h3", {}, spec.title), this.now),
      el("div", { class: "frame" }, this.plot, this.tip),
      spec.lines?.length > 1 ? legend(spec.lines) : null,
      this.note,
      this.said,
    );
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.plot.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.plot.addEventListener("pointerdown", (event) => this.point(event.offsetX));
    this.plot.addEventListener("pointerleave", () => this.leave());
    this.plot.addEventListener("blur", () => this.leave());
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
  }

  show(points, why, now, note) {
    this.points = points;
    this.why = why;
    this.now.textContent = now;
    this.note.textContent = note ?? "";
    this.note.hidden = !note;
    this.draw();
  }

  has(point) {
    return this.spec.bars ? known(this.spec.bars(point)) : this.spec.lines.some((line) => known(line.value(point)));
  }

  draw() {
    const width = this.plot.clientWidth;
    const height = this.plot.clientHeight;
    if (width < 80 || !height) return;
    const shown = this.points.filter((point) => this.has(point));
    const label = shown.length ? `${this.spec.title}: ${this.now.textContent || "no value now"}. Arrow keys move through time.` : `${this.spec.title}: ${this.why}`;
    this.plot.setAttribute("aria-label", label);
    if (!shown.length) {
      this.scale = null;
      this.tip.hidden = true;
      this.plot.replaceChildren(el("p", { class: "empty" }, this.why));
      return;
    }
    const [low, high] = this.domain(shown);
    const from = this.points[0].at;
    const to = this.points[this.points.length - 1].at;
    const x = linear(from, to, LEFT, width - RIGHT);
    const y = linear(low, high, height - BOTTOM, TOP);
    this.scale = { x, y, width, height, from, to };
    const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    drawing.append(...this.axes(low, high));
    drawing.append(...(this.spec.bars ? this.bars() : this.lines(low, high)));
    drawing.append(svg("g", { class: "cursor" }));
    this.plot.replaceChildren(drawing);
    this.mark();
  }

  domain(shown) {
    const { spec } = this;
    const values = shown.flatMap((point) => (spec.bars ? [spec.bars(point)] : spec.lines.map((line) => line.value(point)))).filter(known);
    let low = Math.min(...values);
    let high = Math.max(...values);
    if (spec.band) {
      // A band from a handful of completions would press the rest flat.
      const ends = shown.map(spec.band).filter(Boolean);
      high = Math.max(high, Math.min(Math.max(...ends.map((end) => end[1])), 1.5 * high));
      low = Math.min(low, Math.max(Math.min(...ends.map((end) => end[0])), 0.5 * low));
    }
    const anchor = spec.bars || spec.floor ? 0 : spec.reference;
    if (known(anchor)) {
      low = Math.min(low, anchor);
      high = Math.max(high, anchor);
    }
    if (spec.most) return [0, spec.most];
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    const isEnd = (value) => value === 0 && anchor === 0;
    return [isEnd(low) ? 0 : low - room, isEnd(high) ? 0 : high + room];
  }

  axes(low, high) {
    const { x, y, width, height, from, to } = this.scale;
    const parts = [];
    const values = ticks(low, high, Math.max(2, height / 48));
    for (const tick of values) {
      parts.push(
        svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), class: "grid" }),
        svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, `${tickText(tick, values)}${this.spec.unit ?? ""}`),
      );
    }
    for (const at of timeTicks(from, to, width / 62)) {
      if (x(at) > LEFT + 12 && x(at) < width - 18) {
        parts.push(svg("text", { x: x(at), y: height - 6, "text-anchor": "middle" }, clock(at, false)));
      }
    }
    if (known(this.spec.reference)) {
      const at = y(this.spec.reference);
      parts.push(svg("line", { x1: LEFT, x2: width - RIGHT, y1: at, y2: at, class: "reference" }));
    }
    return parts;
  }

  lines() {
    const { x, y } = this.scale;
    const parts = [];
    if (this.spec.band) {
      for (const run of runs(this.points, (point) => this.spec.band(point))) {
        const inside = (value) => Math.max(TOP, Math.min(this.scale.height - BOTTOM, y(value)));
        const upper = run.map(([point, [, top]]) => `${x(point.at)},${inside(top)}`);
        const lower = run.map(([point, [bottom]]) => `${x(point.at)},${inside(bottom)}`).reverse();
        parts.push(svg("polygon", { points: [...upper, ...lower].join(" "), class: "band" }));
      }
    }
    for (const line of this.spec.lines) {
      for (const run of runs(this.points, (point) => line.value(point))) {
        const places = run.map(([point, value]) => `${x(point.at)},${y(value)}`);
        parts.push(svg("polyline", { points: places.join(" "), class: `line ${line.key}` }));
        if (run.length === 1) {
          const [point, value] = run[0];
          parts.push(svg("circle", { cx: x(point.at), cy: y(value), r: 2.5, class: `dot ${line.key}` }));
        }
      }
    }
    return parts;
  }

  bars() {
    const { x, y, from, to } = this.scale;
    const step = (to - from) / (this.points.length - 1);
    const wide = Math.max(1.5, 0.8 * (x(from + step) - x(from)));
    return this.points.filter((point) => this.has(point)).map((point) => {
      const value = this.spec.bars(point);
      const top = y(Math.max(value, 0));
      const tall = Math.max(1, Math.abs(y(value) - y(0)));
      const left = Math.max(LEFT, x(point.at) - wide);
      return svg("rect", { x: left, y: value < 0 ? y(0) : top, width: wide, height: tall, class: value < 0 ? "bar lost" : "bar saved" });
    });
  }

  point(offset) {
    if (!this.scale) return;
    const { x } = this.scale;
    const distance = (point) => Math.abs(x(point.at) - offset);
    const near = this.points.reduce((best, one) => (distance(one) < distance(best) ? one : best));
    this.at = near.at;
    this.mark();
  }

  onKey(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.leave();
    if (!(event.key in moves) || !this.scale) return;
    event.preventDefault();
    const last = this.points.length - 1;
    const from = this.at === null ? last + 1 : this.indexOf(this.at);
    let to = Math.max(0, Math.min(last, from + moves[event.key]));
    const on = event.key === "Home" ? 1 : event.key === "End" ? -1 : moves[event.key];
    while (to > 0 && to < last && !this.has(this.points[to])) to += on;
    this.at = this.points[to].at;
    this.mark();
    this.said.textContent = this.words(this.points[to]).map((parts) => parts.filter(Boolean).join(" ")).join("; ");
  }

  indexOf(at) {
    const index = this.points.findIndex((point) => point.at >= at - 1e-6);
    return index < 0 ? this.points.length - 1 : index;
  }

  leave() {
    this.at = null;
    this.mark();
  }

  words(point) {
    const rest = this.has(point) ? this.spec.text(point) : [["nothing here"]];
    return [[clock(point.at)], ...rest];
  }

  mark() {
    const group = this.plot.querySelector(".cursor");
    this.tip.hidden = this.at === null || !group;
    if (!group) return;
    group.replaceChildren();
    if (this.at === null) return;
    const { x, y, width, height } = this.scale;
    const point = this.points[this.indexOf(this.at)];
    group.append(svg("line", { x1: x(point.at), x2: x(point.at), y1: TOP, y2: height - BOTTOM, class: "hair" }));
    for (const line of this.spec.lines ?? []) {
      if (known(line.value(point))) group.append(svg("circle", { cx: x(point.at), cy: y(line.value(point)), r: 4, class: `dot ${line.key}` }));
    }
    const [[time], ...rows] = this.words(point);
    this.tip.replaceChildren(
      el("p", { class: "time" }, time),
      ...rows.map(([what, value, more]) => el("p", {}, `${what} `, el("b", {}, value ?? ""), more ? el("span", {}, more) : null)),
    );
    const left = x(point.at) > width / 2 ? x(point.at) - this.tip.offsetWidth - 10 : x(point.at) + 10;
    this.tip.style.left = `${Math.max(0, Math.min(left, width - this.tip.offsetWidth))}px`;
  }
}

function known(value) {
  return value !== null && value !== undefined && Number.isFinite(value);
}

function legend(lines) {
  return el("p", { class: "legend" }, lines.map((line) => el("span", { class: `key ${line.key}` }, line.name)));
}

// Stretches of points that all have a value, so that a gap stays a gap.
function runs(points, valueOf) {
  const found = [];
  let run = [];
  for (const point of points) {
    const value = valueOf(point);
    if (Array.isArray(value) ? value.every(known) : known(value)) {
      run.push([point, value]);
    } else if (run.length) {
      found.push(run);
      run = [];
    }
  }
  if (run.length) found.push(run);
  return found;
}
