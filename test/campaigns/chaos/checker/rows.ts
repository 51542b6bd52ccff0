import {
  type FinalRow,
  type History,
  holderOf,
  isDone,
  isUnknown,
  type Operation,
  type Row,
} from '../history.js';
import { describe, type Report } from './verdict.js';

/** A kind of row: tasks and shifts are created, changed by version and deleted in the same way. */
export interface Noun {
  name: 'task' | 'shift';
  change: 'patch task' | 'put shift';
  finalRows: FinalRow[];
}

/** The complete history of one task or shift. */
interface Life {
  id: string;
  made: Operation | undefined;
  changes: Operation[];
  /** Whether its assignee may be merged into another member, which changes it. */
  mayMove: boolean;
  deletions: Operation[];
  /** Every observation of a version, by writers and readers, in the order of the responses. */
  sights: { row: Row; by: Operation | undefined }[];
  /** Answers that the row does not exist. */
  misses: Operation[];
  finalRow: FinalRow | undefined;
}

/** Checks that creations are stored once, each version has one winner, and no reader sees an outdated version. */
export function checkRows({ operations }: History, noun: Noun, report: Report): void {
  checkCreations(operations, noun, report);
  for (const life of livesOf(operations, noun).values()) {
    checkPresence(life, report);
    checkVersions(life, report);
    checkSights(life, report);
  }
}

function checkCreations(operations: Operation[], { name, finalRows }: Noun, report: Report): void {
  const ids = new Map<string, Set<string>>();
  const add = (marker: string | null | undefined, id: string | undefined) =>
    marker && id && ids.set(marker, (ids.get(marker) ?? new Set()).add(id));
  for (const operation of operations) {
    if (operation.kind === `create ${name}` && isDone(operation)) {
      add(operation.marker, operation.rows[0]?.id);
    }
  }
  for (const { marker, id } of finalRows) {
    add(marker, id);
  }
  for (const [marker, made] of ids) {
    if (made.size > 1) {
      report('doubled', `the ${name} ${marker} was made as ${[...made].join(' and ')}`);
    }
  }
}

function livesOf(operations: Operation[], { name, change, finalRows }: Noun): Map<string, Life> {
  const lives = new Map<string, Life>();
  const of = (id: string) => {
    const life = lives.get(id) ?? {
      id,
      made: undefined,
      changes: [],
      mayMove: false,
      deletions: [],
      sights: [],
      misses: [],
      finalRow: undefined,
    };
    lives.set(id, life);
    return life;
  };
  const about = new RegExp(` ${name}s?$`);
  for (const operation of [...operations].sort((a, b) => a.returned - b.returned)) {
    const { kind, target, rows, code } = operation;
    if (!about.test(kind)) {
      if (target !== undefined && name === 'shift' && code === 'shift_not_found') {
        of(target).misses.push(operation);
      }
      continue;
    }
    if (kind === `create ${name}` && isDone(operation) && rows[0]) {
      of(rows[0].id).made ??= operation;
    } else if (kind === change && target) {
      of(target).changes.push(operation);
    } else if (kind === `delete ${name}` && target) {
      of(target).deletions.push(operation);
    }
    for (const row of rows) {
      of(row.id).sights.push({ row, by: operation });
    }
    if (target && code === `${name}_not_found`) {
      of(target).misses.push(operation);
    }
  }
  const merged = new Set(
    operations.filter((one) => one.kind === 'merge' && (isDone(one) || isUnknown(one))).map(holderOf),
  );
  for (const finalRow of finalRows) {
    const life = of(finalRow.id);
    life.finalRow = finalRow;
    life.sights.push({ row: finalRow, by: undefined });
  }
  // By the marker: a creation with an unknown outcome has no id.
  const ofMerged = new Set(
    operations.flatMap(({ marker, holder = '' }) =>
      marker !== undefined && merged.has(holder) ? [marker] : [],
    ),
  );
  for (const life of lives.values()) {
    life.mayMove = ofMerged.has(life.made?.marker ?? life.finalRow?.marker ?? '');
  }
  return lives;
}

