-- DigitalOcean Managed Databases. The customer's administrator is doadmin, a role of the provider.
-- https://docs.digitalocean.com/products/databases/postgresql/how-to/manage-users-and-databases/
-- https://docs.digitalocean.com/products/databases/postgresql/how-to/modify-user-privileges/
-- superuser: postgres
-- admin: doadmin

create role _dodb login superuser replication;
create role _dodb_repl login replication;
create role _dodb_rewind login;
create role _doadmin_auditing;
create role _doadmin_managed;
create role _doadmin_monitor login in role pg_monitor;
create role doadmin_group;
create role doadmin login createrole createdb replication bypassrls;

grant _doadmin_auditing to _doadmin_managed;
grant pg_read_all_stats to _doadmin_managed with admin option;
grant pg_signal_backend, pg_stat_scan_tables to _doadmin_managed;
grant _doadmin_managed to doadmin, doadmin_group;
grant doadmin_group to doadmin with admin option;
grant set on parameter "pgaudit.log", "pgaudit.log_statement" to _doadmin_auditing;
grant set on parameter "anon.salt" to doadmin_group with grant option;

-- From 16:
grant pg_create_subscription to _doadmin_managed with admin option;
