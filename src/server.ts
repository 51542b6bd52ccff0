/**
 * The service process: reads the configuration, starts the service, and stops on a signal.
 */
import { readServerConfig } from './config.js';
import { explain, start } from './start.js';

/** How long the process continues to answer after a signal, while load balancers and clients move to other processes. */
const DRAIN_MS = 3_000;
/** The process ends at the latest this long after a signal, even if requests are still running. */
const STOP_TIMEOUT_MS = 9_500;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

try {
  const close = await start(readServerConfig());
  const stop = () => {
    // Without these listeners a second signal ends the process at once.
    for (const signal of SIGNALS) {
      process.off(signal, stop);
    }
    // SIGKILL, because process.exit waits for the log, which can block.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
    close(DRAIN_MS).then(() => process.exit(0));
  };
  for (const signal of SIGNALS) {
    process.on(signal, stop);
  }
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}
