import { Catalogue, exampleOf } from '../src/errors/catalogue.js';
import * as resources from '../src/resources.js';

const HEAD = `# Problems

Every error is \`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)) and has one of these
codes, which never change their meaning. Programs use \`code\`, people read \`detail\`. The \`type\` links to a page of the
service with the same text as here. \`make snapshot\` writes this file from [the catalogue](../src/errors/catalogue.ts).

| Status | Code | |
|---|---|---|
`;

/** Writes docs/errors.md: every code with its meaning, how to fix it and an example. */
export function describeCodes(): string {
  const { types } = new Catalogue(Object.values(resources));
  const rows = types.map(({ code, status, title }) => `| ${status} | [\`${code}\`](#${code}) | ${title} |\n`);
  const sections = types.map((type) => {
    const { code, title, meaning, fix } = type;
    const { request, status, body } = exampleOf(type);
    return [
      `\n## ${code}`,
      `**${title}.** ${meaning}`,
      `**How to fix it.** ${fix}`,
      `\`${request}\` is answered with \`${status}\`:`,
      `\`\`\`json\n${body}\n\`\`\`\n`,
    ].join('\n\n');
  });
  return HEAD + rows.join('') + sections.join('');
}
