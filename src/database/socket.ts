import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';

/** What a session must be: of any server, of the primary, or of a server that accepts writes. */
export type Role = 'any' | 'primary' | 'read-write';

/** The parts of a database URL. */
export interface Server {
  /** A host name or an address, or the directory of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
  /** Undefined for a connection without TLS. The files are read for each connection, so they can be replaced. */
  tls: { isVerified: boolean; files: Record<'ca' | 'cert' | 'key', string | undefined> } | undefined;
  /** Settings of PostgreSQL, such as `options`, as the URL names them. */
  settings: Record<string, string>;
  role: Role;
}

const DEFAULT_PORT = 5432;
/** `require` checks the certificate as `verify-full` does: encryption without a check does not stop an active attacker. */
const VERIFIED = ['prefer', 'require', 'verify-ca', 'verify-full'];
const UNVERIFIED = 'no-verify';
const PLAIN = 'disable';
const ROLES: readonly Role[] = ['any', 'primary', 'read-write'];
/** The user, password, hosts and ports of a URL. */
const AUTHORITY = /^\w+:\/\/([^/?#]*)/;
/** Parameters of libpq for itself. Sent to the server as a setting, one would end every connection. */
const OF_LIBPQ =
  /^(?:channel_binding|connect_timeout|fallback_application_name|gss\w+|hostaddr|keepalives\w*|krbsrvname|load_balance_hosts|passfile|require_auth|requirepeer|service|ssl\w+|tcp_user_timeout)$/;

/** A database URL with a list of hosts. The message continues the name of its variable. */
export class SeveralHosts extends TypeError {
  constructor() {
    super(
      'names several hosts. Name one: for several servers that of HAProxy, which leads to the primary (docs/operate.md, Failover).',
    );
  }
}

/**
 * Reads a database URL (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS).
 *
 * @throws SeveralHosts; TypeError when the text is not a URL, `sslmode` or `target_session_attrs` is unknown, or a parameter is one
 *   of libpq that the service does not have
 */
export function parseDatabaseUrl(url: string): Server {
  const [, authority = ''] = AUTHORITY.exec(url) ?? [];
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(',')) {
    throw new SeveralHosts();
  }
  const { hostname, port, pathname, username, password, searchParams } = new URL(url);
  const {
    host,
    sslmode = PLAIN,
    sslrootcert,
    sslcert,
    sslkey,
    target_session_attrs: role = 'any',
    ...settings
  } = Object.fromEntries(searchParams);
  const named = host ?? decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1');
  if (named.includes(',')) {
    throw new SeveralHosts();
  }
  if (![...VERIFIED, UNVERIFIED, PLAIN].includes(sslmode)) {
    throw new TypeError(`sslmode must be one of ${[PLAIN, ...VERIFIED, UNVERIFIED].join(', ')}`);
  }
  if (!isRole(role)) {
    throw new TypeError(`target_session_attrs must be one of ${ROLES.join(', ')}`);
  }
  const unknown = Object.keys(settings).find((name) => OF_LIBPQ.test(name));
  if (unknown !== undefined) {
    throw new TypeError(`leave out ${unknown}, which only libpq has`);
  }
  const user = decodeURIComponent(username);
  return {
    host: named || 'localhost',
    port: port === '' ? DEFAULT_PORT : Number(port),
    database: decodeURIComponent(pathname.slice(1)) || user,
    user,
    password: decodeURIComponent(password),
    tls:
      sslmode === PLAIN
        ? undefined
        : { isVerified: sslmode !== UNVERIFIED, files: { ca: sslrootcert, cert: sslcert, key: sslkey } },
    settings,
    role,
  };
}

function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

/** The message SSLRequest (https://www.postgresql.org/docs/current/protocol-flow.html, "SSL Session Encryption"). */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const ACCEPTED = 'S';

/**
 * Connects a socket, with TLS where the URL asks for it.
 *
 * @returns the stream to use: the socket, or TLS over it
 * @throws the system error of connecting, or an error of TLS
 */
export async function connectSocket(
  socket: net.Socket,
  { host, port, tls: mode }: Server,
): Promise<net.Socket> {
  socket.setNoDelay(true);
  socket.connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  await once(socket, 'connect');
  if (mode === undefined) {
    return socket;
  }
  socket.write(SSL_REQUEST);
  const [reply] = (await once(socket, 'data')) as [Buffer];
  // Bytes after this one letter are unencrypted and must not be read as the TLS session (CVE-2021-23222).
  if (reply.toString('latin1') !== ACCEPTED) {
    throw new Error('the server does not offer TLS');
  }
  const certificates = Object.entries(mode.files).flatMap(([name, path]) =>
    path === undefined ? [] : [[name, readFileSync(path)]],
  );
  const secure = tls.connect({
    ...Object.fromEntries(certificates),
    socket,
    // `host` is compared with the certificate. Server Name Indication allows names only, no addresses.
    host,
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: mode.isVerified,
  });
  await once(secure, 'secureConnect');
  return secure;
}
