// Windows on a line of time, with how far each partition has come: a window closes when the least of them has passed its end.
import { html, useEffect, useRef, useState } from "/page/vendor/preact.js";
import { get, job as path, query } from "/page/api.js";
import { Empty, Loading, Trouble, useView } from "/page/parts.js";
import { count, micros, plural, seconds, short } from "/page/format.js";

const LANE = 24, MOST_LANES = 14, PAD = 12;

// Each window in the first lane that is free at its start.
function lanes(spans) {
  const ends = [], placed = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    let lane = ends.findIndex((end) => end <= span.start);
    if (lane < 0) lane = ends.length;
    ends[lane] = span.end;
    placed.push({ ...span, lane });
  }
  return [placed, ends.length];
}

// Times that a person would put on a line, in microseconds.
function ticks(from, to, room) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000].map((s) => s * 1e6);
  const step = steps.find((one) => (to - from) / one <= Math.max(2, room / 90)) ?? steps[steps.length - 1] * 10;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return [found, step];
}

function Line({ of, choose }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const look = new ResizeObserver(([one]) => setWidth(Math.max(280, one.contentRect.width)));
    look.observe(frame.current);
    return () => look.disconnect();
  }, []);
  const spans = of.spans.filter((one) => one.start !== null && one.end !== null);
  const marks = of.sources.flatMap((source) => source.partitions.filter((one) => one.watermark !== null).map((one) => ({ ...one, source: source.source })));
  const reached = marks.map((one) => one.watermark);
  const from = Math.min(...spans.map((one) => one.start), of.watermark ?? Infinity), to = Math.max(...spans.map((one) => one.end), of.watermark ?? -Infinity, ...reached.map((at) => Math.min(at, Math.max(...spans.map((one) => one.end)))));
  const [placed, all] = lanes(spans);
  const shown = Math.min(all, MOST_LANES), body = shown * LANE, height = body + 62;
  const room = to - from || 1, x = (at) => PAD + ((at - from + room * 0.02) / (room * 1.04)) * (width - 2 * PAD);
  const [at, step] = ticks(from, to, width);
  const text = (one) => micros(one).slice(...(step >= 86400e6 ? [0, 10] : [11, 19]));
  const kept = (span) => of.watermark !== null && span.end <= of.watermark;
  return html`<div ref=${frame}><svg width=${width} height=${height} role="group" aria-label=${`Open windows of ${of.statement} on a line of time`}>
    ${at.map((one) => html`<line class="grid" x1=${x(one)} x2=${x(one)} y1="22" y2=${body + 34} /><text class="dim" text-anchor="middle" x=${x(one)} y=${body + 50}>${text(one)}</text>`)}
    ${placed.filter((span) => span.lane < MOST_LANES).map((span) => {
      const left = x(span.start), wide = Math.max(3, x(span.end) - left - 1.5), label = `${plural(span.groups, "group")}, ${plural(span.rows, "row")}`;
      const press = (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(span); } };
      return html`<g tabindex="0" role="button" onClick=${press} onKeyDown=${press} aria-label=${`${micros(span.start)} to ${micros(span.end)}: ${label}, ${kept(span) ? "closed, kept for late rows" : "open"}. Why?`}>
        <rect class=${`lane ${kept(span) ? "kept" : ""}`} x=${left} y=${26 + span.lane * LANE} width=${wide} height=${LANE - 5} rx="4" />${wide > 110 && html`<text class=${`lane-text ${kept(span) ? "kept" : ""}`} x=${left + 7} y=${26 + span.lane * LANE + 14}>${label}</text>`}</g>`;
    })}
    ${marks.filter((one) => one.watermark >= from - room * 0.02 && one.watermark <= to + room * 0.02 && marks.length > 1).map((one) => html`<line class="mark" stroke-dasharray=${one.is_idle ? "2 4" : "6 3"} x1=${x(one.watermark)} x2=${x(one.watermark)} y1="22" y2=${body + 34}><title>${one.source}, partition ${one.partition}: ${micros(one.watermark)}</title></line>`)}
    ${of.watermark !== null && of.watermark <= to + room && html`<line class="mark least" x1=${x(of.watermark)} x2=${x(of.watermark)} y1="18" y2=${body + 34} /><text class="mark-text" x=${x(of.watermark)} y="12" text-anchor=${x(of.watermark) > width - 110 ? "end" : x(of.watermark) < 110 ? "start" : "middle"}>watermark ${micros(of.watermark).slice(11, 19)}</text>`}</svg></div>
    <p class="legend"><span><i style="background:var(--p2)"></i>open</span>${spans.some(kept) && html`<span><i style="background:light-dark(#cdd6df, #3a4754)"></i>closed, kept for late rows</span>`}<span><i style="background:var(--p7)"></i>watermark: a window closes when it has passed its end</span>${marks.length > 1 && html`<span><i style="background:var(--p6)"></i>one partition (dotted: idle)</span>`}${all > MOST_LANES && html`<span>${all - MOST_LANES} more lanes are left out</span>`}</p>`;
}

