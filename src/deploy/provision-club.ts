import type pg from 'pg';
import { OperatorError } from '../database/errors.js';
import { withClient } from './client.js';
import { OWNER } from './roles.js';

export interface NewClub {
  name: string;
  slug: string;
  /** A name of the IANA time zone database. */
  timeZone: string;
  /** The id; generated when undefined. */
  id?: string;
}

/** The club could not be created; the message says what to change. */
export class ClubRefused extends OperatorError {
  override name = 'ClubRefused';
}

const reasons: Record<string, (club: NewClub) => string> = {
  CL001: ({ timeZone }) =>
    `There is no time zone ${timeZone}. Name one of the IANA database, such as Europe/Berlin.`,
  clubs_slug_key: ({ slug }) => `There is a club with the slug ${slug} already. Choose another.`,
  clubs_pkey: ({ id }) => `There is a club with the id ${id} already.`,
  clubs_slug_form: ({ slug }) =>
    `The slug ${slug} must be 1 to 63 lower-case letters, digits and single hyphens, such as rowing-north.`,
  clubs_name_length: () => 'The name must have 1 to 200 characters.',
};

/**
 * Creates a club with the login of the deploy, through app.provision_club.
 *
 * @returns the id of the club
 * @throws ClubRefused
 */
export async function provisionClub(migrationUrl: string, club: NewClub): Promise<string> {
  const { name, slug, timeZone, id } = club;
  try {
    return await withClient(migrationUrl, async (client) => {
      await client.query(`set role ${OWNER}`);
      const { rows } =
        id === undefined
          ? await client.query('select app.provision_club($1, $2, $3) as id', [name, slug, timeZone])
          : await client.query('select app.provision_club($1, $2, $3, $4) as id', [name, slug, timeZone, id]);
      return rows[0].id;
    });
  } catch (error) {
    const { code, constraint } = error as pg.DatabaseError;
    const reason = reasons[constraint ?? ''] ?? reasons[code ?? ''];
    throw reason ? new ClubRefused(reason(club)) : error;
  }
}