function checkPresence({ id, made, deletions, misses, sights, finalRow }: Life, report: Report): void {
  const deleted = deletions.filter(isDone);
  const possible = deletions.filter((deletion) => isDone(deletion) || isUnknown(deletion));
  if (made && !finalRow && possible.length === 0) {
    report('lost', `${describe(made)} made ${id}, which is missing`);
  }
  if (deleted.length > 1) {
    report('doubled', `${id} was deleted ${deleted.length} times`);
  }
  for (const deletion of deleted) {
    if (finalRow) {
      report('lost', `${describe(deletion)}, and it is there`);
    }
    for (const { by } of sights) {
      if (by && by.called > deletion.returned && by.kind !== deletion.kind && !by.kind.startsWith('create')) {
        report('lost', `${describe(by)} shows what ${describe(deletion)}`);
      }
    }
  }
  for (const miss of misses) {
    const known = made && made.returned < miss.called;
    if (known && !possible.some((deletion) => deletion !== miss && deletion.called < miss.returned)) {
      report('lost', `${describe(miss)}, and no request deleted it`);
    }
  }
}

function checkVersions({ id, changes, mayMove, sights, finalRow }: Life, report: Report): void {
  const winners = new Map<number, Operation>();
  for (const operation of changes.filter(isDone)) {
    const row = operation.rows[0];
    if (row === undefined) {
      report('anomalies', `${describe(operation)} shows nothing`);
      continue;
    }
    const rival = winners.get(row.version);
    if (rival !== undefined) {
      report(
        'anomalies',
        `version ${row.version} of ${id} has two winners: ${describe(rival)}; ${describe(operation)}`,
      );
    }
    winners.set(row.version, operation);
    if (operation.named !== undefined && row.version !== operation.named + 1) {
      report('anomalies', `${describe(operation)} made ${row.version} of ${operation.named}`);
    }
    if (operation.content !== undefined && !row.content.includes(operation.content)) {
      report('anomalies', `${describe(operation)} wrote ${operation.content} and shows ${row.content}`);
    }
  }
  const won = Math.max(1, ...winners.keys());
  if (finalRow && finalRow.version < won) {
    report('lost', `version ${won} of ${id} was acknowledged, ${finalRow.version} is there`);
  }
  const last = Math.max(won, ...sights.map(({ row }) => row.version));
  const open = last - 1 - winners.size;
  const unknown = changes.filter(isUnknown).length + (mayMove ? 1 : 0);
  if (open > unknown) {
    report('anomalies', `${id} is at version ${last}: ${winners.size} changes known, ${unknown} in doubt`);
  }
}

function checkSights({ id, sights }: Life, report: Report): void {
  const contents = new Map<number, string>();
  const latest: { returned: number; version: number }[] = [];
  for (const { row, by } of sights) {
    const known = contents.get(row.version);
    if (known !== undefined && known !== row.content) {
      const proof = `version ${row.version} of ${id} is "${known}" and "${row.content}"`;
      report(by === undefined ? 'lost' : 'anomalies', proof);
    }
    contents.set(row.version, row.content);
    // A replayed response is as old as its first one.
    if (by === undefined || by.kind.startsWith('create')) {
      continue;
    }
    const before = latestBefore(latest, by.called);
    if (row.version < before) {
      report('anomalies', `${describe(by)} shows version ${row.version} of ${id} after ${before} was known`);
    }
    const top = latest.at(-1)?.version ?? 0;
    latest.push({ returned: by.returned, version: Math.max(top, row.version) });
  }
}

/** The highest version that was known at that time; the list is sorted by time. */
function latestBefore(latest: { returned: number; version: number }[], time: number): number {
  let [low, high] = [0, latest.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((latest[middle]?.returned ?? 0) < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return latest[low - 1]?.version ?? 0;
}
