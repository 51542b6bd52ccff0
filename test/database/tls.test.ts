import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import t, { type Test } from 'tap';
import { Connection } from '../../src/database/connection.js';
import { reasonOf } from '../../src/database/errors.js';
import { parseDatabaseUrl } from '../../src/database/socket.js';
import { sql } from '../../src/database/sql.js';
import { withClient } from '../../src/deploy/client.js';
import { createDatabase } from '../../tools/development-database.js';
import { give, serverAccount, startPostgres } from '../../tools/postgres.js';
import { configErrors, production } from '../setup/config.js';
import { hasPsql, testCluster } from '../setup/database.js';
import { until } from '../setup/wait.js';

const VERIFIED = ['prefer', 'require', 'verify-ca', 'verify-full'];
const run = promisify(execFile);
const openssl = (options: string[]) => run('openssl', options);
const isMissing = await openssl(['version']).then(
  () => false,
  () => 'openssl is missing; install openssl',
);

/** The result of connecting to a URL: whether the session is encrypted, or the error. */
async function reach(t: Test, url: string): Promise<'encrypted' | 'plain' | string> {
  const connection = new Connection({ url, prepare: true });
  t.teardown(() => connection.destroy(new Error('the test is over')));
  try {
    await connection.ready;
    const [session] = await connection.query<{ ssl: boolean }>(
      sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`,
    );
    return session?.ssl ? 'encrypted' : 'plain';
  } catch (error) {
    return reasonOf(error);
  } finally {
    await connection.close();
  }
}

const withQuery = (url: string, query: Record<string, string>, host?: string) => {
  const changed = new URL(url);
  changed.hostname = host ?? changed.hostname;
  for (const [name, value] of Object.entries(query)) {
    changed.searchParams.set(name, value);
  }
  return changed.href;
};

t.test('sslmode has one of its values; any other is a configuration error', async (t) => {
  for (const sslmode of ['disable', ...VERIFIED, 'no-verify']) {
    const { tls } = parseDatabaseUrl(`postgres://a:b@h/d?sslmode=${sslmode}`);
    t.equal(tls?.isVerified, sslmode === 'disable' ? undefined : sslmode !== 'no-verify', sslmode);
    t.same(
      configErrors({ ...production, DATABASE_URL: `${production.DATABASE_URL}?sslmode=${sslmode}` }),
      [],
    );
  }
  t.equal(parseDatabaseUrl('postgres://a:b@h/d').tls, undefined, 'without sslmode there is no TLS');
  for (const sslmode of ['allow', 'on', 'true', 'REQUIRE', 'verify', '']) {
    t.throws(() => parseDatabaseUrl(`postgres://a:b@h/d?sslmode=${sslmode}`), TypeError);
    t.match(configErrors({ ...production, DATABASE_URL: `${production.DATABASE_URL}?sslmode=${sslmode}` }), [
      /DATABASE_URL must be .*sslmode must be one of disable, prefer, require,/,
    ]);
  }
});

t.test('a parameter that only libpq has is a configuration error, and not sent to the server', async (t) => {
  const errorsOf = (query: string) =>
    configErrors({ ...production, DATABASE_URL: `${production.DATABASE_URL}?${query}` });
  for (const parameter of [
    'channel_binding=require',
    'connect_timeout=10',
    'sslcrl=x',
    'keepalives_idle=5',
  ]) {
    const [name] = parameter.split('=');
    t.match(errorsOf(parameter), [
      new RegExp(`DATABASE_URL must be .*leave out ${name}, which only libpq has`),
    ]);
  }
  t.same(errorsOf('application_name=x&statement_timeout=4000&options=-c%20jit%3Doff'), []);
});

t.test('a URL is parsed like libpq parses it', async (t) => {
  t.match(
    parseDatabaseUrl('postgres://us%40er:p%2Fw%25@h.example:5433/a%20b?application_name=x&sslmode=disable'),
    {
      ...{ host: 'h.example', port: 5433, database: 'a b', user: 'us@er', password: 'p/w%' },
      settings: { application_name: 'x' },
    },
  );
  t.match(parseDatabaseUrl('postgres://u@localhost/?host=/run/postgresql'), {
    ...{ host: '/run/postgresql', port: 5432, database: 'u', user: 'u', password: '' },
  });
  t.equal(parseDatabaseUrl('postgres://u@[::1]/d').host, '::1');
  t.throws(() => parseDatabaseUrl('postgres://u@localhost/d?host=a,b'), /names several hosts/);
});

t.test('a server without TLS is refused by every sslmode but disable', async (t) => {
  const { adminUrl, api } = testCluster();
  const url = new URL(adminUrl);
  url.username = api.user;
  url.password = api.password;
  url.pathname = testCluster().template;
  t.equal(await reach(t, withQuery(url.href, { sslmode: 'disable' })), 'plain');
  for (const sslmode of [...VERIFIED, 'no-verify']) {
    t.equal(await reach(t, withQuery(url.href, { sslmode })), 'the server does not offer TLS', sslmode);
  }
});

