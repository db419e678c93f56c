// Dead letters: how many by what, each with its text and reason, and the way back into the job.
import { html, useEffect, useState } from "/page/vendor/preact.js";
import { get, job as path, post, query } from "/page/api.js";
import { Dialog, Empty, Loading, Meter, Trouble, useLoaded } from "/page/parts.js";
import { count, moment, plural, seconds } from "/page/format.js";

const PAGE = 50;
const when = (text) => (text ? moment(Date.parse(text)) : "not known");

function Facet({ title, values, chosen, choose, show = (value) => value }) {
  const most = Math.max(1, ...values.map((one) => one.count));
  if (values.length === 0) return null;
  return html`<div class="facet"><h2>${title}</h2>${values.map((one) => html`<button aria-pressed=${chosen === one.value ? "true" : "false"} onClick=${() => choose(chosen === one.value ? null : one.value)}><span>${show(one.value)}</span><span class="num">${count(one.count)}</span>${one.meaning && html`<small>${one.meaning}</small>`}<${Meter} part=${one.count / most} warn /></button>`)}</div>`;
}

const rawText = (one) => (one.raw === null ? JSON.stringify(one.row) : typeof one.raw === "string" ? one.raw : `${one.raw.base64} (base64: it is no text)`);

function Letter({ one, name, picked, pick }) {
  const [more, setMore] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const look = () => (more ? setMore(null) : get(path(name, `/dead-letters/${encodeURIComponent(one.id)}`)).then(setMore, setTrouble));
  return html`<div class="letter"><input type="checkbox" checked=${picked} onChange=${pick} aria-label=${`Choose letter ${one.id}`} />
    <div><span class="chip warn">${one.code}</span> <span>${one.message}</span><div class="quiet small num">${one.source}${one.partition === null ? "" : `, partition ${one.partition}, offset ${one.offset}`} · arrived ${when(one.arrived_at)}${one.event_time ? ` · event time ${when(one.event_time)}` : ""}${one.late_by !== null && one.late_by !== undefined ? ` · late by ${seconds(one.late_by / 1e6)}` : ""}${one.replay === null ? "" : one.replay === "waiting" ? " · waits to be taken once more" : ` · taken once more by batch ${one.replay}`} · <button class="plain" aria-expanded=${more ? "true" : "false"} onClick=${look}>${more ? "less" : "why, and what would help"}</button></div></div>
    <pre class="text">${rawText(one)}</pre>
    ${(more || trouble) && html`<div style="grid-column:2"><${Trouble} of=${trouble} />${more && html`<ul class="small">${more.why.map((line) => html`<li>${line}</li>`)}</ul>`}</div>`}</div>`;
}

const WOULD = { pass: "would pass", fail: "would fail again", stay: "would stay" };

function Told({ of, close }) {
  if (!of.dry_run) {
    return html`<${Dialog} title="Replay" close=${close}>${of.told ? of.told.map((line) => html`<p>${line}</p>`) : of.jobs.map((one) => html`<p><b>${plural(one.replayed, "letter")}</b> of job ${one.job} will be taken once more by its next batch${one.stay ? `; ${count(one.stay)} stay` : ""}.</p>${one.reasons.map((each) => html`<p class="quiet small">${count(each.count)}: ${each.why}</p>`)}`)}<div class="bar"><button class="main" onClick=${close}>Close</button></div></${Dialog}>`;
  }
  const every = of.jobs.flatMap((one) => one.letters), sums = every.reduce((all, one) => ({ ...all, [one.would]: (all[one.would] ?? 0) + 1 }), {});
  return html`<${Dialog} title="What a replay would do" close=${close}><p>${Object.entries(WOULD).filter(([key]) => sums[key]).map(([key, text]) => `${count(sums[key])} ${text}`).join(", ") || "No letter is meant."} Nothing was asked for.</p>
    <div class="scroll" tabindex="0" style="max-height:50vh;overflow:auto"><table><thead><tr><th>letter</th><th>was</th><th>would</th><th>because</th></tr></thead><tbody>${every.slice(0, 200).map((one) => html`<tr><td>${one.id}</td><td>${one.code}</td><td class=${one.would === "pass" ? "good" : "warn"}>${one.would === "fail" ? `fail again: ${one.again}` : one.would}</td><td>${one.why}</td></tr>`)}</tbody></table></div><div class="bar"><button class="main" onClick=${close}>Close</button></div></${Dialog}>`;
}

