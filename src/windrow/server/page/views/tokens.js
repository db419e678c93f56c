import { html, useState } from "/page/vendor/preact.js";
import { get, post, remove } from "/page/api.js";
import { Action, Trouble, moment, useLoaded } from "/page/parts.js";

const SCOPES = ["read", "data", "operate", "deploy", "admin"];

export function Tokens() {
  const [found, trouble, again] = useLoaded(() => get("/tokens"), [], 0);
  const [audit] = useLoaded(() => get("/audit"), [], 0);
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(["read"]);
  const [made, setMade] = useState(null);
  const toggle = (scope) => setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  return html`<h1>Tokens</h1><${Trouble} of=${trouble} />
    <div class="bar"><label>Name <input value=${name} onInput=${(event) => setName(event.target.value)} /></label>
      ${SCOPES.map((scope) => html`<label><input type="checkbox" checked=${scopes.includes(scope)} onChange=${() => toggle(scope)} /> ${scope}</label>`)}
      <${Action} label="Make a token" main run=${async () => setMade(await post("/tokens", { name, scopes }))} done=${again} /></div>
    ${made && html`<div class="card">Shown this once: <code>${made.token}</code></div>`}
    ${found && html`<div class="card"><table><thead><tr><th>name</th><th>may</th><th class="wide">last used</th><th class="wide">good until</th><th></th></tr></thead><tbody>${found.map((one) => html`<tr key=${one.id}><td>${one.name}</td><td>${one.scopes.join(", ")}</td><td class="wide">${moment(one.last_used)}</td><td class="wide">${one.expires_at ? moment(one.expires_at) : "for ever"}</td>
      <td><${Action} label="Remove" ask=${`Remove the token ${one.name}?`} run=${() => remove(`/tokens/${one.id}`)} done=${again} /></td></tr>`)}</tbody></table></div>`}
    <h2>Who changed what</h2>${audit && html`<div class="card"><table><thead><tr><th>at</th><th>token</th><th>what</th><th>of</th><th class="wide"></th></tr></thead><tbody>${audit.map((one) => html`<tr key=${one.seq}><td>${moment(one.at)}</td><td>${one.token}</td><td>${one.verb}</td><td>${one.target}</td><td class="wide">${one.details}</td></tr>`)}</tbody></table></div>`}`;
}
