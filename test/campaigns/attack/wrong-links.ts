/** Links to calendars that are wrong, as targets of a request. */
import { createHash } from 'node:crypto';
import { MISSING } from '../../setup/endpoints.js';
import { payloads } from './payloads.js';
import { SEED } from './tally.js';

/** A link that works. */
export interface Link {
  club: string;
  secret: string;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const swapCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()));
const percent = (text: string) => text.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
export const pathOf = ({ club, secret }: Link): string => `/calendars/${club}/${secret}.ics`;

/** Whether a secret has the form of one: 32 bytes in their only base64url. */
function isWellFormed(secret: string): boolean {
  const bytes = Buffer.from(secret, 'base64url');
  return bytes.length === 32 && bytes.toString('base64url') === secret;
}

/** Secrets beside the one of a link. */
function secretsBeside(secret: string): string[] {
  const bytes = Buffer.from(secret, 'base64url');
  const withBit = (bit: number) => {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    return changed.toString('base64url');
  };
  const last = ALPHABET.indexOf(secret.slice(-1));
  const hash = createHash('sha256').update(secret);
  return [
    ...Array.from({ length: 256 }, (_, bit) => withBit(bit)),
    // Other texts of the same bytes.
    ...[1, 2, 3].map((more) => secret.slice(0, -1) + ALPHABET[last + more]),
    `${secret}=`, `${secret}%3D`, `${secret}==`, bytes.toString('base64').replaceAll('/', '%2F'), `${secret}%20`, `${secret}%0A`,
    swapCase(secret), secret.toUpperCase(), secret.toLowerCase(), [...secret].reverse().join(''), secret.slice(1), secret.slice(0, -1), `${secret}A`,
    bytes.toString('hex'), hash.copy().digest('hex'), `%5Cx${hash.copy().digest('hex')}`, hash.copy().digest('base64url'), hash.digest('base64'),
    `${secret}%00`, `%00${secret}`, secret.replace(/.{20}/, '$&%00'), `${secret},${secret}`, `${secret}.ics`, `${secret}%2F..%2F${secret}`, '', '*', '%25', '_'.repeat(43),
    `${secret}'`, `${secret}%27%20or%20%27a%27=%27a`, `${secret}%0d%0aX-Evil:%201`, 'A'.repeat(15_000), `${secret}${'%41'.repeat(4_000)}`, 'null', 'undefined', '__proto__',
  ]; // biome-ignore format: a list
}

/** Targets with the words of a link that works, in places and spellings that do not. */
function spellingsOf({ club, secret }: Link, other: Link): string[] {
  const rest = `${club}/${secret}.ics`;
  return [
    `//calendars/${rest}`, `/calendars//${rest}`, `/calendars/${club}//${secret}.ics`, `/calendars/${rest}/`, `/Calendars/${rest}`, `/CALENDARS/${rest}`,
    `/calendars/../calendars/${rest}`, `/calendars/./${rest}`, `/../calendars/${rest}`, `/calendars/${other.club}/../${rest}`, `/calendars/%2e%2e/calendars/${rest}`,
    `/calendars/${club}%2F${secret}.ics`, `/calendars%2F${rest}`, `/%2Fcalendars/${rest}`, `/calendars/${club}%5C${secret}.ics`, `/calendars/${rest}%00`, `/calendars/${rest};a`,
    `/calendars/${club}/${secret}`, `/calendars/${club}/${secret}.ICS`, `/calendars/${club}/${secret}.ics.ics`, `/calendars/${club}/${secret}.ical`, `/calendars/${club}/.ics`,
    `/calendars/${secret}/${club}.ics`, `/calendars/${secret}.ics`, `/calendars/${club}`, `/calendars/${club}/`, '/calendars/', `/calendars/${club}/${secret}.ics/${other.secret}.ics`,
    `/calendars/${club.replaceAll('-', '')}/${secret}.ics`, `/calendars/{${club}}/${secret}.ics`, `/calendars/urn:uuid:${rest}`, `/calendars/${club}0/${secret}.ics`,
    `/calendars/${club},${rest}`, `/calendars/%20${rest}`, `/calendars/${club}%00/${secret}.ics`, `/calendars/%zz/${secret}.ics`, `/calendars/${club}/%ff.ics`,
    `/%63alendars/${club}/%c3%28.ics`, `/calendars/${club}/${secret}%.ics`, `https://other.example/calendars/${rest}/`, `HTTP://user:pass@localhost:1/calendars/x/${secret}.ics`,
    '/calendars/x?a=%ff', ...['', 'me', '*'].map((wrong) => pathOf({ club: wrong, secret })),
    ...payloads
      .filter((text) => !/\p{Cs}/u.test(text))
      .flatMap((text) => [pathOf({ club: encodeURIComponent(text), secret }), pathOf({ club, secret: encodeURIComponent(text) })]),
  ]; // biome-ignore format: a list
}

/** Wrong links: all kinds without the form of a link, and with it; of these, this many secrets are guessed. */
export function wrongLinks(
  link: Link,
  other: Link,
  guesses: number,
): Record<'malformed' | 'wellFormed', string[]> {
  const { club, secret } = link;
  const beside = secretsBeside(secret);
  const guessed = Array.from({ length: guesses }, (_, turn) =>
    createHash('sha256').update(`${SEED} ${turn}`).digest('base64url'),
  );
  const wrong = pathOf({ club, secret: other.secret });
  return {
    malformed: [
      ...spellingsOf(link, other),
      ...beside.filter((one) => !isWellFormed(one)).map((one) => pathOf({ club, secret: one })),
    ],
    wellFormed: [
      ...[...beside.filter(isWellFormed), ...guessed].map((one) => pathOf({ club, secret: one })),
      ...[other.club, MISSING].map((one) => pathOf({ club: one, secret })),
      wrong, `http://localhost${wrong}`, `/%63alendars/${club}/${other.secret}.ics`, pathOf({ club: percent(club), secret: percent(other.secret) }),
      `${wrong}?secret=${secret}`, `${wrong}?/calendars/${club}/${secret}.ics`,
    ],
  }; // biome-ignore format: a list
}
