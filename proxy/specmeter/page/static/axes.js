// Scales and their ticks.

// Round steps of 1, 2 or 5 times a power of ten, about `wanted` of them.
export function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) {
    found.push(index * step);
  }
  return found;
}

export function tickText(tick, all) {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : Math.abs(tick) || 1;
  const digits = Math.max(0, Math.min(3, -Math.floor(Math.log10(step) + 1e-9)));
  return tick.toFixed(digits).replace("-", "−");
}

// Whole minutes or hours within a stretch of time, about `wanted` of them.
export function timeTicks(from, to, wanted) {
  const steps = [60, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
  const step = steps.find((one) => (to - from) / one <= wanted) ?? 86400;
  const offset = -60 * new Date(1000 * to).getTimezoneOffset(); // so that hours are those of the day
  const found = [];
  for (let at = Math.ceil((from + offset) / step) * step; at <= to + offset; at += step) found.push(at - offset);
  return found;
}

export function linear(from, to, start, end) {
  const factor = (end - start) / (to - from || 1);
  return (value) => start + (value - from) * factor;
}
