// Requests to the server. An error carries what the server said: title, code, hint, diagnostics.

export class Problem extends Error {
  constructor(status, told) {
    super(told.title || `the server answered ${status}`);
    Object.assign(this, { status, told });
  }
}

// The answers of a support bundle, by path; null while a server is asked.
let bundle = null;
export const openBundle = (answers) => { bundle = answers; };

function fromBundle(method, path) {
  if (method !== "GET") throw new Problem(0, { title: "A support bundle is a picture of the past: nothing can be done with the job from here." });
  const known = bundle.get(path.split("?")[0].split("/").map(decodeURIComponent).join("/"));
  if (known === undefined) throw new Problem(0, { title: "This is not in the bundle.", hint: "Rows and logs are only where whoever made it may see data." });
  return structuredClone(known);
}

async function ask(method, path, body) {
  if (bundle !== null) return fromBundle(method, path);
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

// The path of something of a job, whatever its name has in it.
export const job = (name, rest = "") => `/deployments/${encodeURIComponent(name)}${rest}`;

// What is asked for after "?"; what is empty is left out, a list names its key again and again.
export function query(values) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "" && one !== false) made.append(key, one);
  }
  const text = made.toString();
  return text && `?${text}`;
}

// An operation of the server, until it has ended. Gives what it says at its end; an error where it failed.
export async function finished(operation, tell = () => {}) {
  let now = operation;
  while (now.state === "pending" || now.state === "running") {
    tell(now);
    await new Promise((resolve) => setTimeout(resolve, 700));
    now = await get(`/operations/${encodeURIComponent(now.id)}`);
  }
  tell(now);
  if (now.state === "failed") {
    const told = now.content?.problem ?? now.content ?? {};
    throw new Problem(409, { ...told, title: told.title || told.message || told.error || now.step || "the operation failed" });
  }
  return now;
}
