import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { isDeepStrictEqual } from "node:util";

import { anchorOf, fillIn, linkedDocument, placeValues, readCommands, readDocument, readInline } from "../../web/status/logic/runbook.js";
import { addressOf, readAddress } from "../../web/status/runbook_history.js";

const OPERATIONS = new URL("../../docs/operations/", import.meta.url);
const DOCUMENTS = readdirSync(OPERATIONS, { recursive: true }).filter((name) => name.endsWith(".md"));
const read = (path) => readDocument(readFileSync(new URL(path, OPERATIONS), "utf-8"));
const filled = (command, values) => fillIn(command, values).map(({ text, isGap }) => (isGap ? `<${text}>` : text)).join("");

test("a document becomes blocks, and never HTML", () => {
  const text = "# A `b`\n\n1. one `x`\n2. **two**\n   more\n\n- bullet\n\n| a | b |\n|---|---|\n| 1 \\| 2 | 3 |\n\n<img src=x>\n```sh\n<b> ls\n```\nlast\nline\n## C, d\n";
  assert.deepEqual(readDocument(text), {
    title: "A b",
    blocks: [
      { kind: "list", items: ["one `x`", "**two** more"] },
      { kind: "bullets", items: ["bullet"] },
      { kind: "table", items: [["a", "b"], ["1 | 2", "3"]] },
      { kind: "code", language: "sh", lines: ["<b> ls"] },
      { kind: "paragraph", text: "last line" },
      { kind: "heading", level: 2, text: "C, d", anchor: "c-d" },
    ],
  });
  assert.equal(anchorOf("What, and `how`?"), "what-and-how");
  assert.deepEqual(readInline("see [`x.md`](x.md#y), **now** `z`"), [
    { kind: "text", text: "see " },
    { kind: "link", text: "x.md", target: "x.md#y" },
    { kind: "text", text: ", " },
    { kind: "strong", text: "now" },
    { kind: "text", text: " " },
    { kind: "code", text: "z" },
  ]);
});

test("links between documents of operators lead there, and no other link leads anywhere", () => {
  const from = "runbooks/replica-down.md";
  assert.deepEqual(linkedDocument("../fleet.md#drain-and-resume", from), { path: "fleet.md", at: "drain-and-resume" });
  assert.deepEqual(linkedDocument("replica-full.md", from), { path: "runbooks/replica-full.md", at: "" });
  assert.deepEqual(linkedDocument("#by-cause", from), { path: from, at: "by-cause" });
  for (const target of ["../../glossaries.md", "../../../deploy/systemd", "https://example.org/a.md", "//host/docs/operations/a.md", "javascript:a.md"]) {
    assert.equal(linkedDocument(target, from), null, target);
  }
  let count = 0;
  for (const path of DOCUMENTS) {
    for (const [, target] of readFileSync(new URL(path, OPERATIONS), "utf-8").matchAll(/\]\(([^)\s]+)\)/g)) {
      const found = linkedDocument(target, path);
      if (found === null) continue;
      count += 1;
      const headings = read(found.path).blocks.map(({ anchor }) => anchor);
      assert.ok(!found.at || headings.includes(found.at), `${path}: ${target}`);
    }
  }
  assert.ok(count > 100);
});

test("an address names the document, what it is asked for, and its heading", () => {
  const address = { path: "runbooks/replica-down.md", subject: "http://[::1]:8001", at: "by-cause" };
  assert.deepEqual(readAddress(addressOf(address)), address);
  assert.deepEqual(readAddress(addressOf({ path: "fleet.md" })), { path: "fleet.md", subject: "", at: "" });
  for (const hash of ["", "#text=a", "#runbook=../../keys", "#runbook=a.md?x", "#runbook=//host/a.md"]) {
    const found = readAddress(hash);
    assert.ok(found === null || /^[\w/-]+\.md$/.test(found.path), hash);
  }
});

const A = { url: "http://10.0.0.5:8001", replica_id: "0a1b2c3d4e5f-77", runs_by: "compose:apiserver-de" };
const B = { url: "http://10.0.0.6:8001", replica_id: "b", runs_by: "systemd:pairway-apiserver@en-de.service" };

test("commands are those of what runs the server", () => {
  const lines = ["docker logs CONTAINER   # compose", "journalctl -u NAME # systemd: its log", "tail .run/logs/NAME.log  # make up", "kubectl logs NAME # kubernetes", "curl REPLICA # reached?"];
  const shown = (kind) => readCommands({ language: "sh", lines }, { kind }).map(({ command, note }) => [command, note]);
  assert.deepEqual(shown("systemd"), [["journalctl -u NAME", "its log"], ["curl REPLICA", "reached?"]]);
  assert.deepEqual(shown("launcher"), [["tail .run/logs/NAME.log", ""], ["curl REPLICA", "reached?"]]);
  assert.deepEqual(shown(undefined).map(([, note]) => note), ["compose", "systemd: its log", "make up", "kubernetes", "reached?"]);
  assert.equal(readCommands({ language: "sh", lines: ["cat <<EOF", "a # b", "EOF"] }, {}).length, 1);
  assert.equal(readCommands({ language: "yaml", lines: ["a:", "  b"] }, {})[0].command, "a:\n  b");
});

