-- Up Migration
-- For the shifts that were created together, in the order of their starts.
create index concurrently shifts_by_batch on app.shifts (tenant_id, batch_id, starts_at, id) where batch_id is not null;
