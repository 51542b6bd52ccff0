import type { Answer } from './service.js';

/** Everything of an answer that could tell the row of one id from that of another: only the request differs. */
export function likeness(answer: Answer, id: string) {
  const { 'x-request-id': requestId, date, ...others } = answer.headers;
  // What is left of an allowance tells of the requests before, whatever they asked for.
  const headers = Object.fromEntries(
    Object.entries(others).filter(([name]) => !name.startsWith('ratelimit-')),
  );
  const text = answer.text.replaceAll(id, '').replaceAll(String(requestId), '');
  return { status: answer.status, headers, text };
}
