// Everything that is asked of the server: requests, uploads, events as they happen, sockets of live sessions.

const ROOT = new URL("api/v1/", document.baseURI);

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function address(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

async function asked(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is 'kingpost serve' still running?");
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = {};
  try {
    told = JSON.parse(text);
  } catch {
    // not of ours
  }
  const words = typeof told.error === "string" ? told.error : `${answer.status} ${answer.statusText}`;
  throw new ApiError(answer.status, told.code || "", words);
}

export async function get(path, query, signal) {
  return (await asked(address(path, query), { signal })).json();
}

export async function getText(path, query, signal) {
  return (await asked(address(path, query), { signal })).text();
}

export async function send(path, data, { method = "POST", headers = {} } = {}) {
  const body = data === undefined ? undefined : JSON.stringify(data);
  const kinds = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
  const answer = await asked(address(path), { method, body, headers: kinds });
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

// A job, which a second press of a button or a retried request does not start twice.
export function start(job) {
  return send("jobs", job, { headers: { "Idempotency-Key": crypto.randomUUID() } });
}

export async function upload(file) {
  const headers = { "X-Filename": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" };
  return (await asked(address("files"), { method: "POST", body: file, headers })).json();
}

// Server-sent events. The browser takes up again after a pause where it was; returns how to stop.
export function follow(path, handlers, onstate = () => {}) {
  const source = new EventSource(address(path));
  source.onopen = () => onstate(true);
  source.onerror = () => onstate(false);
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      let data = null;
      try {
        data = JSON.parse(event.data);
      } catch {
        data = event.data;
      }
      handle(data);
    });
  }
  return () => source.close();
}

export function socket(path) {
  const url = address(path);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url);
}
