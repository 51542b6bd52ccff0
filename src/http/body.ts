import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { Problem } from '../errors/problem.js';
import { malformedJson, unsupportedMediaType } from '../errors/request.js';
import { countHeader } from './header-lines.js';
import { immediate } from './immediate.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route takes no body for an empty object. */
    bodyIsOptional?: boolean;
  }
}

const MERGE_PATCH = 'application/merge-patch+json';

/**
 * Reads bodies: JSON in UTF-8 and nothing else. An empty body is no body, whatever type it claims. Bytes that are
 * no UTF-8 are refused, because decoding them would store something else than was sent.
 */
export const body = plugin(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      ['application/json', MERGE_PATCH],
      { parseAs: 'buffer' },
      async (request: FastifyRequest, bytes: Buffer) => {
        if (
          request.method !== 'PATCH' &&
          request.headers['content-type']?.toLowerCase().startsWith(MERGE_PATCH)
        ) {
          throw new Problem(unsupportedMediaType);
        }
        if (bytes.length === 0) {
          return undefined;
        }
        // Node reads the first of them, and whatever stands in front perhaps the last.
        if (countHeader(request.raw, 'content-type') > 1) {
          throw new Problem(unsupportedMediaType, { detail: 'Send one Content-Type.' });
        }
        if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
          throw new Problem(unsupportedMediaType, { detail: 'Send the body without Content-Encoding.' });
        }
        return parse(bytes);
      },
    );

    // Of another type a body is refused at its first byte; chunks may turn out to hold none.
    app.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => {
      for await (const bytes of payload.iterator({ destroyOnReturn: false })) {
        if (bytes.length > 0) {
          throw new Problem(unsupportedMediaType);
        }
      }
    });

    app.addHook(
      'onRequest',
      immediate(({ headers, routeOptions }) => {
        if (headers['content-type']?.trim() === '') {
          // An empty header says nothing.
          delete headers['content-type'];
        }
        if (headers['transfer-encoding'] === undefined && !Number(headers['content-length'])) {
          // The type of nothing says nothing: some clients send one with every request.
          delete headers['content-type'];
        } else if (routeOptions.config.bodyIsOptional) {
          // Where a body may be left out, so may its type: whatever has none is read as JSON.
          headers['content-type'] ??= 'application/json';
        }
      }),
    );

    app.addHook(
      'preValidation',
      immediate((request) => {
        if (request.body === undefined && request.routeOptions.config.bodyIsOptional) {
          request.body = {};
        }
      }),
    );
  },
  { name: 'body' },
);

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Problem(malformedJson);
  }
}
