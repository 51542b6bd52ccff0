/**
 * The process: reads the configuration, serves, and closes on a signal.
 */
import { ConfigurationError, readServerConfig } from './config.js';
import { UnsafeRole } from './database/failures.js';
import { serve } from './serve.js';

/** How long running requests get to finish after a signal. */
const CLOSE_TIMEOUT_MS = 10_000;

try {
  const close = await serve(readServerConfig());
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      setTimeout(() => process.exit(1), CLOSE_TIMEOUT_MS).unref();
      close().then(() => process.exit(0));
    });
  }
} catch (error) {
  const expected = error instanceof ConfigurationError || error instanceof UnsafeRole;
  const { code, port } = error as { code?: string; port?: number };
  const message =
    code === 'EADDRINUSE' ? `The port ${port} is taken. Stop what listens there, or set PORT.` : error;
  console.error(expected ? (error as Error).message : message);
  process.exit(1);
}
