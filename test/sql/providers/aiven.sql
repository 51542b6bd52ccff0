-- Aiven for PostgreSQL. The customer's administrator is avnadmin, a role of the provider.
-- https://aiven.io/docs/products/postgresql/concepts/dba-tasks-pg
-- superuser: postgres
-- admin: avnadmin

create role _avnadmin_auditing;
create role _avnadmin_managed;
create role _avnadmin_monitor login in role pg_monitor;
create role avnadmin_group;
create role avnadmin login createrole createdb replication;

grant _avnadmin_auditing to _avnadmin_managed;
grant pg_read_all_stats to _avnadmin_managed with admin option;
grant pg_signal_backend, pg_stat_scan_tables to _avnadmin_managed;
grant _avnadmin_managed to avnadmin, avnadmin_group;
grant avnadmin_group to avnadmin with admin option;
grant set on parameter "pgaudit.log", "pgaudit.log_statement" to _avnadmin_auditing;
grant set on parameter "anon.salt" to avnadmin_group with grant option;

-- From 16:
grant pg_create_subscription to _avnadmin_managed with admin option;
