/**
 * What a release brings to the database: its migrations and its chapters, as files of `sql/`.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Where `sql/` is, seen from `src/` and from `dist/` alike. */
export const sqlDirectory = new URL('../../sql/', import.meta.url);

/** The role that owns every object of the service; the login of the deploy becomes it. */
export const OWNER = 'club_owner';

export interface SqlFile {
  /** The file's name without its extension. */
  name: string;
  text: string;
  sha256: string;
}

export interface Release {
  migrations: SqlFile[];
  /** Of `sql/policies`. */
  chapters: SqlFile[];
  /** Of `sql/audit`. */
  audit: SqlFile[];
  /** One hash over all of it: two checkouts with the same fingerprint deploy the same database. */
  fingerprint: string;
}

/** Reads the release that this checkout, or this installation, would deploy. */
export function readRelease(): Release {
  const migrations = readFiles('migrations/');
  const chapters = readFiles('policies/');
  const audit = readFiles('audit/');
  const fingerprint = sha256(
    [...migrations, ...chapters, ...audit].map((file) => `${file.name} ${file.sha256}\n`).join(''),
  );
  return { migrations, chapters, audit, fingerprint };
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

/** The hash by which files are compared. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