function Partitions({ of }) {
  return of.sources.map((source) => {
    const active = source.partitions.filter((one) => !one.is_idle);
    const least = active.find((one) => one.watermark === null) ?? active.reduce((low, one) => (low === null || one.watermark < low.watermark ? one : low), null);
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Partitions of ${source.source} for ${of.statement}`}><table class="stacks"><caption>How far ${source.source} has come <span class="quiet small">delay ${seconds(source.delay / 1e6)}${source.idle_timeout === null ? ", no idle timeout" : `, idle after ${seconds(source.idle_timeout / 1e6)}`}${source.is_ended ? ", its input was declared ended" : ""}</span></caption>
      <thead><tr><th>partition</th><th>greatest event time</th><th>its watermark</th><th>last row arrived</th><th><span class="hidden">more</span></th></tr></thead>
      <tbody>${source.partitions.map((one) => html`<tr><th scope="row">partition ${one.partition}</th><td data-label="greatest event time" class="num">${micros(one.reached, "nothing yet")}</td><td data-label="watermark" class="num">${micros(one.watermark)}</td><td data-label="last row" class="num">${one.seen_at === null || of.arrival === null ? "never" : of.arrival - one.seen_at < 1000 ? "with the last batch" : `${seconds((of.arrival - one.seen_at) / 1e6)} before the last batch`}</td><td data-label="standing">${one.is_idle ? html`<span class="chip">idle: holds nothing back</span>` : source.partitions.length > 1 && one === least ? html`<span class="chip warn">holds the watermark back</span>` : ""}</td></tr>`)}</tbody></table>${source.left_out > 0 && html`<p class="quiet small">${plural(source.left_out, "more partition")}, all further on.</p>`}</div>`;
  });
}

function Why({ name, statement, asked, close }) {
  const [told, setTold] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const element = useRef(null);
  useEffect(() => {
    setTold(null); setTrouble(null);
    element.current.scrollIntoView({ block: "nearest" });
    get(path(name, `/windows/why${query({ statement, key: asked.keys, start: asked.start, most: 10 })}`)).then(setTold, setTrouble);
  }, [statement, asked]);
  return html`<div class="card" ref=${element} aria-live="polite"><div class="bar"><h3 style="margin:0;flex:1">Why? ${asked.text}</h3><button onClick=${close}>Close</button></div>
    <${Trouble} of=${trouble} />${!told && !trouble && html`<${Loading} what="Taking the steps of the kept batches again" />`}
    ${told && (told.windows.length === 0 ? html`<p>${told.nothing}</p>` : told.windows.map((one) => html`<pre class="text">${one.text}</pre>`))}
    ${told && told.total > told.windows.length && html`<p class="quiet small">${count(told.total - told.windows.length)} more like these.</p>`}</div>`;
}

const keyText = (key) => Object.entries(key).map(([name, value]) => `${name} = ${value ?? "NULL"}`).join(", ") || "all rows";

function Statement({ of, name }) {
  const [asked, setAsked] = useState(null);
  const ask = (one) => setAsked({ keys: Object.values(one.key ?? {}).map((value) => value ?? "None"), start: one.start, text: one.key ? keyText(one.key) : `windows from ${micros(one.start)}` });
  const timed = of.spans.some((one) => one.end !== null);
  return html`<section class="card"><h2>${of.statement} <span class="quiet small" style="font-weight:400">${of.window ?? "groups without a window: they stay open"}</span></h2>
    <p class="num">${plural(of.total, of.window ? "window" : "group")} held, with ${plural(of.rows, "row")} · watermark ${micros(of.watermark)}${of.lateness ? ` · late rows correct a window for ${seconds(of.lateness / 1e6)} after its end` : ""}</p>
    ${of.total === 0 ? html`<${Empty} title="No window is open">Every row so far has been emitted, or none has come.</${Empty}>` : timed && html`<${Line} of=${of} choose=${ask} />`}
    ${asked && html`<${Why} name=${name} statement=${of.statement} asked=${asked} close=${() => setAsked(null)} />`}
    <${Partitions} of=${of} />
    ${of.held.length > 0 && html`<details><summary>${of.held.length < of.total ? `The first ${count(of.held.length)} of them` : "Each of them"}</summary><div class="scroll" tabindex="0" role="region" aria-label=${`Windows of ${of.statement} one by one`}><table class="stacks"><thead><tr><th>group</th><th>from</th><th>to</th><th class="n">rows</th><th><span class="hidden">more</span></th></tr></thead>
      <tbody>${of.held.map((one) => html`<tr><th scope="row">${keyText(one.key)}</th><td class="num" data-label="from">${one.start === null ? "–" : micros(one.start)}</td><td class="num" data-label="to">${one.end === null ? "no end" : micros(one.end)}</td><td class="n" data-label="rows">${short(one.rows)}</td><td data-label=""><button onClick=${() => ask(one)} aria-label=${`Why open? The window of ${keyText(one.key)}`}>Why open?</button></td></tr>`)}</tbody></table></div></details>`}</section>`;
}

export function Part({ name }) {
  const [found, trouble, again] = useView(path(name, "/windows"));
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Reading the state" />`;
  if (found.length === 0) return html`<div class="card"><${Empty} title="No windows">No statement of this job has windows or groups, or its first batch is still to come.</${Empty}></div>`;
  return html`<${Trouble} of=${trouble} again=${again} />${found.map((one) => html`<${Statement} key=${one.job + one.statement} of=${one} name=${name} />`)}`;
}
