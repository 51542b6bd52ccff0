import { randomUUID } from 'node:crypto';
import type { Caller, Signer } from './callers.js';
import type { WireResponse } from './wire.js';

/** A request, the check of its response, and the request that always follows on the same connection. */
export interface Exchange {
  request: string;
  status: number;
  isRight: (response: WireResponse) => boolean;
  next?: Exchange;
}

/** A kind of load: the same request, each time as another caller. */
export interface Workload {
  name: string;
  next(): Exchange;
  /** Creates the rows that this number of requests needs. */
  prepare?(count: number): void;
}

const always = () => true;
const get = (path: string, { head }: Pick<Caller, 'head'>) => `GET ${path} HTTP/1.1\r\n${head}\r\n`;

/** Checks that a list has rows and that every title contains the mark of the club; titles only in a sample of responses. */
function isPageOf(mark: string): (response: WireResponse) => boolean {
  return ({ body }) => {
    checked += 1;
    const first = body.indexOf(` of ${mark}`);
    const isWhole =
      body.startsWith('[') && body.endsWith(']') && first > 0 && body.lastIndexOf('"title"') > 0;
    return (
      isWhole &&
      (checked % 64 !== 0 ||
        (JSON.parse(body) as { title: string }[]).every(({ title }) => title.includes(` of ${mark}`)))
    );
  };
}
let checked = 0;

const isOf = (caller: Caller) => (response: WireResponse) =>
  response.body.includes(caller.clubId) && response.body.includes(caller.mark);

const taskPage = (caller: Caller): Exchange => ({
  request: get('/api/tasks?limit=20', caller),
  status: 200,
  isRight: isPageOf(caller.mark),
});

const taskOne = (caller: Caller, turn: number): Exchange => ({
  request: get(`/api/tasks/${caller.taskIds[turn % caller.taskIds.length]}`, caller),
  status: 200,
  isRight: isOf(caller),
});

const shiftsWindow = (caller: Caller, query: string): Exchange => ({
  request: get(`/api/shifts?${query}`, caller),
  status: 200,
  isRight: isPageOf(caller.mark),
});

function taskPatch(caller: Caller, turn: number, versions: Map<string, number>): Exchange {
  const id = caller.taskIds[turn % caller.taskIds.length] as string;
  titles += 1;
  const title = `"title":"Title ${titles} of ${caller.mark}"`;
  const body = `{${title}}`;
  return {
    request:
      `PATCH /api/tasks/${id} HTTP/1.1\r\n${caller.head}` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    status: 200,
    isRight: (response) => {
      const before = versions.get(id) ?? 1;
      const version = Number(/"version":(\d+)/.exec(response.body)?.[1]);
      versions.set(id, version);
      return version > before && response.body.includes(title) && isOf(caller)(response);
    },
  };
}
/** One counter for all contenders, so that each patch has a new title: an unchanged title might not be written. */
let titles = 0;

/** @param headers further header lines */
const signupCancel = (caller: Caller, headers = ''): Exchange => ({
  request: `POST /api/shifts/${caller.shiftId}/signup HTTP/1.1\r\n${caller.head}${headers}Content-Length: 0\r\n\r\n`,
  status: 201,
  isRight: ({ body }) => body.includes(caller.shiftId),
  next: {
    request: `DELETE /api/shifts/${caller.shiftId}/signup HTTP/1.1\r\n${caller.head}\r\n`,
    status: 204,
    isRight: always,
  },
});

/** The next thirty days. */
export function windowQuery(now = Date.now()): string {
  const [from, to] = [now, now + 30 * 86_400_000].map((ms) => new Date(ms).toISOString().slice(0, 19));
  return `from=${from}Z&to=${to}Z&limit=50`;
}

/** The cursor of a contender, changed to another position in the same list. */
export function moveCursor(cursor: string, { key, id }: { key: string; id: string }): string {
  const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
  return Buffer.from(JSON.stringify([...parts.slice(0, -2), key, id])).toString('base64url');
}

/**
 * The workloads of one contender.
 *
 * @param cursors a cursor of this contender for each club's list of tasks, by the id of the club
 */
export function makeWorkloads(callers: Caller[], cursors: Map<string, string>, signer: Signer): Workload[] {
  const window = windowQuery();
  let turns = 0;
  const each = (make: (caller: Caller, turn: number) => Exchange) => () => {
    turns += 1;
    return make(callers[turns % callers.length] as Caller, Math.floor(turns / callers.length));
  };
  const page = each(taskPage);
  const one = each(taskOne);
  const shifts = each((caller) => shiftsWindow(caller, window));
  // The last version of each task in the database of this contender, to detect a patch that changed nothing.
  const versions = new Map<string, number>();
  const patch = each((caller, turn) => taskPatch(caller, turn, versions));
  const signup = each((caller) => signupCancel(caller));
  const keyed = each((caller) => signupCancel(caller, `Idempotency-Key: ${randomUUID()}\r\n`));
  // Twenty requests: sixteen reads, two patches, a signup and its cancellation.
  const mixed = [
    page,
    one,
    shifts,
    page,
    patch,
    page,
    one,
    shifts,
    page,
    one,
    signup,
    page,
    shifts,
    page,
    one,
    page,
    shifts,
    page,
    patch,
  ];
  let mixes = 0;
  const deepCallers = callers.filter((caller) => cursors.has(caller.clubId) && caller.positions.length > 0);
  let deeps = 0;
  const visitors: Exchange[] = [];
  return [
    { name: 'tasks-page', next: page },
    {
      name: 'tasks-deep',
      next: () => {
        deeps += 1;
        const caller = deepCallers[deeps % deepCallers.length] as Caller;
        const position = caller.positions[deeps % caller.positions.length] as Caller['positions'][0];
        const cursor = moveCursor(cursors.get(caller.clubId) as string, position);
        return { ...taskPage(caller), request: get(`/api/tasks?limit=20&cursor=${cursor}`, caller) };
      },
    },
    { name: 'task-one', next: one },
    { name: 'shifts-window', next: shifts },
    { name: 'task-patch', next: patch },
    { name: 'signup-keyed', next: keyed },
    { name: 'signup-cancel', next: signup },
    {
      name: 'mix',
      next: () => {
        mixes += 1;
        return (mixed[mixes % mixed.length] as () => Exchange)();
      },
    },
    {
      name: 'first-visit',
      next: () => visitors.pop() as Exchange,
      prepare: (count) => {
        while (visitors.length < count) {
          visited += 1;
          const caller = callers[visited % callers.length] as Caller;
          const head = signer.head(`visitor-${visited}`, caller.clubId);
          visitors.push(taskPage({ ...caller, head }));
        }
      },
    },
  ];
}
/** One counter for all contenders, so that no visitor occurs twice. */
let visited = 0;
