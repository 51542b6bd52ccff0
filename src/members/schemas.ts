import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, CLUB_ID, IDA_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import { ROLES } from '../roles.js';
import {
  Id,
  IdParams,
  Nullable,
  OneOf,
  SearchText,
  SomeOf,
  Strict,
  TextInput,
  Timestamp,
} from '../validation/schemas.js';

export const MEMBER_STATUSES = ['Active', 'Left', 'Erased'] as const;

const exampleRequest = { displayName: 'Ida Berg', email: 'ida@example.org', reference: '1077' };

const exampleMember = {
  id: IDA_ID,
  clubId: CLUB_ID,
  ...exampleRequest,
  role: 'Member',
  externalUserId: null,
  hasLogin: false,
  status: 'Active',
  leftAt: null,
  joinedAt: '2025-03-20T18:00:00Z',
  updatedAt: '2025-03-20T18:00:00Z',
};
const otherRequest = { displayName: 'Jan Berg', reference: '1078' };
/** The members of the example of an import. */
export const exampleImport = [
  { ...exampleMember, ...otherRequest, id: '01957f02-4f18-7d06-9b51-6d3fb2c48a78', email: null },
  exampleMember,
];

export const MemberDto = Type.Object(
  {
    id: Id(),
    clubId: Id(),
    displayName: Type.String(),
    email: Nullable(
      Type.String({ description: 'Null, unless it is your own or your role is at least Manager.' }),
    ),
    role: OneOf(ROLES, { description: 'The role at the last request; `Member` without a login.' }),
    externalUserId: Nullable(
      Type.String({
        description:
          'The `sub` of their token. Null, unless it is your own or your role is Admin, and without a login.',
      }),
    ),
    hasLogin: Type.Boolean({
      description: 'Whether the member has used the service. Managers enter members without a login.',
    }),
    status: OneOf(MEMBER_STATUSES),
    leftAt: Nullable({ ...Timestamp(), description: 'Since when the status is `Left`; otherwise null.' }),
    reference: Nullable(
      Type.String({
        description:
          'The club’s own name for the member, such as a membership number. Null, unless it is your own or your role is at least Manager.',
      }),
    ),
    joinedAt: Timestamp(),
    updatedAt: Timestamp(),
  },
  {
    $id: 'MemberDto',
    examples: [
      {
        id: ANNA.id,
        clubId: CLUB_ID,
        displayName: ANNA.name,
        email: 'anna@example.org',
        role: 'Manager',
        externalUserId: 'anna',
        hasLogin: true,
        status: 'Active',
        leftAt: null,
        reference: '1042',
        joinedAt: '2025-03-02T17:05:00Z',
        updatedAt: '2026-01-12T08:30:00Z',
      },
      {
        id: BEN.id,
        clubId: CLUB_ID,
        displayName: BEN.name,
        email: 'ben@example.org',
        role: 'Member',
        externalUserId: null,
        hasLogin: true,
        status: 'Active',
        leftAt: null,
        reference: null,
        joinedAt: '2025-03-09T09:30:00Z',
        updatedAt: '2025-03-09T09:30:00Z',
      },
      exampleMember,
    ],
  },
);
export type MemberDto = Static<typeof MemberDto>;

export const MemberParams = IdParams('member', BEN.id);
/** The parameters of an operation whose example is a member without a login. */
export const NoLoginParams = IdParams('member', IDA_ID);

const displayName = TextInput('line', { minLength: 1, maxLength: 200 });
const email = {
  ...TextInput('line', { maxLength: 320 }),
  format: 'email',
  description: 'Stored in lower case.',
  examples: ['ida@example.org'],
};
/** A reference; null if it may be empty. */
const Reference = (limits: { minLength?: number }) => ({
  ...TextInput('line', { ...limits, maxLength: 100 }),
  description: 'The club’s own name for the member, such as a membership number. Unique in the club.',
});
const reference = Nullable(Reference({}));

export const CreateMemberRequest = Strict(
  {
    displayName,
    email: Type.Optional(Nullable(email)),
    reference: Type.Optional(reference),
  },
  { $id: 'CreateMemberRequest', examples: [exampleRequest] },
);
export type CreateMemberRequest = Static<typeof CreateMemberRequest>;

export const ImportMembersRequest = Strict(
  {
    members: Type.Array(
      Strict({ displayName, email: Type.Optional(Nullable(email)), reference: Reference({ minLength: 1 }) }),
      {
        minItems: 1,
        maxItems: 200,
        description: 'Each with another `reference`.',
      },
    ),
  },
  {
    $id: 'ImportMembersRequest',
    examples: [{ members: [otherRequest, exampleRequest] }],
  },
);
export type ImportMembersRequest = Static<typeof ImportMembersRequest>;

/** A JSON Merge Patch (RFC 7396): an absent field keeps its value, null clears it. */
export const UpdateMemberRequest = Strict(
  {
    displayName: Type.Optional(displayName),
    email: Type.Optional(Nullable(email)),
    reference: Type.Optional(reference),
  },
  { $id: 'UpdateMemberRequest', examples: [{ displayName: 'Ida Dahl' }, { reference: null }] },
);
export type UpdateMemberRequest = Static<typeof UpdateMemberRequest>;

export const SetMembershipRequest = Strict(
  { status: OneOf(['Active', 'Left']) },
  { $id: 'SetMembershipRequest', examples: [{ status: 'Active' }, { status: 'Left' }] },
);
export type SetMembershipRequest = Static<typeof SetMembershipRequest>;

export const MergeMembersRequest = Strict(
  { into: { ...Id(), description: 'The id of the member who gets what names the other one.' } },
  { $id: 'MergeMembersRequest', examples: [{ into: ANNA.id }] },
);
export type MergeMembersRequest = Static<typeof MergeMembersRequest>;

export const MEMBER_SORT = 'displayName';
export const MEMBER_SORTS = ['displayName', 'joinedAt'] as const;

export const MemberListQuery = ListQuery(
  {
    q: Type.Optional(SearchText('the display name', 'anna')),
    role: Type.Optional(OneOf(ROLES, { description: 'Members who had this role at their last request.' })),
    status: Type.Optional(
      SomeOf(MEMBER_STATUSES, { description: 'Members with one of these; `Active` if absent.' }),
    ),
    hasLogin: Type.Optional(
      OneOf(['true', 'false'], { description: 'Members who have used the service, or who have not.' }),
    ),
    reference: Type.Optional({
      ...TextInput('line', { minLength: 1, maxLength: 100 }),
      description: 'The member with exactly this reference. For Managers and Admins.',
      examples: ['1077'],
    }),
  },
  MEMBER_SORTS,
  MEMBER_SORT,
);
export type MemberListQuery = Static<typeof MemberListQuery>;
