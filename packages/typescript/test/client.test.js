// Runs against a real service: GERMANE_URL, with an empty store and no keys.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";

import { Germane, GermaneError } from "../src/client.js";

const url = process.env.GERMANE_URL;
const asked = [{ role: "user", content: "What should I order for dinner?" }];

async function answering(reply, use) {
  const server = createServer(reply);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("what was said is in a later context", async () => {
  const agent = new Germane(url).agent("support", { user: "ana", limit: 30_000 });
  const recorded = await agent.record({ session: "s1", messages: [{ role: "user", content: "I am vegetarian." }] });
  assert.equal(recorded.added.length, 1);
  const context = await agent.assemble({ session: "s2", model: "gpt-4o", messages: asked });
  assert.match(JSON.stringify(context.messages), /vegetarian/);
  assert.equal(context.metadata.fallback_reason, "");
  const found = await agent.search({ query: "vegetarian" });
  assert.match(found[0].candidate.text, /vegetarian/);
});

test("operations stand under the library's names", async () => {
  const agent = new Germane(url).agent("support", { user: "ben" });
  const task = await agent.tasks.push({ goal: "book a table", session: "s1" });
  assert.equal((await agent.tasks.peek({ session: "s1" })).id, task.id);
  assert.deepEqual(await agent.graph.patterns.match({ query: "tables" }), []);
  const { agents } = await new Germane(url).org.agents();
  assert.deepEqual(agents.map((one) => one.agent), ["support"]);
});

test("an export is read as it comes", async () => {
  const types = [];
  for await (const line of new Germane(url).agent("support", { user: "ana" }).export()) types.push(line.type);
  assert.equal(types[0], "header");
  assert.ok(types.includes("message"));
});

test("an error says what it is", async () => {
  const agent = new Germane(url).agent("support");
  await assert.rejects(agent.memories.list({ limit: 0 }), (error) => {
    assert.ok(error instanceof GermaneError);
    assert.deepEqual([error.status, error.kind, error.path], [400, "invalid-input", "limit"]);
    return true;
  });
  await assert.rejects(agent.memories.get({ id: "nobody" }), { kind: "not-found", status: 404 });
});

test("assemble returns the caller's messages whatever happens", async () => {
  const given = { messages: asked, model: "gpt-4o", system: "Be brief." };
  const closed = new Germane("http://127.0.0.1:9").agent();
  const hung = (use) => answering(() => {}, use);
  const status = (code) => (use) => answering((_, response) => response.writeHead(code).end("no"), use);
  const broken = (use) => answering((_, response) => response.end('{"messages": ['), use);
  const slow = (use) => answering((_, response) => response.write('{"mess'), use);
  const moved = (use) => answering((_, response) => response.writeHead(302, { location: `${url}/health` }).end(), use);
  const reasons = [(await closed.assemble(given)).metadata.fallback_reason];
  for (const serve of [hung, status(500), status(401), broken, slow, moved]) {
    const answer = await serve((base) => new Germane(base).agent("a", { limit: 60 }).assemble(given));
    assert.equal(answer.messages, asked);
    assert.equal(answer.system, "Be brief.");
    assert.equal(answer.metadata.degradation_level, 3);
    reasons.push(answer.metadata.fallback_reason);
  }
  assert.deepEqual(reasons.filter((one) => one.startsWith("http_error:")), ["http_error:500", "http_error:401"]);
  assert.equal(reasons.filter((one) => one.startsWith("client_error:")).length, 5);
});

test("a key goes over http to this machine only", () => {
  assert.throws(() => new Germane("http://memory.example", { key: "gk_x" }), GermaneError);
  assert.throws(() => new Germane("ftp://memory.example"), GermaneError);
  assert.ok(new Germane("https://memory.example", { key: "gk_x" }));
  assert.ok(new Germane("http://127.0.0.1:7412", { key: "gk_x" }));
});

test("a key that can't be one is refused, and no error shows it", () => {
  for (const key of ["gk_secret\n", "gk_secret\r\nx-a: 1", "gk_secret€", "gk_secret\u0000", " ", ""])
    assert.throws(
      () => new Germane("http://127.0.0.1:7412", { key }),
      (error) => error instanceof GermaneError && error.kind === "invalid-input" && !inspect(error).includes("secret"),
    );
});
