import { html, useRef, useState } from "/page/vendor/preact.js";
import { post } from "/page/api.js";
import { Trouble } from "/page/parts.js";

const EXAMPLE = `CREATE STREAM clicks (page STRING, ms INT) WITH ('connector' = 'generator', 'rows.per.second' = '100');

SELECT page, COUNT(*) AS n, AVG(ms) AS ms, _window_start AS since
FROM clicks
GROUP BY page
WINDOW TUMBLING(10s);
`;

// SQL with the numbers of its lines; those with something wrong stand out.
export function Editor({ sql, onInput, wrong = [] }) {
  const numbers = useRef(null);
  const lines = sql.split("\n").map((_, number) => number + 1);
  return html`<div class="editor"><pre ref=${numbers} aria-hidden="true">${lines.map((n) => html`<div class=${wrong.includes(n) ? "wrong" : ""}>${n}</div>`)}</pre>
    <textarea aria-label="SQL" spellcheck="false" value=${sql} onInput=${(event) => onInput(event.target.value)}
      onScroll=${(event) => { numbers.current.scrollTop = event.target.scrollTop; }}></textarea></div>`;
}

export function Deploy({ name: given, sql: before, done }) {
  const [name, setName] = useState(given ?? "");
  const [sql, setSql] = useState(before ?? EXAMPLE);
  const [message, setMessage] = useState("");
  const [trouble, setTrouble] = useState(null);
  const [told, setTold] = useState(null);
  const attempt = (run) => async () => {
    setTrouble(null);
    setTold(null);
    try { await run(); } catch (problem) { setTrouble(problem); }
  };
  const asked = () => ({ sql, name: name || "query" });
  const check = attempt(async () => {
    const found = await post("/check", asked());
    setTold(found.warnings.length ? found.warnings.map((one) => `line ${one.line}: ${one.message} (${one.hint})`).join("\n") : "Nothing is wrong.");
  });
  const explain = attempt(async () => setTold((await post("/explain", asked())).text));
  const deploy = attempt(async () => {
    await post("/pipelines", { ...asked(), message });
    done ? done() : (location.hash = `#/jobs/${name}`);
  });
  const wrong = (trouble?.told?.diagnostics ?? []).map((one) => one.line);
  return html`${!given && html`<h1>Deploy</h1>`}
    <div class="bar"><label>Name <input value=${name} disabled=${Boolean(given)} onInput=${(event) => setName(event.target.value)} /></label>
      <label>What changes <input value=${message} onInput=${(event) => setMessage(event.target.value)} /></label></div>
    <${Editor} sql=${sql} onInput=${setSql} wrong=${wrong} />
    <div class="bar" style="margin-top:.8rem"><button onClick=${check}>Check</button><button onClick=${explain}>Explain</button>
      <button class="main" disabled=${!name} onClick=${deploy}>${given ? "Deploy as a new version" : "Deploy and run"}</button>
      <span class="quiet">Deploying runs code as the server's user.</span></div>
    <${Trouble} of=${trouble} />${told && html`<div class="card"><pre class="text">${told}</pre></div>`}`;
}
