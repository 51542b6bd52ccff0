import { attempt } from './attempts.js';
import type { Connection, Wait } from './connection.js';
import { type List, listOf } from './list.js';
import { type Call, prepare } from './request.js';
import type { Answered, CallOptions, OperationId } from './types.js';

type ItemOf<Id extends OperationId> = Answered<Id> extends (infer Item)[] ? Item : never;

/** The query of a list: its filters, and the cursor of the first page to read. */
interface ListQuery {
  cursor?: string | undefined;
}

/** Sends operations, for one club. */
export interface Sender {
  wait: Wait;
  send<Id extends OperationId>(operation: Id, call?: Call): Promise<Answered<Id>>;
  /** @param options with the id of the row that the list is about, if it has one */
  list<Id extends OperationId>(
    operation: Id,
    filter: ListQuery,
    options: CallOptions & { id?: string },
  ): List<ItemOf<Id>>;
}

/** Creates the sender of a club, or one without a club. */
export function senderOf(connection: Connection, clubId: string | undefined): Sender {
  const exchange = async (operation: OperationId, call: Call) =>
    attempt(connection, prepare(connection.base, clubId, operation, call), call.signal);
  return {
    wait: connection.wait,
    send: async <Id extends OperationId>(operation: Id, call: Call = {}) =>
      (await exchange(operation, call)).body as Answered<Id>,
    list: <Id extends OperationId>(
      operation: Id,
      filter: ListQuery,
      { id, signal }: CallOptions & { id?: string },
    ) =>
      listOf<ItemOf<Id>>(async (cursor) => {
        const { body, headers } = await exchange(operation, {
          ...(id !== undefined && { id }),
          query: { ...filter, cursor },
          signal,
        });
        return { items: body as ItemOf<Id>[], next: cursorOf(headers.get('link')) };
      }, filter.cursor),
  };
}

/**
 * The cursor of the next page, from the header Link (RFC 8288). The rest of the URL is not used, because the path of the
 * service can differ behind a proxy.
 */
function cursorOf(link: string | null): string | undefined {
  const target = link === null ? undefined : /<([^<>]*)>\s*;\s*rel="?next"?/.exec(link)?.[1];
  return target === undefined
    ? undefined
    : (new URL(target, 'http://service').searchParams.get('cursor') ?? undefined);
}
