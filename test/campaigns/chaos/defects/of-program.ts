// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the program

import type { Defect, Patch } from './defect.js';
import {
  answersTwice,
  beforeCalls,
  beforeCommit,
  beforeCommitted,
  betweenStatements,
  ddlUnderReads,
  deploys,
  failingCommit,
  failingRollback,
  kills,
  lostCalls,
  noFaults,
  otherColumns,
  rarely,
  rollback,
  silence,
  slowness,
  slowReads,
  twice,
  whileOpening,
  wrongClub,
} from './scenarios.js';

const TRANSACTION = 'database/transaction.js';
const CONNECTION = 'database/connection.js';
const POOL = 'database/pool.js';
const STATEMENT = 'database/statement.js';
const CONTEXT = 'database/context.js';
const DATABASE = 'database/database.js';
/** Whether a result belongs to its request. */
const UNMATCHED: Patch[] = [
  [CONTEXT, 'row?.request !== request', 'row === undefined'],
  ['database/tenant-context.js', 'row.entered_tenant_id !== tenantId', 'false'],
];
/** Work with a pause between two statements. */
const THOUGHTFUL: Patch = [
  TRANSACTION,
  'this.#last.then(() => this.#connection.query(statement))',
  'this.#last.then(() => new Promise((go) => setTimeout(go, 10))).then(() => this.#connection.query(statement))',
];
const writing = { 'create task': 6, 'patch task': 6, 'sign up': 4, cancel: 3, 'read task': 2 };
const creating = { 'create task': 10, 'read task': 2 };
const reading = { 'create task': 1, 'read task': 10, 'list tasks': 5, 'list shifts': 1 };