export function Part({ name }) {
  const [code, setCode] = useState(null);
  const [by, setBy] = useState(null);
  const [hour, setHour] = useState(null);
  const [all, setAll] = useState(false);
  const [before, setBefore] = useState(0);
  const [picked, setPicked] = useState(new Set());
  const [repair, setRepair] = useState("");
  const [told, setTold] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const [busy, setBusy] = useState("");
  const until = hour && new Date(Date.parse(hour) + 3600e3).toISOString();
  const wanted = { code, by, since: hour, until };
  const [found, noFound, again] = useLoaded(() => get(path(name, `/dead-letters${query({ ...wanted, all, most: PAGE, before })}`)), [name, code, by, hour, all, before]);
  useEffect(() => { setBefore(0); setPicked(new Set()); }, [code, by, hour, all]);
  const send = (dry_run) => async () => {
    setBusy(dry_run ? "Spark starts to judge the rows; this takes some seconds" : "Asking");
    setTrouble(null);
    const meant = picked.size ? { ids: [...picked] } : Object.fromEntries(Object.entries({ by, since: hour, until }).filter(([, value]) => value !== null));
    try { setTold(await post(path(name, "/dead-letters/replay"), { ...meant, ...(code && !picked.size ? { code: [code] } : {}), ...(repair.trim() ? { repair: repair.trim() } : {}), dry_run })); } catch (problem) { setTrouble(problem); }
    setBusy("");
    if (!dry_run) { setPicked(new Set()); again(); }
  };
  if (!found) return noFound ? html`<${Trouble} of=${noFound} again=${again} />` : html`<${Loading} what="Reading the dead letters" />`;
  const isFiltered = code || by || hour, many = picked.size || found.total;
  if (found.total === 0 && !isFiltered && !all) return html`<div class="card"><${Empty} title="No dead letters">Every row could be decoded, has a time and came early enough. <button class="plain" onClick=${() => setAll(true)}>Show those that were replayed</button></${Empty}></div>`;
  const pick = (id) => () => { const next = new Set(picked); if (!next.delete(id)) next.add(id); setPicked(next); };
  return html`<${Trouble} of=${noFound} again=${again} /><div class="side"><aside class="card" aria-label="Which letters">
      <${Facet} title="Reason" values=${found.facets.code} chosen=${code} choose=${setCode} /><${Facet} title="Set aside by" values=${found.facets.by} chosen=${by} choose=${setBy} />
      <${Facet} title="Arrived (UTC)" values=${found.facets.hour.slice(-12)} chosen=${hour} choose=${setHour} show=${(value) => `${value.slice(5, 10)} ${value.slice(11, 13)}:00`} />
      <label class="small"><input type="checkbox" checked=${all} onChange=${() => setAll(!all)} /> those replayed as well</label>${isFiltered && html`<p><button onClick=${() => { setCode(null); setBy(null); setHour(null); }}>Show all reasons</button></p>`}</aside>
    <section class="card"><div class="bar"><h2 style="margin:0;flex:1">${plural(found.total, "dead letter")}${isFiltered ? " like this" : ""}</h2><button onClick=${again}>Look again</button></div>
      <details><summary>Feed ${picked.size ? `the ${plural(picked.size, "chosen letter")}` : isFiltered ? "these" : "all of them"} to the job once more</summary>
        <p class="small quiet">Do this after a fix: of the text that decodes them, of the query, or of the rows themselves by a repair. Late rows whose window is gone stay where they are.</p>
        <div class="bar"><label style="flex:1 1 20rem">Repair first <input style="flex:1" placeholder="SET amount = COALESCE(amount, 0)" value=${repair} onInput=${(event) => setRepair(event.target.value)} /></label><button disabled=${Boolean(busy) || many === 0} onClick=${send(true)}>Try it (dry run)</button><button class="main" disabled=${Boolean(busy) || many === 0} onClick=${send(false)}>Replay ${count(many)}</button></div>
        ${busy && html`<p class="quiet small" role="status">${busy} …</p>`}<${Trouble} of=${trouble} /></details>
      ${found.letters.length === 0 ? html`<${Empty} title="None is like this" />` : found.letters.map((one) => html`<${Letter} key=${one.job + one.id} one=${one} name=${name} picked=${picked.has(one.id)} pick=${pick(one.id)} />`)}
      <div class="bar" style="margin-top:.8rem">${before > 0 && html`<button onClick=${() => setBefore(Math.max(0, before - PAGE))}>Newer</button>`}${before + PAGE < found.total && html`<button onClick=${() => setBefore(before + PAGE)}>Older</button>`}<span class="quiet small">${count(Math.min(before + 1, found.total))} to ${count(Math.min(before + PAGE, found.total))} of ${count(found.total)}, newest first. Reading them is in the audit.</span></div></section></div>
    ${told && html`<${Told} of=${told} close=${() => setTold(null)} />`}`;
}
