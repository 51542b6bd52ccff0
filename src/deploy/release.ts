/** A release: the migrations and chapters in `sql/`. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** The directory `sql/`, beside package.json. */
export const sqlDirectory = new URL('sql/', import.meta.resolve('#package.json'));

export interface SqlFile {
  /** The file's name without its extension. */
  name: string;
  text: string;
  sha256: string;
}

export interface Release {
  migrations: SqlFile[];
  /** The files of `sql/policies`. */
  chapters: SqlFile[];
  /** The files of `sql/audit`. */
  audit: SqlFile[];
  /** A hash over all files: two checkouts with the same fingerprint deploy the same database. */
  fingerprint: string;
}

/** Reads the release of this checkout or installation, or of another directory `sql/`. */
export function readRelease(sql = sqlDirectory): Release {
  const migrations = readFiles(new URL('migrations/', sql));
  const chapters = readFiles(new URL('policies/', sql));
  const audit = readFiles(new URL('audit/', sql));
  const fingerprint = sha256(
    [...migrations, ...chapters, ...audit].map((file) => `${file.name} ${file.sha256}\n`).join(''),
  );
  return { migrations, chapters, audit, fingerprint };
}

let ownFingerprint: string | undefined;

/** The fingerprint of this checkout or installation: its files are read when it is first needed, and once. */
export function releaseFingerprint(): string {
  ownFingerprint ??= readRelease().fingerprint;
  return ownFingerprint;
}

function readFiles(directory: URL): SqlFile[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8');
      return { name: file.slice(0, -'.sql'.length), text, sha256: sha256(text) };
    });
}

/** The hash that identifies the content of a file. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
