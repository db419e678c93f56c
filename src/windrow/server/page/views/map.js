// Jobs that belong together: who reads what another writes, live.
import { html, useState } from "/page/vendor/preact.js";
import { get } from "/page/api.js";
import { job, names, serverTime } from "/page/live.js";
import { Boxes } from "/page/views/graph.js";
import { attention } from "/page/views/overview.js";
import { Empty, Loading, State, Trouble, useLoaded, useSignal } from "/page/parts.js";
import { rate, seconds, short } from "/page/format.js";

const clip = (text, most = 26) => (text.length > most ? `…${text.slice(1 - most)}` : text);
// A statement belongs to the file that its namespace names.
const file = (place) => place.namespace.replace(/\.sql$/, "");
const place = (one) => `${one.namespace} ${one.name}`;
const GROUPS = { owner: "owner", team: "team", env: "environment" };

function Box(node) {
  if (node.outside) return html`<rect class="box store" width=${node.width} height=${node.height} rx="18" /><text class="dim" x="14" y="18">${clip(node.outside.namespace, 30)}${" "}</text><text x="14" y="35" font-weight="700">${clip(node.outside.name)}${" "}</text>`;
  const { one } = node, why = attention(one);
  return html`<rect class=${`box ${one.observed === "failed" ? "failed" : why ? "cause" : ""}`} width=${node.width} height=${node.height} rx="8" /><text class="dim" x="14" y="19">job · ${one.observed}${" "}</text><text x="14" y="38" font-weight="700" font-size="13.5">${clip(one.name)}${" "}</text>
    <text x="14" y="57">${one.rows_in === null ? "does not run" : `${rate(one.rows_per_second)} rows/s, ${short(one.rows_in)} in`}${" "}</text>${why ? html`<text class="cause-text" x="14" y="74">${why.length > 32 ? `${why.slice(0, 31)}…` : why}${" "}</text>` : one.rows_in !== null && html`<text class="dim" x="14" y="74">batch ${seconds(one.batch_seconds)}${one.dead_letters ? ` · ${short(one.dead_letters)} dead letters` : ""}${" "}</text>`}`;
}


export function GroupMap() {
  const all = useSignal(names);
  useSignal(serverTime);
  const [found, trouble, again] = useLoaded(() => get("/lineage"), [all.join()]);
  const [by, setBy] = useState("owner");
  const [group, setGroup] = useState("");
  const [chosen, setChosen] = useState(null);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Following what jobs read and write" />`;
  const every = all.map((name) => job(name).value).filter(Boolean);
  const keys = Object.keys(GROUPS).filter((key) => every.some((one) => one[key]));
  const groups = [...new Set(every.map((one) => one[by]).filter(Boolean))].sort();
  const jobs = every.filter((one) => !group || one[by] === group), shown = new Set(jobs.map((one) => one.name));
  const links = [...found.reads.map((one) => [file(one.stream), one.from, true]), ...found.writes.map((one) => [file(one.statement), one.to, false])].filter(([name]) => shown.has(name));
  const outside = new Map(links.map(([, one]) => [place(one), one]));
  const nodes = [...jobs.map((one) => ({ id: one.name, one, width: 216, height: 88 })), ...[...outside].map(([key, one]) => ({ id: key, outside: one, width: 216, height: 50 }))];
  const edges = links.map(([name, one, reads]) => {
    const own = job(name).value, flow = own?.rows_per_second ?? 0;
    return { from: reads ? place(one) : name, to: reads ? name : place(one), weight: 1.3 + Math.min(4, Math.log10(1 + flow)), flows: flow > 0 && jobs.length <= 20, text: reads && flow ? `${rate(flow)}/s` : "" };
  });
  const shared = [...outside].filter(([key]) => new Set(links.filter(([, one]) => place(one) === key).map(([name]) => name)).size > 1);
  const one = chosen && nodes.find((node) => node.id === chosen);
  return html`<div class="head"><h1 class="grow">Map</h1>${keys.length > 1 && html`<label>Group by <select value=${by} onChange=${(event) => { setBy(event.target.value); setGroup(""); }}>${keys.map((key) => html`<option value=${key}>${GROUPS[key]}</option>`)}</select></label>`}
      ${groups.length > 1 && html`<label>Show <select value=${group} onChange=${(event) => setGroup(event.target.value)}><option value="">all jobs</option>${groups.map((each) => html`<option>${each}</option>`)}</select></label>`}</div>
    <${Trouble} of=${trouble} again=${again} />
    ${jobs.length === 0 ? html`<div class="card"><${Empty} title="No job yet"><a href="#/deploy">Write one</a></${Empty}></div>` : html`<div class="card" style="padding:.5rem"><${Boxes} nodes=${nodes} edges=${edges} box=${Box} chosen=${chosen} choose=${setChosen} title="Jobs, and what they read and write" /></div>
    ${one?.one && html`<div class="card"><div class="bar"><h2 style="margin:0">${one.one.name}</h2><${State} of=${one.one.observed} /><a class="button" href=${`#/jobs/${encodeURIComponent(one.one.name)}`}>Open</a></div><p>${one.one.description}</p></div>`}
    ${one?.outside && html`<div class="card"><h2>${one.outside.name}</h2><p class="quiet">${one.outside.namespace}</p><p>${links.filter(([, each]) => place(each) === one.id).map(([name, , reads]) => `${name} ${reads ? "reads it" : "writes it"}`).join(", ")}</p></div>`}
    <p class="quiet small">${shared.length === 0 ? "No two of these jobs share what they read or write." : `Shared by several: ${shared.map(([, each]) => each.name).join(", ")}.`} Coloured is what needs attention, not what waits for it.</p>`}`;
}
