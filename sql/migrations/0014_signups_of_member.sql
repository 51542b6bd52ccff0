-- Up Migration
-- A member's signup for one shift, from either index: with the member alone, PostgreSQL read all signups of the member for each shift of a
-- page.
create index concurrently shift_signups_of_member on app.shift_signups (tenant_id, member_id, shift_id);
