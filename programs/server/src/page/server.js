// Requests to the server. A refusal is a `Refused`, which says why in words for people.

export class Refused extends Error {
  constructor(status, problem) {
    const { title, detail } = problem;
    super([title, detail].filter(Boolean).join(": ") || `the server answered ${status}`);
    this.status = status;
    this.code = problem.code;
    this.record = problem.record;
  }
}

export const refusal = async (response) => new Refused(response.status, await response.json().catch(() => ({})));

/** Sends a request; returns the JSON of the answer. */
export async function ask(method, path, body) {
  const request = { method, headers: { accept: "application/json" }, cache: "no-store" };
  if (body !== undefined) {
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refused(0, { title: "the server does not answer" });
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** The path of something in a namespace. */
export function path(namespace, what, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `v1/${namespace}/${what}${text ? `?${text}` : ""}`;
}
