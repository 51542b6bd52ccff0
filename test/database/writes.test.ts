import t from 'tap';
import { growTables } from '../setup/catalog-rows.js';
import { endpointsFor, makeRows, pathOf, SHIFT } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

// What a write reads in a club with 20,000 rows in each table: rows, not time. PostgreSQL counts those of the statements, and of the
// functions, triggers and foreign keys behind them.

/** Twice the default limit of a page. */
const TWO_PAGES = 200;
/** For each row that is written: those that it refers to, and its event. */
const READS_PER_ROW = 10;
const ORDER = ['POST', 'PUT', 'PATCH', 'DELETE'];

const service = await startService(t);
const { db, database } = service;
const club = await db.makeClub('north');

interface Counts {
  table: string;
  read: number;
  written: number;
}

/** The rows of each table that the service has read and written. Its sessions are ended, because then they report their counts. */
async function countRows(): Promise<Counts[]> {
  await db.queryAsAdmin('select pg_stat_force_next_flush()');
  await db.queryAsAdmin(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and application_name = 'club-management-service'`,
  );
  await until(
    () => database.connections,
    ({ opened, lost }) => opened === lost,
  );
  return db.queryAsAdmin<Counts>(
    `select relname as table, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read,
       (n_tup_ins + n_tup_upd + n_tup_del)::int as written
     from pg_stat_user_tables where schemaname = 'app' order by 1`,
  );
}

t.test('what a write reads depends on the rows that it writes, and not on those of the club', async (t) => {
  const ids = await makeRows(service, club);
  const headersOf = (subject: string) => ({
    authorization: `Bearer ${service.token({ sub: subject, clubs: { [club]: 'Admin' } })}`,
    'x-tenant-id': club,
  });
  const writes = endpointsFor(ids)
    .filter(({ method }) => ORDER.includes(method))
    // The rows below another one are deleted before it.
    .toSorted(
      (one, other) =>
        ORDER.indexOf(one.method) - ORDER.indexOf(other.method) ||
        (one.method === 'DELETE' ? other.path.length - one.path.length : 0),
    )
    .map(({ method, path, body }) => {
      // Without the version that the example was made for: an earlier request may have changed the row.
      const { version: _version, ...fields } = (body ?? {}) as Record<string, unknown>;
      return {
        method,
        url: pathOf({ method, path }, ids),
        headers: { ...headersOf('anna'), ...(method === 'POST' ? { 'idempotency-key': path } : {}) },
        body: method === 'DELETE' ? undefined : fields,
      };
    });
  const first = {
    method: 'GET' as const,
    url: '/api/members/me',
    headers: headersOf('zoe'),
    body: undefined,
  };
  const admin = service.as('ada', 'Admin', club);
  // A member who leaves: the example of a membership is an active one.
  const { id } = (await admin.post('/api/members', { displayName: 'Ida' })).body;
  const shift = (await admin.post('/api/shifts', SHIFT)).body;
  await admin.put(`/api/shifts/${shift.id}/signups/${id}`);
  const leaving = {
    method: 'PUT' as const,
    url: `/api/members/${id}/membership`,
    headers: headersOf('anna'),
    body: { status: 'Left' },
  };
  // A stored response, of which the others are copies.
  await admin.post('/api/tasks', { title: 'Mow' }, { 'idempotency-key': 'stored' });
  await growTables(db, club, 20_000);
  await service.send('GET', '/api/members/me', { headers: headersOf('anna') });

  let before = await countRows();
  for (const { method, url, headers, body } of [first, leaving, ...writes]) {
    const { status } = await service.send(method, url, { headers, body });
    const after = await countRows();
    const counts = after.map(({ table, read, written }, index) => ({
      table,
      read: read - (before[index]?.read ?? 0),
      written: written - (before[index]?.written ?? 0),
    }));
    before = after;
    const sum = (name: 'read' | 'written') => counts.reduce((all, each) => all + each[name], 0);
    const [most] = counts.toSorted((one, other) => other.read - one.read);
    const what = `${method} ${url}: ${status}`;
    // A deletion of what the examples do not create, or a second row with the same unique value, is refused after its reads.
    t.ok(status < 300 || [404, 409].includes(status), what);
    t.ok(
      sum('read') < TWO_PAGES + READS_PER_ROW * sum('written'),
      `${what}, read ${sum('read')} rows and wrote ${sum('written')}: most were of app.${most?.table}. Make an index that begins with ` +
        'tenant_id and the column by which they are found, without a cast or a function around its value',
    );
  }
});
