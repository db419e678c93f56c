// What the server says by itself: one stream for the whole tab. It begins with a snapshot and goes on with what has changed; a number
// that is missing, or a stream that broke off, is made good by another snapshot.
import { signal, batch } from "/page/vendor/signals.js";

const POINTS = 90, EVENTS = 300;

export const names = signal([]); // of all jobs, sorted
export const connection = signal("connecting"); // connecting | live | lost | bundle
export const watched = signal({ name: null, jobs: null }); // the own status of the job that is looked at
export const events = signal([]); // newest first
export const serverTime = signal(Date.now());

const known = new Map(); // name -> signal of the job; null where it is gone
const history = new Map(); // name -> rows a second, oldest first
let source = null, wanted = null, expected = 0;

// The signal of one job.
export function job(name) {
  if (!known.has(name)) known.set(name, signal(null));
  return known.get(name);
}

export const rates = (name) => history.get(name) ?? [];

function put(one) {
  if (one.rows_per_second !== null && one.rows_per_second !== undefined) {
    const points = history.get(one.name) ?? [];
    points.push(one.rows_per_second);
    if (points.length > POINTS) points.shift();
    history.set(one.name, points);
  }
  job(one.name).value = one;
}

function begin(told) {
  batch(() => {
    const there = told.jobs.map((one) => one.name);
    for (const [name, one] of known) if (!there.includes(name)) one.value = null;
    told.jobs.forEach(put);
    names.value = there.sort();
    events.value = [...told.events].reverse();
    watched.value = { name: wanted, jobs: told.watched };
    connection.value = "live";
    serverTime.value = told.at;
  });
}

function go(told) {
  batch(() => {
    (told.jobs ?? []).forEach(put);
    (told.gone ?? []).forEach((name) => { job(name).value = null; history.delete(name); });
    const there = new Set([...names.value, ...(told.jobs ?? []).map((one) => one.name)]);
    (told.gone ?? []).forEach((name) => there.delete(name));
    if (there.size !== names.value.length || told.gone) names.value = [...there].sort();
    if (told.events) events.value = [...[...told.events].reverse(), ...events.value].slice(0, EVENTS);
    if ("watched" in told) watched.value = { name: wanted, jobs: told.watched };
    serverTime.value = told.at;
  });
}

function open() {
  source?.close();
  source = new EventSource(`/api/v1/live${wanted ? `?watch=${encodeURIComponent(wanted)}` : ""}`);
  source.addEventListener("snapshot", (event) => { const told = JSON.parse(event.data); expected = told.seq + 1; begin(told); });
  source.addEventListener("delta", (event) => {
    const told = JSON.parse(event.data);
    if (told.seq !== expected) { open(); return; }
    expected += 1;
    go(told);
  });
  // The browser tries again by itself, and gets a snapshot. Where it has given up, so do we for a moment only.
  source.onerror = () => {
    connection.value = "lost";
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (source?.readyState === EventSource.CLOSED) open(); }, 3000);
  };
}

// Which job is looked at; null for none. The stream begins again where it is another one.
export function watch(name) {
  if (connection.value === "bundle") return;
  if (source !== null && wanted === name) return;
  wanted = name;
  watched.value = { name, jobs: null };
  open();
}

// What a support bundle says, in the place of the stream.
export function showBundle(told, name) {
  source?.close();
  source = null;
  wanted = name;
  begin(told);
  connection.value = "bundle";
}

export function stop() {
  if (connection.value === "bundle") return;
  source?.close();
  source = null;
  connection.value = "connecting";
}
