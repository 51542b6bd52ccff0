-- Supabase. The customer's administrator is postgres.
-- https://supabase.com/docs/guides/database/postgres/roles
-- https://github.com/supabase/postgres/blob/develop/nix/tests/expected/roles.out
-- superuser: supabase_admin
-- admin: postgres

create role anon;
create role authenticated;
create role service_role bypassrls;
create role authenticator login noinherit in role anon, authenticated, service_role;
create role dashboard_user createrole createdb replication;
create role pgbouncer login;
create role supabase_auth_admin login noinherit createrole;
create role supabase_functions_admin login noinherit createrole;
create role supabase_storage_admin login noinherit createrole in role authenticator;
create role supabase_replication_admin login replication;
create role supabase_etl_admin login replication bypassrls in role pg_read_all_data;
create role supabase_read_only_user login bypassrls in role pg_read_all_data;
create role postgres login createrole createdb replication bypassrls;

alter role authenticator set session_preload_libraries = 'safeupdate';
alter role postgres set search_path = "$user", public, extensions;
alter role supabase_admin set search_path = "$user", public, auth, extensions;

grant anon, authenticated, service_role, authenticator, pg_monitor, pg_read_all_data, pg_signal_backend to postgres with admin option;

-- From 16:
grant pg_create_subscription to postgres;

-- In the database of the customer:
create publication supabase_realtime;
grant usage on schema public to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin, postgres in schema public grant all on tables to anon, authenticated, service_role;
alter default privileges for role supabase_admin, postgres in schema public grant all on functions to anon, authenticated, service_role;
alter default privileges for role supabase_admin, postgres in schema public grant all on sequences to anon, authenticated, service_role;

create schema extensions;
grant usage on schema extensions to postgres, anon, authenticated, service_role;
grant all on schema extensions to dashboard_user;
create function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql as $$ begin end $$;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();

create schema auth;
grant usage on schema auth to anon, authenticated, service_role;
grant all on schema auth to postgres, dashboard_user, supabase_auth_admin;
create table auth.users (id uuid primary key, email text unique);
alter table auth.users owner to supabase_auth_admin;
alter default privileges for role supabase_auth_admin in schema auth grant all on tables to postgres, dashboard_user;

create schema graphql_public;
grant usage on schema graphql_public to postgres, anon, authenticated, service_role;
create function graphql_public.graphql("operationName" text default null) returns jsonb language sql as $$ select '{}'::jsonb $$;
