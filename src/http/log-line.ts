import { isIP } from 'node:net';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { Problem } from '../errors/problem.js';

/** Who sent a request: the ids of club and member, as far as they are known. */
export interface LoggedCaller {
  tenant: string | undefined;
  member: string | undefined;
}

/** A line of the access log. It has the route and not the URL, so no parameter, body or token is logged. */
interface Line extends Partial<LoggedCaller> {
  method?: string;
  route: string | null;
  status: number;
  ms?: number;
  ip: string | undefined;
}

/** Writes the line of a request that has ended, with the problem that was its response. */
export function logRequest(
  logger: FastifyBaseLogger,
  { method, route, status, ...line }: Line,
  problem: Pick<Problem, 'code' | 'reason' | 'committed'> | null,
): void {
  const { code, reason, committed } = problem ?? {};
  logger.info({ method, route, status, code, reason, committed, ...line }, 'request');
}

/** The address of the client; `unknown` when X-Forwarded-For of a trusted proxy holds another text. */
export function addressOf({ ip }: FastifyRequest): string {
  return isIP(ip) === 0 ? 'unknown' : ip;
}
