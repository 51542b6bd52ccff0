import { createHash } from 'node:crypto';
import t from 'tap';
import { codes, errorTypes } from '../setup/errors.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t, { rateLimitPerMinute: 1, corsOrigins: ['https://app.example.org'] });
const { body: document } = await service.send('GET', '/openapi.json');
const paths = ['/problems', ...codes.map((code) => `/problems/${code}`)];
const pages = new Map<string, Response>();
for (const path of paths) {
  pages.set(path, await service.send('GET', path));
}

/** The visible text between tags. */
const words = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

t.test('every code of the document has a page at its `type`: meaning, fix and example', async (t) => {
  t.same([...document.components.schemas.Problem.properties.code.enum].sort(), [...codes].sort());
  const wrong = errorTypes.filter(({ code, title, status, meaning, fix }) => {
    const page = words(pages.get(`/problems/${code}`)?.text ?? '');
    const parts = [`${title} (${code})`, `status ${status}`, meaning, fix].map((text) =>
      text.replaceAll('`', ''),
    );
    const example = JSON.parse(/^\{$.*^\}$/ms.exec(page)?.[0] ?? '{}');
    return (
      !parts.every((text) => page.includes(text)) ||
      example.type !== `/problems/${code}` ||
      example.status !== status ||
      example.code !== code
    );
  });
  t.same(wrong, []);
});

t.test('an error links to its page, which links to all others', async (t) => {
  const { body } = await service.send('GET', '/api/tasks');
  const links = (path: string) =>
    [...(pages.get(path)?.text ?? '').matchAll(/href="([^"]+)"/g)].map(([, link]) => String(link));
  t.same(links(body.type), ['/problems']);
  t.same(links('/problems').sort(), ['/docs', ...paths.slice(1)].sort());
});

t.test('a page needs no token, club or database, is not rate-limited, and may be cached', async (t) => {
  const away = await startService(t, { rateLimitPerMinute: 1 });
  await away.database.close();
  const responses = [...pages.values(), await away.send('GET', '/problems/service_unavailable')];
  const found = new Set(
    responses.map(({ status, headers }) =>
      [status, headers['content-type'], headers['cache-control'], headers['ratelimit-limit']].join(' | '),
    ),
  );
  t.same([...found], ['200 | text/html; charset=utf-8 | public, max-age=3600 | ']);
  const head = await service.send('HEAD', '/problems/shift_full');
  const get = pages.get('/problems/shift_full');
  t.same([head.status, head.text], [200, '']);
  for (const name of ['content-type', 'content-length', 'cache-control', 'vary', 'content-security-policy']) {
    t.equal(head.headers[name], get?.headers[name], name);
  }
  t.match(get?.headers, {
    'x-request-id': String,
    vary: /Authorization/,
    'x-content-type-options': 'nosniff',
  });
});

t.test('a page loads nothing: its style is inline', async (t) => {
  const wrong = paths.filter((path) => {
    const { text = '', headers = {} } = pages.get(path) ?? {};
    const style = createHash('sha256')
      .update(/<style>(.*)<\/style>/s.exec(text)?.[1] ?? '')
      .digest('base64');
    const policy = `default-src 'none';style-src 'sha256-${style}';base-uri 'none';form-action 'none';frame-ancestors 'none'`;
    return (
      headers['content-security-policy'] !== policy ||
      /<script|\sstyle=|\son\w+=|javascript:|https?:|url\(|@import/i.test(text)
    );
  });
  t.same(wrong, []);
});

t.test('a page is complete HTML with a language, and fits phones and dark mode', async (t) => {
  const wrong = paths.filter((path) => {
    const text = pages.get(path)?.text ?? '';
    const open: string[] = [];
    const isClosed = [...text.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)].every(([, slash, name = '']) => {
      if (slash === '') {
        return name === 'meta' || open.push(name) > 0;
      }
      return open.pop() === name;
    });
    return !(
      isClosed &&
      open.length === 0 &&
      text.startsWith('<!doctype html>\n<html lang="en">') &&
      text.includes('<meta name="viewport" content="width=device-width, initial-scale=1">') &&
      text.includes('@media (prefers-color-scheme: dark)') &&
      text.match(/<h1>/g)?.length === 1 &&
      text.match(/<main>/g)?.length === 1
    );
  });
  t.same(wrong, []);
});

t.test('an unknown code is a 404, and any method but GET and HEAD is a 405', async (t) => {
  for (const path of ['/problems/', '/problems/nonsense', '/problems/SHIFT_FULL', '/problems/__proto__']) {
    for (const method of ['GET', 'POST'] as const) {
      const { status, body } = await service.send(method, path);
      t.same([status, body.code], [404, 'route_not_found'], `${method} ${path}`);
    }
  }
  for (const path of ['/problems', '/problems/shift_full']) {
    const { status, headers } = await service.send('POST', path);
    t.same([status, headers.allow], [405, 'GET, HEAD'], path);
    t.equal((await service.send('GET', `${path}?a=1`)).body.code, 'invalid_parameter', path);
  }
});
