// What would make results more complete or sooner, from the batches that ran.
import { html } from "/page/vendor/preact.js";
import { job as path } from "/page/api.js";
import { Empty, Loading, Meter, Trouble, useView } from "/page/parts.js";
import { count, plural, seconds, share } from "/page/format.js";

function Curve({ of }) {
  return html`<div class="card"><h2>Late rows of ${of.statement}</h2><p>${plural(of.total, "row")} came too late${of.corrected ? html`, and ${plural(of.corrected, "row")} corrected a window` : ""}. A longer delay makes every result later; a longer lateness corrects it afterwards.</p>
    <div class="scroll" tabindex="0" role="region" aria-label=${`Late rows of ${of.statement}`}><table class="stacks"><thead><tr><th>watermark.delay</th><th>or ALLOWED_LATENESS</th><th class="n">takes</th>${of.corrected ? html`<th class="n">no correction</th>` : ""}<th>of the late rows</th></tr></thead><tbody>${of.points.map((one) => html`<tr><th scope="row" class="num">${one.delay}</th><td class="num" data-label="or lateness">${one.lateness}</td><td class="n" data-label="takes">${count(one.saved)}</td>${of.corrected ? html`<td class="n" data-label="no correction">${count(one.in_time)}</td>` : ""}<td data-label="of the late rows"><span class="num">${share(one.share)}</span> <${Meter} part=${one.share} /></td></tr>`)}</tbody></table></div></div>`;
}

export function Part({ name }) {
  const [found, trouble, again] = useView(path(name, "/analysis"));
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Adding up the batches" />`;
  if (found.length === 0) return html`<div class="card"><${Empty} title="No batch yet">There is nothing to advise before the first.</${Empty}></div>`;
  return found.map((one) => html`<section><div class="card"><h2>${found.length > 1 ? one.job : "Advice"}</h2><p class="quiet small num">From ${plural(one.batches, "batch", "batches")} in ${seconds(one.span_seconds)}, ${plural(one.rows_in, "row")}; half of the batches under ${seconds(one.p50_seconds)}, 95 % under ${seconds(one.p95_seconds)}${one.retried ? `; ${count(one.retried)} were begun again` : ""}.</p>
      ${one.hints.length === 0 ? html`<p class="good strong">These batches show no fault.</p>` : html`<ol>${one.hints.map((each) => html`<li style="margin-bottom:.6rem">${each.text}${each.line && html`<pre class="text" style="margin-top:.3rem" tabindex="0">${each.line}</pre>`}</li>`)}</ol>`}</div>
    ${one.late.map((each) => html`<${Curve} of=${each} />`)}
    <details class="card"><summary>EXPLAIN ANALYZE</summary><pre class="text wide" tabindex="0">${one.text}</pre></details></section>`);
}
