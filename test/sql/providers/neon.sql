-- Neon. The customer's administrator, such as neondb_owner, is named for the first database.
-- https://neon.com/docs/manage/roles
-- https://github.com/neondatabase/neon/tree/main/compute_tools/src/migrations
-- superuser: cloud_admin
-- admin: neondb_owner

create role neon_superuser createrole createdb replication bypassrls in role pg_read_all_data, pg_write_all_data;
create role neon_service login createrole createdb replication bypassrls in role neon_superuser;
create role neondb_owner login createrole createdb replication bypassrls in role neon_superuser;

grant pg_monitor, pg_signal_backend to neon_superuser with admin option;

alter default privileges in schema public grant all on tables to neon_superuser with grant option;
grant execute on function pg_export_snapshot(), pg_show_replication_origin_status() to neon_superuser;

-- From 16:
grant pg_create_subscription to neon_superuser;
