// The processes of a job, and the end of its log.
import { html, useState } from "/page/vendor/preact.js";
import { get, job as path, query } from "/page/api.js";
import { Empty, Loading, Trouble, useLoaded } from "/page/parts.js";
import { moment, seconds } from "/page/format.js";

const end = (one) => (!one.ended_at ? html`<span class="good strong">runs</span>` : one.exit_code === null ? "killed, or the machine went down" : one.exit_code === 0 ? "ended by itself or was stopped" : `exit code ${one.exit_code}`);

export function Part({ name }) {
  const [run, setRun] = useState("");
  const [text, setText] = useState("");
  const [runs, trouble, again] = useLoaded(() => get(path(name, "/runs")), [name], 5000);
  const [log, noLog, lookAgain] = useLoaded(() => get(path(name, `/logs${query({ lines: 500, run })}`)), [name, run], 5000);
  const lines = (log?.lines ?? []).filter((line) => !text || line.toLowerCase().includes(text.toLowerCase()));
  return html`<${Trouble} of=${trouble} again=${again} />${!runs && !trouble && html`<${Loading} />`}
    ${runs && html`<div class="card"><div class="bar"><h2 style="margin:0;flex:1">Processes</h2><a class="button" href=${`/api/v1${path(name, "/bundle.zip")}`} download>Support bundle</a><a class="button" href="#/bundle">Open one</a></div>${runs.length === 0 ? html`<p class="quiet">It has not been started yet.</p>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Processes"><table class="stacks"><thead><tr><th>started (UTC)</th><th>ran for</th><th class="n">version</th><th class="n">process</th><th>end</th><th><span class="hidden">more</span></th></tr></thead>
      <tbody>${runs.map((one) => html`<tr class=${run === one.id ? "chosen" : ""}><th scope="row" class="num nowrap">${moment(one.started_at)}</th><td data-label="ran for" class="num">${seconds(((one.ended_at ?? Date.now()) - one.started_at) / 1000)}</td><td class="n" data-label="version">${one.version}</td><td class="n" data-label="process">${one.pid ?? ""}</td><td data-label="end"><span>${end(one)}${one.message && html`<div class="bad small">${one.message.split("\n")[0]}</div>`}</span></td><td data-label=""><button onClick=${() => setRun(one.id)} aria-label=${`Log of the process that started at ${moment(one.started_at)}`}>Log</button></td></tr>`)}</tbody></table></div>`}</div>`}
    <div class="card"><div class="bar"><h2 style="margin:0;flex:1">Log ${run ? html`<button class="plain small" onClick=${() => setRun("")}>of the newest process instead</button>` : ""}</h2><label><span class="hidden">Find in the log</span><input type="search" placeholder="find in it" value=${text} onInput=${(event) => setText(event.target.value)} /></label></div><${Trouble} of=${noLog} again=${lookAgain} />
      ${log && (lines.length === 0 ? html`<${Empty} title=${text ? "No line has that" : "Nothing was logged yet"} />` : html`<pre class="text wide" tabindex="0" aria-label="Log">${lines.join("\n")}</pre>`)}</div>`;
}
