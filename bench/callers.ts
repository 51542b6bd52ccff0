import type { Issuer } from '../test/setup/issuer.js';
import { clubId, markOf } from './data.js';
import type { DatabaseName, Environment } from './environment.js';
import { plan } from './plan.js';

/** A caller with a separate token, and the rows that they request. */
export interface Caller {
  clubId: string;
  /** A text in the title of every row of their club. */
  mark: string;
  /** The request headers with the token and the club, and the empty line after them. */
  head: string;
  taskIds: string[];
  /** The start positions of deep pages. */
  positions: { key: string; id: string }[];
  shiftId: string;
}

/** Signs the tokens of callers. */
export class Signer {
  readonly #issuer: Issuer;

  constructor(issuer: Issuer) {
    this.#issuer = issuer;
  }

  /** Signs a token of a Member of the club; the given claims replace the defaults. */
  token(subject: string, club: string, claims: Record<string, unknown> = {}): string {
    return this.#issuer.sign({
      sub: subject,
      name: subject.replace('caller-', 'Caller '),
      email: `${subject}@example.org`,
      clubs: { [club]: 'Member' },
      ...claims,
    });
  }

  /** The request headers with the token and the club. */
  head(subject: string, club: string): string {
    return headOf(this.token(subject, club), club);
  }
}

/** The request headers with this token and this club. */
export function headOf(token: string, club: string): string {
  return `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${club}\r\n`;
}

/** Creates the callers of a database, spread over its clubs, each with tasks, deep positions and an upcoming shift. */
export async function makeCallers(
  { queryAsAdmin }: Pick<Environment, 'queryAsAdmin'>,
  signer: Signer,
  database: DatabaseName,
): Promise<Caller[]> {
  const clubs = database === 'many' ? plan.clubs : 1;
  const perClub = plan.callers / clubs;
  // A few positions for each caller, from all depths.
  const tasks = await queryAsAdmin<{ number: number; id: string; key: string; depth: number }>(
    database,
    `select right(tenant_id::text, 12)::integer as number, id, depth::float8,
       to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as key
     from (
       select tenant_id, id, created_at, row_number() over w as place, percent_rank() over w as depth, count(*) over (partition by tenant_id) as total
       from app.tasks window w as (partition by tenant_id order by created_at desc, id desc)
     ) as task
     where place % greatest(1, total / ${5 * perClub}) = 0`,
  );
  const shifts = await queryAsAdmin<{ number: number; id: string }>(
    database,
    `select right(tenant_id::text, 12)::integer as number, id from (
       select tenant_id, id, row_number() over (partition by tenant_id order by starts_at) as place
       from app.shifts where starts_at > now() + interval '1 day'
     ) as shift where place <= ${perClub}`,
  );
  const tasksOf = group(tasks);
  const shiftsOf = group(shifts);
  return Array.from({ length: plan.callers }, (_, index) => {
    const number = 1 + (index % clubs);
    const turn = Math.floor(index / clubs);
    const own = (tasksOf.get(number) ?? []).filter((_row, place) => place % perClub === turn);
    const ahead = shiftsOf.get(number) ?? [];
    const id = clubId(number);
    return {
      clubId: id,
      mark: markOf(number),
      head: signer.head(`caller-${turn + 1}`, id),
      taskIds: own.map((task) => task.id),
      positions: own
        .filter(({ depth }) => depth > 0.3 && depth < 0.9)
        .map(({ key, id: at }) => ({ key, id: at })),
      shiftId: ahead[turn % ahead.length]?.id as string,
    };
  });
}

function group<Row extends { number: number }>(rows: Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const rowsOf = groups.get(row.number);
    if (rowsOf) {
      rowsOf.push(row);
    } else {
      groups.set(row.number, [row]);
    }
  }
  return groups;
}
