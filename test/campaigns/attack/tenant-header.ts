import { MISSING } from '../../setup/endpoints.js';
import { sendBytesTo } from '../../setup/send.js';
import type { TestService } from '../../setup/service.js';
import { type CanaryClub, shownOf } from './clubs.js';
import { eachOf } from './operations.js';
import type { Tally } from './tally.js';

const NIL = '00000000-0000-0000-0000-000000000000';
const wide = (id: string) => id.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
const arabic = (id: string) => id.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)));
const mixed = (id: string) => id.replace(/[a-f]/g, (digit, at) => (at % 2 ? digit : digit.toUpperCase()));
const line = (value: string) => `X-Tenant-Id: ${value}\r\n`;

/** The header as bytes, and whether it is valid: in any letter case, with spaces around the value. */
const spellings: [name: string, lines: (id: string, other: CanaryClub) => string, isPlain?: 'plain'][] = [
  ['as it is', (id) => line(id), 'plain'],
  ['upper case', (id) => line(id.toUpperCase()), 'plain'],
  ['mixed case', (id) => line(mixed(id)), 'plain'],
  ['another case of the name', (id) => `x-TENANT-iD:${id}\r\n`, 'plain'],
  ['spaces around', (id) => line(` \t ${id} \t`), 'plain'],
  ['braces', (id) => line(`{${id}}`)],
  ['brackets', (id) => line(`[${id}]`)],
  ['quotes', (id) => line(`"${id}"`)],
  ['a URN', (id) => line(`urn:uuid:${id}`)],
  ['no dashes', (id) => line(id.replaceAll('-', ''))],
  ['dashes elsewhere', (id) => line(id.replaceAll('-', '').replace(/.{4}(?!$)/g, '$&-'))],
  ['a space inside', (id) => line(id.replace('-', '- '))],
  ['no-break spaces around', (id) => line(`\u00a0${id}\u00a0`)],
  ['a byte order mark', (id) => line(`\ufeff${id}`)],
  ['a zero-width space', (id) => line(`${id}\u200b`)],
  ['wide digits', (id) => line(wide(id))],
  ['Arabic digits', (id) => line(arabic(id))],
  ['a wide hyphen', (id) => line(id.replaceAll('-', '\u2010'))],
  ['percent-encoded', (id) => line(id.replaceAll('-', '%2D'))],
  ['a NUL behind', (id) => line(`${id}\0`)],
  ['a NUL inside', (id) => line(id.replace('-', '\0'))],
  ['a line feed behind', (id) => `X-Tenant-Id: ${id}\n\r\n`],
  ['a carriage return behind', (id) => `X-Tenant-Id: ${id}\r\r\n`],
  ['a folded line', (id) => `X-Tenant-Id: ${id}\r\n  ${id}\r\n`],
  ['twice', (id) => line(id) + line(id)],
  ['twice, the other second', (id, other) => line(id) + line(other.id)],
  ['twice, the other first', (id, other) => line(other.id) + line(id)],
  ['twice, in two cases of the name', (id, other) => `${line(id)}x-tenant-id: ${other.id}\r\n`],
  ['a list', (id) => line(`${id},${id}`)],
  ['a list with the other', (id, other) => line(`${other.id}, ${id}`)],
  ['a comma behind', (id) => line(`${id},`)],
  ['a semicolon', (id, other) => line(`${id};${other.id}`)],
  ['more behind', (id) => line(`${id}0`)],
  ['less', (id) => line(id.slice(0, -1))],
  ['SQL behind', (id) => line(`${id}'or'1'='1`)],
  ['nothing', () => line('')],
  ['another name', (id) => `X_Tenant_Id: ${id}\r\n`],
  ['a space in the name', (id) => `X-Tenant-Id : ${id}\r\n`],
  ['in a cookie', (id) => `Cookie: X-Tenant-Id=${id}\r\n`],
];

/** Paths similar to the one without a tenant. */
const SIMILAR_PATHS = [
  '/api/clubs/me/../../tasks', '/api/clubs/me/../../members', '/api/clubs/me/../current', '/api/clubs/me/%2e%2e/current',
  '/api/clubs/me%2f..%2fcurrent', '/api/clubs/me;/../current', '/api/clubs/me%00', '/api/clubs/me%20', '/api/clubs/me/',
  '/api/clubs//me', '//api/clubs/me', '/api/clubs/ME', '/API/clubs/current', '/api/./clubs/current', '/api/clubs/current#/me',
  '/api/clubs/current?/api/clubs/me', '/api/members/me', '/api/tasks/../clubs/me', 'http://localhost/api/clubs/current',
  'http://localhost/api/clubs/me/../current', '/api/clubs/%6de/../current', '/api\\clubs\\current', '/api/clubs/me\\..\\current',
]; // biome-ignore format: a list

/** Sends every form of the header in a read and in a write: for north as its Admin, and for south without a role. */
export async function attackTenantHeader(
  service: TestService,
  { north, south }: { north: CanaryClub; south: CanaryClub },
  tally: Tally,
): Promise<void> {
  const sendBytes = await sendBytesTo(service.app);
  const token = service.token({ sub: 'a Admin', name: 'a Admin', clubs: { [north.id]: 'Admin' } });
  const send = async (title: string, method: string, path: string, lines: string) => {
    tally.tried += 1;
    const content = method === 'POST' ? '{"title":"Mow"}' : '';
    const type = content === '' ? '' : 'Content-Type: application/json\r\n';
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${type}${lines}`;
    const bytes = Buffer.from(`${head}Content-Length: ${content.length}\r\n\r\n${content}`);
    const { responses, text } = await sendBytes(bytes, 1);
    const status = responses[0]?.status ?? 0;
    if (status === 0 || status >= 500) {
      tally.serverErrors.push(`${title}: ${text}`);
    }
    tally.leaks.push(...shownOf(south, text, String(bytes)).map((word) => `${title}: ${word}`));
    return status < 400 ? 'accepted' : String(responses[0]?.body?.code);
  };
  const refusals = ['tenant_header_missing', 'tenant_header_invalid', 'invalid_parameter'];

  await eachOf(spellings, async ([name, lines, isPlain]) => {
    for (const method of ['GET', 'POST']) {
      const own = await send(`${method}, ${name}`, method, '/api/tasks', lines(north.id, south));
      const others = [south.id, NIL, MISSING].map((id) =>
        send(`${method}, ${name}, of ${id}`, method, '/api/tasks', lines(id, north)),
      );
      const isRight = (code: string, whenPlain: string) =>
        isPlain ? code === whenPlain : refusals.includes(code);
      if (
        !isRight(own, 'accepted') ||
        !(await Promise.all(others)).every((code) => isRight(code, 'tenant_forbidden'))
      ) {
        tally.succeeded.push(`${method}, ${name}: ${own} and ${await Promise.all(others)}`);
      }
    }
  });
  for (const slug of [north.front, south.front, 'me', '*', 'null', 'undefined', '0', '%']) {
    const code = await send(slug, 'GET', '/api/tasks', line(slug));
    tally.succeeded.push(...(code === 'tenant_header_invalid' ? [] : [`the slug ${slug}: ${code}`]));
  }
  for (const path of SIMILAR_PATHS) {
    const code = await send(path, 'GET', path, '');
    tally.succeeded.push(...(code === 'accepted' ? [`${path} without a tenant`] : []));
  }
}
