import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { EventsForgottenError, type List } from '../../client/src/index.js';
import { root } from '../../tools/root.js';
import { openClients, rejection } from '../setup/client.js';
import { freePort } from '../setup/free-port.js';
import { codeBlocks, compile, forNode, projectWithClient } from '../setup/pages.js';
import { startService } from '../setup/service.js';
import { shiftRequest, started } from '../setup/shifts.js';
import { until } from '../setup/wait.js';

const service = await startService(t);
const { db, token } = service;
const clients = await openClients(service);
const project = await projectWithClient(t);
await symlink(join(root, 'node_modules/standardwebhooks'), join(project, 'node_modules/standardwebhooks'));
const pages = ['docs/guides/keep-a-copy.md', 'docs/guides/webhooks.md', 'docs/guides/you-got-a-place.md'];
const code = (await Promise.all(pages.map((page) => codeBlocks(page, 'ts')))).flat();
// With short pages a copy is killed between two of them.
const withShortPages = String(code[0]).replace(
  'after: copy.position, limit: 500',
  'after: copy.position, limit: 5',
);
const [copyModule = '', relayModule = '', receiverModule = '', promotedModule = '', shortPagesModule = ''] =
  await compile(project, [...code, withShortPages], {
    ...forNode,
    noEmit: false,
    // What Node.js runs without a compiler.
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
  });

/** A new club with an Admin, and what a Manager's program needs to reach it. */
async function makeClub() {
  const clubId = await db.makeClub();
  const ada = await clients.as('ada', 'Admin', clubId);
  await ada.members.me();
  const environment = {
    CLUB_URL: clients.baseUrl,
    CLUB_ID: clubId,
    CLUB_TOKEN: token({ sub: 'program', name: 'Program', clubs: { [clubId]: 'Manager' } }),
  };
  const forget = () => db.queryAsAdmin(`select app.forget_events($1, 'infinity')`, [clubId]);
  return { ada, environment, forget };
}

/** Starts a module in the project. */
function start(t: Test, module: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [module], { cwd: project, env });
  const printed = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed.output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.errors += text;
  });
  const closed = once(child, 'close');
  const kill = async () => {
    child.kill('SIGKILL');
    await closed;
  };
  t.teardown(kill);
  return { printed, closed, kill };
}

