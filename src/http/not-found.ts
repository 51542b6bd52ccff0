import plugin from 'fastify-plugin';
import { Problem } from '../errors/problem.js';
import { methodNotAllowed, routeNotFound } from '../errors/request.js';
import { isUuid } from '../validation/uuid.js';
import { PREFLIGHT_URL } from './cors.js';
import { syncHook } from './sync-hook.js';
import { pathOf, type SecretPaths, secretPathsOf } from './target.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route whose handler checks its path parameters. Those of other routes must be UUIDs. */
    checksParameters?: true;
  }
}

interface Pattern {
  segments: string[];
  methods: Set<string>;
}

/** Rejects paths that no route has with 404, and methods that a path does not have with 405 and the header Allow. */
export const notFound = plugin<{ secretPaths?: readonly SecretPaths[] }>(
  async (app, { secretPaths = [] }) => {
    const patterns = new Map<string, Pattern>();

    app.addHook('onRoute', ({ url, method }) => {
      if (url === PREFLIGHT_URL) {
        return;
      }
      const pattern = patterns.get(url) ?? { segments: url.split('/'), methods: new Set() };
      for (const name of [method].flat()) {
        pattern.methods.add(name);
        // For the variant of a path with a trailing slash, onRoute is called for HEAD only, which follows from GET.
        if (name === 'HEAD') {
          pattern.methods.add('GET');
        }
      }
      patterns.set(url, pattern);
    });

    // In onRequest, before the body is read: these errors do not depend on it.
    app.addHook(
      'onRequest',
      syncHook(({ is404, routeOptions, params, method, url }) => {
        const isFound = !is404 && routeOptions.url !== PREFLIGHT_URL;
        // The router takes any text for an id, even none, and a word of another path such as /shifts/batch.
        const areIds = () => Object.values(params as Record<string, string>).every(isUuid);
        if (isFound && (routeOptions.config.checksParameters || areIds())) {
          return;
        }
        const allow = methodsOf(url, [...patterns.values()]);
        if (isFound && allow.includes(method)) {
          return;
        }
        if (allow.length > 0) {
          throw new Problem(methodNotAllowed, {}, { headers: { allow: allow.join(', ') } });
        }
        throw new Problem(secretPathsOf(url, secretPaths)?.notFound ?? routeNotFound);
      }),
    );
  },
  { name: 'not-found', dependencies: ['error-handler'] },
);

/**
 * The methods that some route has at this URL; none when the URL is unknown. A path without parameters comes before one with
 * parameters.
 */
function methodsOf(url: string, patterns: Pattern[]): string[] {
  const segments = pathOf(url).split('/').map(decodeURIComponent);
  const found = patterns.filter(
    (pattern) =>
      (pattern.segments.length === segments.length ||
        (pattern.segments.at(-1) === '*' && pattern.segments.length < segments.length)) &&
      pattern.segments.every(
        (part, index) =>
          part === segments[index] || part === '*' || (part.startsWith(':') && segments[index]),
      ),
  );
  const exact = found.filter(({ segments: parts }) => parts.every((part, index) => part === segments[index]));
  return [...new Set((exact.length > 0 ? exact : found).flatMap((pattern) => [...pattern.methods]))].sort();
}
