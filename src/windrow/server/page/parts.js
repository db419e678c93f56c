// What every view is made of.
import { html, useEffect, useRef, useState } from "/page/vendor/preact.js";
import { listen } from "/page/api.js";

const GOOD = ["running"], BAD = ["failed"];

export const State = ({ of }) => html`<span class=${`state ${GOOD.includes(of) ? "good" : BAD.includes(of) ? "bad" : "warn"}`}>${of}</span>`;

export const count = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));
export const seconds = (s) => (s === null || s === undefined ? "–" : s < 1 ? `${Math.round(s * 1000)} ms` : s < 120 ? `${s.toFixed(1)} s` : `${Math.round(s / 60)} min`);
export const bytes = (n) => (!n ? "0 B" : n < 2 ** 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 2 ** 20).toFixed(1)} MiB`);
export const moment = (millis) => (millis ? new Date(millis).toISOString().slice(0, 19).replace("T", " ") : "–");
export const micros = (at) => (at === null || at === undefined ? "not set yet" : moment(at / 1000));

export function Trouble({ of }) {
  if (!of) return null;
  const found = of.told?.diagnostics ?? [];
  return html`<div class="card bad" role="alert">
    ${found.length === 0 && html`<b>${of.told?.code ? `[${of.told.code}] ` : ""}${of.message}</b>${of.told?.hint && html`<div>${of.told.hint}</div>`}`}
    ${found.map((one) => html`<div><b>[${one.code}] ${one.line ? `line ${one.line}, column ${one.column}: ` : ""}${one.message}</b>${one.hint && html`<div class="quiet">${one.hint}</div>`}</div>`)}
  </div>`;
}

// What ``load`` gives, asked for again after every event and every few seconds. The last answer stays while the next is awaited.
export function useLoaded(load, keys, every = 3000) {
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
    const forget = listen(() => run());
    return () => { isOver = true; clearTimeout(timer); forget(); };
  }, keys);
  return [state.value, state.trouble, () => again.current()];
}

// A button that asks once more before it does what cannot be undone, and shows what went wrong.
export function Action({ label, run, ask, main, done }) {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const press = async () => {
    if (ask && !confirm(ask)) return;
    setBusy(true);
    setTrouble(null);
    try { await run(); done?.(); } catch (problem) { setTrouble(problem); }
    setBusy(false);
  };
  return html`<button class=${main ? "main" : ""} disabled=${busy} onClick=${press}>${label}</button>
    ${trouble && html`<span class="bad" role="alert">${trouble.message}</span>`}`;
}
