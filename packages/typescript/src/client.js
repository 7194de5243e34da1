/**
 * Client of the germane service over HTTP: the operations of the library by their names, without a dependency.
 *
 *     const germane = new Germane("http://localhost:7412");
 *     const agent = germane.agent("support", { user: "ana" });
 *     const { messages } = await agent.assemble({ messages: asked, model: "gpt-4o" });
 *
 * `assemble` is called in front of a model call, so it never rejects: whatever goes wrong, it returns the caller's own messages
 * with a reason. All other calls reject with a `GermaneError`. No call is repeated, and no redirect is followed.
 */

import { OPERATIONS, OF_ORG } from "./operations.js";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const KEY = /^(?! *$)[\x20-\x7e]+$/; // fetch shows any other in its error
const FALLBACK_LEVEL = 3;

/** Why a call was refused (RFC 9457), or couldn't be made. `kind` is what it is, such as `not-found` or `invalid-input`. */
export class GermaneError extends Error {
  constructor(kind, detail, { status = 0, path = "", advice = "", cause, ...more } = {}) {
    super(detail, { cause });
    this.name = "GermaneError";
    Object.assign(this, more, { kind, status, path, advice });
  }
}

export class Germane {
  #base;
  #headers;
  #fetch;
  #org;
  #patience;

  constructor(url, { key, org, fetch = globalThis.fetch, patience = 10_000, plaintext = false } = {}) {
    if (key != null && !KEY.test(key)) throw new GermaneError("invalid-input", "key must be the API key as `germane keys create` shows it");
    const base = new URL(url);
    if (!/^https?:$/.test(base.protocol)) throw new GermaneError("invalid-input", `${base.protocol} isn't http: or https:`);
    if (key && base.protocol === "http:" && !LOOPBACK.test(base.hostname) && !plaintext)
      throw new GermaneError("invalid-input", "a key is sent over http to this machine only: use https, or say plaintext: true");
    this.#base = base.href.replace(/\/+$/, "");
    this.#headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
    this.#fetch = fetch;
    this.#org = org;
    this.#patience = patience;
  }

  /** The handle on an agent, for a user and in their time zone. `limit` bounds `assemble`, in milliseconds. */
  agent(name = "default", { user, zone, limit = 45 } = {}) {
    const query = this.#query({ user, zone });
    const path = `/v1/agents/${encodeURIComponent(name)}`;
    const call = (operation, args) => this.#call(`${path}/${operation}${query}`, args);
    const agent = handles(call);
    agent.assemble = (args) => this.#assemble(`${path}/assemble${query}`, args, limit);
    agent.export = () => this.#lines(`${path}/export${query}`);
    return agent;
  }

  /** The operations on the whole org, such as `agents()`; the key must allow all agents. */
  get org() {
    return handles((operation, args) => this.#call(`/v1/${operation}${this.#query({})}`, args), OF_ORG);
  }

  #query(given) {
    const named = Object.entries({ ...given, org: this.#org }).filter(([, value]) => value != null);
    return named.length ? `?${new URLSearchParams(named)}` : "";
  }

  async #sent(path, args, milliseconds, method = "POST") {
    let response;
    try {
      response = await this.#fetch(this.#base + path, {
        method,
        headers: this.#headers,
        body: method === "POST" ? JSON.stringify(args ?? {}) : undefined,
        redirect: "error",
        signal: AbortSignal.timeout(milliseconds),
      });
    } catch (cause) {
      const late = cause?.name === "TimeoutError";
      throw new GermaneError("unavailable", late ? `no answer within ${milliseconds} ms` : "the service can't be reached", { cause });
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }

  async #call(path, args) {
    const response = await this.#sent(path, args, this.#patience);
    try {
      return await response.json();
    } catch (cause) {
      throw new GermaneError("unavailable", "the answer can't be read", { cause });
    }
  }

  async #assemble(path, args, limit) {
    const began = performance.now();
    try {
      const response = await this.#sent(path, { deadline: limit / 1000, ...args }, limit);
      const found = await within(response.json(), limit - (performance.now() - began));
      if (!Array.isArray(found?.messages)) throw new GermaneError("unavailable", "the answer holds no messages");
      return found;
    } catch (error) {
      return unchanged(args, error);
    }
  }

  async *#lines(path) {
    const response = await this.#sent(path, undefined, this.#patience, "GET");
    const decoder = new TextDecoder();
    let waiting = "";
    for await (const chunk of response.body) {
      waiting += decoder.decode(chunk, { stream: true });
      const lines = waiting.split("\n");
      waiting = lines.pop();
      for (const line of lines) yield JSON.parse(line);
    }
    if (waiting) throw new GermaneError("unavailable", "the export broke off");
  }
}

/** An object with a function for each operation, those with a dot in their name in objects of their own. */
function handles(call, names = OPERATIONS) {
  const root = {};
  for (const name of names) {
    const parts = name.split(".");
    const last = parts.pop();
    const holder = parts.reduce((inner, part) => (inner[part] ??= {}), root);
    holder[last] = (args) => call(name.replaceAll(".", "/"), args);
  }
  return root;
}

async function within(promise, milliseconds) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new GermaneError("unavailable", "the answer came too late")), Math.max(0, milliseconds));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function unchanged(args, error) {
  const reason = error.status ? `http_error:${error.status}` : `client_error:${error.kind ?? error.name}`;
  const metadata = { fallback_reason: reason, degradation_level: FALLBACK_LEVEL, memories_injected: 0, total_tokens_injected: 0 };
  return { messages: args?.messages ?? [], system: args?.system ?? null, items: [], metadata };
}

async function refusal(response) {
  let told = {};
  try {
    told = await response.json();
  } catch {
    // a proxy's own answer
  }
  const { type = "", detail = response.statusText, title, status, ...more } = told;
  return new GermaneError(type.split(":").pop() || "unavailable", detail, { ...more, status: response.status });
}
