// Numbers and times as people read them.

export const UNKNOWN = "–";

export function number(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function count(value) {
  return number(value, 0);
}

export function percent(value, digits = 1) {
  return value === null || value === undefined ? UNKNOWN : `${number(100 * value, digits)} %`;
}

export function times(value) {
  return value === null || value === undefined ? UNKNOWN : `${number(value)}×`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value >= 10000) return `${number(value / 1000, 1)} s`;
  return `${number(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

export function seconds(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return `${number(value, Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)} s`;
}

export function signed(value, text) {
  return value > 0 ? `+${text(value)}` : value < 0 ? `−${text(-value)}` : text(value);
}

export function plural(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

export function age(from, now) {
  const passed = Math.max(0, now - from);
  if (passed < 2) return "now";
  if (passed < 90) return `${count(passed)} s ago`;
  if (passed < 5400) return `${count(passed / 60)} min ago`;
  if (passed < 129600) return `${count(passed / 3600)} h ago`;
  return `${count(passed / 86400)} days ago`;
}

const pad = (value) => String(value).padStart(2, "0");

export function clock(at, withSeconds = true) {
  const date = new Date(1000 * at);
  const minutes = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return withSeconds ? `${minutes}:${pad(date.getSeconds())}` : minutes;
}

export const RANGE_WORDS = { "5m": "5 minutes", "1h": "hour", "24h": "24 hours" };
