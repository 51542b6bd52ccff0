-- Amazon RDS for PostgreSQL. The customer's administrator has any name; the console offers postgres.
-- https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.Roles.rds_superuser.html
-- superuser: rdsadmin
-- admin: postgres

create role rds_superuser;
create role rds_replication;
create role rds_password;
create role rds_iam;
create role rds_ad;
create role rdsrepladmin noinherit replication;
create role rdstopmgr login;
create role postgres login createrole createdb;

alter role rdsadmin set synchronous_commit = local;
alter role rdsadmin set search_path = pg_catalog, public;

grant rds_password, rds_replication, pg_monitor, pg_signal_backend, pg_checkpoint, pg_read_all_data, pg_write_all_data to rds_superuser with admin option;
grant pg_monitor, pg_checkpoint to rdstopmgr;
grant rds_superuser to postgres;

set allow_in_place_tablespaces = on;

create tablespace rds_temp_tablespace owner rds_superuser location '';

grant create on tablespace rds_temp_tablespace to public;

-- From 16:
grant pg_create_subscription, pg_use_reserved_connections to rds_superuser with admin option;

-- From 17:
grant pg_maintain to rds_superuser with admin option;
