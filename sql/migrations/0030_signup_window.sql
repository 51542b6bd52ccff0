-- Up Migration
-- When sign-up for a shift opens and closes, and until when members cancel. One constraint, because each signup updates the row.
set local row_security = off;

alter table app.shifts
  add column signup_opens_at timestamptz,
  add column signup_closes_at timestamptz,
  add column cancel_until timestamptz,
  add constraint shifts_signup_window check (
    signup_opens_at < starts_at and signup_closes_at > signup_opens_at and signup_closes_at <= starts_at and cancel_until <= starts_at
  ) not valid;
