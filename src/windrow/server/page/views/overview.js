// All jobs: what needs attention first.
import { html, useState } from "/page/vendor/preact.js";
import { connection, events, job, names, rates, serverTime } from "/page/live.js";
import { get } from "/page/api.js";
import { Empty, Loading, Spark, State, Tile, useLoaded, useSignal } from "/page/parts.js";
import { ago, count, rate, seconds, short } from "/page/format.js";

// Why somebody should look at a job, in words; null where nothing is wrong.
export function attention(one) {
  if (one.observed === "failed") return one.why ? one.why.split("\n")[0] : "failed";
  if (one.desired === "running" && ["restarting", "waiting", "ended"].includes(one.observed)) return one.why ? one.why.split("\n")[0] : one.observed;
  if (one.balanced === false) return "rows are not all accounted for";
  if (one.away?.length) return `does not answer: ${one.away.join(", ")}`;
  if (one.stale?.length) return `not refreshed: ${one.stale.join(", ")}`;
  return null;
}

const ORDER = (name) => { const one = job(name).value; return one && attention(one) ? 0 : 1; };
const total = (all, key) => all.reduce((sum, one) => sum + (one[key] ?? 0), 0);

function Tiles() {
  useSignal(serverTime);
  // Asked for once more when an event says that one came or went.
  const changed = useSignal(events).find((one) => one.type.startsWith("alert."))?.seq ?? 0;
  const [firing] = useLoaded(() => get("/alerts?state=firing"), [changed]);
  const loud = (firing ?? []).filter((one) => !one.is_silenced && !one.is_inhibited);
  const all = names.value.map((name) => job(name).value).filter(Boolean);
  const running = all.filter((one) => one.observed === "running").length, look = all.filter(attention).length;
  const letters = total(all, "dead_letters");
  return html`<div class="tiles">
    <${Tile} label="running" value=${`${running} of ${all.length}`} />
    <${Tile} label="need attention" value=${look} tone=${look ? "bad" : "good"} />
    <a class="tile" href="#/events"><span>alerts</span><b class=${loud.length ? "bad" : "good"}>${firing ? loud.length : "–"}</b>${loud.length > 0 && html`<div><em>${loud[0].rule} of ${loud[0].job}${loud.length > 1 ? " and others" : ""}</em></div>`}</a>
    <${Tile} label="rows a second" value=${rate(total(all, "rows_per_second"))} />
    <${Tile} label="rows in" value=${short(total(all, "rows_in"))} />
    <${Tile} label="dead letters" value=${short(letters)} tone=${letters ? "warn" : ""} /></div>`;
}

function Row({ name }) {
  const one = useSignal(job(name));
  if (!one) return null;
  const why = attention(one), runs = one.rows_in !== null;
  const cell = (label, value, more = "") => html`<td class=${`n ${more}`} data-label=${label}>${value}</td>`;
  return html`<tr><th scope="row"><a class="strong" href=${`#/jobs/${encodeURIComponent(name)}`}>${name}</a>${one.description && html`<div class="quiet small">${one.description}</div>`}</th>
    <td data-label="state"><span><${State} of=${one.observed} />${why && html`<div class="bad small">${why}</div>`}${!why && one.why && html`<div class="quiet small">${one.why.split("\n")[0]}</div>`}</span></td>
    ${cell("rows/s", runs ? html`<span><${Spark} points=${rates(name)} /> ${rate(one.rows_per_second)}</span>` : "–")}
    ${cell("rows in", runs ? short(one.rows_in) : "–")}
    ${cell("dead letters", runs ? short(one.dead_letters) : "–", one.dead_letters ? "warn" : "")}
    ${cell("behind", !runs ? "–" : one.watermark === null ? html`<span class="quiet">no watermark yet</span>` : seconds(one.lag_seconds))}
    ${cell("batch", runs ? seconds(one.batch_seconds) : "–")}
    ${cell("last commit", runs && one.committed_at ? ago(one.committed_at * 1000, serverTime.value) : "–")}
    ${cell("version", one.version)}
    <td data-label="owner">${one.owner}</td></tr>`;
}

export function Overview() {
  const all = useSignal(names), at = useSignal(connection);
  const [text, setText] = useState("");
  const [only, setOnly] = useState(false);
  if (at === "connecting" && all.length === 0) return html`<${Loading} what="Asking for the jobs" />`;
  const wanted = text.trim().toLowerCase();
  const told = (name) => { const one = job(name).value; return one ? [name, one.owner, one.team, one.env, one.description, one.observed, ...(Array.isArray(one.tags) ? one.tags : [])].join(" ").toLowerCase() : ""; };
  const shown = all.filter((name) => (!wanted || told(name).includes(wanted)) && (!only || ORDER(name) === 0)).sort((a, b) => ORDER(a) - ORDER(b));
  return html`<div class="head"><h1 class="grow">Jobs</h1>
      ${all.length > 0 && html`<label><span class="hidden">Find</span><input type="search" placeholder="find by name, owner, state" value=${text} onInput=${(event) => setText(event.target.value)} /></label>
      <label><input type="checkbox" checked=${only} onChange=${() => setOnly(!only)} /> needs attention</label>`}
      <a class="button" href="#/deploy">New job</a></div>
    ${all.length === 0 ? html`<div class="card"><${Empty} title="No job yet"><a href="#/deploy">Write one here</a>, or deploy a file: <code>windrow deploy FILE --server ${location.origin}</code></${Empty}></div>` : html`<${Tiles} />
    <div class="card scroll" tabindex="0" role="region" aria-label="Jobs"><table class="stacks"><thead><tr><th>job</th><th>state</th><th class="n">rows/s</th><th class="n">rows in</th><th class="n">dead letters</th><th class="n" title="how far the watermark is behind the arrival of the last batch">behind</th><th class="n">batch</th><th class="n">last commit</th><th class="n">version</th><th>owner</th></tr></thead>
      <tbody>${shown.map((name) => html`<${Row} key=${name} name=${name} />`)}</tbody></table>
      ${shown.length === 0 && html`<p class="quiet">${only && !wanted ? "Nothing needs attention." : "No job is like that."}</p>`}</div>
    <p class="quiet small">Times are UTC. “Behind” is how far the watermark is behind the arrival of the last batch: large where the data are old, however fast they are processed. ${count(all.length)} jobs.</p>`}`;
}
