import { type Answer, isDoubtful, isPassing, readAnswer, retryAfterOf } from './answer.js';
import type { Connection } from './connection.js';
import { NoAnswerError } from './errors.js';
import type { PreparedRequest } from './request.js';

/** The longest wait before the second attempt, which doubles with every further one. */
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5_000;

const UNAUTHORIZED = 401;
const NOT_FOUND = 404;

/** What was read, and the headers that it came with. */
export interface Received {
  body: unknown;
  headers: Headers;
}

/**
 * Sends a request until it has an answer that will not pass by itself.
 *
 * It may be sent again whatever it is: what makes something carries a key, what changes something the version that
 * it changes, and to read or to delete twice is to do it once.
 *
 * @throws ProblemError, UnexpectedAnswerError, NoAnswerError, and the reason of the signal
 */
export async function attempt(
  connection: Connection,
  request: PreparedRequest,
  signal: AbortSignal | undefined,
): Promise<Received> {
  const { attempts: most, withinMs, token: keeper, wait } = connection;
  const deadline = Date.now() + withinMs;
  let isInDoubt = false;
  let isRenewed = false;
  for (let attempts = 1; ; attempts += 1) {
    const token = request.needsToken ? await keeper.get() : undefined;
    const outcome = await sendOnce(connection, request, token, signal);
    const answer = 'failure' in outcome ? undefined : outcome;
    if (answer?.status === UNAUTHORIZED && token !== undefined && !isRenewed && keeper.forget(token)) {
      isRenewed = true;
      attempts -= 1;
      continue;
    }
    if (answer?.status === NOT_FOUND && request.method === 'DELETE' && isInDoubt) {
      // It is gone, most likely by the attempt that got no answer.
      return { body: undefined, headers: answer.headers };
    }
    const retryAfterMs = answer && retryAfterOf(answer);
    const waitMs = waitBefore(attempts, retryAfterMs);
    const mayPass = request.needsToken && (answer === undefined || isPassing(answer));
    if (!mayPass || attempts >= most || Date.now() + waitMs > deadline) {
      return settle(request, outcome, { attempts, isDoubtful: isInDoubt, retryAfterMs });
    }
    isInDoubt ||= answer === undefined || isDoubtful(answer);
    await wait(waitMs, signal);
  }
}

/** What the last attempt came to: the answer, or why there is none. */
function settle(
  { name }: PreparedRequest,
  outcome: Answer | Failure,
  circumstances: { attempts: number; isDoubtful: boolean; retryAfterMs: number | undefined },
): Received {
  if ('failure' in outcome) {
    throw new NoAnswerError(name, circumstances.attempts, outcome.failure);
  }
  return { body: readAnswer(outcome, { request: name, ...circumstances }), headers: outcome.headers };
}

/** At random, so that those who were refused together do not come back together; never before the service asks. */
function waitBefore(attempts: number, retryAfterMs: number | undefined): number {
  const longest = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS);
  return (retryAfterMs ?? 0) + Math.random() * longest;
}

interface Failure {
  failure: unknown;
}

async function sendOnce(
  { fetch, timeoutMs }: Connection,
  { method, url, headers, body }: PreparedRequest,
  token: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Answer | Failure> {
  signal?.throwIfAborted();
  const attempt = new AbortController();
  const stop = () => attempt.abort(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(() => attempt.abort(new Error(`nothing came within ${timeoutMs} ms`)), timeoutMs);
  const sent = new Headers(headers);
  if (token !== undefined) {
    sent.set('authorization', `Bearer ${token}`);
  }
  try {
    const response = await fetch(url, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body }),
      signal: attempt.signal,
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (failure) {
    signal?.throwIfAborted();
    return { failure };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
