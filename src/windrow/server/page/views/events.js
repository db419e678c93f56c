// What happened, live; and alerts, which somebody can take on.
import { html, useState } from "/page/vendor/preact.js";
import { get, post, query, remove } from "/page/api.js";
import { events as live } from "/page/live.js";
import { Action, Dialog, Empty, Loading, State, Trouble, useLoaded, useSignal } from "/page/parts.js";
import { moment } from "/page/format.js";

const TONE = { error: "bad", warning: "warn", critical: "bad", emergency: "bad" };

function Table({ found, pipeline }) {
  if (found.length === 0) return html`<${Empty} title="Nothing has happened" />`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Events"><table class="stacks"><thead><tr><th>at (UTC)</th>${!pipeline && html`<th>job</th>`}<th>event</th><th>what happened</th></tr></thead>
    <tbody>${found.map((one) => html`<tr key=${one.seq}><th scope="row" class="num nowrap">${moment(one.at)}</th>${!pipeline && html`<td data-label="job">${one.pipeline ? html`<a href=${`#/jobs/${encodeURIComponent(one.pipeline)}`}>${one.pipeline}</a>` : "the server"}</td>`}<td data-label="event" class=${`nowrap ${TONE[one.level] ?? ""}`}>${one.type}</td><td data-label="what">${one.message.split("\n")[0]}</td></tr>`)}</tbody></table></div>`;
}

export function Events({ pipeline, type = "" }) {
  const [found, trouble, again] = useLoaded(() => get(`/events${query({ most: 200, pipeline })}`), [pipeline]);
  const now = useSignal(live).filter((one) => !pipeline || one.pipeline === pipeline);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} />`;
  const every = [...new Map([...found, ...now].map((one) => [one.seq, one])).values()].sort((a, b) => b.seq - a.seq).filter((one) => !type || one.type.startsWith(type));
  return html`<${Table} found=${every.slice(0, 300)} pipeline=${pipeline} />`;
}

function Silence({ of, done }) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [minutes, setMinutes] = useState("60");
  const send = () => post("/silences", { rule: of.rule, job: of.job, minutes: Number(minutes), reason: reason.trim() });
  return html`<button onClick=${() => setAsking(true)}>Silence</button>${asking && html`<${Dialog} title=${`Silence ${of.rule}`} close=${() => setAsking(false)}><p>Nobody is told of it meanwhile; it stays in this list.</p><div class="bar"><label>For <select value=${minutes} onChange=${(event) => setMinutes(event.target.value)}><option value="60">an hour</option><option value="480">8 hours</option><option value="1440">a day</option></select></label><label style="flex:1">Because <input style="flex:1" maxlength="500" value=${reason} onInput=${(event) => setReason(event.target.value)} /></label></div>
    <div class="bar" style="margin-top:.8rem"><${Action} label="Silence it" main disabled=${!reason.trim()} run=${send} done=${() => { setAsking(false); done(); }} /><button onClick=${() => setAsking(false)}>Cancel</button></div></${Dialog}>`}`;
}

const labels = (one) => Object.entries(one.labels ?? {}).filter(([name]) => name !== "job_name").map(([name, value]) => `${name} ${value}`).join(", ");
const standing = (one) => (one.is_silenced ? "silenced" : one.state);

function Silences() {
  const [found, trouble, again] = useLoaded(() => get("/silences"), [], 10000);
  if (!found?.length) return html`<${Trouble} of=${trouble} again=${again} />`;
  return html`<details><summary>${found.length === 1 ? "One silence is" : `${found.length} silences are`} in force</summary><div class="scroll" tabindex="0" role="region" aria-label="Silences"><table class="stacks"><thead><tr><th>of</th><th>until (UTC)</th><th>because</th><th>by</th><th><span class="hidden">more</span></th></tr></thead><tbody>${found.map((one) => html`<tr key=${one.id}><th scope="row">${one.rule || "every rule"} of ${one.job || "every job"}</th><td class="num nowrap" data-label="until">${moment(one.until_at)}</td><td data-label="because">${one.reason}</td><td data-label="by">${one.created_by}</td><td data-label=""><${Action} label="End it" run=${() => remove(`/silences/${encodeURIComponent(one.id)}`)} done=${again} /></td></tr>`)}</tbody></table></div></details>`;
}

function Alerts() {
  const [found, trouble, again] = useLoaded(() => get("/alerts"), [], 4000);
  const [all, setAll] = useState(false);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} />`;
  const shown = found.filter((one) => all || one.state !== "resolved");
  return html`<div class="card"><div class="bar"><h2 style="margin:0;flex:1">Alerts</h2><label><input type="checkbox" checked=${all} onChange=${() => setAll(!all)} /> those that are over as well</label></div><${Trouble} of=${trouble} again=${again} />
    ${shown.length === 0 ? html`<${Empty} title="No alert">Every rule is content.</${Empty}>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Alerts"><table class="stacks"><thead><tr><th>alert</th><th>job</th><th>state</th><th>since (UTC)</th><th>what is wrong</th><th><span class="hidden">more</span></th></tr></thead><tbody>${shown.map((one) => html`<tr key=${one.id}><th scope="row"><span class=${TONE[one.level] ?? ""}>${one.rule}</span><div class="quiet small">${one.level}${labels(one) && `, ${labels(one)}`}</div></th><td data-label="job"><a href=${`#/jobs/${encodeURIComponent(one.job)}`}>${one.job}</a></td><td data-label="state"><${State} of=${standing(one)} />${one.is_inhibited && html`<div class="quiet small">not told: its job has failed</div>`}</td><td class="num nowrap" data-label="since">${moment(one.since)}</td><td data-label="what">${one.summary}${one.state !== "resolved" && one.what_to_do && html`<div class="quiet small">${one.what_to_do}</div>`}</td>
      <td data-label="">${one.acknowledged_by ? html`<span class="quiet">taken on by ${one.acknowledged_by}</span>` : one.state !== "resolved" && html`<${Action} label="Acknowledge" run=${() => post(`/alerts/${encodeURIComponent(one.id)}/ack`, {})} done=${again} />`} ${one.state !== "resolved" && !one.is_silenced && html`<${Silence} of=${one} done=${again} />`}</td></tr>`)}</tbody></table></div>`}<${Silences} /></div>`;
}

export function EventsAndAlerts() {
  const [type, setType] = useState("");
  return html`<div class="head"><h1>Events and alerts</h1></div><${Alerts} /><div class="card"><div class="bar"><h2 style="margin:0;flex:1">Events</h2><label>Only <select value=${type} onChange=${(event) => setType(event.target.value)}><option value="">all</option><option value="job.">jobs</option><option value="deploy.">deployments</option><option value="alert.">alerts</option></select></label></div><${Events} type=${type} /></div>`;
}

export const Part = ({ name }) => html`<div class="card"><h2>Events of ${name}</h2><${Events} pipeline=${name} /></div>`;
