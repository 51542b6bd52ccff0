import plugin from 'fastify-plugin';
import { immediate } from './immediate.js';

const NOTHING = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";

/** What the page of /docs may load: its own files. No script stands in the page itself. */
export const DOCS_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI writes styles into the page, and draws its arrows from data: URLs.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

/** What a browser is told of every answer (https://owasp.org/www-project-secure-headers/). The same for everybody. */
export const SECURITY_HEADERS = {
  'content-security-policy': NOTHING,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  // A browser heeds it over TLS only.
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
};

/**
 * An answer is what its type says, no page to be shown or framed, and nothing that a page elsewhere may embed. Reading
 * by script is allowed by CORS.
 */
export const securityHeaders = plugin(
  async (app) => {
    app.addHook(
      'onRequest',
      immediate((_request, reply) => {
        reply.headers(SECURITY_HEADERS);
      }),
    );
  },
  { name: 'security-headers' },
);
