// Three numbers, three denominators: each with its fraction spelled out.

import { el, showWhenChanged } from "./dom.js";
import { count, number, percent } from "./format.js";

const CARDS = [
  {
    key: "acceptance",
    title: "Acceptance",
    asks: "How often is a guess right?",
    value: ({ value }) => percent(value),
    fraction: ({ over, under }) => ["accepted", count(over), "drafted", count(under)],
    none: (numbers) => (numbers.not_reported && !numbers.drafted ? "The server does not report it." : "Nothing was drafted."),
  },
  {
    key: "output_per_step",
    title: "Output per target step",
    asks: "What does one run of the target model bring back? All runs count, those without a draft too.",
    value: ({ value }) => number(value),
    fraction: ({ over, under }) => ["tokens", count(over), "steps", count(under)],
    none: () => "The server does not report its drafts, so steps are not known.",
  },
  {
    key: "mean_acceptance_length",
    title: "Mean acceptance length",
    asks: "What does a run that had a draft bring back? Only those count.",
    value: ({ value }) => number(value),
    fraction: ({ over, under }) => ["1 + accepted", count(over), "rounds with a draft", count(under)],
    none: (numbers) => (!numbers.drafted && numbers.not_drafted ? "Nothing was drafted." : "The answers do not say in how many rounds there was a draft."),
  },
];

export function showNumbers(element, model, range) {
  const { numbers } = model;
  const what = CARDS.map((card) => numbers[card.key]);
  showWhenChanged(element, [what, numbers.completions > 0, numbers.drafted, numbers.not_reported, range], () => CARDS.map((card) => cardOf(card, numbers)));
}

function cardOf(card, numbers) {
  const found = numbers[card.key];
  const none = numbers.completions ? card.none(numbers) : "No completion in this time range.";
  return el(
    "article",
    { class: "card number", "data-number": card.key },
    el("h2", {}, card.title),
    el("p", { class: "value" }, found ? card.value(found) : "–"),
    found ? fractionOf(card.fraction(found)) : el("p", { class: "fraction" }, none),
    el("p", { class: "asks" }, card.asks),
  );
}

function fractionOf([over, overCount, under, underCount]) {
  return el("p", { class: "fraction" }, `= ${over} `, el("b", {}, overCount), ` / ${under} `, el("b", {}, underCount));
}
