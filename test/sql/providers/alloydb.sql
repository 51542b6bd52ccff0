-- Google AlloyDB. The customer's administrator is postgres.
-- https://cloud.google.com/alloydb/docs/database-users/overview
-- superuser: alloydbadmin
-- admin: postgres

create role alloydbsuperuser login createrole createdb;
create role alloydbagent login createrole createdb in role alloydbsuperuser;
create role alloydbimportexport login createrole createdb in role alloydbsuperuser;
create role alloydbreplica login replication;
create role alloydbiamuser;
create role postgres login createrole createdb in role alloydbsuperuser;
grant pg_monitor to alloydbsuperuser;

alter schema public owner to alloydbsuperuser;
grant execute on function pg_replication_origin_create(text), pg_replication_origin_drop(text), pg_replication_origin_session_setup(text)
to alloydbsuperuser;
