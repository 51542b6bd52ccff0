import type { Response } from './send.js';

/** The comparable part of a response: everything that could distinguish the rows of two ids. */
export function comparablePart(response: Response, id: string) {
  const { 'x-request-id': requestId, date, ...others } = response.headers;
  // The remaining rate limit depends on earlier requests only.
  const headers = Object.fromEntries(
    Object.entries(others).filter(([name]) => !name.startsWith('ratelimit-')),
  );
  const text = response.text.replaceAll(id, '').replaceAll(String(requestId), '');
  return { status: response.status, headers, text };
}
