-- Up Migration
-- For the foreign key to the member who created a signup.
create index concurrently shift_signups_by_creator on app.shift_signups (tenant_id, created_by_id);
