// A support bundle is chosen or dropped here.
import { html, useState } from "/page/vendor/preact.js";
import { open } from "/page/bundle.js";
import { Trouble } from "/page/parts.js";

export function OpenBundle({ done }) {
  const [trouble, setTrouble] = useState(null);
  const [busy, setBusy] = useState(false);
  const take = async (file) => {
    if (!file) return;
    setBusy(true);
    setTrouble(null);
    try {
      const note = await open(file);
      done(note);
      location.hash = `#/jobs/${encodeURIComponent(note.job)}`;
    } catch (problem) { setTrouble(problem); }
    setBusy(false);
  };
  const drop = (event) => { event.preventDefault(); take(event.dataTransfer.files[0]); };
  return html`<div class="head"><h1>Open a support bundle</h1></div>
    <div class="card" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}><p>A zip that somebody has made of a job: <code>windrow bundle JOB --server URL</code>, or <em>Support bundle</em> under <em>Runs and log</em>. Drop it here, or choose it. It stays in this tab: nothing of it is sent anywhere.</p>
    <div class="bar" style="margin-top:.8rem"><label>Bundle <input type="file" accept=".zip,application/zip" disabled=${busy} onChange=${(event) => take(event.target.files[0])} /></label>${busy && html`<span role="status">Reading it …</span>`}</div></div><${Trouble} of=${trouble} />`;
}
