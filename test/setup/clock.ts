import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Test } from 'tap';
import { HANG_MS } from './wait.js';

const LONGEST_MS = 2 ** 31 - 1;

/** Moves a stopped clock forward: runs each timer that is due, in order, with what follows from it at once. */
export type Advance = (ms: number) => Promise<void>;

/**
 * Stops `performance.now` and the timers of `setTimeout` of this process until the test ends, so that no limit of the product
 * passes by itself. `until` and node:timers/promises continue. In a test that hangs, all limits pass after three minutes.
 */
export function stopClock(t: Test): Advance {
  // Whole milliseconds, so that sums are exact.
  let now = Math.ceil(performance.now());
  const timers = new Map<unknown, { at: number; run: () => void }>();
  const restores: (() => void)[] = [];
  const replace = (object: object, name: string, value: unknown) => {
    const before = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
    restores.push(() =>
      before ? Object.defineProperty(object, name, before) : Reflect.deleteProperty(object, name),
    );
  };
  const { setTimeout, clearTimeout } = globalThis;
  replace(performance, 'now', () => now);
  replace(globalThis, 'setTimeout', (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    if (!(ms > 0)) {
      // Not a limit, but the next turn.
      return setTimeout(run, 0, ...args);
    }
    const timer = { ref: () => timer, unref: () => timer };
    // As Node.js does: it takes a longer time than a timer can be for 1 ms.
    timers.set(timer, { at: now + (ms <= LONGEST_MS ? ms : 1), run: () => run(...args) });
    return timer;
  });
  replace(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => timers.delete(timer) || clearTimeout(timer));
  const restore = () => {
    for (const each of restores.splice(0)) {
      each();
    }
  };
  // Otherwise tap, which ends a hanging process by a timer, could not.
  const guard = setTimeout(() => {
    restore();
    for (const { run } of timers.values()) {
      run();
    }
  }, HANG_MS).unref();
  t.teardown(() => {
    clearTimeout(guard);
    restore();
  });
  return async (ms) => {
    // What was called before has begun.
    await nextTurn();
    const end = now + ms;
    for (;;) {
      const [next] = [...timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (next === undefined) {
        break;
      }
      const [timer, { at, run }] = next;
      timers.delete(timer);
      now = Math.max(now, at);
      run();
      await nextTurn();
    }
    now = end;
  };
}