t.test(
  'a server with an invalid response to SSLRequest is refused, and the response is not used',
  async (t) => {
    const responses: [response: string, reason: RegExp][] = [
      ['N', /does not offer TLS/],
      ['E', /does not offer TLS/],
      ['SR\0\0\0\x08\0\0\0\0', /does not offer TLS/],
      ['S', /not ready in time/],
    ];
    for (const [response, reason] of responses) {
      let heard = Buffer.alloc(0);
      const server = net.createServer((socket) => {
        socket
          .on('error', () => {})
          .on('data', (chunk) => {
            heard = Buffer.concat([heard, chunk]);
            socket.write(response);
          });
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const url = `postgres://club_api:secret@127.0.0.1:${port}/club?sslmode=require`;
      t.match(await reach(t, url), reason, JSON.stringify(response));
      t.notMatch(heard.toString('latin1'), /club_api|secret/, 'nothing was sent unencrypted');
      server.close();
    }
  },
);

t.test('with TLS', { skip: isMissing }, async (t) => {
  const account = await serverAccount();
  const directory = await mkdtemp(join(tmpdir(), 'club-tls-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  const file = (name: string) => join(directory, name);
  const forServer = async (name: string) => {
    await chmod(file(name), 0o600);
    await give(file(name), account);
  };

  /** Creates an authority, or a certificate that one signed. */
  const makeAuthority = (name: string) =>
    openssl([
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)],
    ]);
  const makeCertificate = async (name: string, authority: string, extension: string) => {
    await openssl([
      ...[
        'req',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-subj',
        '/CN=club_api',
      ],
      ...['-keyout', file(`${name}.key`), '-out', file(`${name}.csr`)],
    ]);
    await writeFile(file(`${name}.ext`), extension);
    await openssl([
      ...[
        'x509',
        '-req',
        '-in',
        file(`${name}.csr`),
        '-CA',
        file(`${authority}.crt`),
        '-CAkey',
        file(`${authority}.key`),
      ],
      ...['-CAcreateserial', '-days', '2', '-extfile', file(`${name}.ext`), '-out', file(`${name}.crt`)],
    ]);
  };
  await makeAuthority('authority');
  await makeAuthority('stranger');
  await makeCertificate('by-name', 'authority', 'subjectAltName=DNS:localhost');
  await makeCertificate('by-address', 'authority', 'subjectAltName=IP:127.0.0.1');
  await makeCertificate('client', 'authority', 'extendedKeyUsage=clientAuth');
  const present = async (name: string) => {
    for (const end of ['crt', 'key']) {
      await copyFile(file(`${name}.${end}`), file(`server.${end}`));
      await forServer(`server.${end}`);
    }
  };
  await present('by-name');

  const dataDir = await mkdtemp(join(tmpdir(), 'club-server-'));
  const settings = {
    ...{ ssl: 'on', ssl_cert_file: file('server.crt'), ssl_key_file: file('server.key') },
    ssl_ca_file: file('authority.crt'),
  };
  const server = await startPostgres({ dataDir, throwaway: true, bin: testCluster().bin, settings });
  t.teardown(() => server.stop());
  await createDatabase(server, 'club');
  const admin = new pg.Client(server.url('club'));
  await admin.connect();
  t.teardown(() => admin.end());
  /** Reloads the configuration, and connects until the result shows that the server uses it. */
  const reload = async (changed: string, shows: RegExp) => {
    await admin.query('select pg_reload_conf()');
    return until(
      () => reach(t, changed),
      (result) => shows.test(result),
    );
  };

  const url = server.url('club', 'club_api', server.password);
  const authority = { sslrootcert: file('authority.crt') };
  const stranger = { sslrootcert: file('stranger.crt') };

  await t.test('disable uses no TLS, even if the server offers it', async (t) => {
    t.equal(await reach(t, withQuery(url, { sslmode: 'disable', ...stranger })), 'plain');
    t.equal(await reach(t, url), 'plain');
  });

  for (const sslmode of VERIFIED) {
    await t.test(`${sslmode} accepts only the right authority with the right name`, async (t) => {
      t.equal(await reach(t, withQuery(url, { sslmode, ...authority }, 'localhost')), 'encrypted');
      t.match(
        await reach(t, withQuery(url, { sslmode, ...authority }, '127.0.0.1')),
        /IP: 127\.0\.0\.1 is not in the cert's list/,
        'a wrong name',
      );
      for (const [name, query] of Object.entries({ stranger, none: {} })) {
        t.match(
          await reach(t, withQuery(url, { sslmode, ...query }, 'localhost')),
          /unable to verify|self-signed certificate|unable to get local issuer/,
          `the authority: ${name}`,
        );
      }
    });
  }

  await t.test(
    'the service, the deploy and psql accept one URL with the file of the authority; without it psql refuses',
    { skip: !hasPsql() && 'psql is missing; install postgresql-client' },
    async (t) => {
      const isEncrypted = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
      const psql = (url: string, env = {}) =>
        run('psql', ['--no-psqlrc', '-Atc', isEncrypted, url], { env: { ...process.env, ...env } }).then(
          ({ stdout }) => stdout.trim(),
          (error) => error.stderr,
        );
      const login = server.url('club', 'club_migrator', server.password);
      const verified = withQuery(login, { sslmode: 'verify-full', ...authority }, 'localhost');
      t.equal(await reach(t, verified), 'encrypted');
      const deployed = await withClient(verified, (client) => client.query(isEncrypted));
      t.same(deployed.rows, [{ ssl: true }]);
      t.equal(await psql(verified), 't');
      const settings = { PGSSLMODE: 'verify-full', PGSSLROOTCERT: authority.sslrootcert };
      t.equal(await psql(withQuery(login, {}, 'localhost'), settings), 't');
      const noHome = { HOME: directory, PGSSLROOTCERT: '' };
      const withoutFile = withQuery(login, { sslmode: 'verify-full' }, 'localhost');
      t.match(await psql(withoutFile, noHome), /root certificate file .* does not exist/);

      t.equal(await psql(withQuery(login, { sslmode: 'require' }, 'localhost'), noHome), 't');
      t.match(await psql(withQuery(login, { sslmode: 'no-verify' }, 'localhost')), /invalid sslmode value/);
    },
  );

  await t.test('no-verify encrypts without a check of authority or name', async (t) => {
    for (const host of ['localhost', '127.0.0.1']) {
      for (const query of [authority, stranger, {}]) {
        t.equal(await reach(t, withQuery(url, { sslmode: 'no-verify', ...query }, host)), 'encrypted');
      }
    }
  });

  await t.test(
    'an encrypted connection can be destroyed or closed at any time without other effects',
    async (t) => {
      const encrypted = withQuery(url, { sslmode: 'verify-full', ...authority }, 'localhost');
      const open = async () => {
        const connection = new Connection({ url: encrypted, prepare: true });
        await connection.ready.catch(() => {});
        return connection;
      };
      const ends: ((connection: Connection) => unknown)[] = [
        (connection) => connection.destroy(new Error('on purpose')),
        (connection) => connection.close(),
        (connection) => {
          connection.destroy(new Error('on purpose'));
          return connection.close();
        },
      ];
      for (const [round, end] of Array.from({ length: 10 }, () => ends)
        .flat()
        .entries()) {
        const connection = await open();
        const queries = Promise.allSettled(
          Array.from({ length: 3 }, (_, n) =>
            connection.query(sql`select ${'x'.repeat(n * 700)}::text, pg_sleep(0.002)`),
          ),
        );
        await (round % 5 === 0 ? undefined : sleep(round % 5));
        await end(connection);
        void connection.query(sql`select 1`).catch(() => {});
        await queries;
        t.ok(connection.isDestroyed);
      }
      for (const delay of [0, 1, 2, 4, 8, 16]) {
        const connection = new Connection({ url: encrypted, prepare: true });
        await sleep(delay);
        connection.destroy(new Error('on purpose'));
        await connection.ready.catch(() => {});
      }
      const left = async () =>
        (await admin.query(`select from pg_stat_activity where usename = 'club_api'`)).rowCount;
      t.equal(await until(left, (count) => count === 0), 0, 'each backend has ended');
    },
  );

  await t.test('a missing file is reported, and nothing is sent', async (t) => {
    const query = { sslmode: 'verify-full', sslrootcert: file('missing.crt') };
    t.match(
      await reach(t, withQuery(url, query, 'localhost')),
      /ENOENT.*missing\.crt.*\. A file or a socket that DATABASE_URL names/,
    );
  });

  await t.test(
    'a certificate for an IP address is accepted for that address only, and files are read for each connection',
    async (t) => {
      await present('by-address');
      const byAddress = withQuery(url, { sslmode: 'verify-full', ...authority }, '127.0.0.1');
      t.equal(await reload(byAddress, /^encrypted$/), 'encrypted');
      t.match(
        await reach(t, withQuery(url, { sslmode: 'verify-full', ...authority }, 'localhost')),
        /Host: localhost\. is not|does not match certificate|altnames/,
      );
    },
  );

  await t.test('a server that requires a client certificate gets the one of the URL', async (t) => {
    const { rows } = await admin.query('show hba_file');
    const rules = await readFile(rows[0].hba_file, 'utf8');
    await writeFile(
      rows[0].hba_file,
      `hostssl all club_api all scram-sha-256 clientcert=verify-ca\n${rules}`,
    );
    const query = { sslmode: 'verify-full', ...authority };
    const required = /valid client certificate/;
    t.match(await reload(withQuery(url, query, '127.0.0.1'), required), required);
    const own = { sslcert: file('client.crt'), sslkey: file('client.key') };
    t.equal(await reach(t, withQuery(url, { ...query, ...own }, '127.0.0.1')), 'encrypted');
  });
});
