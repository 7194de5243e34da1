"use strict";
// All that is stored is written as text, never as HTML. The host is the page's parent; messages of any other window are ignored.
const PROTOCOL = "2026-01-26";
const PARTS = [
  ["relevance", "Fits the question"],
  ["recency", "Is recent"],
  ["usefulness", "Has helped before"],
  ["confidence", "Is certain"],
  ["frequency", "Was often used"],
];
const waiting = new Map();
let next = 1;
let canCall = false;
let result = null;

const element = (id) => document.getElementById(id);

function post(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = next++;
  post({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function say(text) {
  element("status").textContent = text;
}

function words(share) {
  const said = share >= 0.75 ? "very much" : share >= 0.5 ? "rather" : share >= 0.25 ? "somewhat" : "hardly";
  return `${said}, ${Math.round(100 * share)} %`;
}

function percent(score) {
  const rounded = Math.round(100 * score);
  return rounded ? `${rounded} %` : "less than 1 %";
}

function listed(answer) {
  return (answer.content || []).filter((one) => one.type === "text").map((one) => one.text).join("\n");
}

function origin(thing) {
  const said = [thing.category];
  if (thing.found_by.length) said.push(`found in ${thing.found_by.join(", ")}`);
  if (thing.speaker || thing.role) said.push(`said by ${thing.speaker || thing.role}`);
  if (thing.created_at) said.push(thing.created_at.slice(0, 10));
  if (thing.session) said.push(`session ${thing.session}`);
  said.push(thing.id);
  return said.join(" · ");
}

function reason(thing) {
  const cost = thing.tokens === null ? "" : ` for ${thing.tokens.toLocaleString("en")} tokens`;
  if (thing.outcome !== "in") return `Left out: ${thing.said}.`;
  const part = thing.share < 1 ? `, ${Math.round(100 * thing.share)} % of its text` : "";
  return `Used${cost}${part}.`;
}

function drawParts(node, thing) {
  const details = node.querySelector("details");
  details.querySelector("summary").textContent = `Needed with a probability of ${percent(thing.score)}`;
  if (!thing.breakdown) {
    details.replaceWith(Object.assign(document.createElement("p"), { textContent: details.textContent.trim() }));
    return;
  }
  const list = details.querySelector("dl");
  for (const [name, label] of PARTS) {
    const term = document.createElement("dt");
    term.textContent = label;
    const value = document.createElement("dd");
    const bar = document.createElement("meter");
    bar.value = thing.breakdown[name];
    bar.setAttribute("aria-label", label);
    value.append(bar, words(thing.breakdown[name]));
    list.append(term, value);
  }
}

async function act(button, thing, node, tool, given) {
  const buttons = node.querySelectorAll("button");
  for (const one of buttons) one.disabled = true;
  say("One moment …");
  try {
    const answer = await request("tools/call", { name: tool, arguments: given });
    return { failed: Boolean(answer.isError), text: listed(answer) };
  } catch (error) {
    return { failed: true, text: error.message };
  } finally {
    for (const one of buttons) one.disabled = false;
    button.focus();
  }
}

function offer(node, thing, label, run, danger) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.setAttribute("aria-describedby", node.querySelector("bdi").id);
  if (danger) button.className = "danger";
  button.addEventListener("click", () => run(button));
  node.querySelector(".actions").append(button);
  return button;
}

function judge(node, thing, helpful) {
  return async (button) => {
    const answer = await act(button, thing, node, "feedback", { ids: [thing.id], helpful });
    say(answer.failed ? `It wasn't counted: ${answer.text}` : helpful ? "Counted as helpful." : "Counted as misleading.");
  };
}

function open(node, thing) {
  return async (button) => {
    const answer = await act(button, thing, node, "open", { id: thing.id });
    const shown = node.querySelector(".answer");
    shown.setAttribute("aria-label", "The whole text");
    shown.textContent = answer.text.replace(/^<memory nonce="[a-z]+">\n[^\n]*\n/, "").replace(/\n<\/memory>/, "");
    shown.hidden = answer.failed;
    say(answer.failed ? `It can't be opened: ${answer.text}` : "The whole text is shown below it.");
  };
}

function forget(node, thing, confirm) {
  return async (button) => {
    const answer = await act(button, thing, node, "forget", { ids: [thing.id], ...(confirm ? { confirm } : {}) });
    const code = /confirm=([0-9a-f]{8})$/.exec(answer.text);
    if (!answer.failed && code && !confirm) {
      // no other way to ask: the person who reads this page agrees here
      say("Nothing is forgotten yet. Erase it for good?");
      button.remove();
      const erase = offer(node, thing, "Erase for good", forget(node, thing, code[1]), true);
      erase.focus();
    } else if (!answer.failed && answer.text.startsWith("forgot ")) {
      node.querySelector(".text").textContent = "Forgotten.";
      for (const name of [".reason", ".origin", ".parts", ".actions", ".answer"]) node.querySelector(name)?.remove();
      say(answer.text);
      element("status").focus();
    } else {
      say(answer.failed ? `It wasn't forgotten: ${answer.text}` : answer.text);
    }
  };
}

function drawThing(thing, index) {
  const node = element("thing").content.cloneNode(true).firstElementChild;
  const text = node.querySelector("bdi");
  text.id = `text-${index}`;
  text.textContent = thing.text || "(its text isn't shown)";
  node.querySelector(".reason").textContent = reason(thing);
  node.querySelector(".origin").textContent = origin(thing);
  drawParts(node, thing);
  if (canCall && thing.text) {
    offer(node, thing, "It helped", judge(node, thing, true));
    offer(node, thing, "It misled", judge(node, thing, false));
    offer(node, thing, "Whole text", open(node, thing));
    offer(node, thing, "Forget", forget(node, thing, ""), true);
  } else {
    node.querySelector(".actions").remove();
  }
  return node;
}

function draw() {
  if (!result) return;
  const why = (result._meta || {})["germane/why"];
  if (!why) {
    say(listed(result) || "The answer is empty.");
    return;
  }
  element("asked").hidden = false;
  element("asked").querySelector("bdi").textContent = why.query;
  const groups = { in: why.considered.filter((one) => one.outcome === "in") };
  groups.out = why.considered.filter((one) => one.outcome !== "in");
  for (const [name, things] of Object.entries(groups)) {
    const section = element(name);
    section.hidden = !things.length;
    section.querySelector("ol, ul").replaceChildren(...things.map((one, index) => drawThing(one, `${name}-${index}`)));
  }
  const more = why.unlisted ? `, ${why.unlisted.toLocaleString("en")} more not listed` : "";
  const failed = why.fallback_reason ? ` The search was cut short: ${why.fallback_reason}.` : "";
  say(`${groups.in.length} used, ${groups.out.length} left out${more}; ${why.token_count} of ${why.max_tokens} tokens.${failed}`);
}

function adopt(context) {
  if (context && (context.theme === "light" || context.theme === "dark")) document.documentElement.dataset.theme = context.theme;
}

const HEARD = {
  "ui/notifications/tool-result": (params) => { result = params; draw(); },
  "ui/notifications/tool-cancelled": () => say("The search was cancelled."),
  "ui/notifications/host-context-changed": (params) => adopt(params),
};

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  if (message.method === undefined) {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (asked && message.error) asked.reject(new Error(String(message.error.message)));
    else if (asked) asked.resolve(message.result || {});
  } else if (message.id === undefined) {
    if (Object.hasOwn(HEARD, message.method)) HEARD[message.method](message.params || {});
  } else if (message.method === "ping" || message.method === "ui/resource-teardown") {
    post({ id: message.id, result: {} });
  } else {
    post({ id: message.id, error: { code: -32601, message: "unknown method" } });
  }
});

new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  post({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
}).observe(document.documentElement);

request("ui/initialize", {
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  appInfo: { name: "germane-why", version: "1" },
  protocolVersion: PROTOCOL,
}).then((host) => {
  canCall = Boolean((host.hostCapabilities || {}).serverTools);
  adopt(host.hostContext);
  post({ method: "ui/notifications/initialized", params: {} });
}, (error) => say(`The host doesn't answer: ${error.message}`));
