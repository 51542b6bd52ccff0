import { ReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
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
 * The files of the page, by their paths: the same bytes for everybody. An open file for each reader is a descriptor and
 * a piece of memory for whoever does not read.
 */
const files = new Map<string, Promise<Buffer>>();

/** What a file holds that was to be read for one answer. @throws the system's error where it cannot be opened */
function readOnce(file: ReadStream): Promise<Buffer> {
  // It may not even be open yet, and fail at that.
  file.on('error', () => {}).destroy();
  const path = String(file.path);
  const bytes =
    files.get(path) ??
    readFile(path).catch((error) => {
      files.delete(path);
      throw error;
    });
  files.set(path, bytes);
  return bytes;
}

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
      page.addHook('onSend', async (_request, _reply, payload) =>
        payload instanceof ReadStream ? readOnce(payload) : payload,
      );
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