t.test('a copy equals the lists after changes, a restart and a forgotten position', async (t) => {
  const { ada, environment, forget } = await makeClub();
  const read = async () => {
    const text = await readFile(join(project, 'copy.json'), 'utf8').catch(() => 'null');
    return JSON.parse(text);
  };
  const newest = async () => (await ada.events.list({ sort: '-sequence', limit: 1 }).page()).items[0]?.id;
  const me = await ada.members.me();
  const create = async () => ({
    task: await ada.tasks.create({ title: 'Mow' }),
    shift: await ada.shifts.create(shiftRequest()),
  });
  let [oldest, kept] = [await create(), await create()];
  /** Changes the rows that the last call has created, and deletes those that it has changed. */
  const change = async () => {
    await ada.tasks.take(kept.task);
    await ada.shifts.signUp(kept.shift.id);
    await ada.shifts.update(kept.shift, { title: 'Grill', ...started() });
    // An event after the update whose subject is the shift too.
    await ada.attendance.record(kept.shift.id, me.id, { status: 'Attended' });
    await ada.tasks.delete(oldest.task.id);
    await ada.shifts.delete(oldest.shift.id);
    [oldest, kept] = [kept, await create()];
  };
  const sameRows = async (copied: Record<string, object>, list: List<{ id: string }>) => {
    const rows = await list.toArray();
    t.same(Object.keys(copied).sort(), rows.map(({ id }) => id).sort());
    for (const row of rows) {
      t.same({ ...row, ...copied[row.id] }, row);
    }
  };
  const same = async () => {
    const last = await newest();
    const copy = await until(read, (found) => found?.position === last);
    t.equal(copy?.position, last);
    await sameRows(copy.tasks, ada.tasks.list());
    await sameRows(copy.shifts, ada.shifts.list());
  };
  const startCopy = (difference = {}) => start(t, copyModule, { ...environment, ...difference });

  // The first time rows are created after each response, until the lists are read.
  const between = createServer(
    async ({ url, headers: { authorization, 'x-tenant-id': clubId } }, response) => {
      const headers = { authorization: String(authorization), 'x-tenant-id': String(clubId) };
      const { status, body } = await service.send('GET', String(url), { headers });
      if ((await read()) === null) {
        await create();
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  );
  t.teardown(() => between.close().closeAllConnections());
  await once(between.listen(0, '127.0.0.1'), 'listening');
  const { port } = between.address() as AddressInfo;
  const first = startCopy({ CLUB_URL: `http://127.0.0.1:${port}` });
  await until(read, (copy) => copy !== null);
  await same();
  await change();
  await same();
  await first.kill();

  for (let changes = 1; changes <= 10; changes += 1) {
    await change();
  }
  const { position } = await read();
  const killed = start(t, shortPagesModule, environment);
  await until(read, (copy) => copy.position !== position, { everyMs: 1 });
  await killed.kill();
  t.not((await read()).position, await newest(), 'it was killed before it had handled all events');
  const restarted = startCopy();
  await same();
  await restarted.kill();

  await change();
  await forget();
  const gone = await rejection(ada.events.list({ after: (await read()).position }).page());
  t.ok(gone instanceof EventsForgottenError);
  const anew = startCopy();
  await same();
  await change();
  await same();
  t.same([first, killed, restarted, anew].map(({ printed }) => printed.errors).join(''), '');
});

t.test('a relay delivers each event at least once and in order, and skips none', async (t) => {
  const { ada, environment, forget } = await makeClub();
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const webhook = new Webhook(secret);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startRelay = () =>
    start(t, relayModule, { ...environment, RECEIVER_URL: url, WEBHOOK_SECRET: secret });
  const startReceiver = async () => {
    const receiver = start(t, receiverModule, { WEBHOOK_SECRET: secret, RECEIVER_PORT: String(port) });
    const status = async () => (await fetch(url).catch(() => undefined))?.status;
    t.equal(await until(status, (found) => found !== undefined), 401);
    return receiver;
  };
  const create = (title: string) => ada.tasks.create({ title });
  const position = () => readFile(join(project, 'position'), 'utf8').catch(() => '');
  /** Waits until the relay has delivered all events, and checks that the receiver has printed those after one. */
  const received = async (receiver: ReturnType<typeof start>, after: string) => {
    const events = await ada.events.list({ after }).toArray();
    await until(position, (id) => id === events.at(-1)?.id);
    const lines = events.map(({ id, sequence, type }) => `${id} ${sequence} ${type}\n`);
    t.equal(receiver.printed.output, lines.join(''));
  };

  await create('Before');
  const first = await startReceiver();
  const relay = startRelay();
  const begin = await until(position, (id) => id !== '');
  await create('Mow');
  await received(first, begin);

  const delivered = await position();
  await first.kill();
  await create('Rake');
  await create('Sow');
  await until(
    () => relay.printed.errors,
    (errors) => errors.includes('ECONNREFUSED'),
  );
  // It fails twice, and gets the third attempt without responding.
  const attempts: { headers: Record<string, string>; body: string }[] = [];
  const failing = createServer(async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('');
    attempts.push({ headers: signatureOf(request.headers), body });
    if (attempts.length < 3) {
      response.writeHead(503).end();
    }
  }).listen(port, '127.0.0.1');
  const stopFailing = () => failing.close().closeAllConnections();
  t.teardown(stopFailing);
  t.equal(
    (
      await until(
        async () => attempts,
        ({ length }) => length === 3,
      )
    ).length,
    3,
  );
  await relay.kill();
  stopFailing();
  const [next] = (await ada.events.list({ after: delivered }).page()).items;
  for (const { headers, body } of attempts) {
    t.match(webhook.verify(body, headers), { type: 'task.created', timestamp: next?.at, data: next });
    t.equal(headers['webhook-id'], next?.id);
  }

  const second = await startReceiver();
  const restarted = startRelay();
  await received(second, delivered);

  const { headers = {}, body = '' } = attempts[0] ?? {};
  const post = async (text: string, difference: Record<string, string> = {}) =>
    (await fetch(url, { method: 'POST', body: text, headers: { ...headers, ...difference } })).status;
  t.equal(await post(body), 204, 'a repeated event is accepted, and handled once');
  t.equal(await post(body.replace('Open', 'Done')), 401, 'a forged one is refused');
  t.equal(await post(body, { 'webhook-id': begin }), 401);
  t.equal(await post(body, { 'webhook-signature': 'v1,' }), 401);
  const old = new Date(Date.now() - 301_000);
  const ofOld = {
    'webhook-timestamp': String(Math.floor(old.getTime() / 1_000)),
    'webhook-signature': webhook.sign(String(next?.id), old, body),
  };
  t.equal(await post(body, ofOld), 401, 'or a recorded one');
  await create('Weed');
  await received(second, delivered);

  // Events that were forgotten meanwhile are missing, so the relay does not go on.
  await restarted.kill();
  const { output } = second.printed;
  await create('Forgotten');
  await create('Kept');
  await forget();
  const stopped = startRelay();
  t.match(await stopped.closed, [1]);
  t.match(stopped.printed.errors, 'EventsForgottenError');
  t.equal(second.printed.output, output);
});

t.test('people who waited and got a place are told so, once each, over a restart', async (t) => {
  const { ada, environment } = await makeClub();
  const sendmail = join(project, 'sendmail');
  const mails = join(project, 'mails');
  await writeFile(sendmail, `#!/bin/sh\ncat >> ${mails}\n`, { mode: 0o755 });
  const told = async () =>
    [
      ...(await readFile(mails, 'utf8').catch(() => '')).matchAll(
        /^To: (.*)@example\.org\n(?:.+\n)+\n.*: (.*?),/gm,
      ),
    ].map(([, name, title]) => `${name}: ${title}`);
  const [bert, cleo, dora] = await Promise.all(
    ['bert', 'cleo', 'dora'].map((name) =>
      clients.as(name, 'Member', environment.CLUB_ID, {
        token: token({
          sub: name,
          name,
          email: `${name}@example.org`,
          clubs: { [environment.CLUB_ID]: 'Member' },
        }),
      }),
    ),
  );
  const startScript = () =>
    start(t, promotedModule, { ...environment, SENDMAIL: sendmail, PATH: process.env.PATH ?? '' });
  const makeQueue = async (title: string) => {
    const shift = await ada.shifts.create(shiftRequest({ title, capacity: 1 }));
    await ada.shifts.signUp(shift.id);
    for (const member of [bert, cleo, dora]) {
      await member?.waits.start(shift.id);
    }
    return shift;
  };
  const position = () => readFile(join(project, 'told'), 'utf8').catch(() => '');
  const handled = async () => {
    const { items } = await ada.events.list({ sort: '-sequence', limit: 1 }).page();
    await until(position, (id) => id === items[0]?.id);
  };

  const early = await makeQueue('Early');
  await ada.shifts.cancelSignUp(early.id);
  const first = startScript();
  await until(position, (id) => id !== '');
  const bar = await makeQueue('Bar');
  await ada.shifts.update(bar, { capacity: 2 });
  await handled();
  t.same(await told(), ['bert: Bar'], 'not who got a place before the script was started for the first time');
  await first.kill();

  // While it does not run: one gets a place and keeps it, another one cancels.
  await bert?.shifts.cancelSignUp(bar.id);
  await ada.shifts.cancelSignUp(bar.id);
  await cleo?.shifts.cancelSignUp(bar.id);
  const again = startScript();
  await handled();
  t.same(await told(), ['bert: Bar', 'dora: Bar']);
  await again.kill();
  t.same([first, again].map(({ printed }) => printed.errors).join(''), '');
  t.match(await readFile(mails, 'utf8'), /^Subject: You got a place\nMessage-ID: <[\w-]+@127\.0\.0\.1>\n/m);
});

/** The headers of a webhook. */
function signatureOf(headers: IncomingHttpHeaders): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]));
}
