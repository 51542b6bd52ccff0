import type { Caller } from './callers.js';
import type { Contender } from './contenders.js';
import { Wire } from './wire.js';

/** Reads the first page of each club's tasks and takes the cursor from its Link header. */
export async function readCursors(
  { name, port }: Contender,
  callers: Caller[],
): Promise<Map<string, string>> {
  const cursors = new Map<string, string>();
  const wire = await Wire.connect(port);
  for (const { clubId, head } of callers) {
    if (!cursors.has(clubId)) {
      const response = await wire.request(`GET /api/tasks?limit=20 HTTP/1.1\r\n${head}\r\n`);
      const cursor = /\r\nlink: <[^>]*[?&]cursor=([^&>]+)/i.exec(response.head)?.[1];
      if (cursor === undefined) {
        throw new Error(
          `${name} does not link to the next page: ${response.status} ${response.body.slice(0, 200)}`,
        );
      }
      cursors.set(clubId, cursor);
    }
  }
  wire.close();
  return cursors;
}
