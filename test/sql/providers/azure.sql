-- Azure Database for PostgreSQL, flexible server. The customer chooses the name of the administrator.
-- https://learn.microsoft.com/azure/postgresql/flexible-server/security-access-control
-- superuser: azuresu
-- admin: admin

create role azure_pg_admin;
create role replication login replication;
create role admin login createrole createdb bypassrls;

alter role azuresu set search_path = pg_catalog;

grant pg_checkpoint, pg_monitor, pg_read_all_data, pg_read_all_settings, pg_read_all_stats, pg_signal_backend, pg_stat_scan_tables
to azure_pg_admin with admin option;
grant azure_pg_admin, pg_read_all_settings, pg_read_all_stats, pg_stat_scan_tables to admin with admin option;

alter schema public owner to azure_pg_admin;
grant execute on function pg_replication_origin_create(text), pg_stat_reset(), pg_stat_reset_single_table_counters(oid) to azure_pg_admin;
grant select on pg_config, pg_hba_file_rules, pg_shmem_allocations to azure_pg_admin;
grant select (starelid, staattnum, stavalues1, stavalues2) on pg_statistic to azure_pg_admin;

set allow_in_place_tablespaces = on;

create tablespace temptblspace owner azure_pg_admin location '';

-- From 16:
grant pg_create_subscription to azure_pg_admin with admin option;
grant pg_use_reserved_connections to replication;
