import type { Mutants } from '../mutation.js';

const byId = 'alter table app.members add constraint members_id_key unique (id)';

/** Weakenings of keys and other constraints, by the check that must find them. */
export const constraints: Mutants = {
  foreign_key_without_tenant: [
    `${byId}; alter table app.tasks drop constraint tasks_assignee_fkey, add constraint tasks_assignee_fkey foreign key (assignee_id) references app.members (id) on delete restrict`,
    'alter table app.members add constraint members_swapped unique (id, tenant_id); alter table app.tasks add foreign key (tenant_id, created_by_id) references app.members (id, tenant_id) on delete restrict',
    'alter table app.tasks add foreign key (assignee_id) references app.clubs (id) on delete restrict',
    `${byId}; alter table app.task_states add column "m id" uuid references app.members (id) on delete restrict`,
    'alter table app.task_transitions add column club_id uuid references app.clubs (id) on delete restrict',
    `${byId}; alter table app.tasks add foreign key (assignee_id) references app.members (id) on delete cascade`,
    `${byId}; alter table app.tasks add foreign key (created_by_id) references app.members (id) on update cascade on delete restrict`,
    `${byId}; alter table app.tasks add foreign key (created_by_id) references app.members (id) on delete set null`,
  ],
  unique_without_tenant: [
    'alter table app.members add unique (email)',
    'create unique index on app.tasks (title) where due_at is null',
    'create unique index on app.members (lower(email))',
    'alter table app.clubs add unique (name)',
    'alter table app.clubs drop constraint clubs_slug_key, add constraint clubs_slug_key unique (name)',
    'alter table app.members drop constraint members_external_user_key; alter table app.members add constraint members_external_user_key unique (external_user_id)',
    'create unique index on app.tasks (title) include (tenant_id)',
    'alter table app.shifts add exclude using btree (title with =)',
    'create unique index on app.tasks ((tenant_id::text), title)',
    'create unique index "u x" on app.members (email) nulls not distinct',
    'alter table app.shifts add exclude using gist (tstzrange(starts_at, ends_at) with &&)',
  ],
  schema_drift: [
    'alter table app.tasks drop constraint tasks_club_fkey, add constraint tasks_club_fkey foreign key (tenant_id) references app.clubs (id) on delete cascade',
    'alter table app.shift_signups drop constraint shift_signups_member_fkey, add constraint shift_signups_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete cascade',
    'alter table app.members drop constraint members_club_fkey, add constraint members_club_fkey foreign key (tenant_id) references app.clubs (id) on update cascade on delete restrict',
    'alter table app.task_transitions drop constraint task_transitions_to_fkey, add constraint task_transitions_to_fkey foreign key (to_state) references app.task_states (state) on delete cascade',
    'alter table app.tasks drop constraint tasks_assignee_fkey, add constraint tasks_assignee_fkey foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) on delete set null',
    'alter table app.tasks drop constraint tasks_assignee_fkey, add constraint tasks_assignee_fkey foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) on delete set default',
    'alter table app.tasks drop constraint tasks_assignee_fkey, add constraint tasks_assignee_fkey foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) on delete set null (tenant_id)',
    'alter table app.tasks drop constraint tasks_club_fkey, add constraint tasks_club_fkey foreign key (tenant_id) references app.clubs (id) on delete set null',
    'alter table app.tasks drop constraint tasks_club_fkey, add constraint tasks_club_fkey foreign key (tenant_id) references app.clubs (id)',
    'alter table app.tasks add foreign key (tenant_id, created_by_id) references app.members (tenant_id, id)',
    'alter table app.tasks add foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) deferrable initially deferred',
    'drop index app.tasks_of_assignee',
    'drop index app.shift_signups_of_member',
    'drop index app.shifts_by_creator; create index on app.shifts (created_by_id)',
    `drop index app.tasks_of_assignee; create index on app.tasks (tenant_id, assignee_id) where state = 'Open'`,
    'drop index app.tasks_by_creator; create index on app.tasks using brin (tenant_id, created_by_id)',
    'alter table app.tasks add constraint short check (char_length(title) < 500) not valid',
    'alter table app.tasks drop constraint tasks_club_fkey, add constraint tasks_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict not valid',
    'alter table app.tasks alter constraint tasks_assignee_fkey deferrable initially deferred',
    'alter table app.tasks alter constraint tasks_club_fkey deferrable',
    'alter table app.members drop constraint members_external_user_key, add constraint members_external_user_key unique (tenant_id, external_user_id) deferrable',
    'create constraint trigger later after insert on app.tasks deferrable for each row execute function app.number_events()',
    'create constraint trigger "A gain" after insert on app.events deferrable initially deferred for each row execute function app.number_events()',
    'alter table app.calendar_links alter constraint calendar_links_club_fkey deferrable initially deferred',
    'alter table app.events drop constraint events_pkey, add constraint events_pkey primary key (tenant_id, id) deferrable',
    'alter table app.tasks drop constraint tasks_club_fkey',
    'alter table app.members drop constraint members_club_fkey',
    'create table app.notes (tenant_id uuid not null, id uuid)',
    'alter table app.tasks drop constraint tasks_pkey',
    'create table app.notes (tenant_id uuid not null, id uuid not null)',
    'alter table deploy.facts drop constraint facts_pkey',
  ],
  index_invalid: [
    `update pg_index set indisvalid = false where indexrelid = 'app.tasks_by_creation'::regclass`,
    `update pg_index set indisready = false where indexrelid = 'app.members_by_display_name'::regclass`,
  ],
};

/** Only newer servers have constraints that are not enforced. */
export const constraintsOf18: Mutants = {
  schema_drift: [
    'alter table app.tasks alter constraint tasks_assignee_fkey not enforced',
    'alter table app.tasks add constraint idle check (version > 0) not enforced',
  ],
};

/** MAINTAIN exists since PostgreSQL 17. */
export const grantsOf17: Mutants = {
  isolation_drift: [
    'grant maintain on app.tasks to club_api',
    'grant maintain on app.clubs to club_operator',
  ],
};
