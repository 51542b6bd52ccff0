import { type Release, readRelease } from '../../src/deploy/release.js';

const file = (name: string, text: string) => ({ name, text, sha256: `of ${name}` });
const release = readRelease();

/** What a next release might bring: a column with a default, a constraint, its validation, an index, a changed chapter. */
export const nextRelease: Release = {
  ...release,
  migrations: [
    ...release.migrations,
    file(
      '9001_estimates',
      `set local row_security = off;
       alter table app.tasks add column estimate integer not null default 1;
       alter table app.tasks add constraint tasks_estimate_range check (estimate between 0 and 100) not valid;`,
    ),
    file('9002_estimates_valid', 'alter table app.tasks validate constraint tasks_estimate_range;'),
    file(
      '9003_tasks_by_estimate',
      'create index concurrently tasks_by_estimate on app.tasks (tenant_id, estimate, id);',
    ),
  ],
  chapters: release.chapters.map((chapter) =>
    chapter.name === '50_tasks'
      ? { ...chapter, text: `${chapter.text}\ncomment on column app.tasks.estimate is 'In hours.';` }
      : chapter,
  ),
  fingerprint: 'next',
};
