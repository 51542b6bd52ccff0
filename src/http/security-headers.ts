import plugin from 'fastify-plugin';
import { immediate } from './immediate.js';

const NOTHING = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";

/** The Content-Security-Policy of /docs: only its own files, no inline script. */
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

/** The security headers of every response (https://owasp.org/www-project-secure-headers/). */
export const SECURITY_HEADERS = {
  'content-security-policy': NOTHING,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  // Browsers use it over TLS only.
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
};

/**
 * Sets the security headers: browsers do not guess the type of a response, frame it, or embed it in a page of another
 * origin. CORS allows scripts to read it.
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
