// Batches: what each did with its time, and how rows and watermark went on.
import { html, useEffect, useRef, useState } from "/page/vendor/preact.js";
import { job as path } from "/page/api.js";
import { Empty, Loading, Trouble, useView } from "/page/parts.js";
import { bytes, clock, count, micros, moment, seconds, share } from "/page/format.js";

const PHASES = ["plan", "read", "transform", "aggregate", "step", "write", "dead_letters", "commit"];
const colour = (phase) => `var(--p${PHASES.indexOf(phase) + 1})`;
const dead = (one) => Object.values(one.dead_letters).reduce((all, n) => all + n, 0);

function Stacks({ batches, chosen, choose }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const look = new ResizeObserver(([one]) => setWidth(Math.max(260, one.contentRect.width)));
    look.observe(frame.current);
    return () => look.disconnect();
  }, []);
  const left = 46, height = 190, step = 14, shown = batches.slice(-Math.floor((width - left) / step));
  const most = Math.max(...shown.map((one) => one.seconds), 0.001);
  const wide = (width - left) / shown.length;
  const press = (id) => (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(id); } };
  return html`<div ref=${frame} class="stack"><svg width=${width} height=${height + 24} role="group" aria-label="Time of each batch by phase">
    ${[0, 0.5, 1].map((part) => html`<line class="grid" x1=${left} x2=${width} y1=${height - part * (height - 14)} y2=${height - part * (height - 14)} /><text class="dim" text-anchor="end" x=${left - 6} y=${height - part * (height - 14) + 4}>${seconds(part * most)}</text>`)}
    ${shown.map((one, n) => {
      let y = height;
      return html`<g key=${one.batch_id} tabindex=${n === shown.length - 1 || one.batch_id === chosen ? 0 : -1} role="button" class=${one.batch_id === chosen ? "chosen" : ""} aria-label=${`batch ${one.batch_id}: ${seconds(one.seconds)}`} onClick=${press(one.batch_id)} onKeyDown=${press(one.batch_id)}><title>batch ${one.batch_id}: ${seconds(one.seconds)}, ${count(one.rows_in)} rows</title>
        <rect class="under" x=${left + n * wide} y="0" width=${wide} height=${height + 20} />
        ${PHASES.map((phase) => { const tall = ((one.phases[phase] ?? 0) / most) * (height - 14); y -= tall; return tall > 0.4 ? html`<rect x=${left + n * wide + 1} y=${y} width=${Math.max(1, Math.min(wide - 2, 30))} height=${tall} style=${`fill:${colour(phase)}`} />` : null; })}
        ${one.attempt > 1 && html`<text x=${left + n * wide + 2} y="11" class="aside">↻</text>`}${dead(one) > 0 && html`<circle cx=${left + n * wide + Math.min(wide, 32) / 2} cy=${height + 9} r="3" style="fill:var(--warn)" />`}</g>`;
    })}</svg></div>
    <p class="legend">${PHASES.filter((phase) => shown.some((one) => one.phases[phase] > 0.0005)).map((phase) => html`<span><i style=${`background:${colour(phase)}`}></i>${phase.replace("_", " ")}</span>`)}<span><i style="background:var(--warn);border-radius:50%"></i>has dead letters</span><span>↻ was begun again</span></p>`;
}

