// Reference tables on their way in, and the systems outside that the job talks to.
import { html } from "/page/vendor/preact.js";
import { serverTime, watched } from "/page/live.js";
import { Empty, Loading, Meter, State, useSignal } from "/page/parts.js";
import { ago, bytes, count, moment, plural, rate, seconds, share } from "/page/format.js";

function Table({ of, stale }) {
  const part = of.is_done ? 1 : of.total ? of.rows / of.total : 0, speed = of.seconds > 0 ? of.rows / of.seconds : null;
  const left = !of.is_done && of.total > of.rows && speed ? (of.total - of.rows) / speed : null;
  return html`<tr><th scope="row">${of.table}</th><td data-label="state"><${State} of=${of.is_done ? (stale ? "stale" : "ready") : "loading"} /></td><td data-label="loaded"><span class="num">${count(of.rows)}${of.total ? ` of about ${count(of.total)} rows (${share(part)})` : " rows"}</span>${!of.is_done && html`<${Meter} part=${part} />`}</td><td class="n" data-label="speed">${rate(speed)} rows/s</td><td data-label="time left">${of.is_done ? `took ${seconds(of.seconds)}` : left === null ? "not known" : `${seconds(left)} left`}</td><td data-label="why">${stale ?? ""}</td></tr>`;
}

export function Part() {
  const { jobs } = useSignal(watched);
  const now = useSignal(serverTime);
  if (jobs === null) return html`<${Loading} />`;
  if (jobs.length === 0) return html`<div class="card"><${Empty} title="The job does not run">Tables are loaded and systems are asked while it runs.</${Empty}></div>`;
  const tables = jobs.flatMap((one) => one.tables.map((table) => [table, (one.stale_tables ?? {})[table.table]]));
  const systems = [...new Map(jobs.flatMap((one) => one.systems.map((each) => [each.system, each]))).values()], outputs = jobs.flatMap((one) => one.outputs ?? []);
  const sources = jobs.flatMap((one) => one.sources.map((each) => each)), sinks = jobs.flatMap((one) => Object.entries(one.sink_seconds ?? {}).map(([name, s]) => [name, s, one.batch_seconds]));
  const unread = jobs.flatMap((one) => one.unread_files ?? []);
  const box = (label, body) => html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>${body}</div>`;
  return html`<div class="card"><h2>Tables</h2>${tables.length === 0 ? html`<p class="quiet">This job reads no reference tables.</p>` : box("Tables", html`<table class="stacks"><thead><tr><th>table</th><th>state</th><th>loaded</th><th class="n">speed</th><th>time</th><th><span class="hidden">more</span></th></tr></thead><tbody>${tables.map(([one, stale]) => html`<${Table} of=${one} stale=${stale} />`)}</tbody></table>`)}</div>
    <div class="card"><h2>Systems outside</h2>${systems.length === 0 ? html`<p class="quiet">This job talks to no broker or database: files and made-up rows need none.</p>` : box("Systems", html`<table class="stacks"><thead><tr><th>system</th><th>answers</th><th class="n">failures</th><th class="n">tried again</th><th>since</th><th>what it said</th></tr></thead><tbody>${systems.map((one) => html`<tr><th scope="row">${one.system}</th><td data-label="answers"><${State} of=${one.state === "closed" ? "up" : one.state === "open" ? "away" : one.state} /></td><td class="n" data-label="failures">${count(one.failures)}</td><td class="n" data-label="tried again">${count(one.retries)}</td><td data-label="since">${one.since ? moment(one.since * 1000) : ""}</td><td data-label="it said">${one.error ?? ""}</td></tr>`)}</tbody></table>`)}</div>
    <div class="card"><h2>Sources</h2>${box("Sources", html`<table class="stacks"><thead><tr><th>source</th><th class="n">partitions</th><th>idle</th><th>last batch arrived</th><th>waiting to be read</th></tr></thead><tbody>${sources.map((one) => html`<tr><th scope="row">${one.source}</th><td class="n" data-label="partitions">${count(one.partitions.length)}</td><td data-label="idle">${one.partitions.filter((each) => each.is_idle).map((each) => each.partition).join(", ") || "none"}</td><td data-label="arrived">${one.arrived_at ? ago(one.arrived_at / 1000, now) : "never"}</td><td data-label="waiting" class="num">${one.backlog !== null ? plural(Object.values(one.backlog).reduce((all, n) => all + n, 0), "row") : one.backlog_files !== null ? plural(one.backlog_files, "file") : "the source does not say"}</td></tr>`)}</tbody></table>`)}
      ${unread.length > 0 && html`<h3 class="bad">Files that could not be read</h3><ul>${unread.map((one) => html`<li>${one.path} of ${one.source}: ${one.why}</li>`)}</ul>`}</div>
    <div class="card"><h2>Outputs</h2>${sinks.length === 0 ? html`<p class="quiet">Nothing was written by the last batch.</p>` : box("Outputs", html`<table class="stacks"><thead><tr><th>output of</th><th class="n">time in the last batch</th><th>share of it</th></tr></thead><tbody>${sinks.map(([name, s, whole]) => html`<tr><th scope="row">${name}</th><td class="n" data-label="time">${seconds(s)}</td><td data-label="share"><${Meter} part=${whole ? s / whole : 0} warn=${whole && s / whole > 0.6} /></td></tr>`)}</tbody></table>`)}
      ${outputs.map((one) => html`<p><b>${one.statement}</b> to ${one.connector}: <${State} of=${one.state} /> ${one.waiting_rows ? `${plural(one.waiting_rows, "row")} (${bytes(one.waiting_bytes)}) wait since ${moment(one.oldest * 1000)}` : ""} ${one.error ?? ""}</p>`)}</div>
    ${jobs.map((one) => Object.keys(one.metrics ?? {}).length > 0 && html`<div class="card"><h2>Metrics of ${one.job}</h2><pre class="text">${JSON.stringify(one.metrics, null, 1)}</pre></div>`)}`;
}
