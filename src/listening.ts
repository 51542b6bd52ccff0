/** Nothing can listen where the configuration says. The message says where, and why not. */
export class CannotListen extends Error {
  override name = 'CannotListen';

  constructor(cause: NodeJS.ErrnoException & { port?: number }) {
    super(
      cause.code === 'EADDRINUSE'
        ? `The port ${cause.port} is taken: is the service running already? Stop it, or choose another port.`
        : `The service cannot listen (${cause.message}): HOST, PORT, METRICS_HOST and METRICS_PORT say where it should.`,
      { cause },
    );
  }
}
