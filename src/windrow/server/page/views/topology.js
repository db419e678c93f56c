// The operators of a job: boxes with rows that add up, arrows as thick as what goes through them. The cause of a slow batch is coloured,
// not those that wait for it.
import { html, useState } from "/page/vendor/preact.js";
import { job as path } from "/page/api.js";
import { Boxes } from "/page/views/graph.js";
import { Sql } from "/page/views/editor.js";
import { Empty, Equation, Loading, Trouble, useView } from "/page/parts.js";
import { bytes, count, micros, plural, rate, seconds, share, short } from "/page/format.js";

const WIDTH = 212, HEIGHT = 92;
const clip = (text, most = 27) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const sum = (counts) => Object.values(counts ?? {}).reduce((all, n) => all + n, 0);
const title = (node) => (node.kind === "write" ? node.title.replace(/^.* to /, "to ") : node.title);


function Box(node) {
  const aside = sum(node.dead) + sum(node.dropped);
  const store = node.kind === "read" || node.kind === "write" || node.kind === "load table";
  return html`<rect class=${`box ${node.is_cause ? "cause" : store ? "store" : ""}`} width=${WIDTH} height=${HEIGHT} rx=${store ? 20 : 8} />
    <text class="dim" x="14" y="19">${node.kind}${node.share >= 0.005 ? ` · ${share(node.share)} of the time` : ""}${" "}</text>
    <text x="14" y="38" font-weight="700" font-size="13.5">${clip(title(node))}${" "}</text>
    ${node.rows_in === null ? html`<text class="dim" x="14" y="57">no batch yet${" "}</text>` : html`<text x="14" y="57">${node.kind === "write" ? `${short(node.rows_in)} written` : `${short(node.rows_in)} → ${short(node.rows_out)} rows`}${" "}</text>`}
    ${(aside > 0 || node.filtered > 0) && html`<text class=${aside ? "aside" : "dim"} x="14" y="73">${[aside ? `${short(aside)} set aside` : "", node.filtered ? `${short(node.filtered)} filtered` : ""].filter(Boolean).join(" · ")}${" "}</text>`}
    ${!aside && !node.filtered && node.open > 0 && html`<text class="dim" x="14" y="73">${plural(node.open, "open window")}${" "}</text>`}
    <rect class="track" x="14" y=${HEIGHT - 11} width=${WIDTH - 28} height="4" rx="2" /><rect class="fill" x="14" y=${HEIGHT - 11} width=${(WIDTH - 28) * Math.min(1, node.share ?? 0)} height="4" rx="2" />`;
}

function Facts({ node, close }) {
  return html`<aside class="card" aria-label=${`Facts of ${node.name}`}><div class="bar"><h2 style="margin:0;flex:1">${node.title}</h2><button onClick=${close}>Close</button></div>
    <p class="quiet">${node.kind} of job ${node.job}</p>
    ${node.is_cause && html`<p class="warn strong">Most of the time goes here: ${share(node.share)}. The others wait for it.</p>`}
    <${Equation} of=${node} />
    ${node.rows_in !== null && html`<dl class="facts num"><dt>rows out</dt><dd>${count(node.rows_out)}${node.late_corrected ? `, ${count(node.late_corrected)} of them as corrections` : ""}</dd><dt>time</dt><dd>${seconds(node.seconds)}, ${share(node.share)} of all; 95 % of batches under ${seconds(node.p95_seconds)}</dd>
      ${(node.is_source || node.open !== null) && html`<dt>watermark</dt><dd>${micros(node.watermark)}</dd>`}
      ${node.rows_held > 0 && html`<dt>holds</dt><dd>${plural(node.rows_held, "row")}, ${bytes(node.bytes_held)}, in the ${node.home}</dd>`}</dl>`}
    <h3>What it does</h3><dl class="facts">${node.facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
    ${node.sql && html`<h3>Its SQL, from line ${node.line}</h3><${Sql} text=${node.sql} />`}
    ${node.strategies?.length > 0 && html`<details style="margin-top:.8rem"><summary>How it runs</summary><ul class="small">${node.strategies.map((one) => html`<li>${one}</li>`)}</ul></details>`}</aside>`;
}

export function Topology({ name }) {
  const [batches, setBatches] = useState(100);
  const [chosen, setChosen] = useState(null);
  const [found, trouble, again] = useView(`${path(name, "/topology")}?batches=${batches}`);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Laying out the operators" />`;
  if (found.nodes.length === 0) return html`<div class="card"><${Empty} title="Nothing runs in this file" /></div>`;
  const nodes = found.nodes.map((node) => ({ ...node, id: node.name, width: WIDTH, height: HEIGHT }));
  const most = Math.max(1, ...found.edges.map((edge) => edge.rows ?? 0));
  const span = found.jobs.reduce((all, one) => Math.max(all, one.span_seconds), 0);
  const edges = found.edges.map((edge) => ({ ...edge, weight: edge.rows ? 1.5 + 5 * (Math.log1p(edge.rows) / Math.log1p(most)) : 1.2, text: edge.rows === null ? "" : span > 0 && edge.rows ? `${rate(edge.rows / span)}/s` : short(edge.rows), flows: edge.rows > 0 && nodes.length <= 40 }));
  const told = found.jobs.filter((one) => one.batches), cause = nodes.find((node) => node.is_cause), node = nodes.find((one) => one.id === chosen);
  return html`<${Trouble} of=${trouble} again=${again} />
    <div class="bar"><label>Rows of <select value=${batches} onChange=${(event) => setBatches(Number(event.target.value))}><option value="1">the last batch</option><option value="100">the last 100 batches</option><option value="1000">the last 1,000 batches</option></select></label>
      <span class="quiet small">${told.length === 0 ? "No batch has been recorded yet: this is the plan." : told.map((one) => `${told.length > 1 ? `${one.job}: ` : ""}${one.first_batch === one.last_batch ? `batch ${one.last_batch}` : `batches ${one.first_batch} to ${one.last_batch}`}, ${seconds(one.span_seconds)}`).join("; ")}</span>
      <span style="flex:1"></span>${cause ? html`<span><i class="chip warn">cause</i> ${cause.title} takes ${share(cause.share)} of the time</span>` : told.length > 0 && html`<span class="quiet small">no operator takes most of the time</span>`}</div>
    <div class=${node ? "two" : ""}><div class="card" style="padding:.5rem"><${Boxes} nodes=${nodes} edges=${edges} box=${Box} chosen=${chosen} choose=${setChosen} title="Operators of the job" /></div>${node && html`<${Facts} node=${node} close=${() => setChosen(null)} />`}</div>
    <details class="card"><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Operators"><table><thead><tr><th>operator</th><th>kind</th><th class="n">rows in</th><th class="n">passed</th><th class="n">filtered</th><th class="n">set aside</th><th class="n">rows out</th><th class="n">time</th><th>watermark</th></tr></thead>
      <tbody>${nodes.map((one) => html`<tr><th scope="row"><button class="plain" onClick=${() => setChosen(one.id)}>${one.name}</button></th><td>${one.kind}</td><td class="n">${count(one.rows_in)}</td><td class="n">${count(one.passed)}</td><td class="n">${count(one.filtered)}</td><td class="n">${count(sum(one.dead) + sum(one.dropped))}</td><td class="n">${count(one.rows_out)}</td><td class="n">${seconds(one.seconds)}</td><td class="nowrap">${one.is_source || one.open !== undefined && one.open !== null ? micros(one.watermark) : ""}</td></tr>`)}</tbody></table></div></details>`;
}