test("commands are filled in with what the fleet says", () => {
  const status = { replicas: [A, B], services: { "apiserver-de": {} } };
  const compose = placeValues(status, A.url, "http://proxy:8000");
  assert.equal(filled("docker logs CONTAINER; docker compose ps NAME; curl REPLICA PROXY/health PAIR", compose), "docker logs 0a1b2c3d4e5f; docker compose ps apiserver-de; curl http://10.0.0.5:8001 http://proxy:8000/health <PAIR>");
  const systemd = placeValues(status, B.url, "http://proxy:8000");
  assert.equal(filled("journalctl -u NAME; docker logs CONTAINER", systemd), "journalctl -u pairway-apiserver@en-de.service; docker logs <CONTAINER>");
  assert.equal(filled("PAIR NAME PROXY_PORT", placeValues(status, "en-de, en-fr", "")), "en-de <NAME> PROXY_PORT");
  assert.equal(filled("SERVICE", placeValues(status, "apiserver-de", "")), "apiserver-de");
  assert.equal(placeValues(status, "en-de", "").kind, undefined, "two kinds");
  assert.equal(placeValues({ replicas: [A], services: {} }, "en-de", "").kind, "compose");
});

test("what is not known stays a gap, and so does what a shell would run", () => {
  for (const runs_by of [null, undefined, "", "compose", "other:name", "constructor:name", "compose:a;reboot", "compose:$(id)", "compose:-v", "compose:a b", "compose:`id`"]) {
    const status = { replicas: [{ ...A, runs_by, replica_id: "x;id" }], services: {} };
    assert.equal(filled("docker logs NAME CONTAINER", placeValues(status, A.url, "")), "docker logs <NAME> <CONTAINER>", runs_by);
  }
  assert.equal(filled("curl REPLICA PAIR", placeValues(null, "http://gone", "")), "curl <REPLICA> http://gone");
});

// Words of commands that work only where this runs the servers.
const TOOLS = { compose: /\bdocker\b/, systemd: /systemctl|journalctl/, launcher: /\.run\/|\.venv\/|lsof/, kubernetes: /kubectl/ };
const RUNBOOKS = DOCUMENTS.filter((name) => name.startsWith("runbooks/") && !name.endsWith("README.md"));

test("commands work for what runs the servers, and each can restart one", () => {
  for (const kind of Object.keys(TOOLS)) {
    let restarts = 0;
    for (const path of RUNBOOKS) {
      for (const block of read(path).blocks.filter((each) => each.kind === "code")) {
        for (const { command, note } of readCommands(block, { kind })) {
          for (const [other, tool] of Object.entries(TOOLS)) assert.ok(other === kind || !tool.test(command + note), `${path} for ${kind}: ${command}`);
          assert.ok(kind === "compose" || kind === "systemd" || !/redis-cli/.test(command), `${path} for ${kind}: ${command}`);
          restarts += /docker restart|systemctl restart NAME|kill -KILL|delete pod/.test(command);
        }
      }
    }
    assert.ok(restarts >= 1, kind);
  }
});

test("words between commands name no server for one kind alone", () => {
  for (const path of RUNBOOKS) {
    const { blocks } = read(path);
    const lines = blocks.flatMap(({ text, items }) => (items ?? [text ?? ""]).flat());
    const filledIn = lines.flatMap(readInline).filter(({ kind, text }) => kind === "code" && fillIn(text, {}).some(({ isGap }) => isGap));
    for (const { text } of filledIn) assert.ok(!Object.values(TOOLS).some((tool) => tool.test(text)), `${path}: ${text}`);
  }
});

test("a replica's port is known by its URL", () => {
  assert.equal(filled("REPLICA_PORT", placeValues({ replicas: [A, B] }, A.url, "")), "8001");
  assert.equal(filled("REPLICA_PORT", placeValues({ replicas: [{ url: "http://a" }] }, "http://a", "")), "<REPLICA_PORT>");
});

// Of an issue, and of an alert alone.
const FORMS = [["What callers notice", "First commands", "By cause"], ["What callers notice", "First look", "Steps", "How it ends"]];

test("each runbook says what callers notice, and has commands", () => {
  for (const path of RUNBOOKS) {
    const { title, blocks } = read(path);
    assert.ok(title, path);
    assert.equal(blocks[0].kind, "paragraph", path);
    const headings = blocks.filter(({ kind }) => kind === "heading").map(({ text }) => text);
    assert.ok(FORMS.some((form) => isDeepStrictEqual(headings, form)), `${path}: ${headings}`);
    assert.ok(blocks.some(({ kind }) => kind === "code"), path);
  }
});
