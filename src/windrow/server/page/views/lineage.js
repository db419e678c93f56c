// Which columns follow from which: datasets as boxes of columns; one that is chosen shows what it is made of and what it is used for.
import { html, useMemo, useState } from "/page/vendor/preact.js";
import { Graph as Layout, layout } from "/page/vendor/dagre.js";
import { get, job as path } from "/page/api.js";
import { isNarrow } from "/page/views/graph.js";
import { Empty, Loading, Trouble, useLoaded } from "/page/parts.js";

const WIDTH = 200, ROW = 20, HEAD = 28;
const id = (place) => `${place.namespace}\n${place.name}`, column = (end) => `${id(end)}\n${end.column}`;
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const shown = (end) => `${end.name}${end.column === "*" ? " (which rows)" : `.${end.column}`}`;

// Every column that is come to from one, over edges that lead from ``from`` to ``to``.
function reach(edges, start, from, to) {
  const found = new Set([start]), next = [start];
  while (next.length) {
    const at = next.pop();
    for (const edge of edges) if (column(edge[from]) === at && !found.has(column(edge[to]))) { found.add(column(edge[to])); next.push(column(edge[to])); }
  }
  return found;
}

function Picture({ of, chosen, choose, near }) {
  const [fit, setFit] = useState(true);
  const graph = useMemo(() => {
    const made = new Layout();
    made.setGraph({ rankdir: isNarrow() ? "TB" : "LR", nodesep: 20, ranksep: 90, marginx: 8, marginy: 8 });
    made.setDefaultEdgeLabel(() => ({}));
    of.datasets.forEach((one) => made.setNode(id(one), { width: WIDTH, height: HEAD + ROW * Math.max(1, one.columns.length) + 6 }));
    const link = (from, to) => { if (made.hasNode(from) && made.hasNode(to) && from !== to) made.setEdge(from, to); };
    of.edges.forEach((edge) => link(id(edge.input), id(edge.output)));
    of.reads.forEach((one) => link(id(one.from), id(one.stream)));
    of.writes.forEach((one) => link(id(one.statement), id(one.to)));
    layout(made);
    return made;
  }, [of]);
  const { width, height } = graph.graph(), where = new Map();
  of.datasets.forEach((one) => {
    const at = graph.node(id(one));
    one.columns.forEach((each, n) => where.set(`${id(one)}\n${each.name}`, { x: at.x, y: at.y - at.height / 2 + HEAD + n * ROW + ROW / 2 }));
  });
  const down = isNarrow();
  const curve = (a, b) => (down ? `M${a.x - WIDTH / 2 + 4},${a.y} C${a.x - WIDTH / 2 - 40},${a.y} ${b.x - WIDTH / 2 - 40},${b.y} ${b.x - WIDTH / 2 + 4},${b.y}` : `M${a.x + WIDTH / 2},${a.y} C${a.x + WIDTH / 2 + 45},${a.y} ${b.x - WIDTH / 2 - 45},${b.y} ${b.x - WIDTH / 2},${b.y}`);
  return html`<div class=${`graph ${fit ? "fit" : ""}`} tabindex="0" role="region" aria-label="Columns and what follows from them"><svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="Columns">
    ${[...of.reads.map((one) => [one.from, one.stream]), ...of.writes.map((one) => [one.statement, one.to])].map(([from, to]) => { const at = graph.edge(id(from), id(to)); return at && html`<path class="edge" stroke-width="5" opacity=".25" d=${at.points.map((one, n) => `${n ? "L" : "M"}${one.x},${one.y}`).join("")} />`; })}
    ${of.edges.map((edge) => {
      const a = where.get(column(edge.input)), b = where.get(column(edge.output));
      if (!a || !b) return null;
      const hot = near && near.has(column(edge.input)) && near.has(column(edge.output));
      return html`<path class="edge" style=${hot ? "stroke:var(--link)" : ""} stroke-width=${hot ? 2.2 : 1} stroke-dasharray=${edge.type === "DIRECT" ? "" : "4 4"} opacity=${near && !hot ? 0.15 : edge.type === "DIRECT" ? 0.9 : 0.45} d=${curve(a, b)} />`;
    })}
    ${of.datasets.map((one) => {
      const at = graph.node(id(one)), left = at.x - WIDTH / 2, top = at.y - at.height / 2;
      return html`<g role="group" aria-label=${one.name} transform=${`translate(${left},${top})`}><rect class=${`box ${one.is_outside ? "store" : ""}`} width=${WIDTH} height=${at.height} rx="7" /><text x="10" y="18" font-weight="700"><title>${one.namespace} ${one.name}</title>${clip(one.name, 27)}</text>
        ${one.columns.length === 0 && html`<text class="dim" x="10" y=${HEAD + 13}>outside</text>`}
        ${one.columns.map((each, n) => {
          const key = `${id(one)}\n${each.name}`, press = (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(key === chosen ? null : key); } };
          return html`<g tabindex="0" role="button" aria-pressed=${key === chosen ? "true" : "false"} class=${key === chosen ? "chosen" : ""} transform=${`translate(0,${HEAD + n * ROW})`} onClick=${press} onKeyDown=${press}><rect class="box" style=${`stroke:none;fill:${key === chosen ? "var(--mark)" : near?.has(key) ? "var(--mark)" : "transparent"}`} x="3" width=${WIDTH - 6} height=${ROW} rx="4" /><text x="10" y="14">${clip(each.name, 17)}${" "}</text><text class="dim" text-anchor="end" x=${WIDTH - 8} y="14">${clip((each.type ?? "").toLowerCase(), 11)}</text></g>`;
        })}</g>`;
    })}</svg></div><p class="legend"><span>solid: a value is handed on</span><span>dashed: it decides about rows or values</span><span>wide: what is read and written</span><button class="plain" onClick=${() => setFit(!fit)}>${fit ? "full size" : "fit to the width"}</button></p>`;
}

