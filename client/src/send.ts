import { attempt } from './attempts.js';
import type { Connection } from './connection.js';
import { type List, listOf } from './list.js';
import { type Call, prepare } from './request.js';
import type { Answered, CallOptions, OperationId } from './types.js';

type ItemOf<Id extends OperationId> = Answered<Id> extends (infer Item)[] ? Item : never;

/** How the methods of a client reach the service, for one club. */
export interface Sender {
  send<Id extends OperationId>(operation: Id, call?: Call): Promise<Answered<Id>>;
  list<Id extends OperationId>(operation: Id, filter: object, options: CallOptions): List<ItemOf<Id>>;
}

/** Sends operations for a club, or for none. */
export function senderOf(connection: Connection, clubId: string | undefined): Sender {
  const exchange = async (operation: OperationId, call: Call) =>
    attempt(connection, prepare(connection.base, clubId, operation, call), call.signal);
  return {
    send: async <Id extends OperationId>(operation: Id, call: Call = {}) =>
      (await exchange(operation, call)).body as Answered<Id>,
    list: <Id extends OperationId>(operation: Id, filter: object, { signal }: CallOptions) =>
      listOf<ItemOf<Id>>(async (cursor) => {
        const { body, headers } = await exchange(operation, { query: { ...filter, cursor }, signal });
        return { items: body as ItemOf<Id>[], next: cursorOf(headers.get('link')) };
      }),
  };
}

/**
 * The cursor of the next page, from the header Link (RFC 8288). Not its whole address: behind a proxy the client may
 * know the service by another path.
 */
function cursorOf(link: string | null): string | undefined {
  const target = link === null ? undefined : /<([^<>]*)>\s*;\s*rel="?next"?/.exec(link)?.[1];
  return target === undefined
    ? undefined
    : (new URL(target, 'http://service').searchParams.get('cursor') ?? undefined);
}
