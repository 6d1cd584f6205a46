// The latest completions: filtered, sorted, paused. Numbers only.

import { byId, clean, el, name } from "./dom.js";
import { clock, count, milliseconds, number, times, plural } from "./format.js";

const MOST = 200;

const COLUMNS = [
  { key: "at", title: "Time", of: (row) => row.at, show: (row) => clock(row.at), text: true },
  { key: "model", title: "Model", of: (row) => row.model ?? "", show: modelOf, text: true },
  { key: "endpoint", title: "Endpoint", of: (row) => row.endpoint, show: (row) => clean(row.endpoint), text: true },
  { key: "tokens", title: "Tokens", of: (row) => row.tokens, show: (row) => count(row.tokens) },
  { key: "drafted", title: "Drafted", of: (row) => row.drafted, show: (row) => count(row.drafted) },
  { key: "accepted", title: "Accepted", of: (row) => row.accepted, show: (row) => count(row.accepted) },
  { key: "output_per_step", title: "Output per step", of: (row) => row.output_per_step, show: (row) => number(row.output_per_step) },
  { key: "tokens_per_second", title: "tok/s", of: (row) => row.tokens_per_second, show: (row) => number(row.tokens_per_second, 1) },
  { key: "speedup", title: "Speedup", of: (row) => row.speedup, show: (row) => times(row.speedup) },
  { key: "first_token_ms", title: "First token", of: (row) => row.first_token_ms, show: (row) => milliseconds(row.first_token_ms) },
  { key: "outcome", title: "Outcome", of: outcomeOf, show: outcomeCell, text: true },
  { key: "source", title: "Source", of: (row) => row.source, show: (row) => row.source, text: true },
];

export class Recent {
  constructor() {
    this.rows = [];
    this.waiting = [];
    this.paused = false;
    this.sorted = { key: "at", down: true };
    this.frame = byId("recent");
    this.body = el("tbody");
    this.heads = COLUMNS.map((column) => this.head(column));
    this.empty = el("p", { class: "empty" });
    this.frame.append(el("table", {}, el("caption", { class: "visually-hidden" }, "The latest completions"), el("thead", {}, el("tr", {}, this.heads)), this.body), this.empty);
    byId("filter").addEventListener("input", () => this.draw());
    byId("pause").addEventListener("click", () => this.pause());
    this.draw();
  }

  head(column) {
    const button = el("button", { type: "button" }, column.title);
    const cell = el("th", { scope: "col", class: column.text ? "text" : "figure" }, button);
    button.addEventListener("click", () => {
      const again = this.sorted.key === column.key;
      this.sorted = { key: column.key, down: again ? !this.sorted.down : true };
      this.draw();
    });
    return cell;
  }

  add({ start_over: startOver, rows }) {
    if (startOver) {
      this.waiting = [];
      if (!this.paused) this.rows = [];
    }
    this.waiting = [...this.waiting, ...rows].slice(-MOST);
    if (this.paused) {
      this.tell();
    } else {
      this.takeWaiting();
    }
  }

  takeWaiting() {
    this.rows = [...this.rows, ...this.waiting].slice(-MOST);
    this.waiting = [];
    this.draw();
  }

  pause() {
    this.paused = !this.paused;
    const button = byId("pause");
    button.textContent = this.paused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", String(this.paused));
    if (!this.paused) this.takeWaiting();
    this.tell();
  }

  showClock() {
    if (!this.paused) this.tell();
  }

  draw() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.rows.filter((row) => {
      const text = [row.upstream, row.model, row.endpoint, outcomeOf(row), row.source, row.speculation].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const column = COLUMNS.find((one) => one.key === this.sorted.key);
    const way = this.sorted.down ? -1 : 1;
    this.shown.sort((one, other) => way * compare(column.of(one), column.of(other), way) || other.number - one.number);
    COLUMNS.forEach((one, index) => {
      const isSorted = one.key === column.key;
      this.heads[index].setAttribute("aria-sort", isSorted ? (this.sorted.down ? "descending" : "ascending") : "none");
    });
    this.body.replaceChildren(...this.shown.map(rowOf));
    this.empty.textContent = this.rows.length ? "No completion matches the filter." : "No completion has passed the proxy yet.";
    this.empty.hidden = this.shown.length > 0;
    this.tell();
  }

  tell() {
    const parts = [this.shown.length === this.rows.length ? plural(this.rows.length, "row") : `${count(this.shown.length)} of ${plural(this.rows.length, "row")}`];
    if (this.paused) parts.push(`paused, ${count(this.waiting.length)} waiting`);
    const text = parts.join(", ");
    if (byId("shown").textContent !== text) byId("shown").textContent = text;
  }
}

// What is unknown comes last, whichever way is sorted.
function compare(one, other, way) {
  const unknown = [one, other].map((value) => value === undefined || value === null);
  if (unknown[0] || unknown[1]) return way * (unknown[0] - unknown[1]);
  return typeof one === "string" ? one.localeCompare(other) : one - other;
}

function modelOf(row) {
  return el("span", {}, row.model === undefined ? "–" : name(row.model), el("small", {}, name(row.upstream)));
}

function outcomeOf(row) {
  return row.held_out_of ? `${row.outcome} held out` : row.outcome;
}

function outcomeCell(row) {
  const word = row.outcome.replaceAll("_", " ");
  const fine = row.outcome === "complete";
  return el("span", { class: `pill ${fine ? "fine" : "bad"}` }, clean(row.held_out_of ? `${word}, held out` : word));
}

function rowOf(row) {
  return el("tr", {}, COLUMNS.map((column) => el("td", { class: column.text ? "text" : "figure" }, column.show(row))));
}
