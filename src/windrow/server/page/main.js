// The page: who is signed in, and which view the address names.
import { html, render, useEffect, useState } from "/page/vendor/preact.js";
import { get, post, remove } from "/page/api.js";
import { Trouble } from "/page/parts.js";
import { Deploy } from "/page/views/deploy.js";
import { Events, Job } from "/page/views/job.js";
import { Overview } from "/page/views/overview.js";
import { Tokens } from "/page/views/tokens.js";

const LINKS = { "": "Jobs", deploy: "Deploy", events: "Events", tokens: "Tokens and audit" };

function useAddress() {
  const read = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
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
    try { await post("/session", { token: token.trim() }); done(); } catch (problem) { setTrouble(problem); }
  };
  return html`<main><h1>Windrow</h1><form class="card" onSubmit=${send}><p>A token, please. <code>windrow serve</code> prints the file that the first one is in.</p>
    <div class="bar"><label>Token <input type="password" autocomplete="current-password" autofocus value=${token} onInput=${(event) => setToken(event.target.value)} /></label><button class="main">Sign in</button></div></form><${Trouble} of=${trouble} /></main>`;
}

function Page() {
  const [who, setWho] = useState(undefined);
  const [first = "", second, third = ""] = useAddress();
  const look = () => get("/me").then(setWho, () => setWho(null));
  useEffect(() => { look(); }, []);
  if (who === undefined) return null;
  if (who === null) return html`<${SignIn} done=${look} />`;
  const view = first === "jobs" && second ? html`<${Job} key=${second} name=${second} tab=${third} />` : first === "deploy" ? html`<${Deploy} />` : first === "events" ? html`<${Events} />` : first === "tokens" ? html`<${Tokens} />` : html`<${Overview} />`;
  return html`<header><strong>Windrow</strong><nav aria-label="Pages">${Object.entries(LINKS).map(([key, label]) => html`<a href=${`#/${key}`} aria-current=${(first === "jobs" ? "" : first) === key ? "page" : null}>${label}</a>`)}</nav>
    <span class="quiet">${who.name}</span><button onClick=${() => remove("/session").then(() => setWho(null))}>Sign out</button></header><main>${view}</main>`;
}

const root = document.getElementById("page");
root.textContent = "";
render(html`<${Page} />`, root);
