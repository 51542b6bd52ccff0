import t from 'tap';
import { haproxyMissing } from '../../setup/haproxy.js';
import { until } from '../../setup/wait.js';
import { recordWork } from '../chaos/campaign.js';
import { check } from '../chaos/checker/index.js';
import { firstProofs, isAcknowledgedWrite, sumUp } from '../chaos/checker/verdict.js';
import { makeCommonDatabase } from '../chaos/postgres.js';
import type { Club } from '../chaos/testbed.js';
import { type Cells, forget, removeMoved, startCells, startMove, stateOf } from './testbed.js';
import { watch } from './watch.js';

const seed = 1;
/** The acknowledged writes of the club before and after the move. */
const WRITES = 20;
const REST_MS = 40;

async function untilWritten({ operations }: Cells, { canary }: Club): Promise<void> {
  const count = () => operations.filter((one) => one.club === canary && isAcknowledgedWrite(one)).length;
  const before = count();
  await until(count, (writes) => writes - before >= WRITES);
}

t.test(
  'a move whose command is killed before it opens the club is resumed, and nothing acknowledged is lost or duplicated',
  { skip: haproxyMissing },
  async (t) => {
    const cells = await startCells(t, [await makeCommonDatabase(t), await makeCommonDatabase(t)]);
    const { west, east, faults, now } = cells;
    const club = cells.clubs[0] as Club;
    const states = () => Promise.all([stateOf(west, club), stateOf(east, club)]);
    const nemesis = async () => {
      let isOver = false;
      const watching = watch(cells, () => isOver);
      await untilWritten(cells, club);
      let isReached = false;
      east.proxy.onMessage = ({ from, text }) => {
        isReached ||= from === 'client' && text.includes('app.open_club');
        return isReached ? 'freeze' : forget(east.proxy);
      };
      const move = { kind: 'move', from: now(), to: Number.POSITIVE_INFINITY };
      faults.push(move);
      const killed = startMove(cells, club, east);
      await until(() => isReached, Boolean);
      t.same(await states(), ['moved', 'arriving'], 'no database serves the club');
      killed.kill();
      t.equal((await killed.ended).code, null);
      east.proxy.onMessage = () => forget(east.proxy);
      east.proxy.cut();
      const isRefused = () =>
        cells.operations.some(
          ({ club: of, called, status, retryAfter }) =>
            of === club.canary && called > move.from && status === 503 && retryAfter === true,
        );
      t.ok(await until(isRefused, Boolean), 'requests of the club get 503 with Retry-After');
      const aborted = await startMove(cells, club, east, '--abort').ended;
      t.match(aborted, { code: 1, printed: /has moved to east\. .*nothing undoes it/i });
      t.same(await states(), ['moved', 'arriving']);
      const resumed = await startMove(cells, club, east, '--resume').ended;
      t.match(resumed, { code: 0, printed: / route its requests there\.$/m });
      t.same(await states(), ['moved', 'open']);
      move.to = now();
      await untilWritten(cells, club);
      isOver = true;
      const { readings, violations } = await watching;
      t.ok(readings > 0);
      t.same(violations, []);
    };
    const tidy = async () => {
      t.ok(await removeMoved(west, east, club), 'the west has no event that the east does not have');
    };
    const recorded = await recordWork(cells, { seed, durationMs: 0, restMs: REST_MS, nemesis, tidy });
    const services = [west.service, east.service];
    const crashes = services.flatMap((service) => service.crashes);
    const history = { ...recorded, crashes, failedDeploys: [] };
    const verdict = check(history);
    t.comment(sumUp(history, verdict, 'cells'));
    t.same(firstProofs(verdict), []);
    t.same(
      services.flatMap(({ bugs }) => bugs),
      [],
    );
  },
);
