import { mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { haproxyMissing } from '../../setup/haproxy.js';
import { recordWork } from '../chaos/campaign.js';
import { check } from '../chaos/checker/index.js';
import { firstProofs, sumUp } from '../chaos/checker/verdict.js';
import { type History, type Operation, saveHistory } from '../chaos/history.js';
import { startVictim } from '../chaos/postgres.js';
import { secondsWithoutWrite } from '../failover/judge.js';
import { seedOf } from '../random.js';
import { type Move, moveClubs, removeCopies } from './moves.js';
import { startCells } from './testbed.js';
import { type Watched, watch } from './watch.js';

const seconds = Number(process.env.DURATION || 30);
const seed = seedOf(true);
t.setTimeout((seconds + 1_800) * 1_000);

/** How long a client waits after a 503 or a broken connection. */
const REST_IN_DOUBT_MS = 150;

/** A line for each move. */
function tableOf(moves: Move[], operations: Operation[]): string[] {
  const rows = moves.map((move) => {
    const ofClub = operations.filter(({ club }) => club === move.club);
    const pause = secondsWithoutWrite(ofClub, move).toFixed(1);
    return [move.kind, move.target, move.unservedS?.toFixed(1) ?? '', pause, move.commands.join(', ')];
  });
  const head = ['fault', 'target', 's not served', 's without a write', 'commands'];
  return [head, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

t.test(
  'clubs that move under faults are in one database at a time, and nothing acknowledged is lost, duplicated or foreign',
  { skip: haproxyMissing },
  async (t) => {
    t.comment(`cells seed: ${seed}`);
    const cells = await startCells(t, [await startVictim(t), await startVictim(t)]);
    let moves: Move[] = [];
    let watched: Watched = { readings: 0, violations: [] };
    const recorded = await recordWork(cells, {
      seed,
      durationMs: seconds * 1_000,
      least: { faults: seconds / 15, operations: seconds * 10 },
      restInDoubtMs: REST_IN_DOUBT_MS,
      nemesis: async (_, isOver, random) => {
        let hasEnded = false;
        const watching = watch(cells, () => hasEnded);
        moves = await moveClubs(cells, isOver, random);
        hasEnded = true;
        watched = await watching;
      },
      tidy: async () => {
        for (const club of cells.clubs) {
          await removeCopies(cells, club);
        }
      },
    });
    const services = [cells.west.service, cells.east.service];
    const crashes = services.flatMap((service) => service.crashes);
    const history: History = { ...recorded, crashes, failedDeploys: [] };
    const verdict = check(history);
    const moved = moves.filter(({ hasMoved }) => hasMoved).length;
    const killed = moves
      .flatMap(({ commands }) => commands)
      .filter((words) => words.includes('killed')).length;
    const lines = [
      ...tableOf(moves, history.operations),
      `moves: ${moved} ended in the other cell, ${moves.length - moved} aborted, ${killed} commands killed, ${watched.readings} readings of both databases`,
      sumUp(history, verdict, 'cells'),
    ];
    for (const line of lines) {
      t.comment(line);
    }
    mkdirSync('.tap', { recursive: true });
    // The last lines of `make cells`.
    writeFileSync('.tap/cells.txt', lines.map((line) => `${line}\n`).join(''));
    const proofs = firstProofs(verdict);
    t.same(proofs, []);
    t.same(watched.violations, []);
    t.ok(watched.readings > 0 && moved > 0);
    t.same(
      services.flatMap(({ bugs }) => bugs),
      [],
    );
    if (proofs.length > 0) {
      const path = `.data/cells/history-${seed}.json`;
      await saveHistory(history, path);
      t.comment(`the history is in ${path}`);
    }
  },
);
