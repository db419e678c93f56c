// Boxes and arrows, laid out by dagre and drawn as SVG. What is in a box is up to who draws it.
import { html, useEffect, useMemo, useRef, useState } from "/page/vendor/preact.js";
import { Graph as Layout, layout } from "/page/vendor/dagre.js";

export const path = (points) => {
  const [first, ...rest] = points;
  let d = `M${first.x},${first.y}`;
  for (let n = 0; n < rest.length - 1; n += 1) d += ` Q${rest[n].x},${rest[n].y} ${(rest[n].x + rest[n + 1].x) / 2},${(rest[n].y + rest[n + 1].y) / 2}`;
  const last = rest[rest.length - 1];
  return `${d} L${last.x},${last.y}`;
};

// Only what says where things stand: numbers that move do not lay the graph out again.
function placed(nodes, edges, direction) {
  const graph = new Layout();
  graph.setGraph({ rankdir: direction, nodesep: direction === "LR" ? 22 : 26, ranksep: direction === "LR" ? 74 : 52, marginx: 10, marginy: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach((node) => graph.setNode(node.id, { width: node.width, height: node.height }));
  edges.filter((edge) => graph.hasNode(edge.from) && graph.hasNode(edge.to) && edge.from !== edge.to).forEach((edge) => graph.setEdge(edge.from, edge.to));
  layout(graph);
  return graph;
}

export const isNarrow = () => matchMedia("(max-width: 700px)").matches;

// The name of a box is its text, for whoever hears it as for whoever sees it: each line of it ends with a space.
export function Boxes({ nodes, edges, box, chosen, choose, title, direction }) {
  const way = direction ?? (isNarrow() ? "TB" : "LR");
  const shape = JSON.stringify([nodes.map((node) => [node.id, node.width, node.height]), edges.map((edge) => [edge.from, edge.to]), way]);
  const graph = useMemo(() => placed(nodes, edges, way), [shape]);
  const [fit, setFit] = useState(true);
  const { width, height } = graph.graph();
  const frame = useRef(null);
  const [isSmall, setSmall] = useState(false);
  useEffect(() => { setSmall(frame.current.clientWidth < width); }, [width]);
  const by = Object.fromEntries(nodes.map((node) => [node.id, node]));
  const seen = new Set();
  const press = (id) => (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(id === chosen ? null : id); } };
  return html`<div ref=${frame} class=${`graph ${fit ? "fit" : ""}`} tabindex="0" role="region" aria-label=${title}><svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${title}>
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto" markerUnits="userSpaceOnUse"><path class="tip" d="M0,0 L8,4 L0,8 z" /></marker></defs>
    ${edges.map((edge) => {
      const at = graph.edge(edge.from, edge.to), key = `${edge.from}>${edge.to}`;
      if (!at || seen.has(key)) return null;
      seen.add(key);
      const middle = at.points[Math.floor(at.points.length / 2)];
      return html`<g key=${key}><path class="edge" marker-end="url(#tip)" d=${path(at.points)} stroke-width=${edge.weight ?? 1.3} />${edge.flows && html`<path class="flow" d=${path(at.points)} stroke-width=${Math.max(2, edge.weight ?? 2)} />`}
        ${edge.text && html`<text class="dim on-edge" text-anchor="middle" x=${middle.x} y=${middle.y - 8}>${edge.text}</text>`}</g>`;
    })}
    ${nodes.map((node) => {
      const at = graph.node(node.id);
      return html`<g key=${node.id} tabindex="0" role="button" aria-pressed=${node.id === chosen ? "true" : "false"} class=${node.id === chosen ? "chosen" : ""} transform=${`translate(${at.x - node.width / 2},${at.y - node.height / 2})`} onClick=${press(node.id)} onKeyDown=${press(node.id)}>${box(by[node.id])}</g>`;
    })}</svg></div>
    ${isSmall && html`<p class="small"><button class="plain" onClick=${() => setFit(!fit)}>${fit ? "Show in full size" : "Fit to the width"}</button></p>`}`;
}
