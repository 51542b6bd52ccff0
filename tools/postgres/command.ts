import { execFile } from 'node:child_process';

import { environmentWith } from '../../src/config.js';
import type { Account } from './account.js';

/** How a command ended, with all that it printed. */
export interface Outcome {
  ok: boolean;
  output: string;
}

/** The options that make a child process run as the given account and free of the caller's surroundings. */
export function childOptions(account?: Account) {
  return {
    // The account may be unable to enter the caller's working directory, which PostgreSQL's programs insist
    // on.
    cwd: '/',
    env: cleanEnvironment(),
    // Node takes signed numbers here, although it reports unsigned ones everywhere else.
    ...(account?.switched ? { uid: account.uid | 0, gid: account.gid | 0 } : {}),
  };
}

/** Runs a program to its end; a program that fails is an outcome, one that cannot be run is an Error. */
export function run(account: Account, file: string, args: string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(file, args, childOptions(account), (error, stdout, stderr) => {
      if (error !== null && typeof error.code === 'string') {
        reject(new Error(`Cannot run ${file} as ${account.name}: ${error.code}`));
      } else {
        resolve({ ok: error === null, output: `${stdout}${stderr}`.trim() });
      }
    });
  });
}

/** Asks the shell's `test` as the account, because only the kernel knows what its permissions amount to. */
export async function permitted(account: Account, flag: '-r' | '-w' | '-x', path: string): Promise<boolean> {
  return (await run(account, '/bin/sh', ['-c', `test ${flag} "$1"`, 'sh', path])).ok;
}

/**
 * PG* variables would redirect PostgreSQL's programs, and a locale would translate the messages read from
 * them.
 */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(environmentWith({})).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
