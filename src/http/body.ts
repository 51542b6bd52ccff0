import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { Problem } from '../errors/problem.js';
import { malformedJson, unsupportedMediaType } from '../errors/request.js';
import { Strict } from '../validation/schemas.js';
import { countHeader } from './header-lines.js';
import { syncHook } from './sync-hook.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a missing body as an empty object: a POST, PUT or PATCH whose schema has no body. */
    bodyIsOptional?: boolean;
  }
}

const MERGE_PATCH = 'application/merge-patch+json';

/**
 * Parses request bodies: JSON in UTF-8 only. An empty body of any content type counts as no body. Bytes that are not
 * UTF-8 are rejected, because decoding would change what is stored.
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
        // Node.js reads the first one; a proxy in front of it may read the last one.
        if (countHeader(request.raw, 'content-type') > 1) {
          throw new Problem(unsupportedMediaType, { detail: 'Send one Content-Type.' });
        }
        if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
          throw new Problem(unsupportedMediaType, { detail: 'Send the body without Content-Encoding.' });
        }
        return parse(bytes);
      },
    );

    // A body of another type is rejected, but a chunked body can be empty.
    app.addContentTypeParser('*', async ({ headers }: FastifyRequest, payload: IncomingMessage) => {
      if (headers['content-length'] !== undefined || !(await isEmpty(payload))) {
        throw new Problem(unsupportedMediaType);
      }
    });

    app.addHook(
      'onRequest',
      syncHook(({ headers, routeOptions }) => {
        if (headers['content-type']?.trim() === '') {
          // An empty header counts as absent.
          delete headers['content-type'];
        }
        if (headers['transfer-encoding'] === undefined && !Number(headers['content-length'])) {
          // Without a body the type is ignored: some clients send it with every request.
          delete headers['content-type'];
        } else if (routeOptions.config.bodyIsOptional) {
          // Where the body is optional, so is its type: without one the body is read as JSON.
          headers['content-type'] ??= 'application/json';
        }
      }),
    );

    // Where no field is read, such as the version in a DELETE, it is rejected and not ignored.
    app.addHook('onRoute', (route) => {
      const { method, schema, config } = route;
      const isChange = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(String(method));
      if (isChange && schema !== undefined && schema.body === undefined) {
        schema.body = Strict({}, { examples: [{}] });
        route.config = { ...config, bodyIsOptional: method !== 'DELETE' };
      }
    });

    app.addHook(
      'preValidation',
      syncHook((request) => {
        const isOptional = request.method === 'DELETE' || request.routeOptions.config.bodyIsOptional;
        if (request.body === undefined && isOptional) {
          request.body = {};
        }
      }),
    );
  },
  { name: 'body' },
);

/** Whether a body ends before its first byte. @throws Problem `malformed_json` when the connection ends before that */
async function isEmpty(payload: IncomingMessage): Promise<boolean> {
  try {
    for await (const bytes of payload.iterator({ destroyOnReturn: false })) {
      if (bytes.length > 0) {
        return false;
      }
    }
    return true;
  } catch {
    throw new Problem(malformedJson);
  }
}

/** Parses JSON in UTF-8, with or without a byte order mark (RFC 8259, section 8.1). @throws Problem `malformed_json` */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Problem(malformedJson);
  }
}
