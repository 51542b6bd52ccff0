/**
 * The process: reads the configuration, serves, and closes on a signal.
 */
import { readServerConfig } from './config.js';
import { explain, start } from './start.js';

/** How long the process answers on after a signal, while load balancers and clients go elsewhere. */
const DRAIN_MS = 3_000;
/** How long after a signal the process ends at the latest, whatever is still running. */
const STOP_TIMEOUT_MS = 9_500;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

try {
  const close = await start(readServerConfig());
  const stop = () => {
    // The second one, whichever it is, does what it does by itself: it ends the process.
    for (const signal of SIGNALS) {
      process.off(signal, stop);
    }
    // To exit is to wait for a log that perhaps nobody reads.
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
