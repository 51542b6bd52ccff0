import { readFile } from 'node:fs/promises';
import t from 'tap';
import { readDocument } from '../../tools/document.js';
import { variableOf } from '../../tools/requests.js';
import { makeFullShift, makeStartedShift } from '../setup/endpoints.js';
import type { Method, Response } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';

const service = await startService(t, { publicUrl: 'http://127.0.0.1:3000' });
await runAudit(service);
const text = await readFile('docs/requests.http', 'utf8');
const [head = '', ...sections] = text.split(/^### /m);
const variables = [...head.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name, value]) => [
  name as string,
  value as string,
]);

/** A request of the file with these variables, parsed as editors do. */
function read(section: string, values: Map<string, string>) {
  const filled = section.replace(/\{\{(\w+)\}\}/g, (_, name) => values.get(name) ?? `no ${name}`);
  const [start = '', body] = filled.trimEnd().split('\n\n');
  const [title = '', ...lines] = start.split('\n');
  const more = lines.filter((line) => /^ +[?&]/.test(line)).map((line) => line.trim());
  const [request = '', ...headers] = lines.filter((line) => !/^ +[?&]/.test(line));
  const [method, url = ''] = request.split(' ');
  return {
    operationId: /\((\w+)\)$/.exec(title)?.[1] as string,
    method: method as Method,
    url: url + more.join(''),
    headers: Object.fromEntries(headers.map((line) => line.split(': ') as [string, string])),
    body,
  };
}

t.test('the file has every operation, and all its variables are at the top', async (t) => {
  const { paths } = await readDocument();
  const documented = Object.values(paths).flatMap((of) =>
    Object.values(of).map(({ operationId }) => operationId),
  );
  const requests = sections.map((section) => read(section, new Map(variables as [string, string][])));
  t.same(requests.map(({ operationId }) => operationId).sort(), documented.sort());
  t.notMatch(JSON.stringify(requests), /no \w+Id|\{\{/);
});

t.test('every request of the file succeeds unchanged, twice, once its variables have values', async (t) => {
  const club = await service.db.makeClub('north');
  const ben = service.as('ben', 'Member', club);
  const dora = service.as('dora', 'Admin', club);
  const values = new Map<string, string>([
    ...(variables as [string, string][]),
    ['baseUrl', ''],
    ['clubId', club],
    ['token', service.token({ sub: 'anna', name: 'anna', clubs: { [club]: 'Admin' } })],
    ['memberId', await ben.memberId()],
    ['fullShiftId', await makeFullShift(dora)],
    ['startedShiftId', await makeStartedShift(service.as('anna', 'Admin', club, { name: 'anna' }))],
  ]);
  const send = ({ method, url, headers, body }: ReturnType<typeof read>) =>
    service.send(method, url, { headers, ...(body ? { body } : {}) });
  for (const time of ['first', 'second']) {
    // The link of a member to their calendar, which the file deletes.
    const { url: link } = (await ben.put('/api/members/me/calendar')).body;
    values.set('secret', /([\w-]+)\.ics$/.exec(link)?.[1] ?? '');
    const answers = new Map<string, string>();
    const note = ({ operationId }: ReturnType<typeof read>, { status, body }: Response) =>
      answers.set(operationId, `${operationId} ${status} ${body?.detail ?? ''}`.trim());
    // The ids at the top are of rows that the file itself creates; a row with a reference is created after its target.
    let waiting = sections.filter((section) => {
      const { method, url } = read(section, values);
      return method === 'POST' && !/\/[\da-f]{8}-/.test(url);
    });
    for (let rounds = waiting.length; rounds > 0; rounds -= 1) {
      const refused: string[] = [];
      for (const section of waiting) {
        const request = read(section, values);
        const response = await send(request);
        if (response.status === 201) {
          const [path = '', query] = String(response.headers.location).split('?');
          // The member with the id at the top is another one.
          const name = path.startsWith('/api/members') ? 'memberWithoutLoginId' : variableOf(path);
          values.set(name, response.body.id ?? values.get(name));
          for (const [name, value] of new URLSearchParams(query)) {
            values.set(name, value);
          }
          note(request, response);
        } else {
          refused.push(section);
        }
      }
      waiting = refused;
    }
    for (const section of sections) {
      const { operationId } = read(section, values);
      // A merge deletes its member. The file deletes the one that it has created.
      const { id } = (await dora.post('/api/members', { displayName: 'Ida' })).body;
      const request = read(
        section,
        operationId === 'deleteMember' ? values : new Map([...values, ['memberWithoutLoginId', id]]),
      );
      if (!answers.has(operationId)) {
        note(request, await send(request));
      }
    }
    t.same(
      [...answers.values()].filter((answer) => !/ 20[014]$/.test(answer)),
      [],
      `sent the ${time} time`,
    );
    t.equal(answers.size, sections.length);
  }
});
