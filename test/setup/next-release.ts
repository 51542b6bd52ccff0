import { type Release, readRelease } from '../../src/deploy/release.js';

const file = (name: string, text: string) => ({ name, text, sha256: `of ${name}` });
const release = readRelease();

const moreOfTasks = `
comment on column app.tasks.estimate is 'In hours.';
comment on table app.notes is 'Notes of a club.';
alter table app.notes alter column tenant_id set default app.tenant_id();
alter table app.notes enable row level security, force row level security;
grant delete on app.notes to club_operator;
create policy notes_floor on app.notes as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy notes_floor on app.notes is 'Nobody reaches a note of another club.';
create policy notes_forget on app.notes for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy notes_forget on app.notes is 'With a closed club its notes are removed.';
`;

/** A next release: a table, a column with a default, a constraint, its validation, an index, a changed chapter. */
export const nextRelease: Release = {
  ...release,
  migrations: [
    ...release.migrations,
    file(
      '9001_estimates',
      `set local row_security = off;
       alter table app.tasks add column estimate integer not null default 1;
       alter table app.tasks add constraint tasks_estimate_range check (estimate between 0 and 100) not valid;
       create table app.notes (
         tenant_id uuid not null,
         id        uuid not null,
         constraint notes_pkey primary key (tenant_id, id),
         constraint notes_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict
       );`,
    ),
    file('9002_estimates_valid', 'alter table app.tasks validate constraint tasks_estimate_range;'),
    file(
      '9003_tasks_by_estimate',
      'create index concurrently tasks_by_estimate on app.tasks (tenant_id, estimate, id);',
    ),
  ],
  chapters: release.chapters.map((chapter) =>
    chapter.name === '50_tasks' ? { ...chapter, text: chapter.text + moreOfTasks } : chapter,
  ),
  fingerprint: 'next',
};
