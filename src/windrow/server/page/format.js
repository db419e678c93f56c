// Numbers with their units; what is not known, in words.

const none = (value) => value === null || value === undefined || Number.isNaN(value);

export const count = (n) => (none(n) ? "not known" : Math.round(n).toLocaleString("en"));
export const rate = (n) => (none(n) ? "–" : n === 0 ? "0" : n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en"));
export const share = (part) => (none(part) ? "not known" : part > 0 && part < 0.01 ? "< 1 %" : `${Math.round(part * 100)} %`);

export function short(n) {
  if (none(n)) return "?";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) if (Math.abs(n) >= size) return `${(n / (unit === "k" ? 1e3 : size)).toFixed(1).replace(/\.0$/, "")} ${unit}`;
  return Math.round(n).toLocaleString("en");
}

export function seconds(s) {
  if (none(s)) return "not known";
  if (s < 0) return `-${seconds(-s)}`;
  if (s < 0.0005) return "0 ms";
  if (s < 1) return `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms`;
  if (s < 60) return `${s.toFixed(1)} s`;
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = units.findIndex(([size]) => s >= size);
  const [size, unit] = units[at], next = units[at + 1];
  const rest = Math.floor((s % size) / next[0]);
  return `${Math.floor(s / size)} ${unit}${rest ? ` ${rest} ${next[1]}` : ""}`;
}

export function bytes(n) {
  if (none(n)) return "not known";
  let size = n;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024 || unit === "TiB") return unit === "B" ? `${size} B` : `${size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return "";
}

// Times are UTC, as everywhere in Windrow.
const text = (millis) => new Date(millis).toISOString().replace("T", " ");
export const moment = (millis) => (none(millis) || !millis ? "never" : text(millis).slice(0, 19));
export const clock = (millis) => (none(millis) ? "" : text(millis).slice(11, 19));
export const micros = (at, unset = "no watermark yet") => (none(at) ? unset : Math.abs(at) > 8.6e18 / 1000 ? "the end of time" : text(at / 1000).slice(0, 23).replace(".000", ""));
export const ago = (millis, now) => (none(millis) ? "never" : now - millis < 2000 ? "just now" : `${seconds((now - millis) / 1000)} ago`);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
