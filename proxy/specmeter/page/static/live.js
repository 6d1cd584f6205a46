// The connection to the proxy: server-sent events, made anew by itself when it is lost.
//
// A hidden page lets go of it: a browser allows six connections to one address, for all its tabs.

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 10000;
const SILENCE = 25000; // the proxy sends something every ten seconds
const HIDDEN_WAIT = 5000;

export class Live {
  constructor({ onState, onRows, onConnection }) {
    this.onState = onState;
    this.onRows = onRows;
    this.onConnection = onConnection;
    this.wish = {};
    this.last = "";
    this.source = null;
    this.wait = FIRST_WAIT;
    this.timer = 0;
    this.watch = 0;
    this.hiding = 0;
    document.addEventListener("visibilitychange", () => this.onVisibility());
    window.addEventListener("online", () => this.connect());
    // Else a page that is left may hold up the next one.
    window.addEventListener("pagehide", () => this.close());
    window.addEventListener("pageshow", (event) => event.persisted && this.connect());
  }

  show(wish) {
    this.wish = wish;
    this.connect();
  }

  connect() {
    this.close();
    const query = new URLSearchParams(this.wish);
    if (this.last) query.set("after", this.last);
    const source = new EventSource(`/api/events?${query}`);
    this.source = source;
    source.addEventListener("state", (event) => {
      this.heard();
      this.onState(JSON.parse(event.data));
    });
    source.addEventListener("rows", (event) => {
      this.heard();
      this.last = event.lastEventId;
      this.onRows(JSON.parse(event.data));
    });
    source.addEventListener("error", () => this.lost());
    this.guard();
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.source?.close();
    this.source = null;
  }

  heard() {
    this.wait = FIRST_WAIT;
    this.onConnection("live");
    this.guard();
  }

  guard() {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.lost(), SILENCE);
  }

  lost() {
    this.close();
    this.onConnection("lost");
    this.timer = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  onVisibility() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => this.close(), HIDDEN_WAIT);
    } else if (!this.source) {
      this.connect();
    }
  }
}
