import type { IncomingMessage } from 'node:http';

/** How often a header stands in a message. Node joins some repeated headers and drops others. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((line, index) => index % 2 === 0 && line.toLowerCase() === name).length;
}
