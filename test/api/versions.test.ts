/** The rules of every row that has a version: changes at the same moment, and the last version. */
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { relationsOf } from '../setup/catalog.js';
import { type Endpoint, endpoints, fit, makeClubFor, operationOf } from '../setup/endpoints.js';
import { bodySchemaOf } from '../setup/fields.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { fingerprint } from '../setup/testbed.js';
import { untilWaitingForLocks } from '../setup/wait.js';

/** The greatest value of the type integer. */
const LAST_VERSION = 2_147_483_647;

const service = await startService(t);

const tables = (await relationsOf(service.db)).filter(
  ({ kind, columns }) => kind === 'table' && columns.some(({ name }) => name === 'version'),
);

const takes = (endpoint: Endpoint, header: string) =>
  operationOf(endpoint).parameters?.some(({ name }) => name.toLowerCase() === header.toLowerCase()) ?? false;
const fieldsOf = (endpoint: Endpoint) => bodySchemaOf(endpoint).properties ?? {};
const versioned = endpoints.filter(
  (endpoint) => takes(endpoint, 'If-Match') || 'version' in fieldsOf(endpoint),
);

/** An endpoint for rows of a club of its own. */
interface Target {
  clubId: string;
  /** The ids in its path. */
  ids: string[];
  /** Send two valid requests with different changes. */
  sends: Send[];
}
type Send = (headers?: Record<string, string>, fields?: object) => Promise<Response>;

/** A row that only a PUT to the same path creates exists too, unless it `isMissing`. */
async function makeTarget(endpoint: Endpoint, isMissing = false): Promise<Target> {
  const { method, path } = endpoint;
  const { clubId, ids, url, body } = await makeClubFor(service, endpoint);
  const admin = service.as('ada', 'Admin', clubId);
  await admin.memberId();
  const put = endpoints.find((one) => one.method === 'PUT' && one.path === path);
  if (put !== undefined && !isMissing) {
    await admin.put(url, fit(put.body, ids));
  }
  const senders = { POST: admin.post, PUT: admin.put, PATCH: admin.patch };
  return {
    clubId,
    ids: url.match(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g) ?? [],
    sends: changesOf(endpoint).map((change) => (headers, fields) => {
      const content = { ...(body as object), version: undefined, ...change, ...fields };
      return method === 'DELETE'
        ? admin.delete(url, headers)
        : senders[method as 'PUT'](url, content, headers);
    }),
  };
}

/** Two values of a text of the body, or if it has none of a number. */
function changesOf(endpoint: Endpoint): object[] {
  const { version: _, ...fields } = fieldsOf(endpoint);
  const names = Object.keys(fields);
  const text = names.find((name) => fields[name]?.['x-text'] !== undefined);
  const number = names.find((name) => [fields[name]?.type].flat().includes('integer'));
  return ['1', '2'].map((value) => (text ? { [text]: value } : number ? { [number]: Number(value) } : {}));
}

/** A row in a table with a version. */
interface Row {
  table: string;
  condition: string;
}

/** @throws Error when no row has these ids as its key */
async function rowOf(clubId: string, ids: string[]): Promise<Row> {
  for (const { name: table, keys } of tables) {
    for (const columns of keys.map((key) => key.filter((column) => column !== 'tenant_id'))) {
      const condition = `tenant_id = '${clubId}' and array[${columns}]::text[] @> '{${ids}}'`;
      if (columns.length === ids.length && (await versionOf({ table, condition })) !== undefined) {
        return { table, condition };
      }
    }
  }
  throw new Error('No table with a version has a unique constraint of the club and the ids in the path.');
}

async function versionOf({ table, condition }: Row): Promise<number | undefined> {
  const [row] = await service.db.queryAsAdmin(`select version from ${table} where ${condition}`);
  return row?.version;
}

/**
 * Sends requests while another session has changed a row, and ends its transaction when all wait. It has the row locked FOR NO
 * KEY UPDATE, for which no check of a foreign key waits.
 *
 * @returns how many requests waited, and the statuses of the responses
 */
