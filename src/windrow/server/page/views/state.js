// What a job holds, the versions of that which are kept, and the way back to one.
import { html, useState } from "/page/vendor/preact.js";
import { finished, get, job as path, post, query } from "/page/api.js";
import { job } from "/page/live.js";
import { Action, Empty, Loading, Meter, Trouble, useLoaded, useSignal, useView } from "/page/parts.js";
import { bytes, count, micros, moment, plural } from "/page/format.js";

function Held({ of, most }) {
  return html`<div style="margin-bottom:1rem"><div class="bar"><b>${of.statement}</b><span class="num">${plural(of.total, "window or group", "windows and groups")}, ${plural(of.rows, "row")}, ${bytes(of.bytes)}</span><span class="quiet small">held by the ${of.home}</span></div><${Meter} part=${of.bytes / most} />
    ${of.held.length > 0 && html`<details><summary class="small">${of.held.length < of.total ? `the first ${count(of.held.length)}` : "each"}</summary><div class="scroll" tabindex="0" role="region" aria-label=${`What ${of.statement} holds`}><table><thead><tr><th>group</th><th>from</th><th>to</th><th class="n">rows</th></tr></thead><tbody>${of.held.map((one) => html`<tr><td>${Object.entries(one.key).map(([name, value]) => `${name} = ${value ?? "NULL"}`).join(", ") || "all rows"}</td><td class="num">${one.start === null ? "–" : micros(one.start)}</td><td class="num">${one.end === null ? "no end" : micros(one.end)}</td><td class="n">${count(one.rows)}</td></tr>`)}</tbody></table></div></details>`}</div>`;
}

function Versions({ of, name, runs, batch, look, done }) {
  const [step, setStep] = useState("");
  // Where the environment is protected, somebody else has to approve it.
  const planned = (wish) => async (error) => { if (error.told?.code !== "WR938") throw error; await post(path(name, "/restore/plan"), wish); setStep("This environment is protected: the plan waits under SQL for somebody else's approval."); };
  const restored = async (operation) => { await finished(operation, (one) => setStep(`${one.state}: ${one.step}`)); setStep(""); };
  const restore = (to) => () => { const wish = { batch: to, job: of.job }; return post(path(name, "/restore"), wish).then(restored, planned(wish)); };
  const back = (one) => (one.can_restore ? (of.versions[0].batch_id === one.batch_id ? html`<span class="quiet">where it stands</span>` : html`<${Action} label="Restore" danger disabled=${runs} title=${runs ? "stop the job first" : ""} run=${restore(one.batch_id)} done=${done}
    ask=${`Take ${of.job} back to batch ${one.batch_id}? ${of.versions[0].batch_id - one.batch_id} batches will run again; what was written of them is removed where the output can.${of.stays.length ? ` ${of.stays.join(" ")}` : ""}`} />`) : html`<span class="quiet">${one.is_end ? "the end of the input" : "Spark's log of it is gone"}</span>`);
  return html`<div class="card"><h2>Versions of the state of ${of.job}</h2>
    <p class="quiet small">One a batch. ${runs ? "To restore one, stop the job first." : "The job goes on from the newest, or from the one that you restore."}</p>${step && html`<p role="status">${step}</p>`}
    ${of.versions.length === 0 ? html`<${Empty} title="None yet" />` : html`<div class="scroll" tabindex="0" role="region" aria-label="Versions of the state" style="max-height:30rem;overflow:auto"><table class="stacks"><thead><tr><th class="n">batch</th><th>written at (UTC)</th><th>files</th><th class="n">size</th><th>watermark</th><th class="n">rows in</th><th><span class="hidden">more</span></th></tr></thead>
      <tbody>${of.versions.slice(0, 60).map((one) => html`<tr class=${batch === one.batch_id ? "chosen" : ""}><td class="n" data-label="batch"><button class="plain" onClick=${() => look(one.batch_id)} aria-label=${`What it held after batch ${one.batch_id}`}>${count(one.batch_id)}</button></td><td class="num nowrap" data-label="written">${moment(one.written_at)}</td><td data-label="files">${one.files.join(", ")}</td><td class="n" data-label="size">${bytes(one.bytes)}</td><td class="num" data-label="watermark">${micros(one.watermark)}</td><td class="n" data-label="rows in">${count(one.rows_in)}</td><td data-label="">${back(one)}</td></tr>`)}</tbody></table></div>
    ${of.versions.length > 60 && html`<p class="quiet small">and ${count(of.versions.length - 60)} older ones</p>`}`}</div>`;
}

export function Part({ name }) {
  const [batch, setBatch] = useState(null);
  const [versions, trouble, again] = useView(path(name, "/state/versions"));
  const [held, noHeld] = useLoaded(() => get(path(name, `/state${query({ batch })}`)), [name, batch, versions?.[0]?.versions[0]?.batch_id]);
  const one = useSignal(job(name));
  if (!versions) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Reading the state" />`;
  if (versions.length === 0) return html`<div class="card"><${Empty} title="No state yet">The first batch is still to come.</${Empty}></div>`;
  const most = Math.max(1, ...(held ?? []).flatMap((each) => each.statements.map((own) => own.bytes)));
  const runs = one !== null && !["stopped", "failed", "ended", "paused"].includes(one.observed);
  return html`<${Trouble} of=${trouble} again=${again} /><${Trouble} of=${noHeld} />
    <div class="card"><div class="bar"><h2 style="margin:0;flex:1">What it holds${held?.[0] ? ` after batch ${count(held[0].batch)}` : ""}</h2>${batch !== null && html`<button onClick=${() => setBatch(null)}>Back to now</button>`}</div>
      ${(held ?? []).map((each) => (each.statements.length === 0 ? html`<p class="quiet">No statement of ${each.job} keeps anything between batches.</p>` : each.statements.map((own) => html`<${Held} of=${own} most=${most} />`)))}</div>
    ${versions.map((each) => html`<${Versions} key=${each.job} of=${each} name=${name} runs=${runs} batch=${batch} look=${setBatch} done=${again} />`)}`;
}
