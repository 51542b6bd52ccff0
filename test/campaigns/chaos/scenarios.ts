import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../../../src/deploy/client.js';
import { type Action, isStatement, type Message, message } from '../../setup/proxy.js';
import { until } from '../../setup/wait.js';
import type { Plan } from './campaign.js';
import { join } from './member.js';
import { cutAt, heal, isCommit, isCommitted } from './nemesis.js';
import { COLUMN_TYPES, changeColumnTypes, deployInTime } from './operators.js';
import { BACKENDS, type Club, type Testbed } from './testbed.js';
import { openWire } from './wire.js';
import { type SharedRows, work } from './work.js';

/** Faults that reveal one kind of defect, and their duration. A correct service passes each of them. */
export interface Scenario extends Pick<Plan, 'nemesis'> {
  name: string;
  durationMs: number;
  /** SQL for the database before the service starts. */
  sql?: string;
  patienceMs?: number;
  restMs?: number;
  faultlessMs?: number;
}

const DURATION_MS = 2_500;

const untilOver = (isOver: () => boolean) => until(isOver, Boolean);

/** Applies one action to matching PostgreSQL messages for the whole duration. */
function cuts(
  name: string,
  fits: (message: Message) => boolean,
  action: Action,
  chance: number,
  more: Partial<Scenario> = {},
): Scenario {
  return {
    name,
    durationMs: DURATION_MS,
    nemesis: async (testbed, isOver, random) => {
      cutAt(testbed, testbed.back, fits, action, chance, random);
      await untilOver(isOver);
      heal(testbed);
    },
    ...more,
  };
}

const isLogIn = ({ from, type }: Message) => from === 'server' && type === 'R';
const isReadyInside = ({ from, type, text }: Message) => from === 'server' && type === 'Z' && text === 'T';

export const noFaults: Scenario = {
  name: 'no faults',
  durationMs: DURATION_MS,
  nemesis: async (testbed, isOver) => {
    heal(testbed);
    await untilOver(isOver);
  },
};
export const slowness = cuts('slow messages', () => true, { delayMs: 15 }, 0.3, {
  durationMs: 4_000,
});
export const beforeCommit = cuts('cuts before COMMIT', isCommit, 'cut before', 0.3);
export const beforeCommitted = cuts('cuts before the answer to COMMIT', isCommitted, 'cut before', 0.3);
export const betweenStatements = cuts('cuts between two statements', isReadyInside, 'cut after', 0.1);
export const whileOpening = cuts(
  'cuts between two statements, and while a connection is opened',
  (message) => isReadyInside(message) || isLogIn(message),
  'cut after',
  0.1,
);
export const rarely = cuts('cuts before the answer to COMMIT, at leisure', isCommitted, 'cut before', 0.3, {
  restMs: 150,
  durationMs: 5_000,
});

export const beforeCalls = cuts(
  'cuts before a call',
  ({ type, statement = '' }) => type === 'B' && /signUp/i.test(statement),
  'cut before',
  0.3,
);

/** A call's result is lost: its function was evaluated. */
export const lostCalls = cuts(
  'cuts before the result of a call',
  ({ from, type, text }) => from === 'server' && type === 'D' && text.includes('"accepted":true'),
  'cut before',
  0.1,
);

/** Like a server that stops responding. */
export const rollback = cuts('COMMIT becomes ROLLBACK', isCommit, { bytes: instead('rollback') }, 0.3);

/** Like a swapped response: a request enters another club. */
export const wrongClub: Scenario = {
  name: 'a request enters another club',
  durationMs: DURATION_MS,
  nemesis: async (testbed, isOver, random) => {
    const [north, south] = testbed.clubs as [Club, Club];
    testbed.back.onMessage = ({ from, type, text, statement = '' }) => {
      testbed.back.log.length = 0;
      const isEntry = from === 'client' && type === 'B' && statement.includes('app.enter(');
      if (!isEntry || !text.includes(north.id) || random() >= 0.2) {
        return 'pass';
      }
      testbed.faults.push({ kind: 'another club', from: testbed.now(), to: testbed.now() });
      const other = text.replaceAll(north.id, south.id).replaceAll(north.canary, south.canary);
      return { bytes: message('B', other) };
    };
    await untilOver(isOver);
    heal(testbed);
  },
};

