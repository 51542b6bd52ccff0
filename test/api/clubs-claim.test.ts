import t from 'tap';
import { type ClubsClaim, plainClubsClaim, readClubRoles } from '../../src/auth/club-roles.js';
import { ClubsPattern } from '../../src/auth/clubs-pattern.js';
import type { Role } from '../../src/roles.js';

const north = '11111111-1111-4111-8111-1111111111aa';
const south = '22222222-2222-4222-8222-2222222222bb';
const prototypeNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];
const GROUPS = '^/clubs/(?<club>[^/]+)/(?<role>[^/]+)$';

/** Reads the claim `clubs`, or the claims, with these settings: roles by club id, and the reason why others are ignored. */
function read(claims: unknown, settings: Partial<Omit<ClubsClaim, 'pattern'>> & { pattern?: string } = {}) {
  const { pattern, ...others } = settings;
  const { roles, reason } = readClubRoles(
    'name' in settings ? (claims as Record<string, unknown>) : { clubs: claims },
    {
      ...plainClubsClaim('clubs'),
      ...others,
      pattern: pattern === undefined ? undefined : new ClubsPattern(pattern),
    },
  );
  return [Object.fromEntries(roles), reason];
}

t.test('a claim is found by its exact name, with any characters in it, or by a path', async (t) => {
  const map = { [north]: 'Member' };
  for (const [name, claims] of [
    ['https://example.org/clubs', { 'https://example.org/clubs': map }],
    ['urn:example:clubs', { 'urn:example:clubs': map }],
    ['custom:clubs', { 'custom:clubs': map }],
    ['extn.clubs', { 'extn.clubs': map, extn: { clubs: { [north]: 'Admin' } } }],
    ['/clubs', { clubs: map }],
    ['/app/clubs', { app: { clubs: map }, '/app/clubs': { [north]: 'Admin' } }],
    ['/https:~1~1example.org~1clubs', { 'https://example.org/clubs': map }],
    ['/a~0b/', { 'a~b': { '': map } }],
  ] as const) {
    t.same(read(claims, { name }), [map, undefined], name);
  }
});

t.test('a missing claim gives no role, and no property is inherited', async (t) => {
  for (const name of ['clubs', '/a/b', '/list/0', '/text/0', '/text/length', ...prototypeNames]) {
    const claims = { a: {}, list: [{ [north]: 'Admin' }], text: 'text' };
    t.same(read(claims, { name }), [{}, 'the token has none'], name);
    t.same(read(claims, { name, pattern: GROUPS, json: true }), [{}, 'the token has none'], name);
  }
});

t.test('a claim that is not a map gives no role and a reason; an empty map gives no reason', async (t) => {
  const isNone = 'it is not a map of clubs to roles';
  for (const claim of [null, 1, true, 'Admin', [], [north], JSON.stringify({ [north]: 'Admin' })]) {
    t.same(read(claim), [{}, isNone], JSON.stringify(claim));
  }
  t.same(read({}), [{}, undefined]);
});

t.test('invalid entries are counted, and the other entries give their roles', async (t) => {
  const claim = { [north]: 'Admin', [south]: 'admin', lost: 'Admin', constructor: 'Admin', toString: 'x' };
  const reason = '3 of 5 entries name no known club, 1 of 5 entries name no known role';
  t.same(read(claim), [{ [north]: 'Admin' }, reason]);
  for (const role of [null, 3, ['Admin'], { role: 'Admin' }, '', 'Admin ', ...prototypeNames]) {
    t.same(read({ [north]: role }), [{}, '1 of 1 entries name no known role'], JSON.stringify(role));
  }
});

t.test('a string is parsed as JSON only when configured', async (t) => {
  const map = { [north]: 'Manager' };
  t.same(read(JSON.stringify(map), { json: true }), [map, undefined]);
  t.same(read(map, { json: true }), [map, undefined], 'a value that is not a string is unchanged');
  t.same(read(JSON.stringify([`/clubs/${north}/Manager`]), { json: true, pattern: GROUPS })[0], map);
  for (const text of ['', 'Admin', '{', '[]', 'null', '"{}"', '{"__proto__": 1}x']) {
    t.same(read(text, { json: true }), [{}, 'it is not a map of clubs to roles'], text);
  }
  const inherited = '{"__proto__": {"x": "Admin"}}';
  t.same(read(inherited, { json: true }), [{}, '1 of 1 entries name no known club']);
});

