"use strict";
const scope = document.getElementById("scope");
const main = document.getElementById("operations");
const template = document.getElementById("operation");

function target(path) {
  const given = new FormData(scope);
  const query = new URLSearchParams();
  for (const name of ["org", "user"]) if (given.get(name)) query.set(name, given.get(name));
  const tail = query.size ? `?${query}` : "";
  return path.replace("{agent}", encodeURIComponent(given.get("agent") || "default")) + tail;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curl(path, body) {
  const key = new FormData(scope).get("key") ? ' -H "authorization: Bearer $GERMANE_API_KEY"' : "";
  return `curl${key} -H 'content-type: application/json' ${quoted(location.origin + target(path))} -d ${quoted(body)}`;
}

async function send(path, body, answer) {
  const headers = { "content-type": "application/json" };
  const key = new FormData(scope).get("key");
  if (key) headers.authorization = `Bearer ${key}`;
  answer.textContent = "…";
  try {
    const response = await fetch(target(path), { method: "POST", headers, body });
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it came */ }
    answer.textContent = `${response.status} ${response.statusText}\n${shown}`;
  } catch (error) {
    answer.textContent = `not sent: ${error.message}`;
  }
}

function drawn(path, operation) {
  const node = template.content.cloneNode(true);
  const whole = node.querySelector("details");
  const body = operation.requestBody.content["application/json"];
  whole.dataset.name = `${path} ${operation.summary}`.toLowerCase();
  whole.querySelector(".name").textContent = path.replace("/v1/agents/{agent}/", "").replace("/v1/", "");
  whole.querySelector(".said").textContent = operation.summary;
  whole.querySelector(".description").textContent = operation.description;
  const text = whole.querySelector("textarea");
  text.value = JSON.stringify(body.example ?? {}, null, 2);
  const line = whole.querySelector(".curl");
  const update = () => { line.textContent = curl(path, text.value); };
  whole.addEventListener("toggle", update);
  text.addEventListener("input", update);
  whole.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    update();
    send(path, text.value, whole.querySelector(".answer"));
  });
  return node;
}

async function load() {
  const found = await (await fetch("/v1/openapi.json")).json();
  document.getElementById("version").textContent = found.info.version;
  const rooms = new Map();
  for (const [path, methods] of Object.entries(found.paths)) {
    const operation = methods.post;
    if (!operation) continue;
    const room = operation.tags[0];
    if (!rooms.has(room)) rooms.set(room, []);
    rooms.get(room).push(drawn(path, operation));
  }
  main.replaceChildren();
  for (const [room, nodes] of rooms) {
    const section = document.createElement("section");
    const title = document.createElement("h2");
    title.textContent = room;
    section.append(title, ...nodes);
    main.append(section);
  }
  main.removeAttribute("aria-busy");
}

scope.addEventListener("submit", (event) => event.preventDefault());
scope.elements.find.addEventListener("input", () => {
  const wanted = scope.elements.find.value.toLowerCase();
  for (const one of main.querySelectorAll("details")) one.hidden = !one.dataset.name.includes(wanted);
  for (const section of main.querySelectorAll("section")) section.hidden = !section.querySelector("details:not([hidden])");
});
load().catch((error) => { main.textContent = `The document can't be read: ${error.message}`; });
