import { endpoints, MISSING, pathOf } from '../../../setup/endpoints.js';
import { encode } from '../../../setup/issuer.js';
import { INHERITED } from './claims.js';
import type { Attempt, Target } from './target.js';

const FORBIDDEN = [403];
const MALFORMED = [400];

/** Valid tokens without a role in the requested club: 403, and 400 for an invalid club id. */
export function clubs(target: Target): Attempt[] {
  return [...otherClub(target), ...otherShapes(target), ...otherIds(target)];
}

/** An Admin of north in south and in a missing club, at every endpoint. */
function otherClub({ admin, south }: Target): Attempt[] {
  const token = admin();
  return endpoints
    .filter(({ path }) => path !== '/api/clubs/me')
    .flatMap((endpoint) =>
      [south, south.toUpperCase(), MISSING].map((club) => ({
        fault: `Admin of north, ${endpoint.method} ${endpoint.path} of ${club}`,
        token,
        method: endpoint.method,
        path: pathOf(endpoint),
        lines: [
          ['authorization', `Bearer ${token}`],
          ['x-tenant-id', club],
          ...(endpoint.body === undefined ? [] : [['content-type', 'application/json']]),
        ] as [string, string][],
        ...(endpoint.body === undefined ? {} : { body: JSON.stringify(endpoint.body) }),
        expect: FORBIDDEN,
      })),
    );
}

/** Claims that contain the club and give no role in it. */
function otherShapes({ provider, admin, north }: Target): Attempt[] {
  const roles: unknown[] = [
    'admin', 'ADMIN', ' Admin', 'Admin ', 'Admin\0', 'Admin,Viewer', 'Owner', '', '*', 'constructor', '__proto__', 3, 4,
    true, null, [], ['Admin'], {}, { role: 'Admin' }, { toString: 'Admin' },
  ]; // biome-ignore format: families side by side
  const ids = [
    `{${north}}`, `urn:uuid:${north}`, north.replaceAll('-', ''), ` ${north}`, `${north} `, `${north}\\u0000`, '*', '%',
    `${north},${north}`, `${north}/`, north.slice(0, -1), `${north}0`, ...INHERITED,
  ]; // biome-ignore format: families side by side
  const shapes = [
    ...roles.map((role) => JSON.stringify({ [north]: role })),
    ...ids.map((id) => `{"${id}":"Admin"}`),
    ...INHERITED.flatMap((id) => [
      `{"${id}":{"${north}":"Admin"}}`,
      `{"constructor":{"${id}":{"${north}":"Admin"}}}`,
    ]),
    ...[
      'null',
      'true',
      '5',
      '""',
      '"Admin"',
      '[]',
      '{}',
      `"${north}"`,
      `["${north}"]`,
      `[["${north}","Admin"]]`,
    ],
    ...[`[{"${north}":"Admin"}]`, `"{\\"${north}\\":\\"Admin\\"}"`, `{"clubs":{"${north}":"Admin"}}`],
    // Twice, in two letter cases: the lower role counts, and no role is the lowest.
    `{"${north}":"nobody","${north.toUpperCase()}":5}`,
  ];
  const good = JSON.parse(Buffer.from(admin().split('.')[1] as string, 'base64url').toString());
  const { clubs: _, ...rest } = good;
  const claims = [
    ...shapes.map((shape) => `"clubs":${shape}`),
    // The claim as an inherited property, and under other names.
    ...INHERITED.map((name) => `"${name}":{"clubs":{"${north}":"Admin"}}`),
    ...['Clubs', 'clubs ', 'roles', 'role', 'scope', 'club', 'tenant'].map(
      (name) => `"${name}":{"${north}":"Admin"}`,
    ),
  ];
  return claims.flatMap((claim) => {
    const input = `${encode({ alg: 'ES256', kid: 'ES256' })}.${encode(`{${claim},${JSON.stringify(rest).slice(1)}`)}`;
    return ['/api/tasks', '/api/members/me'].map((path) => ({
      fault: `claims ${claim.slice(0, 80)}`,
      token: `${input}.${provider.signatureOf(input)}`,
      method: 'GET',
      path,
      expect: FORBIDDEN,
    }));
  });
}

/** Values of X-Tenant-Id that are not a UUID, with and without a role in the token. */
function otherIds({ admin, north, south }: Target): Attempt[] {
  const ids = [
    ...INHERITED, '', ' ', '*', '%', '0', 'null', 'undefined', 'true', `{${north}}`, `urn:uuid:${north}`, `"${north}"`,
    north.replaceAll('-', ''), `${north},${south}`, `${north}, ${north}`, `${north};`, `${north}/`, `${north}%00`,
    `${north}0`, north.slice(1), `'${north}'`, `${north}' or '1'='1`, `["${north}"]`, '../clubs', 'a'.repeat(4_000),
  ]; // biome-ignore format: families side by side
  const token = admin({ clubs: Object.fromEntries([...ids, north].map((id) => [id, 'Admin'])) });
  const bearer: [string, string] = ['authorization', `Bearer ${token}`];
  const attempt = (fault: string, lines: [string, string][]): Attempt => ({
    fault: `X-Tenant-Id ${fault}`,
    // The ids are part of the claims; an answer that names the header is no leak of the token.
    token,
    method: 'GET',
    path: '/api/tasks',
    lines: [bearer, ...lines],
    expect: MALFORMED,
  });
  return [
    ...ids.map((id) => attempt(id.slice(0, 60), [['x-tenant-id', id]])),
    ...[north, south, 'x', ''].map((second) =>
      attempt(`twice, ${second}`, [
        ['x-tenant-id', north],
        ['x-tenant-id', second],
      ]),
    ),
  ];
}
