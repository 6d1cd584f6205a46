// Speedup by context, output length, load and draft length: a dot with its interval for each bucket.

import { el, svg, showWhenChanged } from "./dom.js";
import { count, number, percent, plural, seconds, times, RANGE_WORDS } from "./format.js";

const AXES = [
  ["context", "By context", "tokens in the cache"],
  ["output", "By output length", "generated tokens"],
  ["in_flight", "By load", "requests at a time"],
];

export class Slices {
  constructor(element) {
    this.figures = AXES.map(([key, title, unit]) => [key, figure(key, title, unit)]);
    this.lengths = figure("draft_length", "By draft length", "most tokens of a draft; expected, not measured");
    element.append(...this.figures.map(([, one]) => one.element), this.lengths.element);
  }

  show(series, model) {
    const nothing = `No completion in the last ${RANGE_WORDS[series.range]}.`;
    for (const [key, one] of this.figures) {
      const found = series.slices[key];
      const why = found.length ? null : model.numbers.completions ? "The server does not report what this takes." : nothing;
      showWhenChanged(one.body, [found, why], () => (why ? [el("p", { class: "empty" }, why)] : rows(found.map(ofSlice))));
    }
    const lengths = model.draft_lengths ?? [];
    this.lengths.element.hidden = !lengths.length;
    showWhenChanged(this.lengths.body, lengths, () => rows(lengths.map(ofLength)));
  }
}

function figure(key, title, unit) {
  const body = el("div", { class: "buckets" });
  return { body, element: el("figure", { class: "card", "data-chart": key }, el("figcaption", {}, el("h3", {}, title), el("p", { class: "hint" }, unit)), body) };
}

function ofSlice({ bucket, numbers }) {
  const { speedup, acceptance, output_per_step: output, tokens_per_second: speed } = numbers;
  const more = [
    acceptance ? `acceptance ${percent(acceptance.value)} = accepted ${count(acceptance.over)} / drafted ${count(acceptance.under)}` : null,
    output ? `output per step ${number(output.value)} = tokens ${count(output.over)} / steps ${count(output.under)}` : null,
    speed ? `${number(speed.value, 1)} tok/s` : null,
    speedup ? `plain ${seconds(speedup.plain_seconds)} / spent ${seconds(speedup.spent_seconds)}` : null,
  ];
  return { bucket, speedup, instead: output ? `${number(output.value)} per step` : "–", size: plural(numbers.completions, "completion"), more: more.filter(Boolean) };
}

function ofLength({ length, speedup, now }) {
  return { bucket: now ? `${length} (now)` : `${length}`, speedup, size: "", more: ["An estimate: that a shorter draft is accepted as its first tokens are now."] };
}

function rows(found) {
  const ends = found.flatMap(({ speedup }) => (speedup ? [speedup.high ?? speedup.value, 1 / Math.max(speedup.low ?? speedup.value, 0.05)] : []));
  const reach = Math.log2(Math.min(8, 1.1 * Math.max(1.5, ...ends)));
  const list = el("ul", {}, found.map((one) => bucketRow(one, reach)));
  const compared = found.some(({ speedup }) => speedup);
  return compared ? [list] : [list, el("p", { class: "hint" }, "No baseline: output per step instead of the speedup.")];
}

function bucketRow({ bucket, speedup, instead, size, more }, reach) {
  const interval = speedup?.low === undefined ? "too few completions for an interval" : `${times(speedup.low)} to ${times(speedup.high)}`;
  const text = speedup ? times(speedup.value) : instead;
  const details = [`${bucket}: ${text}`, speedup ? interval : null, size, ...more].filter(Boolean);
  return el(
    "li",
    { tabindex: "0" },
    el("span", { class: "bucket" }, bucket),
    speedup ? whisker(speedup, reach) : el("span", { class: "whisker" }),
    el("span", { class: "amount" }, text),
    el("span", { class: "size" }, size),
    el("span", { class: "tip", role: "tooltip" }, details.map((line) => el("span", {}, line))),
  );
}

function whisker({ value, low, high }, reach) {
  const x = (factor) => 50 + 48 * Math.max(-1, Math.min(1, Math.log2(Math.max(factor, 0.001)) / reach));
  const kind = low > 1 ? "faster" : high < 1 ? "slower" : "unsure";
  return svg(
    "svg",
    { viewBox: "0 0 100 16", preserveAspectRatio: "none", class: `whisker ${kind}`, "aria-hidden": "true" },
    svg("line", { x1: 50, x2: 50, y1: 0, y2: 16, class: "one" }),
    low === undefined ? null : svg("line", { x1: x(low), x2: Math.max(x(high), x(low) + 0.5), y1: 8, y2: 8, class: "interval" }),
    svg("line", { x1: x(value), x2: x(value), y1: 2, y2: 14, class: "value" }),
  );
}
