// The text of a job: written with checks in place, compared with the version that runs, planned, applied, taken back.
import { html, useEffect, useRef, useState } from "/page/vendor/preact.js";
import { finished, get, job as path, post } from "/page/api.js";
import { job } from "/page/live.js";
import { Diff, Editor, Sql } from "/page/views/editor.js";
import { Action, Loading, Trouble, useLoaded, useSignal } from "/page/parts.js";
import { count, moment, plural } from "/page/format.js";

const EXAMPLE = `-- @description: Clicks by page, every ten seconds
CREATE STREAM clicks (page STRING, ms INT, at TIMESTAMP) WITH (
  'connector' = 'generator', 'rows.per.second' = '100', 'event.time.field' = 'at',
  'fields.page' = 'choice(/home:5, /cart:2, /help)'
);

SELECT page, COUNT(*) AS n, AVG(ms) AS ms, _window_start AS since
FROM clicks
GROUP BY page
WINDOW TUMBLING(10s);
`;

// What is wrong with a text, asked a moment after the last key. With it goes what belongs to it: windrow.yaml, files, environment.
function useChecked(sql, name, beside) {
  const [state, setState] = useState({ found: [], busy: false, trouble: null, of: null });
  useEffect(() => {
    let isOver = false;
    setState((before) => ({ ...before, busy: true }));
    const timer = setTimeout(async () => {
      try {
        const { warnings } = await post("/check", { sql, name, ...beside });
        if (!isOver) setState({ found: warnings.map((one) => ({ ...one, severity: "warning" })), busy: false, trouble: null, of: sql });
      } catch (problem) {
        if (isOver) return;
        const found = problem.told?.diagnostics;
        setState({ found: found ?? [], busy: false, trouble: found ? null : problem, of: sql });
      }
    }, 450);
    return () => { isOver = true; clearTimeout(timer); };
  }, [sql, name]);
  return state;
}

function Found({ of, area, sql }) {
  const wrong = of.found.filter((one) => one.severity !== "warning");
  const go = (one) => { const input = area.current; input.focus(); input.setSelectionRange(one.start ?? 0, one.end ?? 0); const line = (one.line ?? 1) - 1; input.scrollTop = Math.max(0, line * 21.6 - 80); };
  return html`<div aria-live="polite">${of.trouble ? html`<${Trouble} of=${of.trouble} />` : of.busy && of.of !== sql ? html`<p class="quiet small">checking …</p>` : of.found.length === 0 ? html`<p class="good small strong">Nothing is wrong with it.</p>` : html`<p class=${`small strong ${wrong.length ? "bad" : "warn"}`}>${wrong.length ? plural(wrong.length, "error") : plural(of.found.length, "warning")}</p>
    <ul class="found">${of.found.map((one) => html`<li class=${one.severity === "warning" ? "odd" : ""}><button class="plain" onClick=${() => go(one)}>line ${one.line ?? "?"}, column ${one.column ?? "?"}</button> [${one.code}] ${one.message}${one.hint && html`<div class="small">hint: ${one.hint}</div>`}</li>`)}</ul>`}</div>`;
}

function usePaper(first, name, beside) {
  const [sql, setSql] = useState(first);
  const area = useRef(null);
  const checked = useChecked(sql, name, beside);
  return { sql, setSql, area, checked, isWrong: checked.trouble !== null || checked.of !== sql || checked.found.some((one) => one.severity !== "warning") };
}

const Paper = ({ of }) => html`<${Editor} sql=${of.sql} onInput=${of.setSql} wrong=${of.checked.of === of.sql ? of.checked.found : []} area=${of.area} /><${Found} of=${of.checked} area=${of.area} sql=${of.sql} />`;

function Explained({ sql, name, beside }) {
  const [told, setTold] = useState(null);
  useEffect(() => setTold(null), [sql]);
  return html`<${Action} label="Explain" run=${async () => setTold((await post("/explain", { sql, name, ...beside })).text)} />${told && html`<pre class="text wide" style="flex-basis:100%" tabindex="0">${told}</pre>`}`;
}