/** Like a lost count of responses: the response to a read comes twice, the second time for the next read. */
export const answersTwice: Scenario = {
  name: 'answers come twice',
  durationMs: DURATION_MS,
  restMs: 1,
  nemesis: async (testbed, isOver, random) => {
    const lastAnswers = new Map<number, Buffer[]>();
    testbed.back.onMessage = ({ connection, from, type, text }) => {
      testbed.back.log.length = 0;
      if (from === 'client' || !['2', 'D', 'C', 'Z'].includes(type)) {
        return 'pass';
      }
      const answer = type === '2' ? [] : (lastAnswers.get(connection) ?? []);
      answer.push(message(type, text));
      lastAnswers.set(connection, answer);
      const isRead = answer.some((bytes) => bytes.includes('"request":'));
      if (type !== 'Z' || !isRead || random() >= 0.05) {
        return 'pass';
      }
      testbed.faults.push({ kind: 'an answer twice', from: testbed.now(), to: testbed.now() });
      return { bytes: Buffer.concat([message(type, text), ...answer]) };
    };
    await untilOver(isOver);
    heal(testbed);
  },
};

/** A failing statement replaces COMMIT: the transaction stays open. */
export const failingCommit = cuts(
  'COMMIT becomes an error',
  isCommit,
  { bytes: instead("do $$ begin raise exception using errcode = '53100'; end $$") },
  0.3,
);

/** Like a cancelled ROLLBACK: the transaction stays open. */
export const failingRollback = cuts(
  'ROLLBACK becomes an error',
  isStatement('rollback'),
  { bytes: instead("do $$ begin raise exception using errcode = '57014'; end $$") },
  0.3,
);

/** DDL under load. No fault is recorded: it must not fail a request. */
const ddl = (name: string, pauseMs: number, more: Partial<Scenario>): Scenario => ({
  name,
  durationMs: 6_000,
  nemesis: async (testbed, isOver) => {
    heal(testbed);
    while (!isOver()) {
      for (const type of COLUMN_TYPES) {
        await changeColumnTypes(testbed, type);
        await sleep(pauseMs);
      }
    }
  },
  ...more,
});
export const otherColumns = ddl('columns change their types', 100, {});
export const ddlUnderReads = ddl('columns change their types all the time', 10, { restMs: 1 });

/**
 * Deploys under load. No fault is recorded: they must not fail a request. app.enter is slow until the first deploy
 * succeeds, so that each deploy meets running statements.
 */
export const deploys: Scenario = {
  name: 'deploys',
  durationMs: 10_000,
  sql: `do $do$ begin
    execute replace(
      pg_get_functiondef('app.enter'::regproc),
      E'\\nbegin\\n', E'\\nbegin\\n  perform pg_sleep(0.01);\\n');
    end $do$`,
  nemesis: async (testbed, isOver) => {
    heal(testbed);
    while (!isOver()) {
      await deployInTime(testbed);
    }
  },
};

/** Reads whose responses come too late, one after another. No fault is recorded: other reads on the connection succeed. */
export const slowReads: Scenario = {
  name: 'some reads are not answered in time',
  durationMs: 9_000,
  nemesis: async (testbed, isOver) => {
    const [club] = testbed.clubs as [Club];
    const { send, close } = openWire(testbed.front.url, 10_000);
    const headers = {
      authorization: `Bearer ${testbed.token(club, 'sleeper', 'Member')}`,
      'x-tenant-id': club.id,
    };
    await send('GET', '/api/members/me', headers);
    testbed.back.onMessage = ({ from, type, text }) => {
      testbed.back.log.length = 0;
      // Longer than an attempt. Earlier reads are answered.
      return from === 'client' && type === 'B' && text.includes('sleeper') ? { delayMs: 5_000 } : 'pass';
    };
    while (!isOver()) {
      await send('GET', '/api/tasks', headers);
      await sleep(1_000);
    }
    close();
    heal(testbed);
  },
};

