import { html, useState } from "/page/vendor/preact.js";
import { get, patch, post, remove } from "/page/api.js";
import { Action, State, Trouble, bytes, count, micros, moment, seconds, useLoaded } from "/page/parts.js";
import { Deploy } from "/page/views/deploy.js";
import { Graph } from "/page/views/graph.js";

const TABS = { "": "Status", topology: "Topology", letters: "Dead letters", sql: "SQL and versions", runs: "Runs and log", events: "Events" };
const PHASES = ["plan", "read", "transform", "aggregate", "step", "write", "dead_letters", "commit"];
const COLOURS = ["#7a8b99", "#4f86c6", "#5aa9a3", "#3f7d5c", "#c0a338", "#c8713d", "#b3453f", "#7b5ea7"];

export function Job({ name, tab }) {
  const [job, trouble, again] = useLoaded(() => get(`/deployments/${name}`), [name]);
  if (!job) return html`<h1>${name}</h1><${Trouble} of=${trouble} />`;
  const wish = (desired) => patch(`/deployments/${name}`, { desired });
  return html`<h1>${name} <${State} of=${job.observed} /></h1><${Trouble} of=${trouble} />
    ${job.why && html`<div class=${`card ${job.observed === "failed" ? "bad" : ""}`}><pre class="text">${job.why}</pre></div>`}
    <div class="bar">
      ${job.desired === "stopped" || ["failed", "ended"].includes(job.observed) ? html`<${Action} label="Start" main run=${() => wish("running")} done=${again} />` : html`<${Action} label="Stop" ask=${`Stop ${name}? It goes on from here when it is started again.`} run=${() => wish("stopped")} done=${again} />`}
      <${Action} label="Restart" run=${() => post(`/deployments/${name}/restart`)} done=${again} />
      ${job.desired === "stopped" && html`<${Action} label="Remove" ask=${`Remove ${name} with its state? This cannot be undone. Its outputs stay.`} run=${() => remove(`/pipelines/${name}`)} done=${() => { location.hash = "#/"; }} />`}
      <span class="quiet">version ${job.version}${job.owner && `, owner ${job.owner}`}; since ${moment(job.changed_at)} UTC</span></div>
    <nav class="tabs" aria-label="Parts of the job">${Object.entries(TABS).map(([key, label]) => html`<a href=${`#/jobs/${name}${key && `/${key}`}`} aria-current=${tab === key ? "page" : null}>${label}</a>`)}</nav>
    ${tab === "" && html`<${Status} job=${job} />`}${tab === "topology" && html`<${Topology} name=${name} />`}${tab === "letters" && html`<${Letters} name=${name} />`}
    ${tab === "sql" && html`<${Versions} name=${name} done=${again} />`}${tab === "runs" && html`<${Runs} name=${name} />`}${tab === "events" && html`<${Events} pipeline=${name} />`}`;
}

function Status({ job }) {
  if (job.jobs.length === 0) return html`<p class="quiet">Nothing to show: the job does not run, or has not answered yet.</p>`;
  return job.jobs.map((one) => html`<div class="card">
    ${job.jobs.length > 1 && html`<h2>${one.job}</h2>`}
    <div class="facts"><div>rows in<b>${count(one.rows_in)}</b></div><div>rows a second<b>${count(one.rows_per_second)}</b></div><div>rows put out<b>${count(one.emitted)}</b></div>
      <div>dead letters<b class=${one.dead_letters ? "warn" : ""}>${count(one.dead_letters)}</b></div><div>late<b>${count(one.late)}</b></div><div>open windows<b>${count(one.open_windows)}</b></div>
      <div>state<b>${bytes(one.state_bytes)}</b></div><div>last batch<b>${seconds(one.batch_seconds)}</b></div><div>ledger<b class=${one.balanced ? "good" : "bad"}>${one.balanced ? "adds up" : "does not add up"}</b></div></div>
    <p>Watermark ${micros(one.watermark)}${one.lag_seconds !== null && one.lag_seconds !== undefined && html`, ${seconds(one.lag_seconds)} behind the arrival of the last batch`}.
      ${one.held_by && html` Held back by ${one.held_by.partition === null ? one.held_by.source : `partition ${one.held_by.partition} of ${one.held_by.source}`}${one.held_by.behind_seconds > 0 && `, ${seconds(one.held_by.behind_seconds)} behind the furthest`}.`}</p>
    <${Phases} of=${one.phases} />
    <h2>Operators</h2><table><thead><tr><th>operator</th><th class="wide">kind</th><th class="n">rows in</th><th class="n">rows out</th><th class="n">time</th><th class="n wide">state</th></tr></thead>
      <tbody>${one.operators.map((op) => html`<tr><td>${op.name}</td><td class="wide">${op.operator}</td><td class="n">${count(op.total_rows_in)}</td><td class="n">${count(op.total_rows_out)}</td><td class="n">${seconds(op.total_seconds)}</td><td class="n wide">${op.state?.rows ? `${count(op.state.rows)} rows` : ""}</td></tr>`)}</tbody></table></div>`);
}

