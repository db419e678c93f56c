import { html } from "/page/vendor/preact.js";
import { get } from "/page/api.js";
import { State, Trouble, count, seconds, useLoaded } from "/page/parts.js";

const sum = (jobs, key) => (jobs.length ? jobs.reduce((all, job) => all + (job[key] ?? 0), 0) : null);

export function Overview() {
  const [jobs, trouble] = useLoaded(() => get("/pipelines"), []);
  return html`<h1>Jobs</h1><${Trouble} of=${trouble} />
  ${jobs && jobs.length === 0 && html`<div class="card">No job yet. <a href="#/deploy">Deploy one</a>, or <code>windrow deploy FILE</code>.</div>`}
  ${jobs && jobs.length > 0 && html`<div class="card"><table>
    <thead><tr><th>job</th><th>state</th><th class="n">rows/s</th><th class="n">rows in</th><th class="n">dead letters</th><th class="n wide">late</th><th class="n wide">batch</th><th class="wide">version</th><th class="wide">owner</th></tr></thead>
    <tbody>${jobs.map((job) => html`<tr key=${job.name}>
      <td><a href=${`#/jobs/${job.name}`}>${job.name}</a>${job.description && html`<div class="quiet">${job.description}</div>`}</td>
      <td><${State} of=${job.observed} />${job.why && html`<div class=${job.observed === "failed" ? "bad" : "quiet"}>${job.why.split("\n")[0]}</div>`}</td>
      <td class="n">${count(sum(job.jobs, "rows_per_second"))}</td><td class="n">${count(sum(job.jobs, "rows_in"))}</td>
      <td class=${`n ${sum(job.jobs, "dead_letters") ? "warn" : ""}`}>${count(sum(job.jobs, "dead_letters"))}</td>
      <td class="n wide">${count(sum(job.jobs, "late"))}</td><td class="n wide">${seconds(job.jobs[0]?.batch_seconds)}</td>
      <td class="wide">${job.version}</td><td class="wide">${job.owner}</td></tr>`)}</tbody></table></div>`}`;
}