export function NewJob() {
  const [name, setName] = useState("");
  const [message, setMessage] = useState("");
  const paper = usePaper(EXAMPLE, "query");
  const fits = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/.test(name);
  const deploy = async () => { await post("/pipelines", { name, sql: paper.sql, message }); location.hash = `#/jobs/${encodeURIComponent(name)}`; };
  return html`<div class="head"><h1>New job</h1></div><div class="card"><div class="bar"><label>Name <input value=${name} required pattern="[A-Za-z][A-Za-z0-9_\\-]*" maxlength="63" aria-describedby="name-help" onInput=${(event) => setName(event.target.value)} /></label><label style="flex:1 1 16rem">What it is for <input style="flex:1" maxlength="500" value=${message} onInput=${(event) => setMessage(event.target.value)} /></label></div>
    <p class="quiet small" id="name-help">${name && !fits ? html`<span class="bad">A letter first, then letters, digits, _ and -, 63 at most.</span>` : "The job is called so; its state has this name, too."}</p>
    <${Paper} of=${paper} /><div class="bar" style="margin-top:.6rem"><${Explained} sql=${paper.sql} name="query" /><${Action} label="Deploy and run" main disabled=${!fits || paper.isWrong} run=${deploy} /><span class="quiet small">Deploying runs code as the server's user.</span></div></div>`;
}

const MEANS = { A: "same", B: "after the state", C: "clock", D: "reshaped", E: "other input", F: "other shape" };

function Review({ of }) {
  if (of.changes.length === 0) return html`<p>Job ${of.job}: nothing has changed that its state depends on.</p>`;
  const held = Object.entries(of.open_windows ?? {}).filter(([, n]) => n);
  return html`<div><p><b>Job ${of.job}</b>, version ${of.version}, after batch ${count(of.batch)}: class <span class="chip">${of.class} ${MEANS[of.class] ?? ""}</span> <span class=${of.can_apply ? "good strong" : "bad strong"}>${of.can_apply ? "can be applied, the state stays" : "cannot be applied to this state"}</span></p>
    <div class="scroll"><table class="stacks"><thead><tr><th>statement</th><th>class</th><th>what changes</th><th>why so</th><th>the state</th></tr></thead><tbody>${of.changes.map((one) => html`<tr><th scope="row">${one.statement}</th><td data-label="class">${one.class}</td><td data-label="what">${one.what}</td><td data-label="why">${one.reason}</td><td data-label="state">${one.refused ? html`<span class="bad">${one.refused}</span>` : one.state}</td></tr>`)}</tbody></table></div>
    ${held.length > 0 && html`<p class="small">Open windows and groups: ${held.map(([name, n]) => `${count(n)} of ${name}`).join(", ")}.</p>`}
    ${(of.what_stays ?? []).map((one) => html`<p class="small warn">${one}</p>`)}${(of.obstacles ?? []).map((one) => html`<p class="small bad">${one}</p>`)}</div>`;
}

const VERDICT = { none: "good", "values change": "warn", "type widens": "warn", breaks: "bad" };