/** Defects of the program, planted in a copy of it. */
export const ofProgram: Defect[] = [
  {
    name: 'the reply does not wait for COMMIT',
    violation: 'lost',
    scenario: beforeCommit,
    workload: writing,
    patches: [[TRANSACTION, 'await commit(connection);', 'commit(connection).catch(() => {});']],
  },
  {
    name: 'the command tag of COMMIT is not checked',
    violation: 'lost',
    scenario: rollback,
    workload: writing,
    patches: [
      [TRANSACTION, `if (result.command === 'ROLLBACK') {`, 'if (false) {'],
      [TRANSACTION, `expectTag(connection, result, 'COMMIT', 'unknown');`, ''],
    ],
  },
  {
    name: 'a connection is released without ROLLBACK after a COMMIT that failed',
    violation: 'unexpected-5xx',
    scenario: failingCommit,
    workload: writing,
    patches: [
      [TRANSACTION, 'await rollBack(connection, connection.rollbackAfterFailedCommit(ROLLBACK));', ''],
    ],
  },
  {
    name: 'a connection is released without ROLLBACK after work that failed',
    violation: 'unexpected-5xx',
    scenario: noFaults,
    workload: writing,
    patches: [[TRANSACTION, 'await rollBack(connection, connection.query(ROLLBACK));', '']],
  },
  {
    name: 'a connection is released after a ROLLBACK that failed',
    violation: 'unexpected-5xx',
    scenario: failingRollback,
    workload: writing,
    patches: [[TRANSACTION, 'catch (error) {\n        connection.destroy(error);\n    }', 'catch {}']],
  },
  {
    name: 'a write with an unknown outcome is repeated',
    violation: 'doubled',
    scenario: beforeCommitted,
    workload: creating,
    patches: [
      [DATABASE, 'if (error instanceof ConnectionLost) {', 'if (error instanceof Unavailable) {'],
      [DATABASE, `return kind === 'read' ? 2 : 1;`, 'return 2;'],
    ],
  },
  {
    name: 'a call whose connection was lost is repeated',
    violation: 'lost',
    scenario: lostCalls,
    workload: { 'sign up': 10, cancel: 10 },
    patches: [
      [STATEMENT, `mode === 'call' && error instanceof Unavailable`, 'false'],
      [DATABASE, `return kind === 'read' ? 2 : 1;`, 'return 2;'],
    ],
  },
  {
    name: 'the version is checked at the read, and not at the write',
    violation: 'anomalies',
    scenario: slowness,
    workload: { 'create task': 1, 'patch task': 20 },
    patches: [
      ['tasks/queries.js', ' and version = ${read.version}', ''],
      // Otherwise few writers overlap between the read and the write.
      THOUGHTFUL,
    ],
  },
  {
    name: 'a connection reconnects under its transaction',
    violation: 'unexpected-5xx',
    scenario: betweenStatements,
    workload: writing,
    patches: [
      [CONNECTION, 'if (sockets > 1) {', 'if (false) {'],
      [CONNECTION, 'connectSocket(this.#socket, server)', 'connectSocket(new net.Socket(), server)'],
      [CONNECTION, `onclose: () => this.destroy(new Error('the connection closed')),`, 'onclose: () => {},'],
      // Otherwise the next statement is sent before the driver sees the connection close.
      THOUGHTFUL,
    ],
  },
  {
    name: 'a connection that was destroyed is never released',
    violation: 'anomalies',
    scenario: twice,
    workload: writing,
    patches: [
      [
        POOL,
        'const leases = this.#inUse.get(connection);',
        'if (connection.isDestroyed) return; const leases = this.#inUse.get(connection);',
      ],
    ],
  },
  {
    name: 'a connection that was destroyed is leased again',
    violation: 'unexpected-5xx',
    scenario: kills,
    workload: writing,
    patches: [
      [POOL, 'while (connection?.isDestroyed) {', 'while (false) {'],
      [POOL, 'if (!connection.isDestroyed) {', 'if (true) {'],
    ],
  },
  {
    name: 'a transaction has no deadline',
    violation: 'anomalies',
    scenario: silence,
    workload: writing,
    patches: [[DATABASE, 'call: 8_000, transaction: 8_000', 'call: 800_000, transaction: 800_000']],
  },
  {
    name: 'an overdue read is sent again',
    violation: 'unexpected-5xx',
    scenario: slowReads,
    workload: reading,
    patches: [[DATABASE, `throw (kind === 'read' ? overdue : undefined) ?? error;`, 'throw error;']],
  },
  {
    name: 'the tenant context of a read or a write is not verified',
    violation: 'foreign',
    scenario: wrongClub,
    workload: { ...creating, 'list tasks': 5 },
    patches: [['database/tenant-context.js', 'row.entered_tenant_id !== tenantId', 'false']],
  },
  {
    name: 'a transaction does not verify its tenant context',
    violation: 'foreign',
    scenario: wrongClub,
    workload: creating,
    patches: [
      [
        TRANSACTION,
        'return sent.accept(entered.value[0]?.tenant_context);',
        'return { memberId: entered.value[0]?.tenant_context.member_id };',
      ],
    ],
  },
  {
    name: 'an answer is not matched with its read',
    violation: 'foreign',
    scenario: answersTwice,
    workload: reading,
    patches: UNMATCHED,
  },
  {
    // The driver repeats a statement whose column types changed, and loses count of the following answers.
    name: 'a read has a column whose type can change, and an answer is not matched with its read',
    violation: 'unexpected-5xx',
    scenario: ddlUnderReads,
    workload: reading,
    patches: [
      [
        STATEMENT,
        'end as answer',
        'end as answer, (select task.description from app.tasks as task limit 0) as description',
      ],
      ...UNMATCHED,
    ],
  },
  {
    name: 'a connection whose plans are stale is kept',
    violation: 'unexpected-5xx',
    scenario: otherColumns,
    workload: { ...writing, 'put shift': 5, 'list tasks': 3 },
    patches: [[DATABASE, 'connection.destroy(error);', '']],
  },
  {
    name: 'a read does not lock the members first',
    violation: 'anomalies',
    scenario: deploys,
    workload: { 'create shift': 1, 'list shifts': 10, 'read shift': 5 },
    patches: [[STATEMENT, ' left join app.members as locked_first on false', '']],
  },
  {
    name: 'a parameter is undefined, and only the driver checks it',
    violation: 'unexpected-5xx',
    scenario: noFaults,
    workload: reading,
    patches: [
      ['database/sql.js', 'if (value === undefined || isStatement(value)) {', 'if (false) {'],
      [CONNECTION, 'return value === null ||', 'return value == null ||'],
      [
        'tasks/queries.js',
        'where task.id = ${id}`',
        'where task.id = ${Math.random() < 0.02 ? undefined : id}`',
      ],
    ],
  },
  {
    name: 'a serializer throws',
    violation: 'unexpected-5xx',
    scenario: noFaults,
    workload: reading,
    patches: [
      [
        CONNECTION,
        'text: { to: 25, from: [25, 17, 1082, 1114], serialize: asText,',
        `text: { to: 25, from: [25, 17, 1082, 1114], serialize: (text) => {
          if (Math.random() < 0.02) throw new Error('no text'); return text; },`,
      ],
    ],
  },
  {
    name: 'the key is stored in its own transaction',
    violation: 'doubled',
    scenario: rarely,
    workload: { 'create task': 4, 'read task': 2 },
    patches: [
      ['http/idempotency.js', 'await work(tx);', 'await request.transaction(work);'],
      // Enough for two per client, otherwise they wait for each other.
      [POOL, 'this.#options = options;', 'this.#options = { ...options, size: 40 };'],
    ],
  },
  {
    name: 'reads are answered from an outdated cache',
    violation: 'anomalies',
    scenario: noFaults,
    workload: { 'create task': 1, 'patch task': 10, 'read task': 10, 'list tasks': 2 },
    patches: [
      [
        'http/request-transaction.js',
        'return rowsOf(this, await readInTenant(database, callerOf(this), nameOf(this), query));',
        `const kept = (globalThis.kept ??= new Map());
        const place = this.url + this.tenant.id;
        if (!(Date.now() - kept.get(place)?.at < 300)) {
          const found = await readInTenant(database, callerOf(this), nameOf(this), query);
          kept.set(place, { at: Date.now(), found });
        }
        return rowsOf(this, kept.get(place).found);`,
      ],
    ],
  },
  {
    name: 'a failure is answered with success',
    violation: 'lost',
    scenario: beforeCalls,
    workload: { 'sign up': 10, cancel: 10 },
    patches: [
      [
        'shifts/routes.js',
        'await request.call(cancelSignUp(request.params.id));',
        `await request.call(cancelSignUp(request.params.id)).catch((error) => {
          if (error.name === 'Unavailable') return; throw error; });`,
      ],
    ],
  },
  {
    name: 'an unhandled rejection',
    violation: 'crashes',
    scenario: whileOpening,
    workload: writing,
    patches: [[POOL, 'connection.ready.then(add, () => { });', 'connection.ready.then(add);']],
  },
  {
    name: 'a 503 has no Retry-After',
    violation: 'unexpected-5xx',
    scenario: betweenStatements,
    workload: writing,
    patches: [['http/error-handler.js', `reply.header('retry-after', RETRY_AFTER_S);`, '']],
  },
  {
    name: 'a lost connection is a 500',
    violation: 'unexpected-5xx',
    scenario: betweenStatements,
    workload: writing,
    patches: [['errors/from-database.js', 'if (error instanceof Unavailable) {', 'if (false) {']],
  },
];
