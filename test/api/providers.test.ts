import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { configErrors, production } from '../setup/config.js';
import { readIdentityBook, type SetUp } from '../setup/identity-book.js';
import { AUDIENCE, jwkOf, startIssuer } from '../setup/issuer.js';
import { sendTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { idTokens } from './fixtures/id-tokens.js';

const [NORTH, SOUTH] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
/** One time for all: equal claims give equal tokens. */
const START_S = Math.floor(Date.now() / 1000);
const setUps = await readIdentityBook();
const service = await startService(t);
const provider = await startIssuer(t);
for (const [slug, id] of Object.entries({ north: NORTH, south: SOUTH })) {
  await provisionClub(service.db.migrationUrl, { id, slug, name: slug, timeZone: 'Europe/Berlin' });
}
const west = await service.db.makeClub('west');

/** The service with the settings of the page, except the address of the keys. */
async function openService({ settings, token, provider: name }: SetUp) {
  const written: string[] = [];
  // The keys of Entra do not say their algorithm.
  const { alg, ...key } = jwkOf(provider.keys.RS256.publicKey, 'RS256', token.header.kid);
  provider.documents.set('/jwks', { keys: [name === 'Microsoft Entra ID' ? key : { ...key, alg }] });
  const local = {
    NODE_ENV: 'test',
    DATABASE_URL: service.db.url,
    AUTH_JWKS_URL: `${provider.url}/jwks`,
    RATE_LIMIT_PER_MINUTE: '0',
  };
  const log = pino({ level: 'warn' }, { write: (line: string) => written.push(line) });
  const { app } = await buildApp({
    config: readServerConfig(local, settings),
    database: service.database,
    logger: log,
    auditTimes: null,
  });
  t.teardown(() => app.close());
  const send = sendTo(app);
  return {
    written,
    /** Sends the token of the page, issued now, with the given claims changed. */
    sendClaims: async (claims: Record<string, unknown>, path: string, club?: string, body?: object) => {
      const headers = {
        authorization: `Bearer ${signed(token, claims)}`,
        ...(club === undefined ? {} : { 'x-tenant-id': club }),
      };
      const response = await send(body === undefined ? 'GET' : 'POST', path, { headers, body });
      return { status: response.status, body: response.body };
    },
  };
}

function signed({ header, payload }: SetUp['token'], claims: Record<string, unknown>): string {
  const age = START_S - Number(payload.iat);
  const times = ['iat', 'nbf', 'exp', 'auth_time'].filter((claim) => claim in payload);
  const now = Object.fromEntries(times.map((claim) => [claim, Number(payload[claim]) + age]));
  const nothing = { aud: undefined };
  return provider.sign(
    { ...nothing, ...payload, ...now, ...claims },
    { by: 'RS256', header: { typ: undefined, ...header } },
  );
}

t.test('the page has each provider, with settings that production accepts', async (t) => {
  t.same([...new Set(setUps.map((setUp) => setUp.provider))], Object.keys(idTokens));
  t.same(
    setUps.flatMap(({ settings }) => configErrors({ ...production, ...settings })),
    [],
  );
  const known = /^AUTH_(ISSUER|AUDIENCE|AUDIENCE_CLAIM|CLUBS_\w+|CLUB_NAMES|ROLE_NAMES)$/;
  t.same(
    setUps.flatMap(({ settings }) => Object.keys(settings)).filter((name) => !known.test(name)),
    [],
  );
});

t.test('the scripts of the page produce the claims of its tokens', async (t) => {
  const person = { name: 'Anna Albers', email: 'anna@example.org' };
  const clubs = { [NORTH]: 'Manager', [SOUTH]: 'Member' };
  const written: Record<string, unknown> = {};
  const api = {
    accessToken: {
      setCustomClaim: (name: string, value: unknown) => Object.assign(written, { [name]: value }),
    },
  };
  const programs = setUps.filter(({ program }) => program !== undefined);
  t.equal(programs.length, 2);
  for (const { provider, program, token } of programs) {
    const exports: Record<string, (...args: unknown[]) => Promise<unknown>> = {};
    new Function('exports', program as string)(exports);
    await exports.onExecutePostLogin?.({ user: { ...person, app_metadata: { clubs } } }, api);
    const attributes = { ...person, 'custom:clubs': JSON.stringify(clubs) };
    // biome-ignore lint/suspicious/noExplicitAny: the form of the response is what is looked at
    const event: any = await exports.handler?.({ request: { userAttributes: attributes } });
    const claims =
      event?.response.claimsAndScopeOverrideDetails.accessTokenGeneration.claimsToAddOrOverride ?? written;
    t.same(Object.keys(claims).length, 3, provider);
    t.match(token.payload, claims, provider);
  }
});

for (const setUp of setUps) {
  const { provider: name, settings, gives, token } = setUp;
  t.test(`${name}, ${settings.AUTH_CLUBS_CLAIM ?? 'clubs'}`, async (t) => {
    const { sendClaims, written } = await openService(setUp);

    // Allowed: what the page says, and no more.
    const mine = await sendClaims({}, '/api/clubs/me');
    t.same(
      Object.fromEntries(mine.body.map(({ id, role }: { id: string; role: string }) => [id, role])),
      gives.roles,
    );
    const me = await sendClaims({}, '/api/members/me', NORTH);
    t.match(me, {
      status: 200,
      body: { displayName: gives.displayName, email: gives.email, role: 'Manager' },
    });
    t.equal(me.body.externalUserId, token.payload.sub);
    t.equal((await sendClaims({}, '/api/tasks', NORTH, { title: 'Mow' })).status, 201);
    t.match(await sendClaims({}, '/api/tasks', SOUTH, { title: 'Mow' }), {
      status: 403,
      body: { code: 'insufficient_role' },
    });
    t.match(await sendClaims({}, '/api/tasks', west), { status: 403, body: { code: 'tenant_forbidden' } });
    t.same(written, [], 'nothing in it is invalid');

    // Refused: another token of the same provider.
    const isClient = settings.AUTH_AUDIENCE_CLAIM === 'client_id';
    const others: Record<string, Record<string, unknown>> = {
      'for another API': { aud: ['account', 'another-api'] },
      'of another issuer': { iss: `${token.payload.iss}x` },
      'for nobody': isClient ? { client_id: undefined } : { aud: undefined },
      'an ID token': idTokens[name]?.(token.payload) ?? {},
      ...(isClient
        ? {
            'of another client': { client_id: 'another' },
            'an ID token that names the client': { token_use: 'id' },
            'of one client for another': { aud: 'another' },
            'of two clients': { client_id: [token.payload.client_id] },
          }
        : {}),
    };
    for (const [what, claims] of Object.entries(others)) {
      t.match(
        await sendClaims(claims, '/api/clubs/me'),
        { status: 401, body: { code: 'invalid_token' } },
        what,
      );
    }

    // Invalid: no role, and one log line with the reason, however often the token is sent.
    const claim = settings.AUTH_CLUBS_CLAIM ?? 'clubs';
    const top = claim.startsWith('/') ? (claim.split('/')[1] as string) : claim;
    for (const value of [
      undefined,
      null,
      'Admin',
      { [NORTH]: ['Admin'] },
      ['/clubs/lost/Admin', 'clubs/lost/Admin'],
    ]) {
      written.length = 0;
      const unfit = { [top]: value, jti: JSON.stringify(value) };
      t.match(await sendClaims(unfit, '/api/tasks', NORTH), {
        status: 403,
        body: { code: 'tenant_forbidden' },
      });
      t.same(await sendClaims(unfit, '/api/clubs/me'), { status: 200, body: [] });
      const lines = written.map((line) => JSON.parse(line));
      t.match(
        lines,
        [{ level: 40, claim, reason: /^(the token has none|it is |none of |\d+ of )/ }],
        JSON.stringify(value),
      );
      t.equal(lines.length, 1);
      t.notMatch(written.join(''), /lost|Admin|Anna|anna@/, 'nothing of the token is logged');
    }
  });
}

t.test(
  'the clubs of a token are not found with the settings of another provider, or with none',
  async (t) => {
    for (const setUp of setUps) {
      const { AUTH_ISSUER, AUTH_AUDIENCE, AUTH_AUDIENCE_CLAIM = '' } = setUp.settings;
      const holdsDefault = typeof setUp.token.payload.clubs === 'object';
      const { sendClaims } = await openService({
        ...setUp,
        settings: { AUTH_ISSUER, AUTH_AUDIENCE, AUTH_AUDIENCE_CLAIM } as never,
      });
      t.equal((await sendClaims({}, '/api/tasks', NORTH)).status, holdsDefault ? 200 : 403, setUp.provider);
    }
  },
);

t.test('access tokens with an aud need no setting for it', async (t) => {
  const [setUp] = setUps as [SetUp];
  const { sendClaims } = await openService({
    ...setUp,
    settings: { AUTH_ISSUER: setUp.settings.AUTH_ISSUER as string },
  });
  t.equal(setUp.settings.AUTH_AUDIENCE, AUDIENCE, 'the default');
  t.equal((await sendClaims({ clubs: { [NORTH]: 'Member' } }, '/api/tasks', NORTH)).status, 200);
});
