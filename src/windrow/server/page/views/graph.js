// The operators of a job: boxes with rows that add up, arrows as thick as what goes through them. The cause of a slow batch is coloured, not
// those that wait for it.
import { html, useState } from "/page/vendor/preact.js";
import { Graph as Layout, layout } from "/page/vendor/dagre.js";
import { count, seconds } from "/page/parts.js";

const WIDTH = 210, HEIGHT = 62;

function laidOut({ nodes, edges }) {
  const graph = new Layout();
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 70, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach((node) => graph.setNode(node.name, { width: WIDTH, height: HEIGHT }));
  edges.filter((edge) => graph.hasNode(edge.from) && graph.hasNode(edge.to)).forEach((edge) => graph.setEdge(edge.from, edge.to));
  layout(graph);
  return graph;
}

const path = (points) => points.map((at, n) => `${n ? "L" : "M"}${at.x},${at.y}`).join(" ");
const short = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);

export function Graph({ graph }) {
  const [chosen, setChosen] = useState(null);
  const placed = laidOut(graph);
  const { width, height } = placed.graph();
  const slowest = graph.nodes.reduce((most, node) => ((node.total_seconds ?? 0) > (most?.total_seconds ?? 0) ? node : most), null);
  const most = Math.max(1, ...graph.nodes.map((node) => node.total_rows_out ?? 0));
  const by = Object.fromEntries(graph.nodes.map((node) => [node.name, node]));
  const facts = chosen && by[chosen];
  const press = (name) => (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); setChosen(name); } };
  return html`<div class="card"><svg class="graph" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="Operators of the job">
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0,0 L8,4 L0,8 z" fill="currentColor" /></marker></defs>
    ${placed.edges().map((edge) => html`<path class="edge" marker-end="url(#tip)" d=${path(placed.edge(edge).points)} stroke-width=${1 + 3 * ((by[edge.v].total_rows_out ?? 0) / most)} />`)}
    ${graph.nodes.map((node) => {
      const at = placed.node(node.name);
      const label = `${node.kind} ${node.name}: ${count(node.total_rows_in)} rows in, ${count(node.total_rows_out)} out`;
      return html`<g tabindex="0" role="button" aria-label=${label} transform=${`translate(${at.x - WIDTH / 2},${at.y - HEIGHT / 2})`} onClick=${press(node.name)} onKeyDown=${press(node.name)}>
        <rect class=${`box ${node === slowest ? "hot" : ""} ${node.name === chosen ? "chosen" : ""}`} width=${WIDTH} height=${HEIGHT} rx="7" />
        <text x="10" y="19" font-weight="600">${short(node.name)}</text><text x="10" y="36" class="small">${node.kind}${node.total_seconds ? ` · ${seconds(node.total_seconds)}` : ""}</text>
        <text x="10" y="53" class="small">${count(node.total_rows_in)} → ${count(node.total_rows_out)} rows</text></g>`;
    })}</svg></div>
    ${slowest?.total_seconds > 0 && html`<p class="quiet">Most of the time goes to <b>${slowest.name}</b>.</p>`}
    ${facts && html`<div class="card"><h2>${facts.name}</h2><p>${facts.reason}</p><table><tbody>
      <tr><th>rows of the run</th><td>${count(facts.total_rows_in)} in, ${count(facts.total_rows_out)} out, ${seconds(facts.total_seconds)}</td></tr>
      <tr><th>rows of the last batch</th><td>${count(facts.rows_in)} in, ${count(facts.rows_out)} out, ${seconds(facts.seconds)}</td></tr>
      ${facts.strategies.map((one) => html`<tr><th>${one.choice ?? one.name ?? "strategy"}</th><td>${one.strategy ?? one.value ?? ""}: ${one.reason ?? ""}</td></tr>`)}</tbody></table></div>`}`;
}
