import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';
import plugin from 'fastify-plugin';
import { NoQuery } from '../validation/schemas.js';
import { TITLE } from './openapi.js';

/** The Content-Security-Policy of /docs: only its own files, no inline script. */
const CSP = [
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

/** The files of Swagger UI and their content types. */
const FILES = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};
const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** The logo of the service: the icon of the page, also shown at its title. */
const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">
<rect width="32" height="32" rx="8" fill="#0b57b0"/>
<path d="M22.5 11a8 8 0 1 0 0 10" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/>
<circle cx="16" cy="16" r="2.5" fill="#fff"/>
</svg>
`;

/**
 * Shows whole UUIDs and a visible focus, and lets wide tables scroll on a phone. It hides the choice of servers and the
 * column of links, because there is one server and no operation has links.
 */
const STYLE = `
:root { color-scheme: light dark; --focus: #0b57b0; }
html.dark-mode { --focus: #8ab8f5; }
body { margin: 0; background: #fafafa; }
html.dark-mode body { background: #1c2022; }
body :focus-visible { outline: 2px solid var(--focus) !important; outline-offset: 2px; }
.swagger-ui .info { margin: 32px 0 16px; }
.swagger-ui .info .title::before { content: url(/docs/mark.svg); margin-right: 12px; vertical-align: -2px; }
.swagger-ui .scheme-container .schemes > .schemes-server-container, .swagger-ui .response-col_links { display: none; }
.swagger-ui .scheme-container .schemes { justify-content: flex-end; }
.swagger-ui .parameters-col_description input { max-width: 26em; }
.swagger-ui .highlight-code:has(.download-contents) > pre { padding-bottom: 48px !important; }
.swagger-ui table.headers td { padding-right: 12px; }
@media (max-width: 640px) {
  .swagger-ui .opblock .table-container, .swagger-ui .responses-inner { overflow-x: auto; padding: 12px; }
  .swagger-ui .wrapper { padding: 0 8px; }
  .swagger-ui .markdown p { line-height: 1.8; }
  .swagger-ui .info .title { font-size: 26px; }
  .swagger-ui .opblock-tag { flex-wrap: wrap; }
  .swagger-ui .opblock-tag a { flex: 1; }
  .swagger-ui .opblock-tag small { order: 1; flex: 0 0 100%; padding: 4px 0 0; }
  .swagger-ui table.parameters thead { display: none; }
  .swagger-ui table.parameters tbody, .swagger-ui table.parameters tr, .swagger-ui table.parameters td { display: block; }
  .swagger-ui table.parameters td { padding: 4px 0; overflow-wrap: anywhere; }
  .swagger-ui .parameters-col_description input { font-size: 14px; }
}
`;

/**
 * Without the standalone preset and its top bar. DELETE operations come last, the deepest path first, so that a reader who
 * tries the operations from top to bottom deletes nothing that a later one needs.
 */
const SCRIPT = `
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
const deletes = (operation) => operation.get('method') === 'delete' ? 1 / operation.get('path').length : 0;
window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: true,
  operationsSorter: (one, other) => deletes(one) - deletes(other),
  onComplete: () => window.dispatchEvent(new Event('docs-ready')),
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${TITLE}</title>
<link rel="icon" type="image/svg+xml" href="/docs/mark.svg">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`;

/**
 * The reference at /docs: Swagger UI from local files, usable on phones, in light or dark mode. The files are read once, at
 * the start.
 *
 * @param isDevelopment whether GET / redirects to the page; otherwise it answers with the path of the page
 * @param extraPlugin a plugin of a development command; its hooks apply to this page only
 */
export const docsPage = plugin<{ isDevelopment: boolean; extraPlugin: FastifyPluginAsync | null }>(
  async (app, { isDevelopment, extraPlugin }) => {
    await app.register(async (page) => {
      page.addHook('onRequest', async (_request, reply) => {
        reply.header('content-security-policy', CSP);
      });
      if (extraPlugin !== null) {
        await page.register(extraPlugin);
      }
      const serve = (path: string, type: string, content: Buffer) =>
        page.get(path, { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) =>
          reply.type(type).header('cache-control', 'public, max-age=3600').send(content),
        );
      for (const [name, type] of Object.entries(FILES)) {
        serve(`/docs/${name}`, type, await readFile(join(directory, name)));
      }
      serve('/docs/mark.svg', 'image/svg+xml', Buffer.from(MARK));
      serve('/docs/page.css', 'text/css; charset=utf-8', Buffer.from(STYLE));
      serve('/docs/page.js', 'text/javascript; charset=utf-8', Buffer.from(SCRIPT));
      page.get('/', { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) =>
        isDevelopment
          ? reply.redirect('/docs')
          : reply.type('text/plain; charset=utf-8').send(`${TITLE}. The reference is at /docs.\n`),
      );
      for (const path of ['/docs', '/docs/']) {
        page.get(path, { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) =>
          reply.type('text/html; charset=utf-8').send(PAGE),
        );
      }
    });
  },
  { name: 'docs-page', dependencies: ['openapi'] },
);
