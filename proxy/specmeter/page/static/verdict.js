// The verdict: one number with its interval, what it is measured against, and what to do about it.

import { el, svg, name, clean, showWhenChanged } from "./dom.js";
import { age, count, milliseconds, number, percent, plural, seconds, signed, times, RANGE_WORDS } from "./format.js";

const MARKS = { faster: "▲", slower: "▼", cannot_tell: "≈", down: "✕" };

export function showVerdict(element, model, upstream, summary) {
  const { verdict, numbers } = model;
  element.dataset.kind = verdict.kind;
  if (!element.firstChild) {
    element.append(el("div"), el("div", { class: "facts" }), el("div"));
  }
  const [words, facts, advice] = element.children;
  const speedup = numbers.speedup;
  showWhenChanged(words, [verdict, speedup, upstream.name, model.model, summary.range], () => [
    el("p", { class: "subject" }, name(upstream.name), " · ", name(model.model), `, in the last ${RANGE_WORDS[summary.range]}`),
    el("p", { class: "headline" }, el("span", { class: "mark", "aria-hidden": "true" }, MARKS[verdict.kind] ?? "○"), verdict.headline),
    isCompared(verdict) && speedup?.low !== undefined ? scale(speedup) : null,
    el("p", { class: "sentence" }, clean(verdict.sentence)),
  ].filter(Boolean));
  showWhenChanged(facts, [factsOf(model, summary)], () => [definitions(factsOf(model, summary))]);
  showWhenChanged(advice, verdict.advice ?? [], () => (verdict.advice ?? []).map(adviceOf));
}

function isCompared(verdict) {
  return ["faster", "slower", "cannot_tell"].includes(verdict.kind);
}

// Where the interval lies on a logarithmic scale about 1.
function scale({ value, low, high }) {
  const reach = Math.log2(Math.min(8, 1.15 * Math.max(2, high, 1 / Math.max(low, 0.01))));
  const x = (factor) => 150 + 140 * Math.max(-1, Math.min(1, Math.log2(Math.max(factor, 0.001)) / reach));
  const ticks = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6].filter((tick) => Math.abs(Math.log2(tick)) < reach);
  const shown = ticks.filter((tick) => tick === 1 || ticks.length < 7 || ![0.75, 1.5, 3].includes(tick));
  const drawing = svg("svg", { viewBox: "0 0 300 44", class: "scale", role: "img", "aria-label": `${times(value)}, between ${times(low)} and ${times(high)} in 95 of 100 cases; 1 is as fast as without` });
  drawing.append(svg("line", { x1: 10, x2: 290, y1: 18, y2: 18, class: "axis" }));
  for (const tick of shown) {
    drawing.append(
      svg("line", { x1: x(tick), x2: x(tick), y1: tick === 1 ? 2 : 13, y2: tick === 1 ? 28 : 23, class: tick === 1 ? "one" : "axis" }),
      svg("text", { x: x(tick), y: 41, "text-anchor": "middle" }, tick === 1 ? "1×" : `${tick}`),
    );
  }
  drawing.append(
    svg("line", { x1: x(low), x2: Math.max(x(high), x(low) + 1), y1: 18, y2: 18, class: "interval" }),
    svg("circle", { cx: x(value), cy: 18, r: 6, class: "dot" }),
  );
  return drawing;
}

function factsOf(model, summary) {
  const { numbers } = model;
  const speedup = numbers.speedup;
  const facts = [];
  if (speedup) {
    const used = Object.keys(speedup.baselines);
    for (const baseline of (model.baselines ?? []).filter((one) => used.includes(one.source))) {
      facts.push([`Baseline: ${baseline.source}`, baselineText(baseline, summary.at), baseline.weakness]);
    }
    const saved = speedup.plain_seconds - speedup.spent_seconds;
    facts.push([
      saved < 0 ? "Time lost" : "Time saved",
      signed(saved, seconds),
      `plain ${seconds(speedup.plain_seconds)} − spent ${seconds(speedup.spent_seconds)}`,
    ]);
  }
  if (numbers.step_ms !== undefined) {
    const even = numbers.break_even_ms;
    facts.push(["A step takes", milliseconds(numbers.step_ms), even === undefined ? "" : `pays below ${milliseconds(even)}`]);
  }
  const speed = numbers.tokens_per_second;
  if (speed) {
    facts.push(["Speed", `${number(speed.value, 1)} tok/s`, `tokens ${count(speed.over)} / decode ${seconds(speed.under)}`]);
  }
  if (numbers.first_token_ms !== undefined) {
    facts.push(["First token", milliseconds(numbers.first_token_ms), "mean of streams"]);
  }
  if (numbers.completions) {
    const drafted = `drafted in ${count(numbers.drafted)}`;
    facts.push(["Completions", count(numbers.completions), numbers.not_reported ? `${drafted}, not reported in ${count(numbers.not_reported)}` : drafted]);
  }
  return facts;
}

function baselineText(baseline, now) {
  const parts = [];
  if (baseline.tokens_per_second !== undefined) parts.push(`${number(baseline.tokens_per_second, 1)} tok/s`);
  parts.push(baseline.measured_at === undefined ? "from the configuration" : `updated ${age(baseline.measured_at, now)}`);
  if (baseline.stale) parts.push("of another build or model");
  return parts.join(", ");
}

function definitions(facts) {
  return el("dl", {}, facts.map(([term, value, more]) =>
    el("div", {}, el("dt", {}, term), el("dd", {}, value), more ? el("dd", { class: "more" }, clean(more)) : null)));
}

function adviceOf({ text, command, settings }) {
  const code = command ?? settings;
  return el("div", { class: "advice" }, text ? el("p", {}, clean(text), settings ? " (below its [[upstream]]):" : command ? ":" : "") : null, code ? codeBlock(code) : null);
}

function codeBlock(text) {
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  button.setAttribute("aria-label", `Copy: ${clean(text)}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it by hand";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return el("div", { class: "code" }, el("pre", { tabindex: "0" }, el("code", {}, text)), button);
}
