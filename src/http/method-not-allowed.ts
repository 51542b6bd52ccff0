import plugin from 'fastify-plugin';
import { PREFLIGHT_URL } from './cors.js';
import { pathOf } from './target.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that some route has at this URL; none when the URL is unknown. */
    methodsOf(url: string): string[];
  }
}

interface Pattern {
  segments: string[];
  methods: Set<string>;
}

/** Collects the methods of each path, to distinguish a 405 from a 404. */
export const allowedMethods = plugin(
  async (app) => {
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

    app.decorate('methodsOf', (url: string) => {
      const segments = pathOf(url).split('/').map(decodeURIComponent);
      const found = [...patterns.values()].filter(
        (pattern) =>
          (pattern.segments.length === segments.length ||
            (pattern.segments.at(-1) === '*' && pattern.segments.length < segments.length)) &&
          pattern.segments.every(
            (part, index) =>
              part === segments[index] || part === '*' || (part.startsWith(':') && segments[index]),
          ),
      );
      return [...new Set(found.flatMap((pattern) => [...pattern.methods]))].sort();
    });
  },
  { name: 'method-not-allowed' },
);
