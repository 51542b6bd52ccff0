import plugin from 'fastify-plugin';
import { Problem } from '../errors/problem.js';
import { invalidParameter } from '../errors/request.js';
import { syncHook } from './sync-hook.js';

/**
 * Rejects a query string that does not decode to UTF-8. The parser would keep such a part undecoded: a search for `%ff`
 * would find a percent sign and two letters. A route without a schema of its query ignores it.
 */
export const queryString = plugin(
  async (app) => {
    app.addHook(
      'preValidation',
      syncHook(({ url, routeOptions }) => {
        const start = url.indexOf('?');
        if (routeOptions.schema?.querystring === undefined || start === -1 || !url.includes('%', start)) {
          return;
        }
        const broken = url
          .slice(start + 1)
          .split('&')
          .filter((part) => !isEncoded(part));
        if (broken.length > 0) {
          const error = { code: 'invalid_format', detail: 'This must be UTF-8, percent-encoded.' };
          const errors = broken.map((part) => ({ parameter: part.split('=', 1)[0] ?? part, ...error }));
          throw new Problem(invalidParameter, { errors: errors.slice(0, 100) });
        }
      }),
    );
  },
  { name: 'query-string', dependencies: ['error-handler'] },
);

function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
