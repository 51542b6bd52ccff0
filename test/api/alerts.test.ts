import { execFile, spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { root } from '../../tools/root.js';
import { freePort } from '../setup/free-port.js';
import { runAudit, startService } from '../setup/service.js';

const skip =
  spawnSync('promtool', ['--version']).error !== undefined && 'promtool is missing; install prometheus';
const RULES = 'docs/alerts.yml';
const SERIES = 'test/api/fixtures/alerts.test.yml';
const rules = await readFile(join(root, RULES), 'utf8');
const series = await readFile(join(root, SERIES), 'utf8');

/** All matches of the first group. */
const matches = (text: string, pattern: RegExp) => [
  ...new Set([...text.matchAll(pattern)].map(([, group = '']) => group)),
];

t.test('each alert fires when something stays wrong, and not when it passes', { skip }, async (t) => {
  const promtool = (...args: string[]) => promisify(execFile)('promtool', args, { cwd: root });
  t.match((await promtool('check', 'rules', RULES)).stdout, /SUCCESS: \d+ rules found/);
  t.match((await promtool('test', 'rules', SERIES)).stdout, 'SUCCESS');
  const alerts = matches(rules, /- alert: (\w+)/g);
  t.same(matches(series, /alertname="(\w+)"/g).sort(), alerts.sort(), 'every alert fires in the series');
  t.equal(rules.match(/^ +summary:/gm)?.length, alerts.length);
  t.equal(rules.match(/^ +description:/gm)?.length, alerts.length);
});

t.test('docs/operate.md loads the alerts, and lists them with their severity', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'club-prometheus-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const page = await readFile(join(root, 'docs/operate.md'), 'utf8');
  const [, config = ''] = /```yaml\n(rule_files:.*?)```/s.exec(page) ?? [];
  await writeFile(join(directory, 'prometheus.yml'), config);
  await copyFile(join(root, RULES), join(directory, 'alerts.yml'));
  const checked = await promisify(execFile)('promtool', [
    'check',
    'config',
    join(directory, 'prometheus.yml'),
  ]);
  t.match(checked.stdout, /SUCCESS: \d+ rules found/);
  t.match(config, 'job_name: club\n');
  t.same(
    [...page.matchAll(/^\| `(Club\w+)` \| (\w+) \|/gm)].map(([, name, severity]) => [name, severity]),
    [...rules.matchAll(/- alert: (\w+)\n.*?severity: (\w+)/gs)].map(([, name, severity]) => [name, severity]),
  );
});

t.test('the service has every metric of the alerts', async (t) => {
  const port = await freePort();
  const service = await startService(t, { metrics: { host: '127.0.0.1', port } });
  await runAudit(service);
  await service.send('GET', '/livez');
  const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const expressions = rules.replaceAll(/^ *(#|summary|description).*$/gm, '');
  const used = matches(expressions, /\b((?:club|process|nodejs)_\w+)/g);
  t.ok(used.length > 10);
  t.same(
    used.filter((name) => !new RegExp(`^${name}[{ ]`, 'm').test(scraped)),
    [],
  );
  for (const code of ['internal_error', 'service_unavailable']) {
    t.match(scraped, `club_http_refusals_total{code="${code}"} 0\n`, 'a rate counts the first error');
  }
});