// Whoever reads what this job writes, and what the text would do to them.
function Impact({ of }) {
  const outputs = Object.entries(of.outputs).map(([place, columns]) => [place, Object.entries(columns).filter(([, verdict]) => verdict !== "none")]).filter(([, columns]) => columns.length);
  if (outputs.length === 0) return html`<p class="small quiet">Its outputs have the same columns, made of the same.</p>`;
  return html`<h3>Who is touched</h3>${outputs.map(([place, columns]) => html`<p class="small"><b>${place}</b>: ${columns.map(([name, verdict], n) => html`${n ? ", " : ""}${name} <span class=${VERDICT[verdict]}>${verdict}</span>`)}</p>`)}
    ${of.readers.length === 0 ? html`<p class="small quiet">No other job here reads that.</p>` : html`<ul>${of.readers.map((one) => html`<li><a href=${`#/jobs/${encodeURIComponent(one.job)}`}>${one.job}</a>${one.owner && ` of ${one.owner}`}: <span class=${VERDICT[one.verdict]}>${one.verdict === "none" ? "not touched" : one.verdict}</span></li>`)}</ul>`}`;
}

function Plan({ of, name, who, isProtected, done }) {
  const [step, setStep] = useState("");
  const [now, setNow] = useState(of);
  const [impact, setImpact] = useState(null);
  const { jobs, can_apply: can } = now.content, own = `/plans/${encodeURIComponent(now.id)}`;
  useEffect(() => { if (of.sql) post("/impact", { sql: of.sql, name: name.split("@")[0], ...of.beside }).then(setImpact, () => setImpact(null)); }, [of.id]);
  const apply = async () => { await finished(await post(`${own}/apply`, {}), (one) => setStep(one.step || one.state)); setStep(""); };
  const waits = isProtected && !now.approved_by, mine = now.created_by === who.name;
  return html`<div class="card" style="border-color:var(--link)"><h2>Plan: ${now.kind === "restore" ? `${now.content.job} back to batch ${now.content.batch}` : `version ${now.from_version} → ${now.to_version}`} <span class="quiet small" style="font-weight:400">by ${now.created_by}</span></h2>${jobs.map((one) => html`<${Review} of=${one} />`)}
    ${now.kind === "apply" && jobs.every((one) => one.changes.length === 0) && html`<p>Nothing is kept that depends on what has changed: the new text takes over after a batch.</p>`}${impact && html`<${Impact} of=${impact} />`}
    <div class="bar" style="margin-top:.6rem">${waits && !mine && html`<${Action} label="Approve" run=${async () => setNow(await post(`${own}/approve`, {}))} />`}<${Action} label="Apply" main disabled=${!can || waits} run=${apply} done=${done} />${step && html`<span role="status">${step} …</span>`}<span class="quiet small">${now.approved_by ? `approved by ${now.approved_by}` : waits ? (mine ? "this environment is protected: somebody else has to approve it" : "this environment is protected: it waits for an approval") : ""}</span></div></div>`;
}

function Version({ of, running, name, done }) {
  const [step, setStep] = useState("");
  const back = async () => { await finished(await post(path(name, "/rollback"), { to: of.n }), (one) => setStep(one.step || one.state)); setStep(""); };
  return html`<details class="card"><summary><b>Version ${of.n}</b> ${of.n === running && html`<span class="chip good">this one runs</span>`} ${of.message} <span class="quiet small">${of.author}, ${moment(of.created_at)} UTC</span></summary>
    ${of.n < running && html`<div class="bar"><${Action} label=${`Roll back to ${of.n}`} danger run=${back} done=${done} ask=${`Take ${name} back to version ${of.n}, as it stood when the next one took over? Rows read since then are read again; what was written since is removed where the output can.`} />${step && html`<span role="status">${step} …</span>`}</div>`}<${Sql} text=${of.sql} /></details>`;
}

function Written({ name, versions, running, who, done }) {
  const now = versions.find((one) => one.n === running) ?? versions[0];
  const [pipeline, env = ""] = name.split("@");
  const beside = { ...(now.project ? { project: now.project } : {}), ...(now.files && Object.keys(now.files).length ? { files: now.files } : {}), ...(env ? { env } : {}) };
  const paper = usePaper(now.sql, pipeline, beside);
  const [message, setMessage] = useState("");
  const [plan, setPlan] = useState(null);
  const base = `/pipelines/${encodeURIComponent(pipeline)}/plans`;
  const [plans, , lookAgain] = useLoaded(() => get(base), [name, running]);
  const [environments] = useLoaded(() => get("/environments"), [name]);
  const isProtected = Boolean(environments?.some((one) => one.name === env && one.is_protected));
  const open = (plans ?? []).filter((one) => one.deployment === name && one.from_version === running && !one.operation && one.expires_at > Date.now() && one.id !== plan?.id);
  const same = paper.sql === now.sql;
  useEffect(() => setPlan(null), [paper.sql]);
  const make = async () => { setPlan({ ...(await post(base, { sql: paper.sql, message, ...beside })), sql: paper.sql, beside }); lookAgain(); };
  return html`<div class="card"><h2>Change the query</h2><${Paper} of=${paper} />
    <div class="bar" style="margin-top:.6rem"><label style="flex:1 1 16rem">What changes <input style="flex:1" maxlength="500" value=${message} onInput=${(event) => setMessage(event.target.value)} /></label><${Explained} sql=${paper.sql} name=${pipeline} beside=${beside} /><${Action} label="Plan" main disabled=${same || paper.isWrong} run=${make} />${!same && html`<button onClick=${() => paper.setSql(now.sql)}>Undo all</button>`}</div>
    <h3>Against version ${now.n}, which ${now.n === running ? "runs" : "is the newest"}</h3><${Diff} before=${now.sql} after=${paper.sql} /></div>
    ${plan && html`<${Plan} key=${plan.id} of=${plan} name=${name} who=${who} isProtected=${isProtected} done=${() => { setPlan(null); done(); }} />`}
    ${isProtected && open.map((one) => html`<${Plan} key=${one.id} of=${one} name=${name} who=${who} isProtected=${isProtected} done=${done} />`)}`;
}

export function Part({ name, who }) {
  const [versions, trouble, again] = useLoaded(() => get(`/pipelines/${encodeURIComponent(name.split("@")[0])}/versions`), [name]);
  const one = useSignal(job(name));
  useEffect(() => { again(); }, [one?.version]);
  if (!versions) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} what="Fetching the text" />`;
  const running = one?.version ?? versions[0].n;
  return html`<${Trouble} of=${trouble} again=${again} /><${Written} key=${`${name} ${running}`} name=${name} versions=${versions} running=${running} who=${who} done=${again} />
    <h2>Versions</h2>${versions.map((each) => html`<${Version} key=${each.n} of=${each} running=${running} name=${name} done=${again} />`)}`;
}
