import t from 'tap';
import { startService } from '../setup/service.js';
import { openWire } from '../setup/wire.js';

const service = await startService(t);
const wire = await openWire(service.app);

t.test('a wrong method is 405 with Allow on what needs no token, the files of /docs too', async (t) => {
  const paths = ['/docs', '/docs/', '/docs/json', '/docs/static/swagger-ui.css'];
  for (const path of [...paths, '/livez', '/readyz', '/openapi.json']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      const { status, headers, body } = await wire(method, path, []);
      t.same(
        [status, headers.allow, body.code],
        [405, 'GET, HEAD', 'method_not_allowed'],
        `${method} ${path}`,
      );
    }
    t.equal((await wire('GET', path, [])).status, 200, path);
  }
});

t.test('a file that /docs does not have is a 404, whatever way its path takes', async (t) => {
  const names = ['nothing.js', '..', '../../package.json', '%2e%2e/package.json', '%5c..%5c', '..%2f..%2fx'];
  for (const name of names) {
    const { status, headers, body } = await wire('GET', `/docs/static/${name}`, []);
    t.match([status, body?.code], [404, 'route_not_found'], name);
    t.match(headers['content-type'], /^application\/problem\+json/, name);
  }
  const file = '/docs/static/swagger-ui.css';
  const whole = await wire('GET', file, []);
  for (const range of ['bytes=0-9', 'bytes=99999999-', 'nonsense']) {
    const { status, text } = await wire('GET', file, [['range', range]]);
    t.same([status, text === whole.text], [200, true], range);
  }
  const stale = await wire('GET', file, [['if-match', '"1"']]);
  t.match([stale.status, stale.body?.code], [412, 'precondition_failed']);
});
