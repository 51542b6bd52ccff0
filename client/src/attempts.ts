import { type Answer, isDoubtful, isNotFound, isRetryable, readAnswer, retryAfterOf } from './answer.js';
import type { Connection } from './connection.js';
import { NoAnswerError } from './errors.js';
import type { PreparedRequest } from './request.js';

/** The longest wait before the second attempt; it doubles with every further attempt. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;

const UNAUTHORIZED = 401;

/** The body and the headers of a success. */
export interface Received {
  body: unknown;
  headers: Headers;
}

/**
 * Sends a request, and repeats it while a retry can succeed.
 *
 * Every operation is safe to repeat: one that creates has an idempotency key, one that changes has the version that it
 * changes, and all others are idempotent.
 *
 * @throws ProblemError, UnexpectedAnswerError, NoAnswerError, the reason of the signal, and what the token function throws
 */
export async function attempt(
  connection: Connection,
  request: PreparedRequest,
  signal: AbortSignal | undefined,
): Promise<Received> {
  const { attempts: most, withinMs, token: keeper, wait } = connection;
  let deadline: number | undefined;
  let isInDoubt = false;
  let isRenewed = false;
  for (let attempts = 1; ; attempts += 1) {
    const token = request.needsToken ? await keeper.get(signal) : undefined;
    // Without the wait for the token, which may include a login.
    deadline ??= Date.now() + withinMs;
    const outcome = await sendOnce(connection, request, token, signal);
    const answer = 'failure' in outcome ? undefined : outcome;
    if (answer?.status === UNAUTHORIZED && token !== undefined && !isRenewed && keeper.forget(token)) {
      isRenewed = true;
      attempts -= 1;
      continue;
    }
    if (request.method === 'DELETE' && isInDoubt && answer !== undefined && isNotFound(answer)) {
      // An earlier attempt without a response has probably deleted it.
      return { body: undefined, headers: answer.headers };
    }
    const retryAfterMs = answer && retryAfterOf(answer);
    const waitMs = waitAfter(attempts, retryAfterMs);
    const mayRetry = request.needsToken && (answer === undefined || isRetryable(answer));
    if (!mayRetry || attempts >= most || Date.now() + waitMs > deadline) {
      return settle(request, outcome, { attempts, isDoubtful: isInDoubt, retryAfterMs });
    }
    isInDoubt ||= answer === undefined || isDoubtful(answer);
    await wait(waitMs, signal);
  }
}

/** Returns the success of the last attempt, or throws its error. */
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

/**
 * Exponential backoff with equal jitter, in addition to Retry-After: half of the wait is fixed, so that a few attempts last
 * for seconds, and half is random, so that rejected clients do not all retry at once.
 */
function waitAfter(attempts: number, retryAfterMs = 0): number {
  const half = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS) / 2;
  return retryAfterMs + half + Math.random() * half;
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
  const timer = setTimeout(() => attempt.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
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
      // After a redirect a POST can be sent as a GET, and without its token.
      redirect: 'manual',
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
