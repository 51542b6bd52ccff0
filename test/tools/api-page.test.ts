import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { root } from '../../tools/root.js';
import { readIdentityBook } from '../setup/identity-book.js';
import { startIssuer } from '../setup/issuer.js';
import { isAsPrinted } from '../sql/book/blocks.js';
import { demoDatabase, prepareCommands } from './fixtures/commands.js';
import { needsCurl, paste } from './fixtures/paste.js';

const page = await readFile(join(root, 'docs/api.md'), 'utf8');
/** The blocks of shell, each with the block of text behind it, which is its output. */
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?/gms)].map(
  ([, lines = '', printed = '']) => ({ lines, printed }),
);
const END = '=== end of block';

t.test('every block of shell on the page prints the block after it', needsCurl, async (t) => {
  const commands = await prepareCommands(t);
  await commands.serve(await demoDatabase(t));
  const lines = blocks.map((block) => `${block.lines}\necho '${END}'\n`).join('');
  const { code, out, err } = await paste(t, lines, commands);
  t.same([code, err], [0, '']);
  const outputs = out.split(`${END}\n`);
  t.equal(outputs.length, blocks.length + 1);
  t.equal(blocks.length, page.split(/^```sh$/m).length - 1);
  t.equal(blocks.filter(({ printed }) => printed !== '').length, page.split(/^```text$/m).length - 1);
  for (const [index, { lines, printed }] of blocks.entries()) {
    const output = outputs[index] ?? '';
    t.ok(isAsPrinted(printed, output), lines, { printed, output });
  }
});

t.test('somebody with a token of Keycloak signs up with the lines of the page', async (t) => {
  const [keycloak] = await readIdentityBook();
  const provider = await startIssuer(t);
  const commands = await prepareCommands(t);
  const [, lines = ''] = /\n\n( {4}AUTH_ISSUER=.*? make run)\n\n/s.exec(page) ?? [];
  const printed = await paste(t, lines.replace('make run', 'env'), commands);
  const settings = Object.fromEntries(
    [...printed.out.matchAll(/^(AUTH_\w+)=(.*)$/gm)].map(([, name, value]) => [
      name as string,
      value as string,
    ]),
  );
  t.same(settings, keycloak?.settings, 'they are those of docs/identity.md');

  const { token: none } = await commands.serve({
    ...(await demoDatabase(t)),
    ...settings,
    AUTH_ISSUER: provider.url,
  });
  t.equal(none, '', 'make run issues no token');
  const now = Math.floor(Date.now() / 1000);
  const name = keycloak?.token.payload.name;
  // The first test ran the build of the client, as printed.
  const signUpLines = blocks.at(-1)?.lines.replace('npm run build --silent --workspace client\n', '');
  const signUp = (claims: object) => {
    const token = provider.sign({
      ...keycloak?.token.payload,
      iss: provider.url,
      iat: now,
      exp: now + 300,
      ...claims,
    });
    return paste(t, `${blocks[0]?.lines.split('\n', 1)}\nCLEO=${token}\n${signUpLines}`, commands);
  };
  const { out, err } = await signUp({});
  t.match([name, err, JSON.parse(out || '{}')], ['Anna Albers', '', { memberName: name, shiftId: String }]);
  t.match((await signUp({ groups: ['/clubs/north/manager'] })).err, /tenant_forbidden/);
  t.match((await signUp({ aud: 'account' })).err, /invalid_token/);
});
