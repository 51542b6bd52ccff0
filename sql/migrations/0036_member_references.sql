-- Up Migration
-- A reference is unique in its club; an import finds members by it. Partial: otherwise a change of the reference would lock the row
-- against all that refer to it.
create unique index concurrently members_reference_key on app.members (tenant_id, reference) where reference is not null;
