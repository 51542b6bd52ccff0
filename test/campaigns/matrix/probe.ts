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
