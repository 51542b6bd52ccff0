/**
 * The service process: reads the configuration, starts the service, and stops on a signal.
 */
import { readServerConfig } from './config.js';
import { explain } from './database/errors.js';
import { type StopTimes, start } from './start.js';

const STOP_TIMES: StopTimes = { drainMs: 3_000, finishMs: 5_500 };
/** The process ends at the latest this long after a signal, even if the database or the log does not respond. */
const STOP_TIMEOUT_MS = 9_500;
/** A signal that follows another within this time is the same one: npm forwards a signal that its process group gets as well. */
const SAME_SIGNAL_MS = 1_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

try {
  let close: ((times: StopTimes) => Promise<void>) | undefined;
  let isStopping = false;
  const stop = async () => {
    if (isStopping) {
      return;
    }
    isStopping = true;
    // Without these listeners a second signal ends the process at once.
    setTimeout(() => {
      for (const signal of SIGNALS) {
        process.off(signal, stop);
      }
    }, SAME_SIGNAL_MS);
    // SIGKILL, because process.exit waits for the log, which can block.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
    // During the start there is no request to finish.
    await close?.(STOP_TIMES);
    process.exit(0);
  };
  // Before the start: process 1 of a container gets no signal without a listener.
  for (const signal of SIGNALS) {
    process.on(signal, stop);
  }
  close = await start(readServerConfig());
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}
