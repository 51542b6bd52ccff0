-- Up Migration
-- Tasks and the workflow they follow.
set local row_security = off;

create table app.task_states (
  state    text primary key,
  position smallint not null,
  constraint task_states_position_key unique (position)
);

insert into app.task_states (state, position)
values ('Open', 1), ('Assigned', 2), ('InProgress', 3), ('Review', 4), ('Done', 5);

-- performer: 'member' is any Member of the club, 'holder' the task's assignee or a Manager.
create table app.task_transitions (
  from_state text not null,
  to_state   text not null,
  performer  text not null,
  constraint task_transitions_pkey primary key (from_state, to_state),
  constraint task_transitions_from_fkey foreign key (from_state) references app.task_states (state) on delete restrict,
  constraint task_transitions_to_fkey foreign key (to_state) references app.task_states (state) on delete restrict,
  constraint task_transitions_performer_known check (performer in ('member', 'holder'))
);

insert into app.task_transitions (from_state, to_state, performer)
values
  ('Open', 'Assigned', 'member'),
  ('Assigned', 'InProgress', 'member'),
  ('InProgress', 'Review', 'member'),
  ('Review', 'Done', 'member'),
  ('Assigned', 'Open', 'holder'),
  ('InProgress', 'Assigned', 'holder'),
  ('Review', 'InProgress', 'holder');

create table app.tasks (
  tenant_id     uuid not null,
  id            uuid not null,
  title         text collate "und-x-icu" not null,
  description   text,
  state         text not null default 'Open',
  assignee_id   uuid,
  due_at        timestamptz,
  created_by_id uuid,
  completed_at  timestamptz,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  version       integer not null default 1,
  constraint tasks_pkey primary key (tenant_id, id),
  constraint tasks_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint tasks_state_fkey foreign key (state) references app.task_states (state) on delete restrict,
  constraint tasks_assignee_fkey foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) on delete restrict,
  constraint tasks_created_by_fkey foreign key (tenant_id, created_by_id) references app.members (tenant_id, id) on delete restrict,
  constraint tasks_title_length check (char_length(title) between 1 and 200),
  constraint tasks_description_length check (char_length(description) <= 10000),
  constraint tasks_open_without_assignee check ((state = 'Open') = (assignee_id is null)),
  constraint tasks_done_when_completed check ((state = 'Done') = (completed_at is not null)),
  constraint tasks_version_positive check (version >= 1)
);

create index tasks_by_creation on app.tasks (tenant_id, created_at, id);
create index tasks_by_assignee on app.tasks (tenant_id, assignee_id);
create index tasks_by_creator on app.tasks (tenant_id, created_by_id);
