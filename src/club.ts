/**
 * The command `node dist/club.js export CLUB FILE` or `node dist/club.js import FILE`, with MIGRATION_DATABASE_URL. CLUB is an id or a slug.
 */
import { ClubFileRefused } from './club-files/errors.js';
import { exportClub } from './club-files/export.js';
import type { Header } from './club-files/format.js';
import { importClub } from './club-files/import.js';
import { Progress } from './club-files/progress.js';
import { readDeployConfig } from './config.js';
import { explain } from './database/errors.js';

const USAGE = 'Usage: node dist/club.js export CLUB FILE, or node dist/club.js import FILE';

try {
  console.log(await run(process.argv.slice(2)));
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}

async function run([command, ...values]: string[]): Promise<string> {
  const [first = '', second = ''] = values;
  const progress = new Progress(process.stderr);
  if (command === 'export' && values.length === 2) {
    return `Exported ${describe(await exportClub(readDeployConfig().url, first, second, progress))}.`;
  }
  if (command === 'import' && values.length === 1) {
    const header = await importClub(readDeployConfig().url, first, progress);
    return `Imported ${describe(header)}. The club is closed; this opens it: select app.reopen_club('${header.club.id}')`;
  }
  throw new ClubFileRefused(USAGE);
}

function describe({ club, tables }: Header): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `the club ${club.slug} (${club.id}): ${rows} rows of ${tables.length} tables`;
}
