// The page: who is signed in, and which view the address names.
import { html, render, useEffect, useState } from "/page/vendor/preact.js";
import { get, post, remove } from "/page/api.js";
import { connection, stop, watch } from "/page/live.js";
import { Loading, Trouble, useSignal } from "/page/parts.js";
import { Overview } from "/page/views/overview.js";

// Views are fetched when they are first looked at.
const view = (load) => function Later(given) {
  const [shown, setShown] = useState(null);
  useEffect(() => { load().then((one) => setShown(() => one)); }, []);
  return shown === null ? html`<${Loading} />` : html`<${shown} ...${given} />`;
};
const VIEWS = {
  jobs: view(() => import("/page/views/job.js").then((one) => one.Job)),
  map: view(() => import("/page/views/map.js").then((one) => one.GroupMap)),
  lineage: view(() => import("/page/views/lineage.js").then((one) => one.WholeLineage)),
  deploy: view(() => import("/page/views/sql.js").then((one) => one.NewJob)),
  events: view(() => import("/page/views/events.js").then((one) => one.EventsAndAlerts)),
  bundle: view(() => import("/page/views/bundle.js").then((one) => one.OpenBundle)),
  tokens: view(() => import("/page/views/tokens.js").then((one) => one.Tokens)),
};
const LINKS = { "": "Jobs", map: "Map", lineage: "Lineage", deploy: "New job", events: "Events and alerts", tokens: "Tokens and audit" };
const SAID = { live: "live", connecting: "connecting …", lost: "no connection: numbers are old", bundle: "a bundle: nothing moves" };

function useAddress() {
  const read = () => location.hash.replace(/^#\/?/, "").split("?")[0].split("/").map(decodeURIComponent);
  const [address, setAddress] = useState(read());
  useEffect(() => {
    const change = () => setAddress(read());
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return address;
}

function SignIn({ done }) {
  const [token, setToken] = useState("");
  const [trouble, setTrouble] = useState(null);
  const send = async (event) => {
    event.preventDefault();
    setTrouble(null);
    try { await post("/session", { token: token.trim() }); done(); } catch (problem) { setTrouble(problem); }
  };
  return html`<main style="max-width:34rem;margin-top:8vh"><form class="card" onSubmit=${send}><h1 style="margin-bottom:.6rem">Sign in to Windrow</h1>
    <p>Give a token. <code>windrow serve</code> prints the file that the first one is in; others are made under <em>Tokens and audit</em>.</p>
    <div class="bar" style="margin-top:1rem"><label style="flex:1">Token <input style="flex:1" type="password" autocomplete="current-password" required value=${token} onInput=${(event) => setToken(event.target.value)} /></label><button class="main">Sign in</button></div></form><${Trouble} of=${trouble} /><p class="small"><a href="#/bundle">Open a support bundle</a> without signing in.</p></main>`;
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("windrow-theme") ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
    localStorage.setItem("windrow-theme", theme);
  }, [theme]);
  return html`<label class="small"><span class="hidden">Colours</span><select value=${theme} onChange=${(event) => setTheme(event.target.value)}><option value="system">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label>`;
}

function Pulse() {
  const at = useSignal(connection);
  return html`<span class=${`pulse ${at === "lost" ? "lost" : ""}`} role="status"><i></i>${SAID[at]}</span>`;
}

function Page() {
  const [who, setWho] = useState(undefined);
  const [trouble, setTrouble] = useState(null);
  const [first = "", second, third = ""] = useAddress();
  const look = () => get("/me").then((me) => { setTrouble(null); setWho(me); }, (problem) => { if (problem.status === 401) setWho(null); else setTrouble(problem); });
  useEffect(() => { look(); }, []);
  const looked = first === "jobs" && second ? second : null;
  useEffect(() => { if (who) watch(looked); else if (who === null) stop(); }, [who, looked]);
  useEffect(() => {
    document.title = looked ? `${looked} – Windrow` : `${LINKS[first] ?? "Jobs"} – Windrow`;
  }, [first, looked]);
  if (trouble) return html`<main><${Trouble} of=${trouble} again=${look} /></main>`;
  if (who === undefined) return html`<main><${Loading} /></main>`;
  const openedBundle = (note) => setWho({ name: `bundle of ${note.at.slice(0, 16).replace("T", " ")}`, scopes: note.has_rows ? ["read", "data"] : ["read"], isBundle: true });
  if (who === null && first === "bundle") return html`<main id="main"><${VIEWS.bundle} done=${openedBundle} /></main>`;
  if (who === null) return html`<${SignIn} done=${look} />`;
  const Shown = first === "jobs" && !second ? Overview : VIEWS[first] ?? Overview;
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
    <header class="top"><a class="brand" href="#/"><img src="/page/icon.svg" alt="" />Windrow</a>
      <nav aria-label="Pages">${Object.entries(LINKS).filter(([key]) => !who.isBundle || ["", "events"].includes(key)).map(([key, label]) => html`<a href=${`#/${key}`} aria-current=${(first === "jobs" ? "" : first) === key ? "page" : null}>${label}</a>`)}</nav>
      <${Pulse} /><${Theme} /><span class="small quiet who" title=${`may ${who.scopes.join(", ")}`}>${who.name}</span>${who.isBundle ? html`<button onClick=${() => { location.hash = ""; location.reload(); }}>Close the bundle</button>` : html`<button onClick=${() => remove("/session").then(() => setWho(null))}>Sign out</button>`}</header>
    <main id="main" tabindex="-1"><${Shown} key=${looked ?? first} name=${second} tab=${third} who=${who} done=${openedBundle} /></main>`;
}

const root = document.getElementById("page");
root.textContent = "";
render(html`<${Page} />`, root);
