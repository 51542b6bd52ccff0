import { ConfigurationError } from './config.js';
import { UnsafeRole } from './database/failures.js';

/** Why the service cannot start: a sentence where an operator can do something about it, the whole error where not. */
export function explain(error: unknown): unknown {
  if (error instanceof ConfigurationError || error instanceof UnsafeRole) {
    return error.message;
  }
  const { code, syscall, message, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') {
    return `The port ${port} is taken: is the service running already? Stop it, or choose another port.`;
  }
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    return `The service cannot listen (${message}): HOST, PORT, METRICS_HOST and METRICS_PORT say where it should.`;
  }
  return error;
}
