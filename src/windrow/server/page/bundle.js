// A support bundle, opened here: a zip with answers of the API, which the views then get in the place of a server's.
import { openBundle, Problem } from "/page/api.js";
import { showBundle } from "/page/live.js";

const wrong = (title) => new Problem(0, { title, hint: "windrow bundle JOB --server URL makes one" });

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The files of a zip by name, as its directory at the end lists them.
export async function unzip(buffer) {
  const view = new DataView(buffer), files = new Map(), text = new TextDecoder();
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw wrong("This is no zip, or not all of it.");
  let at = view.getUint32(end + 16, true);
  for (let n = view.getUint16(end + 10, true); n > 0; n -= 1) {
    const method = view.getUint16(at + 10, true), size = view.getUint32(at + 20, true), length = view.getUint16(at + 28, true), start = view.getUint32(at + 42, true);
    const name = text.decode(new Uint8Array(buffer, at + 46, length));
    const data = new Uint8Array(buffer, start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true), size);
    files.set(name, text.decode(method === 8 ? await inflated(data) : data));
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return files;
}

// Gives what the bundle says of itself. From then on every view shows what is in it, and nothing is asked of a server.
export async function open(file) {
  let files;
  try { files = await unzip(await file.arrayBuffer()); } catch (error) { throw error instanceof Problem ? error : wrong("This zip cannot be read."); }
  if (!files.has("bundle.json")) throw wrong("This zip is no support bundle.");
  const note = JSON.parse(files.get("bundle.json"));
  if (note.format !== 1) throw wrong(`The bundle is of a later version of Windrow (format ${note.format}).`);
  const answers = new Map();
  for (const [name, text] of files) if (name.startsWith("api/") && name.endsWith(".json")) answers.set(name.slice(3, -5), JSON.parse(text));
  openBundle(answers);
  showBundle(answers.get("/live") ?? { at: Date.now(), jobs: [], events: [], watched: null }, note.job);
  return note;
}
