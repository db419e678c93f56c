// SQL in colours, and an editor for it: a text area over a coloured copy of its text, so that everything that a text area can stays.
import { html, useEffect, useMemo, useRef, useState } from "/page/vendor/preact.js";
import { post } from "/page/api.js";

const WORDS = new Set("ADD ALL ALLOWED_LATENESS AND ANY AS ASC ASCENDING_TIMESTAMPS ASOF BETWEEN BOUNDED_OUT_OF_ORDERNESS BUFFER BY CASE CAST CHANGES CREATE CROSS CUMULATE DEAD_LETTER DESC DESCRIBE DISTINCT DROP ELSE EMIT END EVENT_TIME EVERY EXISTS EXPLAIN FALSE FINAL FROM FULL FUNCTION GROUP HAVING HOP HOPPING IN INCLUDE_IN_NEXT INNER INSERT INTERVAL INTO IS JOIN KEY LAST LATERAL LATE_DATA_STRATEGY LEFT LIKE LIMIT NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRIMARY PROCESSING_TIME QUALIFY RECORDS RIGHT ROWS SELECT SESSION SHOW SLIDING STREAM TABLE TABLES THEN TRIGGER TRUE TUMBLE TUMBLING UNION UPDATE_PREVIOUS USING VALUES WATERMARK WHEN WHERE WINDOW WITH WITHIN CONSTRAINT EXPECT VIOLATION FAIL WARN".split(" "));
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?|`[^`]*`?)|(\d[\d_.]*(?:ms|[smhdw])?\b)|([A-Za-z_]\w*)(\s*\()?|([\s\S])/g;

// [class, text] of every piece.
export function pieces(text) {
  const found = [];
  for (const one of text.matchAll(TOKEN)) {
    const [all, comment, string, , number, word, opens] = one;
    if (comment) found.push(["sql-c", all]);
    else if (string) found.push(["sql-s", all]);
    else if (number) found.push(["sql-n", all]);
    else if (word && WORDS.has(word.toUpperCase())) found.push(["sql-k", word], ["", all.slice(word.length)]);
    else if (word && opens) found.push(["sql-f", word], ["", opens]);
    else found.push(["", all]);
  }
  return found;
}

export const Sql = ({ text }) => html`<pre class="text wide" tabindex="0">${pieces(text).map(([kind, part]) => (kind ? html`<span class=${kind}>${part}</span>` : part))}</pre>`;

// Pieces cut at the ends of what is wrong, which is underlined.
function marked(text, wrong) {
  const cuts = wrong.filter((one) => one.start !== undefined).map((one) => [one.start, Math.max(one.end, one.start + 1), one.severity === "warning" ? "sql-odd" : "sql-bad"]);
  const shown = [];
  let at = 0;
  for (const [kind, part] of pieces(text)) {
    let from = at;
    const end = at + part.length;
    while (from < end) {
      const inside = cuts.find(([start, stop]) => start <= from && from < stop);
      const next = Math.min(end, ...(inside ? [inside[1]] : cuts.map(([start]) => start).filter((start) => start > from)));
      const name = `${kind} ${inside?.[2] ?? ""}`.trim();
      shown.push(name ? html`<span class=${name}>${text.slice(from, next)}</span>` : text.slice(from, next));
      from = next;
    }
    at = end;
  }
  return shown;
}

// Where a character of a text area is on the screen, in characters of a fixed width.
const place = (text, at) => { const before = text.slice(0, at); const line = before.lastIndexOf("\n") + 1; return [before.split("\n").length - 1, at - line]; };

export function Editor({ sql, onInput, wrong = [], area }) {
  const own = useRef(null), gutter = useRef(null), copy = useRef(null);
  const input = area ?? own;
  const [words, setWords] = useState(null);
  const asked = useRef(0);
  const lines = useMemo(() => sql.split("\n").length, [sql]);
  const by = Object.fromEntries([...wrong].reverse().map((one) => [one.line, one.severity === "warning" ? "odd" : "wrong"]));
  const follow = () => { gutter.current.scrollTop = input.current.scrollTop; copy.current.scrollTop = input.current.scrollTop; copy.current.scrollLeft = input.current.scrollLeft; };
  useEffect(follow);
  const ask = async () => {
    const at = input.current.selectionStart, number = (asked.current += 1);
    try {
      const found = await post("/complete", { sql: input.current.value, at });
      if (number !== asked.current || input.current.selectionStart !== at) return;
      const list = found.words.filter((one) => one.text.toLowerCase() !== found.word.toLowerCase()).slice(0, 12);
      setWords(list.length ? { list, word: found.word, at, chosen: 0, where: place(input.current.value, at - found.word.length) } : null);
    } catch { setWords(null); }
  };
  const put = (text, from, to) => {
    input.current.setRangeText(text, from, to, "end");
    onInput(input.current.value);
    setWords(null);
    input.current.focus();
  };
  const take = (one) => put(one.text, words.at - words.word.length, words.at);
  const key = (event) => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); ask(); return; }
    if (words === null) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) { event.preventDefault(); setWords({ ...words, chosen: (words.chosen + move + words.list.length) % words.list.length }); }
    else if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); take(words.list[words.chosen]); }
    else if (event.key === "Escape") { event.preventDefault(); setWords(null); }
  };
  const typed = (event) => {
    onInput(event.target.value);
    const before = event.target.value.slice(0, event.target.selectionStart);
    if (/[A-Za-z_]\w+$/.test(before) && event.inputType === "insertText") ask(); else setWords(null);
  };
  return html`<div class="editor"><pre class="gutter" ref=${gutter} aria-hidden="true">${Array.from({ length: lines }, (_, n) => html`<div class=${by[n + 1] ?? ""}>${n + 1}</div>`)}</pre>
    <div class="paper"><pre ref=${copy} aria-hidden="true">${marked(sql, wrong)}${"\n"}</pre>
      <textarea ref=${input} aria-label="SQL" aria-describedby="editor-help" aria-invalid=${wrong.some((one) => one.severity !== "warning") ? "true" : "false"} spellcheck="false" autocapitalize="off" autocomplete="off" value=${sql} onInput=${typed} onKeyDown=${key} onScroll=${follow} onBlur=${() => setTimeout(() => setWords(null), 150)}></textarea>
      ${words && html`<ul class="words" role="listbox" aria-label="Completions" style=${`left:calc(.7rem + ${words.where[1]}ch * 1.02 - ${input.current?.scrollLeft ?? 0}px);top:calc(.7rem + ${(words.where[0] + 1) * 21.6}px - ${input.current?.scrollTop ?? 0}px)`}>${words.list.map((one, n) => html`<li role="option" aria-selected=${n === words.chosen ? "true" : "false"} onMouseDown=${(event) => { event.preventDefault(); take(one); }}>${one.text}<span>${one.kind}</span></li>`)}</ul>`}</div></div>
    <p class="quiet small" id="editor-help">Ctrl+Space completes a name. Tab leaves the editor.</p>`;
}

// Lines of two texts, as diff shows them: the longest common run of lines stays.
export function diff(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const length = Array.from({ length: x.length + 1 }, () => new Uint16Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i -= 1) for (let j = y.length - 1; j >= 0; j -= 1) length[i][j] = x[i] === y[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const found = a.slice(0, head).map((line) => [" ", line]);
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { found.push([" ", x[i]]); i += 1; j += 1; }
    else if (i < x.length && (j >= y.length || length[i + 1][j] >= length[i][j + 1])) { found.push(["-", x[i]]); i += 1; }
    else { found.push(["+", y[j]]); j += 1; }
  }
  return found.concat(a.slice(a.length - tail).map((line) => [" ", line]));
}

const KINDS = { "+": "add", "-": "gone", " ": "" };

export function Diff({ before, after }) {
  const lines = diff(before, after), near = 2;
  const shown = lines.map(([kind], n) => kind !== " " || lines.slice(Math.max(0, n - near), n + near + 1).some(([other]) => other !== " "));
  if (!lines.some(([kind]) => kind !== " ")) return html`<p class="quiet">The text is that of the version that runs.</p>`;
  return html`<div class="diff" tabindex="0" role="region" aria-label="What changes">${lines.map(([kind, line], n) => (shown[n] ? html`<div class=${KINDS[kind]}>${kind} ${line}</div>` : shown[n - 1] || n === 0 ? html`<div class="skip">  ⋯</div>` : null))}</div>`;
}
