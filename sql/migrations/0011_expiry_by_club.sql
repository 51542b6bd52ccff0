-- Up Migration
-- Nothing deletes the answers of one club by their age any more.
drop index concurrently app.idempotency_keys_by_age;
