import type { IncomingMessage } from 'node:http';

/** The number of lines of a header in a message. `headers` hides this: Node.js joins some repeated headers and drops others. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((line, index) => index % 2 === 0 && line.toLowerCase() === name).length;
}