function Phases({ of }) {
  const all = PHASES.reduce((sum, phase) => sum + (of?.[phase] ?? 0), 0);
  if (!all) return null;
  const parts = PHASES.map((phase, n) => [phase, of[phase] ?? 0, COLOURS[n]]).filter(([, s]) => s > 0);
  return html`<div><div class="phases" role="img" aria-label=${parts.map(([phase, s]) => `${phase} ${seconds(s)}`).join(", ")}>${parts.map(([phase, s, colour]) => html`<span title=${`${phase} ${seconds(s)}`} style=${`width:${(100 * s) / all}%;background:${colour}`}></span>`)}</div>
    <div class="quiet">last batch: ${parts.map(([phase, s]) => `${phase.replace("_", " ")} ${seconds(s)}`).join(" · ")}</div></div>`;
}

function Topology({ name }) {
  const [graph, trouble] = useLoaded(() => get(`/deployments/${name}/topology`), [name]);
  return html`<${Trouble} of=${trouble} />${graph && html`<${Graph} graph=${graph} />`}`;
}

function Letters({ name }) {
  const [code, setCode] = useState("");
  const [found, trouble] = useLoaded(() => get(`/deployments/${name}/dead-letters${code && `?code=${code}`}`), [name, code], 0);
  const codes = [...new Set((found?.counts ?? []).map((one) => one.code))];
  return html`<${Trouble} of=${trouble} />${found && html`<div class="bar"><label>Reason <select value=${code} onChange=${(event) => setCode(event.target.value)}><option value="">all</option>${codes.map((one) => html`<option>${one}</option>`)}</select></label>
      ${found.counts.map((one) => html`<span class="quiet">${one.code} from ${one.source}: ${count(one.count)}</span>`)}</div>
    ${found.letters.length === 0 ? html`<p class="quiet">No row was set aside.</p>` : html`<div class="card"><table><thead><tr><th>code</th><th>source</th><th class="wide">arrived</th><th>reason</th><th>row</th></tr></thead>
      <tbody>${found.letters.map((one) => html`<tr key=${one.id}><td>${one.code}</td><td>${one.source}<div class="quiet">${one.partition ?? ""} ${one.offset ?? ""}</div></td><td class="wide">${(one.arrived_at ?? "").slice(0, 19)}</td><td>${one.message}</td><td><pre class="text">${one.raw ?? one.row ?? ""}</pre></td></tr>`)}</tbody></table></div>`}
    <p class="quiet">To feed rows back after a fix: <code>windrow dead-letters replay</code>.</p>`}`;
}

function Versions({ name, done }) {
  const [found, trouble, again] = useLoaded(() => get(`/pipelines/${name}/versions`), [name], 0);
  if (!found) return html`<${Trouble} of=${trouble} />`;
  return html`<${Deploy} key=${found[0].n} name=${name} sql=${found[0].sql} done=${() => { again(); done(); }} />
    <h2>Versions</h2>${found.map((one) => html`<details class="card"><summary><b>${one.n}</b> ${one.message} <span class="quiet">${one.author}, ${moment(one.created_at)} UTC</span></summary><pre class="text">${one.sql}</pre></details>`)}`;
}

function Runs({ name }) {
  const [runs, trouble] = useLoaded(() => get(`/deployments/${name}/runs`), [name]);
  const [log, noLog] = useLoaded(() => get(`/deployments/${name}/logs`), [name]);
  return html`<${Trouble} of=${trouble} />${runs && html`<div class="card"><table><thead><tr><th>started</th><th>ended</th><th>version</th><th class="wide">process</th><th>end</th></tr></thead>
    <tbody>${runs.map((one) => html`<tr><td>${moment(one.started_at)}</td><td>${one.ended_at ? moment(one.ended_at) : "runs"}</td><td>${one.version}</td><td class="wide">${one.pid}</td><td>${one.ended_at ? (one.exit_code === null ? "killed" : `exit code ${one.exit_code}`) : ""}<div class="quiet">${one.message.split("\n")[0]}</div></td></tr>`)}</tbody></table></div>`}
    <h2>Log</h2><${Trouble} of=${noLog} />${log && html`<pre class="text card">${log.lines.join("\n") || "nothing yet"}</pre>`}`;
}

export function Events({ pipeline }) {
  const [found, trouble] = useLoaded(() => get(`/events?most=200${pipeline ? `&pipeline=${pipeline}` : ""}`), [pipeline]);
  const tone = { error: "bad", warning: "warn" };
  return html`${!pipeline && html`<h1>Events</h1>`}<${Trouble} of=${trouble} />${found && html`<div class="card"><table><thead><tr><th>at</th>${!pipeline && html`<th>job</th>`}<th>event</th><th>what happened</th></tr></thead>
    <tbody>${[...found].reverse().map((one) => html`<tr key=${one.seq}><td>${moment(one.at)}</td>${!pipeline && html`<td><a href=${`#/jobs/${one.pipeline}`}>${one.pipeline}</a></td>`}<td class=${tone[one.level] ?? ""}>${one.type}</td><td>${one.message.split("\n")[0]}</td></tr>`)}</tbody></table></div>`}`;
}
