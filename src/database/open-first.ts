/** An attempt to open something, which can be given up. */
export interface Attempt<Opened> {
  opened: Promise<Opened>;
  abandon(): void;
}

/** How long an attempt may take before the next one begins beside it, in milliseconds. */
const PATIENCE_MS = 250;

/**
 * Opens the first of several that succeeds. They are tried in order: the next one when an attempt fails, or has no result after
 * 250 ms. The others are abandoned.
 *
 * @throws the error of the only attempt, or an AggregateError with the error of each
 */
export function openFirst<Opened>(starts: readonly (() => Attempt<Opened>)[]): Promise<Opened> {
  const running = new Set<Attempt<Opened>>();
  const errors: Error[] = [];
  const waiting = [...starts];
  let timer: NodeJS.Timeout | undefined;
  return new Promise((resolve, reject) => {
    const startNext = () => {
      clearTimeout(timer);
      const attempt = waiting.shift()?.();
      if (attempt === undefined) {
        return;
      }
      running.add(attempt);
      timer = setTimeout(startNext, PATIENCE_MS);
      attempt.opened.then(
        (opened) => {
          running.delete(attempt);
          waiting.length = 0;
          clearTimeout(timer);
          for (const other of running) {
            other.abandon();
          }
          resolve(opened);
        },
        (error) => {
          running.delete(attempt);
          errors.push(error);
          startNext();
          if (errors.length === starts.length) {
            reject(errors.length === 1 ? error : new AggregateError(errors));
          }
        },
      );
    };
    startNext();
  });
}
