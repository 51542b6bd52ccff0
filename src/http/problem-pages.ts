import { createHash } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { type Catalogue, exampleOf } from '../errors/catalogue.js';
import type { ErrorType } from '../errors/problem.js';
import { NoQuery } from '../validation/schemas.js';

/**
 * The HTML pages that the `type` of a problem links to. They need no token, club or database, and are not part of the
 * OpenAPI document.
 *
 * Each code has a separate route, so an unknown code is a 404.
 */
export const problemPages: FastifyPluginAsync<{ catalogue: Catalogue }> = async (app, { catalogue }) => {
  const pages = new Map([['/problems', indexPage(catalogue)]]);
  for (const type of catalogue.types) {
    pages.set(`/problems/${type.code}`, pageOf(type));
  }
  for (const [path, page] of pages) {
    app.get(path, { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) =>
      reply
        .headers({
          'content-security-policy': PAGE_CSP,
          // The page is the same for every client and changes only with a release.
          'cache-control': 'public, max-age=3600',
        })
        .type('text/html; charset=utf-8')
        .send(page),
    );
  }
};

/** Contrast is at least 4.5 to 1 in light and dark mode; the layout fits a phone. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #5b636b; --fill: #f2f4f6; --link: #0b57b0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --paper: #16191c; --soft: #a3abb3; --fill: #22272b; --link: #8ab8f5; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 44rem; color: var(--ink); background: var(--paper);
  font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--link); }
h1 { margin: 1.5rem 0 0.25rem; font-size: 1.75rem; line-height: 1.25; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.1875rem; }
code, pre { font: 0.9em/1.5 ui-monospace, monospace; background: var(--fill); border-radius: 0.25rem; }
code { padding: 0.1em 0.3em; overflow-wrap: anywhere; }
pre { margin: 0.75rem 0; padding: 0.9rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { padding: 0; font: inherit; }
.soft { margin: 0; color: var(--soft); }
ul { padding: 0; list-style: none; }
li { margin: 0.35rem 0; }
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The Content-Security-Policy of a page: only its own inline style. */
const PAGE_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

/** The page of an error: what it means, how to fix it, and an example. */
function pageOf(type: ErrorType): string {
  const { code, title, status, meaning, fix } = type;
  const example = exampleOf(type);
  return page(
    `${title} (${code})`,
    `<nav><a href="/problems">All problems</a></nav>
<main>
<h1>${text(title)}</h1>
<p class="soft">Code <code>${code}</code>, status ${status}</p>
<p>${text(meaning)}</p>
<h2>How to fix it</h2>
<p>${text(fix)}</p>
<h2>Example</h2>
<p><code>${escaped(example.request)}</code> is answered with <code>${example.status}</code>:</p>
<pre><code>${escaped(example.body)}</code></pre>
</main>`,
  );
}

/** The page that lists every code. */
function indexPage({ types }: Catalogue): string {
  const statuses = [...new Set(types.map(({ status }) => status))];
  const groups = statuses.map((status) => {
    const items = types
      .filter((type) => type.status === status)
      .map(
        ({ code, title }) => `<li><a href="/problems/${code}"><code>${code}</code></a> ${text(title)}</li>`,
      );
    return `<h2>${status}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
  });
  return page(
    'Problems',
    `<main>
<h1>Problems</h1>
<p>Every error is <code>application/problem+json</code> and has one of these codes, which never change their
meaning. <a href="/docs">The reference</a> lists the codes of each operation.</p>
${groups.join('\n')}
</main>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** A text of the catalogue as HTML: backticks become code. */
function text(words: string): string {
  return escaped(words).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function escaped(words: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return words.replaceAll(/[&<>"]/g, (letter) => entities[letter] as string);
}