t.test('clubs and roles can be mapped from other names, and keep their names', async (t) => {
  const clubNames = new Map([['rowing north', north]]);
  const roleNames = new Map<string, Role>([['board', 'Admin'], ['Admin', 'Viewer']]); // biome-ignore format: pairs
  const names = { clubNames, roleNames };
  t.same(read({ 'rowing north': 'board', [south]: 'Member' }, names), [
    { [north]: 'Admin', [south]: 'Member' },
    undefined,
  ]);
  t.same(read({ [south.toUpperCase()]: 'Admin' }, names)[0], { [south]: 'Viewer' }, 'another meaning');
  t.same(read({ 'Rowing North': 'board' }, names)[0], {}, 'names are exact');
  t.same(read(['/clubs/rowing north/board'], { ...names, pattern: GROUPS })[0], { [north]: 'Admin' });
});

t.test('of two roles for one club, a map gives the lower one and a list the higher one', async (t) => {
  const names = { clubNames: new Map([['north', north]]) };
  for (const words of [
    ['Manager', 'Viewer'],
    ['Viewer', 'Manager'],
  ]) {
    const twice = { north: words[0], [north]: words[1] };
    t.same(read(twice, names)[0], { [north]: 'Viewer' }, `a map: ${words}`);
    const list = words.map((word) => `/clubs/north/${word}`);
    t.same(read(list, { ...names, pattern: GROUPS })[0], { [north]: 'Manager' }, `a list: ${words}`);
  }
});

t.test('a list gives the roles of the entries that match completely; other groups are ignored', async (t) => {
  const list = [`/clubs/${north}/Admin`, '/staff', 'offline_access', `/clubs/${south}/Member`];
  t.same(read(list, { pattern: GROUPS }), [{ [north]: 'Admin', [south]: 'Member' }, undefined]);
  const role = [
    `/old/clubs/${north}/Admin`,
    `/clubs/${north}/Admin/x`,
    ` /clubs/${north}/Admin`,
    `x\n/clubs/${north}/Admin`,
  ];
  for (const pattern of [
    GROUPS,
    '/clubs/(?<club>[^/]+)/(?<role>[^/\\n]+)',
    'x|/clubs/(?<club>[^/]+)/(?<role>\\w+)|y',
  ]) {
    t.same(read(role, { pattern }), [{}, 'none of its 4 entries matches the pattern'], pattern);
  }
  t.same(read([], { pattern: GROUPS }), [{}, undefined]);
  t.same(read([`/clubs/${north}/Boss`, `/clubs/lost/Admin`, `/clubs/${south}/Viewer`], { pattern: GROUPS }), [
    { [south]: 'Viewer' },
    '1 of 3 entries name no known club, 1 of 3 entries name no known role',
  ]);
  t.same(
    read(
      prototypeNames.map((name) => `/clubs/${name}/Admin`),
      { pattern: GROUPS },
    )[0],
    {},
  );
  const optional = '(?<club>[^/]+)(?:/(?<role>.+))?';
  t.same(read([north], { pattern: optional }), [{}, 'none of its 1 entries matches the pattern'], 'no role');
});

t.test('a nested map is read as the list of its paths', async (t) => {
  const settings = { pattern: '(?<role>[^/]+)/(?<club>.+)' };
  const claim = {
    Manager: { [north]: 'north.example.org' },
    Viewer: { [north]: 'x', [south]: 'y' },
    Other: {},
  };
  t.same(read(claim, settings), [{ [north]: 'Manager', [south]: 'Viewer' }, undefined]);
  const isNone = 'it is neither a list nor a map of maps';
  for (const value of [
    null,
    5,
    'Admin',
    { Manager: north },
    { Manager: [north] },
    { Manager: null, Admin: {} },
  ]) {
    t.same(read(value, settings), [{}, isNone], JSON.stringify(value));
  }
});

t.test('a list has at most a thousand entries, and an entry at most 256 characters', async (t) => {
  const others = Array.from({ length: 1_000 }, (_, index) => `/other/${index}`);
  const entry = `/clubs/${north}/Admin`;
  t.same(read([...others.slice(1), entry], { pattern: GROUPS }), [{ [north]: 'Admin' }, undefined]);
  t.same(read([...others, entry], { pattern: GROUPS }), [{}, 'it has more than 1000 entries']);
  const clubNames = new Map([['n'.repeat(243), north], ['n'.repeat(244), north]]); // biome-ignore format: pairs
  const named = (length: number) =>
    read([`/clubs/${'n'.repeat(length)}/Admin`], { pattern: GROUPS, clubNames })[0];
  t.same([named(243), named(244)], [{ [north]: 'Admin' }, {}]);
  t.same(read([5, null, [entry], { entry }, entry], { pattern: GROUPS })[0], { [north]: 'Admin' });
});