/** Some connections are lost during a transaction. */
export const twice: Scenario = {
  name: 'two connections die',
  durationMs: DURATION_MS,
  nemesis: async (testbed, isOver, random) => {
    let left = 2;
    cutAt(testbed, testbed.back, (message) => isReadyInside(message) && left-- > 0, 'cut after', 1, random);
    await untilOver(isOver);
    heal(testbed);
  },
};

export const kills: Scenario = {
  name: 'backends die',
  durationMs: DURATION_MS,
  faultlessMs: 2_000,
  nemesis: async (testbed: Testbed, isOver) => {
    heal(testbed);
    while (!isOver()) {
      const at = { kind: 'backends terminated', from: testbed.now(), to: testbed.now() };
      testbed.faults.push(at);
      await testbed.queryAsAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where usename like 'club\\_api%' and datname = current_database()`,
      );
      at.to = testbed.now();
      await sleep(100);
    }
  },
};

/** Longer than the service's deadline, shorter than the client's time-out. */
export const silence: Scenario = {
  name: 'connections fall silent',
  durationMs: 10_500,
  patienceMs: 10_000,
  nemesis: async (testbed, isOver, random) => {
    await sleep(200);
    const fault = { kind: 'silence', from: testbed.now(), to: Number.POSITIVE_INFINITY };
    testbed.faults.push(fault);
    let left = 2;
    cutAt(testbed, testbed.back, (message) => isReadyInside(message) && left-- > 0, 'freeze', 1, random);
    await untilOver(isOver);
    heal(testbed);
    testbed.back.cut();
    fault.to = testbed.now();
  },
};

/** While it is held, a request about a shift of the club has begun, and written nothing. */
const SHIFTS = 'select from app.shifts where tenant_id = $1 for update';
/** While it is held, a request of the club has written, and waits in COMMIT for the number of its event. */
const COMMITS = 'select pg_advisory_xact_lock(uuid_hash_extended($1, 1))';

/** A member signs up, and leaves before the request has the lock of the shift, or before it commits. */
export const leaving: Scenario = {
  name: 'a member leaves while they sign up',
  durationMs: DURATION_MS,
  nemesis: async (testbed, isOver) => {
    heal(testbed);
    const { clubs, queryAsAdmin, victim, database, front } = testbed;
    const [club] = clubs as [Club];
    const options = { entrance: front.url, seed: 1, patienceMs: 60_000, restInDoubtMs: 0 };
    const ada = await join(testbed, club, 'ada', 'Admin', options);
    const eve = await join(testbed, club, 'eve', 'Member', options);
    // Markers are unique in the club.
    const shared = { tasks: [], shifts: [], started: [], leavers: [eve], count: 1_000_000, end: () => false };
    await work(ada, shared, 'create shift');
    const [shift] = shared.shifts as SharedRows['shifts'];
    const path = `/api/shifts/${shift?.id}/signup`;
    const untilWaiting = async (operation: string, request: Promise<unknown>) => {
      let hasEnded = false;
      request.then(() => {
        hasEnded = true;
      });
      const isWaiting = async () =>
        (
          await queryAsAdmin(`select ${BACKENDS} and wait_event_type = 'Lock' and query like $1`, [
            `/* ${operation} */%`,
          ])
        ).length > 0;
      await until(async () => hasEnded || (await isWaiting()), Boolean, { everyMs: 5 });
    };
    for (const lock of [SHIFTS, COMMITS]) {
      await withClient(victim.urls(database).admin, async (holder) => {
        await holder.query('begin');
        await holder.query(lock, [club.id]);
        const signup = eve.act({ kind: 'sign up', target: shift?.id ?? '', method: 'POST', path });
        await untilWaiting('signUp', signup);
        const end = work(ada, shared, 'end membership');
        await untilWaiting('setMembership', end);
        await holder.query('rollback');
        await Promise.all([signup, end]);
      });
      await work(ada, shared, 'renew membership');
    }
    await untilOver(isOver);
    ada.leave();
    eve.leave();
  },
};

/** A message that runs another statement instead of a prepared one. */
function instead(text: string): Buffer {
  return Buffer.concat([message('P', `\0${text}\0\0\0`), message('B', '\0'.repeat(8))]);
}
