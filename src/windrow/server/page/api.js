// Requests to the server. An error carries what the server said: title, code, hint, diagnostics.

export class Problem extends Error {
  constructor(status, told) {
    super(told.title || `the server answered ${status}`);
    Object.assign(this, { status, told });
  }
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, { title: "The server does not answer.", hint: "Jobs go on without it. Start it again: windrow serve" });
  }
  const told = answer.status === 204 ? null : await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, told || {});
  return told;
}

export const get = (path) => ask("GET", path);
export const post = (path, body) => ask("POST", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

// One stream of events for the whole page; whoever listens is told of each.
const listeners = new Set();
let source = null;

export function listen(listener) {
  listeners.add(listener);
  if (source === null) {
    source = new EventSource("/api/v1/events/stream");
    const tell = (event) => listeners.forEach((one) => one(JSON.parse(event.data)));
    for (const type of ["job.state", "job.started", "job.ended", "job.failed", "job.restarting", "job.slow_stop", "job.found", "deploy.version"]) {
      source.addEventListener(type, tell);
    }
  }
  return () => listeners.delete(listener);
}
