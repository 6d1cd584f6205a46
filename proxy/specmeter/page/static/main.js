// Joins the parts: what is chosen, what the proxy tells, and what shows it.

import { byId, clean, showWhenChanged, el } from "./dom.js";
import { Live } from "./live.js";
import { showVerdict } from "./verdict.js";
import { showNumbers } from "./numbers.js";
import { Charts } from "./charts.js";
import { Slices } from "./slices.js";
import { Recent } from "./recent.js";
import { showUpstreams, showNotices } from "./upstreams.js";

const CONNECTION = {
  connecting: "Connecting",
  live: "Live",
  lost: "Not connected: the proxy does not answer. Trying again",
};

const chosen = new URLSearchParams(location.hash.slice(1));
const charts = new Charts(byId("charts"));
const slices = new Slices(byId("slices"));
const recent = new Recent();
const live = new Live({ onState, onRows: (rows) => recent.add(rows), onConnection });

function wish() {
  const found = { range: chosen.get("range") ?? "1h" };
  for (const key of ["upstream", "model"]) {
    if (chosen.has(key)) found[key] = chosen.get(key);
  }
  return found;
}

function choose(changes) {
  for (const [key, value] of Object.entries(changes)) chosen.set(key, value);
  history.replaceState(null, "", `#${chosen}`);
  live.show(wish());
}

function onConnection(state) {
  const element = byId("connection");
  if (element.dataset.state !== state) {
    element.dataset.state = state;
    element.textContent = CONNECTION[state];
  }
}

function onState({ summary, series }) {
  const isShown = (one) => one.upstream === series.upstream && one.model === series.model;
  const model = summary.models.find(isShown);
  const upstream = summary.upstreams.find((one) => one.name === series.upstream);
  showModels(summary.models, series);
  showNotices(byId("notices"), summary);
  showVerdict(byId("verdict"), model, upstream, summary);
  showNumbers(byId("numbers"), model, summary.range);
  charts.show(series, model);
  slices.show(series, model);
  showUpstreams(byId("upstreams"), summary);
  recent.showClock(summary.at);
  byId("version").textContent = `specmeter ${summary.specmeter}`;
  document.title = `${model.verdict.headline} · specmeter`;
}

function showModels(models, series) {
  const select = byId("model");
  const label = (one) => `\u2068${clean(one.upstream)}\u2069 · \u2068${clean(one.model)}\u2069`;
  showWhenChanged(select, models.map((one) => [one.upstream, one.model]), () =>
    models.map((one) => el("option", { value: JSON.stringify([one.upstream, one.model]) }, label(one))),
  );
  select.value = JSON.stringify([series.upstream, series.model]);
}

byId("model").addEventListener("change", (event) => {
  const [upstream, model] = JSON.parse(event.target.value);
  choose({ upstream, model });
});
for (const radio of document.querySelectorAll("#ranges input")) {
  radio.checked = radio.value === wish().range;
  radio.addEventListener("change", () => choose({ range: radio.value }));
}
byId("controls").addEventListener("submit", (event) => event.preventDefault());

live.show(wish());
