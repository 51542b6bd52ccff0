import type { Attempt, Target } from './target.js';

const SCHEMES = [
  '', 'Bearer', 'bearer', 'BEARER', 'Basic', 'Digest', 'DPoP', 'Token', 'JWT', 'OAuth', 'MAC', 'Negotiate', 'Bear',
  'Bearerr', 'XBearer', '"Bearer"', 'Bearer:', 'Bearer=', 'Bearer Bearer', 'Basic Bearer', 'Basic,Bearer', 'Bearer\u00a0',
  'Authorization: Bearer',
]; // biome-ignore format: families side by side
const BETWEEN = [
  ' ',
  '   ',
  '',
  '\t',
  ' \t',
  ',',
  ';',
  ':',
  '=',
  '%20',
  '+',
  '\u00a0',
  ' "',
  " '",
  ' <',
  ' token=',
  ' \\',
];
const BEHIND = [
  '',
  ' ',
  ',',
  ';',
  '"',
  ' x',
  ', x',
  '; q=1',
  ', Basic YTpi',
  '\u00a0',
  '#',
  '?',
  '\\',
  '%00',
];

/** A valid token, sent in every way except that of RFC 6750, section 2.1. */
export function authorization({ admin, north }: Target, isWhole: boolean): Attempt[] {
  const token = admin();
  const ben = admin({ sub: 'ben' });
  const spelled = SCHEMES.flatMap((scheme) =>
    BETWEEN.flatMap((between) => BEHIND.map((behind) => ({ scheme, between, behind }))),
  )
    .filter(({ scheme, between, behind }) => !isBearer(scheme, between, behind))
    // There are thousands, and each differs from the next in one word only.
    .filter((_, index) => isWhole || index % 5 === 0)
    .map(({ scheme, between, behind }) => [`${scheme}${between}${token}${behind}`]);
  const good = `Bearer ${token}`;
  const lines = [good, `Bearer ${ben}`, 'Bearer x', 'Bearer', '', 'Basic YTpi', `bearer ${token}`, token];
  const twice = lines.flatMap((first) =>
    lines.flatMap((second) => [[first, second], [`${first}, ${second}`], [first, second, good]]),
  );
  const elsewhere = [
    'proxy-authorization', 'x-authorization', 'authentication', 'x-access-token', 'access-token', 'x-auth-token',
    'x-forwarded-authorization', 'x-original-authorization', 'authorization2', 'bearer', 'token', 'x-api-key', 'dpop',
    'www-authenticate', 'x-amzn-oidc-data', 'sec-websocket-protocol', 'id-token', 'x-jwt-assertion',
  ]; // biome-ignore format: families side by side
  const names = [
    'access_token',
    'token',
    'authorization',
    'Authorization',
    'jwt',
    'id_token',
    'bearer',
    'auth',
  ];
  const cookies = names.flatMap((name) => [`${name}=${token}`, `${name}="${good}"`, `a=b; ${name}=${token}`]);

  return [
    ...[...spelled, ...twice].map((values) => ({
      fault: `Authorization: ${values.join(' | ').replaceAll(token, '…')}`,
      token,
      lines: values.map((value): [string, string] => ['authorization', value]),
    })),
    ...elsewhere.flatMap((name) =>
      [good, token].map((value) => ({
        fault: `in the header ${name}`,
        token,
        lines: [[name, value]] as [string, string][],
      })),
    ),
    ...cookies.map((cookie) => ({
      fault: `in the cookie ${cookie.slice(0, 20)}`,
      token,
      lines: [['cookie', cookie]] as [string, string][],
    })),
    ...names.flatMap((name) =>
      ['/api/clubs/me', '/api/tasks', '/api/members/me'].map((path) => ({
        fault: `in the query ${name}`,
        token,
        method: 'GET',
        path: `${path}?${name}=${token}`,
        lines: [['x-tenant-id', north]] as [string, string][],
      })),
    ),
    ...names.map((name) => ({
      fault: `in the body ${name}`,
      token,
      method: 'POST',
      path: '/api/tasks',
      body: `${name}=${token}`,
      lines: [['content-type', 'application/x-www-form-urlencoded']] as [string, string][],
    })),
  ];
}

/** The correct form: the scheme in any letter case, spaces, the token. */
function isBearer(scheme: string, between: string, behind: string): boolean {
  return /^bearer$/i.test(scheme) && /^ +$/.test(between) && /^ *$/.test(behind);
}

/** Headers over the size limit are a 431; smaller ones are parsed and refused. */
export function huge({ admin }: Target): Attempt[] {
  const token = admin();
  const sizes = [4_000, 8_000, 12_000, 15_000, 17_000, 32_000, 64_000, 200_000];
  const fillings: ((size: number) => string)[] = [
    (size) => 'a'.repeat(size),
    (size) => '.'.repeat(size),
    (size) => 'A.'.repeat(size / 2),
    (size) => `${token}${'A'.repeat(size)}`,
    (size) => `${'A'.repeat(size)}${token}`,
    (size) => `Bearer ${'~'.repeat(size)}`,
    (size) => `${'a'.repeat(size)}${'='.repeat(size / 8)}`,
    (size) => `${' '.repeat(size / 2)}${'='.repeat(size / 2)}`,
  ];
  return sizes.flatMap((size) =>
    fillings.map((fill, index) => {
      const filled = fill(size);
      // The limit of 16 KiB is for all headers together, so the largest value depends on the others.
      const expect = filled.length > 16_384 ? [431] : filled.length > 15_000 ? [401, 431] : [401];
      return { fault: `${size} characters, filling ${index}`, token: filled, expect };
    }),
  );
}