async function race(
  { table, condition }: Row,
  end: 'commit' | 'rollback',
  sends: (() => Promise<Response>)[],
): Promise<{ waiting: number; statuses: string }> {
  return withClient(service.db.adminUrl, async (session) => {
    await session.query(`begin; update ${table} set version = version + 1 where ${condition}`);
    const sent = sends.map(async (send) => (await send()).status);
    const waiting = await untilWaitingForLocks(service.db, sends.length, ...sent);
    await session.query(end);
    return { waiting, statuses: (await Promise.all(sent)).sort().join(' ') };
  });
}

const LOCKS = 'both wait: read the row with a lock (select … for update) before its version is compared';

for (const endpoint of versioned) {
  const operation = `${endpoint.method} ${endpoint.path}`;
  const isDeletion = endpoint.method === 'DELETE';

  t.test(
    `${operation}: of two requests for one version one succeeds, after another change none`,
    async (t) => {
      for (const way of ['If-Match', 'version'].filter(
        (way) => takes(endpoint, way) || way in fieldsOf(endpoint),
      )) {
        for (const end of ['rollback', 'commit'] as const) {
          const { clubId, ids, sends } = await makeTarget(endpoint);
          const row = await rowOf(clubId, ids);
          const version = Number(await versionOf(row));
          const [headers, fields] =
            way === 'version' ? [{}, { version }] : [{ 'if-match': `"${version}"` }, {}];
          const requests = sends.map((send) => () => send(headers, fields));
          const { waiting, statuses } = await race(row, end, requests);
          t.equal(waiting, 2, `${way}: ${LOCKS}`);
          const oneSucceeds = isDeletion ? /^204 (404|412)$/ : /^200 (409|412)$/;
          t.match(statuses, end === 'rollback' ? oneSucceeds : /^(409|412) (409|412)$/, `${way}, ${end}`);
          if (!isDeletion) {
            t.equal(await versionOf(row), version + 1, `${way}, ${end}: one change`);
          }
        }
      }
    },
  );

  if (isDeletion) {
    t.test(`${operation}: of two requests without a version one is a 204 and one a 404`, async (t) => {
      const { clubId, ids, sends } = await makeTarget(endpoint);
      t.same(
        await race(await rowOf(clubId, ids), 'rollback', sends),
        { waiting: 2, statuses: '204 404' },
        LOCKS,
      );
    });
  }

  if (operationOf(endpoint).responses['201'] !== undefined) {
    t.test(`${operation}: of two requests that create a row one does`, async (t) => {
      const both: Record<string, string>[] = [{}, { 'if-none-match': '*' }];
      for (const headers of both.filter((one) => Object.keys(one).every((name) => takes(endpoint, name)))) {
        const { clubId, ids, sends } = await makeTarget(endpoint, true);
        const parent = await rowOf(clubId, ids.slice(0, -1));
        const { waiting, statuses } = await race(
          parent,
          'rollback',
          sends.map((send) => () => send(headers)),
        );
        t.equal(waiting, 2, 'both wait: lock the parent before the row is looked up');
        t.equal(statuses, 'if-none-match' in headers ? '201 412' : '200 201', JSON.stringify(headers));
      }
    });
  }
}

t.test('a change of a row with the last version is a 409 that says so, and no change is a 500', async (t) => {
  for (const endpoint of endpoints.filter(({ method }) => method !== 'GET')) {
    const operation = `${endpoint.method} ${endpoint.path}`;
    const { clubId, sends } = await makeTarget(endpoint);
    const updates = tables.map(
      ({ name }) => `update ${name} set version = ${LAST_VERSION} where tenant_id = '${clubId}'`,
    );
    await service.db.queryAsAdmin(
      `begin; set local session_replication_role = replica; ${updates.join('; ')}; commit`,
    );
    const before = await fingerprint(service.db, clubId);
    const { status, body } = await (sends[0] as Send)();
    if (versioned.includes(endpoint) && endpoint.method !== 'DELETE') {
      const refused = { code: /_version_conflict$/, detail: /highest possible version/ };
      t.match({ status, body }, { status: 409, body: refused }, operation);
      t.same(await fingerprint(service.db, clubId), before, `${operation} changes nothing`);
    } else {
      t.ok(status < 500, `${operation}: ${status}`);
    }
  }
});
