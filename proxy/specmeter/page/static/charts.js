// The charts over time.

import { byId } from "./dom.js";
import { TimeChart } from "./timechart.js";
import { count, milliseconds, number, percent, plural, seconds, signed, times, RANGE_WORDS } from "./format.js";

const fraction = (over, found, under) => `= ${over} ${count(found.over)} / ${under} ${count(found.under)}`;
const between = (speedup) => (speedup.low === undefined ? "too few for an interval" : `${times(speedup.low)} to ${times(speedup.high)}`);

const CHARTS = [
  {
    key: "speedup",
    title: "Speedup",
    unit: "×",
    wide: true,
    reference: 1,
    lines: [{ key: "speedup", value: (point) => point.trailing?.speedup?.value }],
    band: (point) => {
      const speedup = point.trailing?.speedup;
      return speedup?.low === undefined ? null : [speedup.low, speedup.high];
    },
    text: ({ trailing: { speedup } }) => [
      ["speedup", times(speedup.value), between(speedup)],
      ["from", plural(speedup.completions, "completion"), `plain ${seconds(speedup.plain_seconds)} / spent ${seconds(speedup.spent_seconds)}`],
    ],
    now: ({ speedup }) => (speedup ? times(speedup.value) : ""),
    why: (numbers, { advice }) => {
      if (!numbers.completions) return null;
      if (!numbers.drafted && numbers.not_drafted) return "Nothing was drafted: there is nothing to compare.";
      return advice?.length ? "No baseline: how to get one stands at the top." : "No baseline to compare with.";
    },
  },
  {
    key: "saved",
    title: "Seconds saved or lost",
    unit: "",
    bars: (point) => point.saved_seconds,
    text: (point) => [[point.saved_seconds < 0 ? "lost" : "saved", seconds(Math.abs(point.saved_seconds)), plural(point.completions, "completion")]],
    now: ({ speedup }) => (speedup ? signed(speedup.plain_seconds - speedup.spent_seconds, seconds) : ""),
    why: (numbers) => {
      if (!numbers.completions) return null;
      return !numbers.drafted && numbers.not_drafted ? "Nothing was drafted." : "No baseline to compare with.";
    },
  },
  {
    key: "acceptance",
    title: "Acceptance",
    unit: "",
    most: 1,
    lines: [{ key: "acceptance", value: (point) => point.trailing?.acceptance?.value }],
    text: ({ trailing: { acceptance } }) => [["acceptance", percent(acceptance.value), fraction("accepted", acceptance, "drafted")]],
    now: ({ acceptance }) => (acceptance ? percent(acceptance.value) : ""),
    why: (numbers) => numbers.completions ? (numbers.not_reported && !numbers.not_drafted ? "The server does not report drafting." : "Nothing was drafted.") : null,
  },
  {
    key: "output",
    title: "Output per target step",
    unit: "",
    reference: 1,
    lines: [{ key: "output", value: (point) => point.trailing?.output_per_step?.value }],
    text: ({ trailing: { output_per_step: output } }) => [["output per step", number(output.value), fraction("tokens", output, "steps")]],
    now: ({ output_per_step: output }) => (output ? number(output.value) : ""),
    why: (numbers) => (numbers.completions ? "The server does not report its drafts, so steps are not known." : null),
  },
  {
    key: "step",
    title: "Milliseconds per step",
    unit: "",
    floor: true,
    lines: [
      { key: "step", name: "a step takes", value: (point) => point.trailing?.step_ms },
      { key: "even", name: "break-even: its tokens without speculation", value: (point) => point.trailing?.break_even_ms },
    ],
    text: ({ trailing }) => [
      ["a step takes", milliseconds(trailing.step_ms)],
      trailing.break_even_ms === undefined ? ["break-even", "unknown", "no baseline"] : ["break-even", milliseconds(trailing.break_even_ms), trailing.step_ms < trailing.break_even_ms ? "it pays" : "it costs more than it brings"],
    ],
    now: ({ step_ms: step }) => (step === undefined ? "" : milliseconds(step)),
    why: (numbers) => (numbers.completions ? "No completion came with its steps and its decode time." : null),
    note: stepCost,
  },
];

export class Charts {
  constructor(element) {
    this.charts = CHARTS.map((spec) => [spec, new TimeChart(spec)]);
    element.append(...this.charts.map(([, chart]) => chart.element));
  }

  show(series, model) {
    const { numbers } = model;
    const nothing = `No completion in the last ${RANGE_WORDS[series.range]}.`;
    byId("charts-hint").textContent = `Each point of a line is over the ${spanOf(series.trailing_seconds)} before it; bars are by ${spanOf(series.step_seconds)}.`;
    for (const [spec, chart] of this.charts) {
      chart.show(series.points, spec.why(numbers, model.verdict) ?? nothing, spec.now(numbers), spec.note?.(model));
    }
  }
}

function spanOf(length) {
  const [value, word] = length < 60 ? [length, "second"] : length < 3600 ? [length / 60, "minute"] : [length / 3600, "hour"];
  return value === 1 ? word : `${count(value)} ${word}s`;
}

function stepCost({ step_cost: cost }) {
  if (!cost) return "";
  const parts = [`Of late a step costs ${milliseconds(cost.fixed_ms.value)} and ${milliseconds(cost.draft_ms.value)} more for each drafted token.`];
  if (cost.break_even) {
    parts.push(`It has to bring back ${number(cost.break_even.value)} tokens to break even, and brings ${number(cost.tokens_per_step)}.`);
  }
  return parts.join(" ");
}
