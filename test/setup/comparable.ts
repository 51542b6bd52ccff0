import type { Response } from './send.js';

/** The comparable part of an answer: everything that could distinguish the rows of two ids. */
export function comparablePart(answer: Response, id: string) {
  const { 'x-request-id': requestId, date, ...others } = answer.headers;
  // The remaining rate limit depends on earlier requests only.
  const headers = Object.fromEntries(
    Object.entries(others).filter(([name]) => !name.startsWith('ratelimit-')),
  );
  const text = answer.text.replaceAll(id, '').replaceAll(String(requestId), '');
  return { status: answer.status, headers, text };
}
