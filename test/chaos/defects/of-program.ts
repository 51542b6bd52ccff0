import {
  beforeCommit,
  beforeCommitted,
  betweenStatements,
  kills,
  peace,
  rarely,
  rollback,
  silence,
  slowness,
  twice,
  whileOpening,
} from './aims.js';
import type { Defect } from './defect.js';

const TRANSACTION = 'database/transaction.js';
const STATEMENTS = 'database/statements.js';
const SESSION = 'database/session.js';
const SLOTS = 'database/slots.js';
const writing = { 'create task': 6, 'patch task': 6, 'sign up': 4, cancel: 3, 'read task': 2 };
const creating = { 'create task': 10, 'read task': 2 };

/** What can be wrong with the program, planted in a copy of it. */
export const ofProgram: Defect[] = [
  {
    name: 'the reply does not wait for COMMIT',
    charge: 'lost',
    aim: beforeCommit,
    habits: writing,
    patches: [
      [TRANSACTION, `await finish(session, 'COMMIT');`, `finish(session, 'COMMIT').catch(() => {});`],
    ],
  },
  {
    name: 'the tag of COMMIT is not looked at',
    charge: 'lost',
    aim: rollback,
    habits: writing,
    patches: [
      [TRANSACTION, `if (answer.tag === 'ROLLBACK' && command === 'COMMIT') {`, 'if (false) {'],
      [TRANSACTION, 'if (answer.tag !== command) {', 'if (false) {'],
    ],
  },
  {
    name: 'what may have been kept is done again',
    charge: 'doubled',
    aim: beforeCommitted,
    habits: creating,
    patches: [
      [
        'database/database.js',
        'isTransient(error) ?',
        `isTransient(error) || error.name === 'Unavailable' ?`,
      ],
    ],
  },
  {
    name: 'the version is read, and not written against',
    charge: 'anomalies',
    aim: slowness,
    habits: { 'create task': 1, 'patch task': 20 },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the text of the program
    patches: [['tasks/queries.js', ' and version = ${read.version}', '']],
  },
  {
    name: 'a session reconnects under its transaction',
    charge: 'unexpected-5xx',
    aim: betweenStatements,
    habits: writing,
    patches: [
      [SESSION, 'this.lose(this.#refusal() ?? error)', '{}'],
      [
        SESSION,
        "this.lose(new Error('the connection closed'))",
        '{ this.#layouts?.clear(); this.#client = undefined; }',
      ],
      [SESSION, 'this.lose(outcome);', ''],
      [SESSION, 'stream: () => this.#socket,', 'stream: () => new net.Socket(),'],
      // Work that thinks for a moment: otherwise the next statement leaves before anybody sees the connection close.
      [STATEMENTS, 'await last;\n', 'await last; await new Promise((go) => setTimeout(go, 10));\n'],
    ],
  },
  {
    name: 'a slot is kept after doubt',
    charge: 'anomalies',
    aim: twice,
    habits: writing,
    patches: [[SLOTS, 'this.#settle(session);', 'if (session.lost) return; this.#settle(session);']],
  },
  {
    name: 'a lost session is lent again',
    charge: 'unexpected-5xx',
    aim: kills,
    habits: writing,
    patches: [
      [SLOTS, 'while (session?.lost) {', 'while (false) {'],
      [SLOTS, 'else if (!session.lost) {', 'else {'],
    ],
  },
  {
    name: 'a transaction has no deadline',
    charge: 'anomalies',
    aim: silence,
    habits: writing,
    patches: [['database/database.js', 'const DEADLINE_MS = 8_000;', 'const DEADLINE_MS = 800_000;']],
  },
  {
    name: 'the key is kept in a transaction of its own',
    charge: 'doubled',
    aim: rarely,
    habits: { 'create task': 4, 'read task': 2 },
    patches: [
      ['plugins/idempotency.js', 'await make(tx);', 'await request.transaction(make);'],
      // Enough for everybody to have two, or they wait for each other.
      ['database/slots.js', 'this.#options = options;', 'this.#options = { ...options, slots: 40 };'],
    ],
  },
  {
    name: 'reads are answered from a moment ago',
    charge: 'anomalies',
    aim: peace,
    habits: { 'create task': 1, 'patch task': 10, 'read task': 10, 'list tasks': 2 },
    patches: [
      [
        'plugins/transaction.js',
        'return await inClub(database, caller, mode, work);',
        `const kept = (globalThis.kept ??= new Map()).get(this.url + caller.tenantId);
        if (mode === 'read once' && kept?.rows && Date.now() - kept.at < 300) return JSON.parse(kept.rows);
        const rows = await inClub(database, caller, mode, work);
        globalThis.kept.set(this.url + caller.tenantId, { at: Date.now(), rows: JSON.stringify(rows) });
        return rows;`,
      ],
    ],
  },
  {
    name: 'a failure is answered with success',
    charge: 'lost',
    aim: beforeCommit,
    habits: { 'sign up': 10, cancel: 10 },
    patches: [
      [
        'shifts/signup.js',
        'await request.transaction((tx) => cancelSignUp(tx, request.params.id));',
        `await request.transaction((tx) => cancelSignUp(tx, request.params.id)).catch((error) => {
          if (error.name === 'Unavailable') return; throw error; });`,
      ],
    ],
  },
  {
    name: 'a rejection that nobody handles',
    charge: 'crashes',
    aim: whileOpening,
    habits: writing,
    patches: [[SESSION, 'client.connect().catch((error) => this.lose(error));', 'client.connect();']],
  },
  {
    name: 'a 503 does not say when to come back',
    charge: 'unexpected-5xx',
    aim: betweenStatements,
    habits: writing,
    patches: [['plugins/problems.js', `reply.header('retry-after', RETRY_AFTER_S);`, '']],
  },
  {
    name: 'a lost connection is a 500',
    charge: 'unexpected-5xx',
    aim: betweenStatements,
    habits: writing,
    patches: [['problems/from-database.js', 'error instanceof Unavailable || ', '']],
  },
];
