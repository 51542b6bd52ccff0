-- Up Migration
-- Answers expire in the order of their age.
create index concurrently idempotency_keys_by_creation on app.idempotency_keys (created_at);
