-- Up Migration
-- The shifts that were created together.
set local row_security = off;

alter table app.shifts add column batch_id uuid;
