// Who may ask, and who has changed what.
import { html, useState } from "/page/vendor/preact.js";
import { get, post, remove } from "/page/api.js";
import { Action, Empty, Loading, Trouble, useLoaded } from "/page/parts.js";
import { moment } from "/page/format.js";

const SCOPES = { read: "see jobs, SQL and events", data: "see rows: dead letters and logs", operate: "stop, start, replay, restore", deploy: "deploy SQL: run code as the server's user", admin: "everything" };

function Audit() {
  const [text, setText] = useState("");
  const [found, trouble, again] = useLoaded(() => get("/audit?limit=500"), []);
  if (!found) return trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} />`;
  const shown = found.filter((one) => !text || `${one.token} ${one.verb} ${one.target} ${one.details}`.toLowerCase().includes(text.toLowerCase()));
  return html`<div class="card"><div class="bar"><h2 style="margin:0;flex:1">Who changed what</h2><label><span class="hidden">Find in the audit</span><input type="search" placeholder="find" value=${text} onInput=${(event) => setText(event.target.value)} /></label></div>
    ${shown.length === 0 ? html`<${Empty} title="Nothing" />` : html`<div class="scroll" tabindex="0" role="region" aria-label="Audit"><table class="stacks"><thead><tr><th>at (UTC)</th><th>token</th><th>what</th><th>of</th><th><span class="hidden">more</span></th></tr></thead><tbody>${shown.map((one) => html`<tr key=${one.seq}><th scope="row" class="num nowrap">${moment(one.at)}</th><td data-label="token">${one.token}</td><td data-label="what">${one.verb}</td><td data-label="of">${one.target}</td><td data-label="details">${one.details}</td></tr>`)}</tbody></table></div>`}</div>`;
}

export function Tokens() {
  const [found, trouble, again] = useLoaded(() => get("/tokens"), []);
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [scopes, setScopes] = useState(["read"]);
  const [made, setMade] = useState(null);
  const toggle = (scope) => setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  const make = async () => { setMade(await post("/tokens", { name, scopes, ...(days ? { days: Number(days) } : {}) })); setName(""); };
  if (!found) return html`<div class="head"><h1>Tokens and audit</h1></div>${trouble ? html`<${Trouble} of=${trouble} again=${again} />` : html`<${Loading} />`}`;
  return html`<div class="head"><h1>Tokens and audit</h1></div><${Trouble} of=${trouble} again=${again} />
    <div class="card"><h2>Make a token</h2><div class="bar"><label>Name <input value=${name} maxlength="100" onInput=${(event) => setName(event.target.value)} /></label><label>good for <select value=${days} onChange=${(event) => setDays(event.target.value)}><option value="1">a day</option><option value="30">30 days</option><option value="90">90 days</option><option value="365">a year</option><option value="">ever</option></select></label></div>
      <fieldset style="border:0;padding:0;margin:.6rem 0;display:grid;gap:.2rem"><legend class="quiet small">It may</legend>${Object.entries(SCOPES).map(([scope, text]) => html`<label><input type="checkbox" checked=${scopes.includes(scope)} onChange=${() => toggle(scope)} /> <b>${scope}</b> <span class="quiet small">${text}</span></label>`)}</fieldset>
      <div class="bar"><${Action} label="Make it" main disabled=${!name.trim() || scopes.length === 0} run=${make} done=${again} /></div>
      ${made && html`<div class="card good" role="status" style="margin:.8rem 0 0"><b>Copy it now: it is shown this once.</b><pre class="text" tabindex="0">${made.token}</pre></div>`}</div>
    <div class="card"><h2>Tokens</h2><div class="scroll" tabindex="0" role="region" aria-label="Tokens"><table class="stacks"><thead><tr><th>name</th><th>may</th><th>last used (UTC)</th><th>good until</th><th><span class="hidden">more</span></th></tr></thead><tbody>${found.map((one) => html`<tr key=${one.id}><th scope="row">${one.name}</th><td data-label="may">${one.scopes.join(", ")}</td><td class="num" data-label="last used">${moment(one.last_used)}</td><td class="num" data-label="good until">${one.expires_at ? (one.expires_at < Date.now() ? html`<span class="bad">expired</span>` : moment(one.expires_at)) : "for ever"}</td>
      <td data-label=""><${Action} label="Remove" danger ask=${`Remove the token “${one.name}”? It opens nothing from now on.`} run=${() => remove(`/tokens/${encodeURIComponent(one.id)}`)} done=${again} /></td></tr>`)}</tbody></table></div></div><${Audit} />`;
}
