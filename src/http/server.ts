import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { DropArgument } from 'node:net';
import { type FastifyBaseLogger, type FastifyServerFactory, LogController } from 'fastify';
import { throttle } from '../logger.js';
import { buildValidator } from '../validation/compiler.js';
import type { RequestOrder } from './request-order.js';
import { closeAfterAmbiguous } from './strict-requests.js';

/** The limit for the request line and the headers. It must be smaller than REQUEST_TIMEOUT_MS, or createServer throws. */
const HEADERS_TIMEOUT_MS = 15_000;
/** The limit for a whole request from its first byte, against slow senders. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node.js checks these limits; its default, twice a minute, would double the limit. */
const CHECK_INTERVAL_MS = 5_000;
/** The limit for an inactive connection; longer than the deadlines of the database, so that no response is cut off. */
const SOCKET_TIMEOUT_MS = 60_000;
/** The limit for the start of each plugin; with the default of 10 s a start on an overloaded machine can fail. */
const PLUGIN_TIMEOUT_MS = 60_000;
/** Longer than the idle time-out of usual load balancers (60 s), so that the load balancer closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** The options of Fastify for the public port and the metrics port. */
export const fastifyOptions = {
  // http/access-log.ts writes one line per request instead.
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
  pluginTimeout: PLUGIN_TIMEOUT_MS,
  schemaController: { compilersFactory: { buildValidator } },
};

export interface HttpServerOptions {
  /** The maximum number of connections; a further one is dropped before it is read. */
  maxConnections: number;
  /** The log line when the maximum is reached. */
  onMaximum: string;
  logger: FastifyBaseLogger;
  order: RequestOrder;
}

/**
 * The HTTP server in front of Fastify: time-outs, a bound on connections, and one request after another on each
 * connection.
 */
export function serverFactory({
  maxConnections,
  onMaximum,
  logger,
  order,
}: HttpServerOptions): FastifyServerFactory {
  return (handler): Server => {
    const receive = (request: IncomingMessage, response: ServerResponse) => {
      closeAfterAmbiguous(request, response);
      order.take(request, response, () => handler(request, response));
    };
    const server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
        // Checked in strict-requests.ts, with an error text.
        requireHostHeader: false,
      },
      receive,
    );
    server.setTimeout(SOCKET_TIMEOUT_MS);
    // No limit: Node.js would silently drop later lines, such as a second Authorization. 16 KiB bound their number.
    server.maxHeadersCount = 0;
    // An unknown Expect header may be ignored (RFC 9110, 10.1.1).
    server.on('checkExpectation', receive);

    server.maxConnections = maxConnections;
    const logDropped = throttle<DropArgument | undefined>((dropped, peer) =>
      logger.warn({ dropped, max: maxConnections, ip: peer?.remoteAddress }, onMaximum),
    );
    server.on('drop', logDropped);
    return server;
  };
}
