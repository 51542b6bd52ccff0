const FLOOR = '(select app.tenant_id())';

/** A correct new table: a key that begins with the club, a reference, a floor, policies and grants. */
export const PROBE = `
  create table app.matrix_probe (
    tenant_id uuid not null default app.tenant_id(),
    id uuid not null default app.new_id(),
    note text not null,
    kind text not null check (kind in ('one', 'two')),
    member_id uuid,
    primary key (tenant_id, id),
    foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict
  );
  alter table app.matrix_probe owner to club_owner;
  alter table app.matrix_probe enable row level security, force row level security;
  grant select, insert, delete on app.matrix_probe to club_api;
  grant update (note, kind, member_id) on app.matrix_probe to club_api;
  create policy probe_floor on app.matrix_probe as restrictive for all to public
    using (tenant_id = ${FLOOR}) with check (tenant_id = ${FLOOR});
  create policy probe_all on app.matrix_probe for all to club_api
    using ((select app.role()) >= 'Viewer') with check ((select app.role()) >= 'Member');`;

/** A mistake, as SQL that runs after `PROBE`, and the fault that the matrix must report. */
export interface Hole {
  sql: string;
  fault: string;
}

/** Mistakes in the new table, and in what belongs to it, by their names. */
export const HOLES: Record<string, Hole> = {
  'a floor has no WITH CHECK': {
    sql: 'alter policy probe_floor on app.matrix_probe with check (true)',
    fault: 'entered, insert app.matrix_probe: writes rows of another club',
  },
  'a floor allows moving rows to another club': {
    sql: `grant update (tenant_id) on app.matrix_probe to club_api;
      alter policy probe_floor on app.matrix_probe with check (true)`,
    fault: 'entered, update app.matrix_probe: writes rows of another club',
  },
  'a trigger writes to every club': {
    sql: `create function app.matrix_echo() returns trigger language plpgsql security definer
        as $$ begin if pg_trigger_depth() = 1 then update app.matrix_probe set note = note || '.'; end if; return null; end $$;
      create trigger matrix_echo after update on app.matrix_probe for each statement execute function app.matrix_echo()`,
    fault: 'entered, update app.matrix_probe: writes rows of another club',
  },
  'a partition has a grant and no policy': {
    sql: `create table app.matrix_parts (tenant_id uuid not null, note text not null) partition by hash (tenant_id);
      create table app.matrix_part partition of app.matrix_parts for values with (modulus 1, remainder 0);
      grant select on app.matrix_part to club_api`,
    fault: 'entered, select app.matrix_part: shows texts of another club',
  },
  'a view has the rights of its owner': {
    sql: `create view app.matrix_view as select id, note from app.matrix_probe;
      grant select on app.matrix_view to club_api`,
    fault: 'entered, select app.matrix_view: shows texts of another club',
  },
  'a function reads as superuser': {
    sql: `create function app.matrix_notes() returns setof text language sql security definer
        as 'select note from app.matrix_probe';
      grant execute on function app.matrix_notes to club_api`,
    fault: 'entered, call app.matrix_notes: shows texts of another club',
  },
  'a function writes as superuser': {
    sql: `create function app.matrix_strike(id uuid) returns void language sql security definer
        as 'delete from app.matrix_probe where id = $1';
      grant execute on function app.matrix_strike to club_api`,
    fault: 'entered, call app.matrix_strike: writes rows of another club',
  },
  'the error of a function contains more than its arguments': {
    sql: `create function app.matrix_refuse(id uuid) returns void language plpgsql security definer
        as $$ begin raise exception 'no %', (select note from app.matrix_probe as p where p.id = $1); end $$;
      grant execute on function app.matrix_refuse to club_api`,
    fault: 'entered, call app.matrix_refuse: tells of another club in its refusal',
  },
  'a function reveals which ids exist': {
    sql: `create function app.matrix_exists(id uuid) returns boolean language sql security definer
        as 'select exists (select from app.matrix_probe as p where p.id = $1)';
      grant execute on function app.matrix_exists to club_api`,
    fault: "call app.matrix_exists: distinguishes another club's ids from unknown ones",
  },
  'a club may write to a table without a club': {
    sql: `create table app.matrix_words (word text primary key);
      insert into app.matrix_words values ('word');
      grant select, insert on app.matrix_words to club_api`,
    fault: 'entered, insert app.matrix_words: is a write to a table that all clubs share',
  },
};
