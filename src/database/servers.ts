import { Standby } from './errors.js';

/** What a session must be: of any server, of the primary, or of a server that accepts writes. */
export type Role = 'any' | 'primary' | 'read-write';

/** The servers of a database URL. */
export interface Servers {
  /** A URL of each host, in the order of the list. */
  urls: readonly string[];
  role: Role;
}

const ROLES: readonly Role[] = ['any', 'primary', 'read-write'];
const ROLE_PARAMETER = 'target_session_attrs';
/** The URL before its hosts, the hosts, and the rest. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
/** A name, an IPv4 address or an IPv6 address in brackets, and a port. */
const HOST = /^(\[[\da-f:.]+\]|[^:[\]]+)(:\d+)?$/i;

/**
 * Reads the hosts of a database URL as libpq does
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS):
 * `postgres://club_api@one:5432,two:5432/clubs?target_session_attrs=primary`.
 *
 * @throws TypeError when the text is not a URL, or its list of hosts or its role is invalid
 */
export function parseServers(url: string): Servers {
  const [, start = '', list = '', rest = ''] = PARTS.exec(url) ?? [];
  const hosts = list.split(',');
  if (hosts.length > 1) {
    // Without its text, which is a part of the password if that is not percent-encoded.
    const wrong = hosts.findIndex((host) => !HOST.test(host));
    if (wrong !== -1) {
      const what = hosts[wrong] === '' ? 'empty' : 'not a host with one port';
      throw new TypeError(`host ${wrong + 1} of the list is ${what}`);
    }
  }
  const parsed = (hosts.length > 1 ? hosts.map((host) => `${start}${host}${rest}`) : [url]).map(
    (text) => new URL(text),
  );
  const role = parsed[0]?.searchParams.get(ROLE_PARAMETER) ?? 'any';
  if (!isRole(role)) {
    throw new TypeError(`${ROLE_PARAMETER} must be one of ${ROLES.join(', ')}`);
  }
  if (hosts.length > 1 && parsed[0]?.searchParams.has('host')) {
    throw new TypeError('the hosts are in a list or in the parameter host, not in both');
  }
  return { urls: parsed.map(withoutRole), role };
}

function withoutRole(url: URL): string {
  // A deletion encodes the other parameters again.
  if (url.searchParams.has(ROLE_PARAMETER)) {
    url.searchParams.delete(ROLE_PARAMETER);
  }
  return url.href;
}

function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

/** What decides about the role of a session. */
export interface ServerFacts {
  isStandby: boolean;
  /** Whether its transactions are read-only by default. */
  isReadOnly: boolean;
}

/** Requires a server with this role. @throws Standby */
export function requireServer(role: Role, facts: ServerFacts | undefined): void {
  if (facts?.isStandby && role !== 'any') {
    throw new Standby();
  }
  if (facts?.isReadOnly && role === 'read-write') {
    throw new Standby('The server is read-only.');
  }
}
