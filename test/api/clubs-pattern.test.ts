import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkSync } from 'recheck';
import t from 'tap';
import { ClubsPattern, isClubsPattern } from '../../src/auth/clubs-pattern.js';
import { root } from '../../tools/root.js';

t.test('no pattern that the documents show can be made to backtrack', async (t) => {
  const places = ['docs/identity.md', 'docs/configuration.md', 'docs/api.md', '.env.example'];
  const pages = await Promise.all(places.map((path) => readFile(join(root, path), 'utf8')));
  const patterns = new Set(pages.flatMap((page) => page.match(/\^[^\s`']*\(\?<[^\s`']*\$/g) ?? []));
  t.ok(patterns.size >= 4, [...patterns].join(' '));
  t.same(
    [...patterns].filter((pattern) => checkSync(pattern, 'u').status !== 'safe'),
    [],
  );
  t.same(
    [...patterns].filter((pattern) => !isClubsPattern(pattern)),
    [],
  );
});

t.test('a pattern that would backtrack for years in another engine is matched', async (t) => {
  for (const [source, entries] of [
    ['(?<club>(a+)+)/(?<role>.+)', ['a'.repeat(200)]],
    ['(?<club>(a|aa)+)/(?<role>.+)', ['a'.repeat(200)]],
    ['(?<club>.*.*.*.*.*)/(?<role>.+)', Array<string>(1_000).fill('a'.repeat(256))],
  ] as const) {
    const pattern = new ClubsPattern(source);
    t.same(pattern.match([...entries]), [], source);
    t.match(pattern.match(['aa/Admin']), [{ club: 'aa', role: 'Admin' }]);
  }
});

t.test('a pattern that needs backtracking, such as a lookahead, is refused', async (t) => {
  t.equal(isClubsPattern('(?=x)(?<club>.+)/(?<role>.+)'), false);
  t.equal(isClubsPattern('(?<club>.+)/(?<role>\\1)'), false);
  t.equal(isClubsPattern('(?<club>.+)/.+'), false, 'a pattern without a group is refused');
  t.equal(isClubsPattern('^/clubs/(?<club>[^/]+)/(?<role>[^/]+)$'), true);
});

t.test('a match of one token does not affect the next token', async (t) => {
  const pattern = new ClubsPattern('(?<club>.+)/(?<role>.+)');
  t.match(pattern.match(['north/Admin']), [{ club: 'north', role: 'Admin' }]);
  t.same(pattern.match([]), []);
  t.same(pattern.match(['south']), []);
});