const KIND = { IDENTITY: "as it is", TRANSFORMATION: "computed", AGGREGATION: "aggregated", FILTER: "filters", GROUP_BY: "groups", JOIN: "joins", WINDOW: "decides the window", SORT: "sorts", CONDITIONAL: "decides", ROWS: "its rows" };

export function Columns({ of, title }) {
  const [chosen, setChosen] = useState(null);
  const [outside, setOutside] = useState(true);
  const data = useMemo(() => (outside ? of : { ...of, datasets: of.datasets.filter((one) => !one.is_outside), reads: [], writes: [] }), [of, outside]);
  const direct = data.edges;
  const near = chosen && new Set([...reach(direct, chosen, "output", "input"), ...reach(direct, chosen, "input", "output")]);
  const made = chosen ? of.edges.filter((edge) => column(edge.output) === chosen) : [], used = chosen ? of.edges.filter((edge) => column(edge.input) === chosen) : [];
  const table = (edges, end, empty) => (edges.length === 0 ? html`<p class="quiet">${empty}</p>` : html`<table><tbody>${edges.map((edge) => html`<tr><td><button class="plain" onClick=${() => setChosen(column(edge[end]))}>${shown(edge[end])}</button></td><td>${KIND[edge.subtype] ?? edge.subtype.toLowerCase()}</td><td><code>${edge.expr ?? ""}</code></td></tr>`)}</tbody></table>`);
  if (of.datasets.length === 0) return html`<div class="card"><${Empty} title="No columns">No job has been deployed.</${Empty}></div>`;
  const name = chosen?.split("\n");
  return html`<div class="bar"><h2 style="margin:0;flex:1">${title}</h2><label><input type="checkbox" checked=${outside} onChange=${() => setOutside(!outside)} /> what is outside</label>
      <label>Column <select value=${chosen ?? ""} onChange=${(event) => setChosen(event.target.value || null)}><option value="">choose one</option>${data.datasets.map((one) => html`<optgroup label=${one.name}>${one.columns.map((each) => html`<option value=${`${id(one)}\n${each.name}`}>${one.name}.${each.name}</option>`)}</optgroup>`)}</select></label></div>
    <div class="card" style="padding:.5rem"><${Picture} of=${data} chosen=${chosen} choose=${setChosen} near=${near} /></div>
    ${chosen ? html`<div class="card" aria-live="polite"><h2>${name[1]}.${name[2]}</h2><h3>It is made of</h3>${table(made, "input", "It is read from outside: nothing stands before it.")}<h3>It is used for</h3>${table(used, "output", "Nothing follows from it.")}</div>` : html`<p class="quiet">Choose a column to see what it is made of, and what a change of it would touch.</p>`}`;
}

export function WholeLineage() {
  const [found, trouble, again] = useLoaded(() => get("/lineage"), []);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Following the columns of all jobs" />`;
  return html`<div class="head"><h1>Lineage</h1></div><${Columns} of=${found} title="Columns through all jobs" />`;
}

export function Part({ name }) {
  const [found, trouble, again] = useLoaded(() => get(path(name, "/lineage")), [name]);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Following the columns" />`;
  return html`<${Columns} of=${found} title="Columns of this job" />`;
}
