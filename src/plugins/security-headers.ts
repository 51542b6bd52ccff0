import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import plugin from 'fastify-plugin';
import helmet, { type HelmetOptions } from 'helmet';
import { immediate } from '../http/immediate.js';

const ONE_YEAR_S = 31_536_000;

/** What the page of /docs may load: its own files. No script stands in the page itself. */
export const DOCS_CSP = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  // Swagger UI writes some styles into the page; with nowhere to send anything, they can do no more than look.
  'style-src': ["'self'", "'unsafe-inline'"],
  // Swagger UI draws its arrows from data: URLs.
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const OPTIONS: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    },
  },
  // A browser heeds it over TLS only. What else lives below this host's name is for others to say.
  strictTransportSecurity: { maxAge: ONE_YEAR_S, includeSubDomains: false },
  xFrameOptions: { action: 'deny' },
  // For browsers and plugins that are gone.
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
};

/** The headers by name: helmet is asked once, because it says the same to everybody, and each time took half of a short request. */
export const SECURITY_HEADERS = headersOf(OPTIONS);

/**
 * What a browser is told of every answer: it is what its type says, no page to be shown or framed, and nothing that
 * a page elsewhere may embed. Reading by script is another thing, which plugins/cors.ts allows.
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

function headersOf(options: HelmetOptions): Record<string, string> {
  const answer = new ServerResponse(new IncomingMessage(new Socket()));
  helmet(options)(answer.req, answer, () => {});
  return { ...answer.getHeaders() } as Record<string, string>;
}
