/**
 * What a release brings to the database: its migrations and its chapters, as files of `sql/`.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Where `sql/` is, seen from `src/` and from `dist/` alike. */
export const sqlDirectory = new URL('../../sql/', import.meta.url);

export interface SqlFile {
  /** The file's name without its extension. */
  name: string;
  text: string;
  sha256: string;
}

export interface Release {
  migrations: SqlFile[];
  chapters: SqlFile[];
  /** One hash over all of it: two checkouts with the same fingerprint deploy the same database. */
  fingerprint: string;
}

/** Reads the release that this checkout, or this installation, would deploy. */
export function readRelease(): Release {
  const migrations = readFiles('migrations/');
  const chapters = [...readFiles('policies/'), ...readFiles('audit/')];
  const fingerprint = sha256(
    [...migrations, ...chapters].map((file) => `${file.name} ${file.sha256}\n`).join(''),
  );
  return { migrations, chapters, fingerprint };
}

function readFiles(folder: string): SqlFile[] {
  const directory = new URL(folder, sqlDirectory);
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8');
      return { name: file.slice(0, -'.sql'.length), text, sha256: sha256(text) };
    });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
