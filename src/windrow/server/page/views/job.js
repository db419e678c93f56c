// One job: its head, and the part that the address names.
import { html, useEffect, useState } from "/page/vendor/preact.js";
import { get, job as path, patch, post, remove } from "/page/api.js";
import { job, serverTime, watched } from "/page/live.js";
import { Action, Loading, State, Tile, Trouble, useSignal } from "/page/parts.js";
import { ago, bytes, count, micros, moment, rate, seconds, short } from "/page/format.js";
import { Topology } from "/page/views/topology.js";

const TABS = { "": "Topology", windows: "Windows", batches: "Batches", letters: "Dead letters", state: "State", sql: "SQL and versions", lineage: "Lineage", systems: "Tables and systems", advice: "Advice", runs: "Runs and log", events: "Events" };
const LOADS = {
  windows: () => import("/page/views/windows.js"), batches: () => import("/page/views/batches.js"), letters: () => import("/page/views/letters.js"),
  state: () => import("/page/views/state.js"), sql: () => import("/page/views/sql.js"), lineage: () => import("/page/views/lineage.js"),
  systems: () => import("/page/views/systems.js"), advice: () => import("/page/views/advice.js"), runs: () => import("/page/views/runs.js"), events: () => import("/page/views/events.js"),
};

function Part({ tab, name, who }) {
  const [shown, setShown] = useState(null);
  useEffect(() => { let isOver = false; LOADS[tab]?.().then((one) => { if (!isOver) setShown(() => one.Part); }); return () => { isOver = true; }; }, [tab]);
  if (tab === "" || !LOADS[tab]) return html`<${Topology} name=${name} />`;
  return shown === null ? html`<${Loading} />` : html`<${shown} name=${name} who=${who} />`;
}

function Tiles({ one }) {
  const { jobs } = useSignal(watched);
  useSignal(serverTime);
  if (one.rows_in === null) return null;
  const held = jobs?.find((each) => each.held_by)?.held_by;
  const holder = held && (held.partition === null ? held.source : `partition ${held.partition} of ${held.source}`);
  return html`<div class="tiles">
    <${Tile} label="rows a second" value=${rate(one.rows_per_second)} more=${`${short(one.rows_in)} in, ${short(one.emitted)} out`} />
    <${Tile} label="dead letters" value=${short(one.dead_letters)} tone=${one.dead_letters ? "warn" : "good"} more=${`${short(one.late)} late rows`} />
    <${Tile} label="watermark" words=${one.watermark === null} value=${one.watermark === null ? "no watermark yet" : micros(one.watermark).slice(11, 19)} more=${one.watermark === null ? "no row had an event time" : `${micros(one.watermark).slice(0, 10)}, ${seconds(one.lag_seconds)} behind${holder ? `, held by ${holder}` : ""}`} />
    <${Tile} label="last batch" value=${seconds(one.batch_seconds)} more=${one.committed_at ? `number ${count(one.batch_id)}, ${ago(one.committed_at * 1000, serverTime.value)}` : "none yet"} />
    <${Tile} label="open windows" value=${short(one.open_windows)} more=${`${bytes(one.state_bytes)} of state`} />
    <${Tile} label="waiting to be read" words=${!one.backlog} value=${one.backlog ? (one.backlog.files ? `${short(one.backlog.files)} files` : short(one.backlog.rows)) : "not told"} more=${one.backlog ? (one.backlog.files ? "" : "rows") : "by these sources"} />
    <${Tile} label="ledger" words value=${one.balanced ? "adds up" : "does not add up"} tone=${one.balanced ? "good" : "bad"} more="every row accounted for" /></div>`;
}

export function Job({ name, tab, who }) {
  const live = useSignal(job(name));
  const [asked, setAsked] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const look = () => get(path(name)).then((one) => { setAsked(one); setTrouble(null); }, setTrouble);
  useEffect(() => { look(); }, [name]);
  const isThere = Boolean(live ?? asked);
  // Where tabs do not fit beside each other, the one that is shown is in sight.
  useEffect(() => { document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [tab, isThere]);
  const one = live ?? asked;
  if (trouble && !live) return html`<h1>${name}</h1><${Trouble} of=${trouble} again=${look} />`;
  if (!one) return html`<${Loading} what=${`Asking for ${name}`} />`;
  const wish = (desired) => () => patch(path(name), { desired });
  const rests = one.desired !== "running" || ["failed", "ended"].includes(one.observed);
  return html`<div class="head"><div class="grow"><div class="bar"><h1>${name}</h1><${State} of=${one.observed} /></div>
      <div class="quiet small">${one.description && `${one.description} · `}version ${one.version}${one.owner && `, owner ${one.owner}`}${one.team ? `, team ${one.team}` : ""}, since ${moment(one.changed_at)} UTC</div></div>
      <div class="bar">
        ${rests ? html`<${Action} label=${one.desired === "paused" ? "Resume" : "Start"} main run=${wish("running")} done=${look} />` : html`<${Action} label="Stop" ask=${`Stop ${name}? It ends its batch first, and goes on from there when it is started again.`} run=${wish("stopped")} done=${look} />`}
        ${!rests && html`<${Action} label="Restart" ask=${`Restart ${name}? It ends its batch, and starts again from there.`} run=${() => post(path(name, "/restart"))} done=${look} />`}
        ${one.desired === "stopped" && one.observed !== "stopping" && html`<${Action} label="Remove" danger ask=${`Remove ${name} with its state? This cannot be undone. What it has written stays.`} run=${() => remove(`/pipelines/${encodeURIComponent(name)}`)} done=${() => { location.hash = "#/"; }} />`}</div></div>
    ${one.why && html`<div class=${`card ${one.observed === "failed" ? "bad" : "warn"}`}><pre class="text" style="background:none;padding:0">${one.why}</pre></div>`}
    <${Tiles} one=${one} />
    <nav class="tabs" aria-label="Parts of the job">${Object.entries(TABS).map(([key, label]) => html`<a href=${`#/jobs/${encodeURIComponent(name)}${key && `/${key}`}`} aria-current=${tab === key ? "page" : null}>${label}${key === "letters" && one.dead_letters ? html`<span class="count">${short(one.dead_letters)}</span>` : ""}</a>`)}</nav>
    <${Part} tab=${tab} name=${name} who=${who} />`;
}
