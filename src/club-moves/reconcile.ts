import { randomUUID } from 'node:crypto';
import { type ListedClub, listClubs, listMoves } from '../club-files/clubs.js';
import { inTransaction, SNAPSHOT, WRITE } from '../club-files/session.js';
import { type MoveDatabases, requireTwoDatabases } from './moves.js';

/** What a comparison with another database has found. */
export interface Reconciled {
  /** The clubs that the other database serves. They are marked as moved. */
  marked: ListedClub[];
  /** Those of which a copy had arrived in this database, and was not opened. They are removed here. */
  removed: ListedClub[];
  /** Those that it has, but closed: an operator decides where they are. */
  closed: ListedClub[];
}

/**
 * After a database was restored from a backup: marks each club as moved that the other database serves. Run it before the restored database is
 * served, once for each other database.
 *
 * @param databases the restored database is the source
 * @param isDry whether to change nothing
 * @throws ConnectionFailed
 */
export async function reconcileClubs(databases: MoveDatabases, isDry: boolean): Promise<Reconciled> {
  await requireTwoDatabases(databases);
  return inTransaction(databases.source, WRITE, async (client) => {
    const moves = await listMoves(client);
    const known = (await listClubs(client)).filter(({ id }) => moves.get(id)?.state !== 'moved');
    // The other database after this one: a club that moves from there meanwhile is not known here yet.
    const elsewhere = await inTransaction(databases.target, SNAPSHOT, async (there) => {
      const movesThere = await listMoves(there);
      return (await listClubs(there)).filter(({ id }) => {
        const move = movesThere.get(id);
        const isUnderWay = move !== undefined && move.moveId === moves.get(id)?.moveId;
        return !isUnderWay && move?.state !== 'arriving' && move?.state !== 'moved';
      });
    });
    const both = elsewhere.filter(({ id }) => known.some((club) => club.id === id));
    const isArriving = ({ id }: ListedClub) => moves.get(id)?.state === 'arriving';
    const open = both.filter(({ closedAt }) => closedAt === null);
    const marked = open.filter((club) => !isArriving(club));
    const removed = open.filter(isArriving);
    for (const { id } of isDry ? [] : removed) {
      await client.query('select app.abort_move($1, $2)', [id, moves.get(id)?.moveId]);
    }
    for (const { id } of isDry ? [] : marked) {
      const begun = moves.get(id)?.moveId;
      const moveId = begun ?? randomUUID();
      if (begun === undefined) {
        await client.query('select app.begin_move($1, $2, $3)', [id, moveId, databases.targetName]);
      }
      await client.query('select app.end_move($1, $2)', [id, moveId]);
    }
    return { marked, removed, closed: both.filter(({ closedAt }) => closedAt !== null) };
  });
}
