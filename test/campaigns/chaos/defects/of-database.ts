import type { Workload } from '../campaign.js';
import type { Defect } from './defect.js';
import { rewrite } from './rewrite.js';
import { beforeCommitted, noFaults } from './scenarios.js';

const rush: Workload = { 'sign up': 10, cancel: 6, 'read shift': 2 };
const SIGN_UP = 'app.sign_up(uuid)';
const SLOWLY: [string, string] = [
  'insert into app.shift_signups',
  'perform pg_sleep(0.02); insert into app.shift_signups',
];
const UNLIMITED = 'alter table app.shifts drop constraint shifts_capacity_holds_signups;';

/** Defects of the database, planted in the one under test. */
export const ofDatabase: Defect[] = [
  {
    name: 'signing up takes no lock, and only the constraint refuses',
    violation: 'anomalies',
    scenario: noFaults,
    workload: rush,
    sql: rewrite(SIGN_UP, [' for no key update', ''], SLOWLY),
  },
  {
    name: 'signing up takes no lock, and nothing else enforces the capacity',
    violation: 'overfull',
    scenario: noFaults,
    workload: rush,
    sql: rewrite(SIGN_UP, [' for no key update', ''], SLOWLY) + UNLIMITED,
  },
  {
    name: 'signing up ignores the capacity',
    violation: 'overfull',
    scenario: noFaults,
    workload: rush,
    sql: rewrite(SIGN_UP, ['shift.signup_count >= shift.capacity', 'false']) + UNLIMITED,
  },
  {
    name: 'a shift is full one place too early',
    violation: 'anomalies',
    scenario: noFaults,
    workload: rush,
    sql: rewrite(SIGN_UP, [
      'shift.signup_count >= shift.capacity',
      'shift.signup_count >= shift.capacity - 1',
    ]),
  },
  {
    name: 'a member may sign up twice',
    violation: 'doubled',
    scenario: noFaults,
    workload: rush,
    sql: `${rewrite(SIGN_UP, ['s.member_id = caller_id', 'false'])}
      alter table app.shift_signups drop constraint shift_signups_once;`,
  },
  {
    name: 'a cancellation deletes nothing',
    violation: 'lost',
    scenario: noFaults,
    workload: rush,
    sql: rewrite('app.cancel_sign_up(uuid)', [
      'delete from app.shift_signups',
      'perform from app.shift_signups',
    ]),
  },
  {
    name: 'the counter does not follow the signups',
    violation: 'anomalies',
    scenario: noFaults,
    workload: rush,
    sql: 'drop trigger shift_signups_count on app.shift_signups',
  },
  {
    name: 'tasks have no floor',
    violation: 'foreign',
    scenario: noFaults,
    workload: { 'create task': 2, 'list tasks': 5 },
    sql: 'drop policy tasks_floor on app.tasks',
  },
  {
    name: 'members have no floor',
    violation: 'foreign',
    scenario: noFaults,
    workload: { 'list members': 5 },
    sql: 'drop policy members_floor on app.members',
  },
  {
    name: 'the version is never incremented',
    violation: 'anomalies',
    scenario: noFaults,
    workload: { 'create task': 1, 'patch task': 10 },
    sql: rewrite('app.guard_task()', ['new.version := old.version + 1', 'new.version := old.version']),
  },
  {
    name: 'an update is ignored',
    violation: 'anomalies',
    scenario: noFaults,
    workload: { 'create task': 1, 'patch task': 10 },
    sql: rewrite('app.guard_task()', [
      'new.version := old.version + 1',
      'new.title := old.title; new.version := old.version + 1',
    ]),
  },
  {
    name: 'a key is forgotten',
    violation: 'doubled',
    scenario: beforeCommitted,
    workload: { 'create task': 10 },
    sql: rewrite('app.claim_key(text, bytea)', ['if found then', 'if true then']),
  },
];
