// The servers behind the proxy, and what the meter cannot see of them.

import { clean, el, name, showWhenChanged } from "./dom.js";
import { age, count } from "./format.js";

const DRAFTING = {
  configured: "configured; no completion has shown it yet",
  drafting: "drafting",
  no_candidate: "on, but nothing could be drafted of late",
  off: "off",
  unknown: "unknown",
};

export function showUpstreams(element, summary) {
  const what = summary.upstreams.map((one) => [one, one.last_drafted_at ? age(one.last_drafted_at, summary.at) : ""]);
  showWhenChanged(element, what, () => what.map(([one, drafted]) => cardOf(one, drafted)));
}

export function showNotices(element, summary) {
  const down = summary.upstreams.filter((one) => one.up === false);
  showWhenChanged(element, down.map((one) => [one.name, one.url]), () =>
    down.map((one) => el("p", { class: "card notice", role: "alert" }, "The upstream ", name(one.name), " at ", name(one.url), " does not answer.")));
}

function cardOf(one, drafted) {
  const state = one.up === undefined ? "not asked yet" : one.up ? "up" : "down";
  const facts = [
    ["Speculation", DRAFTING[one.drafting] ?? clean(one.drafting)],
    ["Last drafted", drafted || "never seen"],
    ["Under way", `${count(one.under_way)} ${one.under_way === 1 ? "completion" : "completions"}${one.under_way ? "" : ": idle"}`],
    ["Kind", one.kind || "unknown"],
    ["Build", one.build ? name(one.build) : "unknown"],
    ["Method", one.method ? name(one.method) : "not configured"],
    one.plain ? ["Compared with", name(one.plain)] : null,
    one.plain_of?.length ? ["Plain server of", name(one.plain_of.join(", "))] : null,
    ["Models", one.models?.length ? el("span", {}, one.models.slice(0, 8).flatMap((model, index) => [index ? ", " : "", name(model)]), one.models.length > 8 ? ` and ${count(one.models.length - 8)} more` : "") : "none listed"],
  ].filter(Boolean);
  return el(
    "article",
    { class: "card upstream", "data-upstream": clean(one.name) },
    el("h3", {}, name(one.name), el("span", { class: `pill ${one.up === false ? "bad" : one.up ? "fine" : ""}` }, state)),
    el("p", { class: "url" }, name(one.url)),
    el("dl", {}, facts.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value)))),
    one.blind_spots?.length ? el("div", { class: "blind" }, el("h4", {}, "What the meter cannot see, and why"), el("ul", {}, one.blind_spots.map((text) => el("li", {}, clean(text))))) : null,
  );
}
