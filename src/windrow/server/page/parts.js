// What every view is made of.
import { html, useEffect, useRef, useState } from "/page/vendor/preact.js";
import { effect } from "/page/vendor/signals.js";
import { get } from "/page/api.js";
import { watched } from "/page/live.js";
import { count, seconds } from "/page/format.js";

const GOOD = ["running", "ready", "resolved", "succeeded", "closed", "up"], BAD = ["failed", "firing", "open", "away"], OFF = ["stopped", "ended", "paused", "silenced"];

export const State = ({ of }) => html`<span class=${`state ${GOOD.includes(of) ? "good" : BAD.includes(of) ? "bad" : OFF.includes(of) ? "off" : ""}`}>${of}</span>`;

// The value of a signal; the view is drawn again when it changes.
export function useSignal(signal) {
  const [, draw] = useState(0);
  useEffect(() => {
    let first = true;
    return effect(() => { signal.value; if (first) first = false; else draw((n) => n + 1); });
  }, [signal]);
  return signal.value;
}

export const Loading = ({ what = "Loading" }) => html`<p class="loading" role="status">${what} …</p>`;
export const Empty = ({ title, children }) => html`<div class="empty"><b>${title}</b>${children}</div>`;

export function Trouble({ of, again }) {
  if (!of) return null;
  const found = of.told?.diagnostics ?? [];
  return html`<div class="card bad" role="alert">
    ${found.length === 0 && html`<b>${of.told?.code ? `[${of.told.code}] ` : ""}${of.message}</b>${of.told?.hint && html`<div>${of.told.hint}</div>`}`}
    ${found.map((one) => html`<div><b>[${one.code}] ${one.line ? `line ${one.line}, column ${one.column}: ` : ""}${one.message}</b>${one.hint && html`<div>${one.hint}</div>`}</div>`)}
    ${again && html`<div class="bar" style="margin-top:.5rem"><button onClick=${again}>Try again</button></div>`}
  </div>`;
}

// What ``load`` gives: [value, trouble, again]. The last answer stays while the next is awaited. ``every`` asks again after so many ms.
export function useLoaded(load, keys, every = 0) {
  const [state, setState] = useState({ value: null, trouble: null });
  const again = useRef(() => {});
  useEffect(() => {
    let isOver = false, timer = null;
    const run = async () => {
      clearTimeout(timer);
      try {
        const value = await load();
        if (!isOver) setState({ value, trouble: null });
      } catch (trouble) {
        if (!isOver) setState((before) => ({ value: before.value, trouble }));
      }
      if (!isOver && every) timer = setTimeout(run, document.hidden ? every * 5 : every);
    };
    again.current = run;
    run();
    return () => { isOver = true; clearTimeout(timer); };
  }, keys);
  return [state.value, state.trouble, () => again.current()];
}

// The newest batch of the job that is looked at, so that what depends on its records is asked for again when there is one more.
// Jobs of many small batches are asked every two seconds at most.
export function useBatch() {
  const [at, setAt] = useState(null);
  useEffect(() => {
    let timer = null, told = null;
    const stop = effect(() => {
      const now = watched.value.jobs === null ? null : watched.value.jobs.map((one) => `${one.batch_id}${one.state}`).join();
      if (now === null || now === told) return;
      const tell = () => { timer = null; setAt(told); };
      const isFirst = told === null;
      told = now;
      if (isFirst) tell(); else timer ??= setTimeout(tell, 2000);
    });
    return () => { stop(); clearTimeout(timer); };
  }, []);
  return at;
}

export const useView = (path, keys = []) => {
  const at = useBatch();
  return useLoaded(() => get(path), [path, at, ...keys]);
};

// A button that asks once more before it does what cannot be undone, and shows what went wrong.
export function Action({ label, run, ask, main, danger, disabled, done, title }) {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const [asking, setAsking] = useState(false);
  const press = async () => {
    setAsking(false);
    setBusy(true);
    setTrouble(null);
    try { await run(); done?.(); } catch (problem) { setTrouble(problem); }
    setBusy(false);
  };
  return html`<button class=${main ? "main" : danger ? "danger" : ""} title=${title} disabled=${busy || disabled} onClick=${() => (ask ? setAsking(true) : press())}>${busy ? `${label} …` : label}</button>
    ${asking && html`<${Dialog} title=${label} close=${() => setAsking(false)}><p>${ask}</p><div class="bar"><button class=${danger ? "danger" : "main"} onClick=${press}>${label}</button><button onClick=${() => setAsking(false)}>Cancel</button></div></${Dialog}>`}
    ${trouble && html`<span class="bad" role="alert">${trouble.told?.code && `[${trouble.told.code}] `}${trouble.message}${trouble.told?.hint && html` <span class="quiet">${trouble.told.hint}</span>`}</span>`}`;
}

export function Dialog({ title, close, children }) {
  const element = useRef(null);
  useEffect(() => { element.current.showModal(); }, []);
  return html`<dialog ref=${element} onClose=${close} aria-label=${title}><h2>${title}</h2>${children}</dialog>`;
}

export const Tile = ({ label, value, more, tone, words }) => html`<div class="tile"><span>${label}</span><b class=${`${tone ?? ""} ${words ? "wordy" : ""}`}>${value}</b>${more && html`<div><em>${more}</em></div>`}</div>`;

export function Spark({ points, width = 90, height = 22 }) {
  if (points.length < 2) return html`<svg class="spark" width=${width} height=${height} aria-hidden="true"></svg>`;
  const most = Math.max(...points, 1);
  const line = points.map((value, n) => `${n ? "L" : "M"}${((n * width) / (points.length - 1)).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`).join("");
  return html`<svg class="spark" width=${width} height=${height} aria-hidden="true"><path d=${line} /></svg>`;
}

export const Meter = ({ part, warn }) => html`<div class=${`meter ${warn ? "warn" : ""}`} aria-hidden="true"><i style=${`width:${Math.min(100, Math.max(0, part * 100))}%`}></i></div>`;

// Where the rows of an operator went: an equation that can be checked by hand.
export function Equation({ of }) {
  if (of.rows_in === null || of.rows_in === undefined) return html`<p class="quiet">No batch has been recorded yet.</p>`;
  if (of.passed === null) return html`<p class="num">${count(of.rows_in)} rows in, ${count(of.rows_out)} out</p>`;
  const dead = Object.entries(of.dead ?? {}).filter(([, n]) => n), dropped = Object.entries(of.dropped ?? {}).filter(([, n]) => n);
  const sum = (pairs) => pairs.reduce((all, [, n]) => all + n, 0);
  const adds = of.rows_in === of.passed + of.filtered + sum(dead) + sum(dropped);
  const codes = (pairs) => pairs.map(([code, n]) => `${code} ${count(n)}`).join(", ");
  return html`<p class="num">${count(of.rows_in)} rows in = ${count(of.passed)} passed${of.filtered ? ` + ${count(of.filtered)} filtered out` : ""}${dead.length ? ` + ${count(sum(dead))} dead letters (${codes(dead)})` : ""}${dropped.length ? ` + ${count(sum(dropped))} dropped (${codes(dropped)})` : ""}
    <span class=${`chip ${adds ? "good" : "bad"}`}>${adds ? "adds up" : "does not add up"}</span></p>`;
}

export { seconds };
