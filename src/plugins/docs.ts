import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync } from 'fastify';
import plugin from 'fastify-plugin';
import { TITLE } from './openapi.js';
import { DOCS_CSP } from './security-headers.js';

const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** On a phone, what is too wide scrolls by itself, and the column of links goes: no operation has any. */
const STYLE = `
@media (max-width: 640px) {
  .swagger-ui .response-col_links { display: none; }
  .swagger-ui .opblock .table-container, .swagger-ui .responses-inner { overflow-x: auto; padding: 12px; }
  .swagger-ui .wrapper { padding: 0 8px; }
  .swagger-ui .markdown p { line-height: 1.8; }
  .swagger-ui table.parameters td { padding-right: 8px; overflow-wrap: anywhere; }
}
`;

/**
 * The page of the document, at /docs: Swagger UI with its own files, fit for phones, light or dark as the reader's
 * system is.
 *
 * `addition` is what a development command brings; its hooks and routes are this page's alone.
 */
export const docs = plugin<{ addition: FastifyPluginAsync | null }>(
  async (app, { addition }) => {
    await app.register(async (page) => {
      // Files come whole (RFC 9110, 14.2), so no range can be one that they do not have.
      page.addHook('onRequest', async ({ headers }) => {
        delete headers.range;
      });
      // The package does not say that its page is fit for phones, so they would show it as small print.
      page.addHook('onSend', async (_request, _reply, payload) =>
        typeof payload === 'string' ? payload.replace('<head>', `<head>${VIEWPORT}`) : payload,
      );
      if (addition !== null) {
        await page.register(addition);
      }
      await page.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: DOCS_CSP,
        theme: { title: TITLE, css: [{ filename: 'phone.css', content: STYLE }] },
        uiConfig: { validatorUrl: null, persistAuthorization: true },
      });
    });
  },
  { name: 'docs', dependencies: ['openapi'] },
);