function Chart({ title, times, series, format }) {
  const frame = useRef(null), plot = useRef(null);
  const data = [times, ...series.map((one) => one.values)];
  useEffect(() => {
    let isOver = false, look = null;
    import("/page/vendor/uplot.js").then(({ default: UPlot }) => {
      if (isOver) return;
      if (!document.querySelector('link[href$="uplot.css"]')) document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/page/vendor/uplot.css" }));
      const style = getComputedStyle(document.body);
      const probe = (name) => { const one = document.createElement("i"); one.style.color = `var(${name})`; frame.current.append(one); const found = getComputedStyle(one).color; one.remove(); return found; };
      const line = probe("--line"), axis = { stroke: probe("--quiet"), grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: `11px ${style.fontFamily || "sans-serif"}` };
      plot.current = new UPlot({ width: frame.current.clientWidth, height: 170, tzDate: (at) => UPlot.tzDate(new Date(at * 1e3), "Etc/UTC"), cursor: { y: false }, legend: { live: true },
        axes: [axis, { ...axis, size: 62, values: (_, all) => all.map(format) }], scales: { x: { time: true } },
        series: [{ label: "time", value: (_, at) => (at === null ? "" : clock(at * 1000)) }, ...series.map((one) => ({ label: one.label, stroke: probe(one.colour), width: 1.6, points: { show: false }, value: (_, at) => (at === null || at === undefined ? "" : format(at)) }))] }, data, frame.current);
      look = new ResizeObserver(([one]) => plot.current?.setSize({ width: Math.max(240, one.contentRect.width), height: 170 }));
      look.observe(frame.current);
    });
    return () => { isOver = true; look?.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [title]);
  useEffect(() => { plot.current?.setData(data); }, [times[times.length - 1], times.length]);
  return html`<figure style="margin:0" aria-label=${title}><h3 style="margin-top:0">${title}</h3><div ref=${frame}></div></figure>`;
}

function One({ batch, close }) {
  const aside = Object.entries(batch.dead_letters).filter(([, n]) => n);
  return html`<div class="card"><div class="bar"><h2 style="margin:0;flex:1">Batch ${count(batch.batch_id)}</h2><button onClick=${close}>Close</button></div>
    <dl class="facts num"><dt>committed</dt><dd>${moment(batch.at / 1000)} UTC, ${seconds((batch.at - batch.arrival) / 1e6)} after it began</dd><dt>rows</dt><dd>${count(batch.rows_in)} in, ${count(batch.rows_out)} emitted${batch.replayed ? `, ${count(batch.replayed)} of them replayed` : ""}</dd>
      <dt>set aside</dt><dd>${aside.length ? aside.map(([code, n]) => `${code} ${count(n)}`).join(", ") : "none"}</dd><dt>watermark after it</dt><dd>${micros(batch.watermark)}</dd><dt>state</dt><dd>${bytes(batch.state_bytes)}</dd><dt>attempt</dt><dd>${batch.attempt}</dd><dt>ledger</dt><dd>${batch.balanced ? "adds up" : "does not add up"}</dd></dl>
    <table><thead><tr><th>phase</th><th class="n">time</th><th class="n">share</th></tr></thead><tbody>${PHASES.filter((phase) => batch.phases[phase]).map((phase) => html`<tr><th scope="row"><i style=${`display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:.4rem;background:${colour(phase)}`}></i>${phase.replace("_", " ")}</th><td class="n">${seconds(batch.phases[phase])}</td><td class="n">${share(batch.phases[phase] / batch.seconds)}</td></tr>`)}</tbody></table>
    ${Object.keys(batch.sinks).length > 0 && html`<p class="small num">Outputs: ${Object.entries(batch.sinks).map(([name, s]) => `${name} ${seconds(s)}`).join(", ")}</p>`}</div>`;
}

function OfJob({ of, several }) {
  const [chosen, setChosen] = useState(null);
  const { batches } = of;
  if (batches.length === 0) return html`<div class="card"><${Empty} title="No batch yet">The first is still to come.</${Empty}></div>`;
  const times = batches.map((one) => one.at / 1e6), batch = batches.find((one) => one.batch_id === chosen);
  const gap = (one, n) => (n === 0 ? null : one.rows_in / Math.max(0.001, (one.at - batches[n - 1].at) / 1e6));
  return html`<section>${several && html`<h2>${of.job}</h2>`}<div class=${batch ? "two" : ""}><div class="card"><h2>Time by phase</h2><${Stacks} batches=${batches} chosen=${chosen} choose=${setChosen} /></div>${batch && html`<${One} batch=${batch} close=${() => setChosen(null)} />`}</div>
    <div class="card" style="display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))">
      <${Chart} title="Rows a second" times=${times} series=${[{ label: "rows in", colour: "--p2", values: batches.map(gap) }]} format=${(n) => count(n)} />
      <${Chart} title="Seconds a batch" times=${times} series=${[{ label: "batch", colour: "--p3", values: batches.map((one) => one.seconds) }]} format=${seconds} />
      <${Chart} title="Watermark behind arrival" times=${times} series=${[{ label: "behind", colour: "--p6", values: batches.map((one) => (one.watermark === null ? null : (one.arrival - one.watermark) / 1e6)) }]} format=${seconds} />
      <${Chart} title="Dead letters a batch" times=${times} series=${[{ label: "dead letters", colour: "--p7", values: batches.map(dead) }]} format=${(n) => count(n)} /></div>
    <details class="card"><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Batches"><table><thead><tr><th class="n">batch</th><th>committed</th><th class="n">rows in</th><th class="n">emitted</th><th class="n">dead letters</th><th class="n">time</th><th>watermark</th></tr></thead><tbody>${[...batches].reverse().slice(0, 100).map((one) => html`<tr><td class="n"><button class="plain" onClick=${() => setChosen(one.batch_id)}>${count(one.batch_id)}</button></td><td class="num nowrap">${moment(one.at / 1000)}</td><td class="n">${count(one.rows_in)}</td><td class="n">${count(one.rows_out)}</td><td class="n">${count(dead(one))}</td><td class="n">${seconds(one.seconds)}</td><td class="num nowrap">${micros(one.watermark)}</td></tr>`)}</tbody></table></div></details></section>`;
}

export function Part({ name }) {
  const [found, trouble, again] = useView(path(name, "/batches"));
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Reading the records of the batches" />`;
  if (found.length === 0) return html`<div class="card"><${Empty} title="No batch yet">The first is still to come.</${Empty}></div>`;
  return html`<${Trouble} of=${trouble} again=${again} />${found.map((one) => html`<${OfJob} key=${one.job} of=${one} several=${found.length > 1} />`)}`;
}
