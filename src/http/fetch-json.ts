/** A fetch failed, or its response cannot be used. The message can be logged. */
export class FetchFailed extends Error {}

export interface FetchOptions {
  /** The limit for all: the connection, the headers and the body. */
  timeoutMs: number;
  maxBytes: number;
  headers?: Record<string, string>;
}

/**
 * Fetches a JSON document by GET. A redirect is not followed.
 *
 * @throws Error for every response but a 200 with JSON; `reasonOfFetch` returns what can be logged of it
 */
export async function fetchJson(
  url: string,
  { timeoutMs, maxBytes, headers = {} }: FetchOptions,
): Promise<unknown> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'manual',
    headers: { accept: 'application/json', ...headers },
  });
  if (response.status !== 200 || response.body === null) {
    // Otherwise the connection would stay open until the time-out.
    await response.body?.cancel();
    throw new FetchFailed(
      response.status >= 300 && response.status < 400
        ? 'The response is a redirect, which is not followed.'
        : `The response was ${response.status}.`,
    );
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body) {
    parts.push(part);
    bytes += part.length;
    if (bytes > maxBytes) {
      throw new FetchFailed(`The response had more than ${maxBytes} bytes.`);
    }
  }
  return JSON.parse(Buffer.concat(parts).toString());
}

/** Why a fetch failed. Messages of other errors can contain the URL, with a password in it, or a part of the response. */
export function reasonOfFetch(error: Error): string {
  if (error instanceof FetchFailed) {
    return error.message;
  }
  if (error.name === 'TimeoutError') {
    return 'The request timed out.';
  }
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return code === undefined
    ? 'The request failed, or its response is not valid.'
    : `The request failed: ${code}.`;
}
