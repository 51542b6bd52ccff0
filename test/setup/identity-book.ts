import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { root } from '../../tools/root.js';

/** A set-up of docs/identity.md: a token, the settings, and the result. */
export interface SetUp {
  provider: string;
  token: { header: Record<string, unknown> & { kid: string }; payload: Record<string, unknown> };
  settings: Record<string, string>;
  gives: { roles: Record<string, string>; displayName: string; email: string | null };
  /** The provider's script that writes claims, where the page shows one. */
  program: string | undefined;
}

/**
 * Reads the set-ups in the order of the page: under each heading a token, its settings, and the result of all
 * settings since the last result.
 */
export async function readIdentityBook(): Promise<SetUp[]> {
  const page = await readFile(join(root, 'docs/identity.md'), 'utf8');
  return page.split(/^## /m).flatMap((chapter) => {
    const provider = chapter.split('\n', 1)[0] ?? '';
    const setUps: SetUp[] = [];
    let token: SetUp['token'] | undefined;
    let program: string | undefined;
    let waiting: Record<string, string>[] = [];
    for (const [, kind, text = ''] of chapter.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
      if (kind === 'sh') {
        waiting.push(parseEnv(text) as Record<string, string>);
      } else if (kind === 'js') {
        program = text;
      } else {
        const value = JSON.parse(text);
        if ('payload' in value) {
          token = value;
        } else if ('roles' in value && token !== undefined) {
          const shown = token;
          setUps.push(
            ...waiting.map((settings) => ({ provider, token: shown, settings, gives: value, program })),
          );
          [waiting, program] = [[], undefined];
        }
      }
    }
    return setUps;
  });
}
