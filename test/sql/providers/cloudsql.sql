-- Google Cloud SQL for PostgreSQL. The customer's administrator is postgres.
-- https://cloud.google.com/sql/docs/postgres/users
-- superuser: cloudsqladmin
-- admin: postgres

create role cloudsqlsuperuser login createrole createdb;
create role cloudsqlagent login createrole createdb in role cloudsqlsuperuser;
create role cloudsqlimportexport login createrole createdb in role cloudsqlsuperuser;
create role cloudsqllogical replication in role cloudsqlsuperuser;
create role cloudsqlreplica login replication in role pg_monitor;
create role cloudsqliamuser;
create role cloudsqliamserviceaccount;
create role postgres login createrole createdb in role cloudsqlsuperuser;
grant pg_monitor, pg_signal_backend to cloudsqlsuperuser;

alter schema public owner to cloudsqlsuperuser;
grant execute on function pg_replication_origin_create(text), pg_replication_origin_drop(text), pg_replication_origin_session_setup(text)
to cloudsqlsuperuser;
