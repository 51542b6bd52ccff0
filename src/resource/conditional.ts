import { hash } from 'node:crypto';
import { type TInteger, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import type { Json } from '../database/json.js';
import { preconditionFailed } from '../errors/conflict.js';
import { type ErrorType, Problem } from '../errors/problem.js';
import { sendRow } from './json-response.js';

/** The entity tag of a version (RFC 9110, section 8.8.3). */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** The entity tag of a text. */
export function textTagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url')}"`;
}

/** The schema of a 304. Unlike in a 204, Fastify would send null as JSON. */
export const NotModified = Type.Unsafe<undefined>(Type.Null());

/** Sends a row, with the tag of its version. */
export function sendVersion<Row extends { version: number }>(reply: FastifyReply, row: Json<Row>): Row {
  return sendRow(reply.header('etag', etagOf(row.parse().version)), row);
}

/** What a request says about the version that its change is based on. */
interface Conditions {
  headers: { 'if-match'?: string | undefined };
  body?: unknown;
}

/** The errors of a resource whose rows have versions. */
interface VersionErrors {
  notFound: ErrorType;
  /** Needed where the body has a version. */
  conflict?: ErrorType<{ currentVersion: TInteger }>;
}

/**
 * Requires a row that exists, in the version that the request is based on: by If-Match, then by `version` in its body.
 *
 * @returns the row
 * @throws Problem 404; 412 `precondition_failed`; 409
 */
export function requireCurrent<Row extends { version: number }>(
  row: Row | undefined,
  { headers, body }: Conditions,
  { notFound, conflict }: VersionErrors,
): Row {
  if (row === undefined) {
    throw new Problem(notFound);
  }
  const currentVersion = row.version;
  const tags = tagsOf(headers['if-match']);
  if (tags !== null && !hasTag(tags, etagOf(currentVersion))) {
    throw new Problem(preconditionFailed, { currentVersion });
  }
  const { version = currentVersion } = (body ?? {}) as { version?: number };
  if (conflict !== undefined && version !== currentVersion) {
    throw new Problem(conflict, { currentVersion });
  }
  return row;
}

/** The value of the header that matches every tag. */
const ANY = '*';

/**
 * The entity tags of If-Match or If-None-Match, or `*` alone (RFC 9110, section 13.1); null without the header. A weak tag counts as
 * its strong form, because proxies that compress make tags weak.
 */
export function tagsOf(header: string | undefined): string[] | null {
  if (header === undefined) {
    return null;
  }
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return header.trim() === ANY ? tags : tags.filter((tag) => tag !== ANY);
}

/** Whether If-None-Match has this tag or its weak form, so that the response is a 304. */
export function isKnown(headers: { 'if-none-match'?: string | undefined }, etag: string): boolean {
  const tags = tagsOf(headers['if-none-match']);
  return tags !== null && hasTag(tags, etag);
}

/** Whether one of the tags is this one. */
function hasTag(tags: string[], etag: string): boolean {
  return tags.includes(ANY) || tags.includes(etag);
}
