import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, FULL_SHIFT_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import { Id, IdParams, Nullable, Strict, Timestamp } from '../validation/schemas.js';

export const FullShiftParams = IdParams('shift', FULL_SHIFT_ID);

export const WaitParams = Strict({
  ...FullShiftParams.properties,
  memberId: Type.String({ format: 'uuid', description: 'The id of the member.', examples: [BEN.id] }),
});

const exampleRow = {
  id: '019d5301-7c40-7a52-b3d8-6c19e0f4a275',
  shiftId: FULL_SHIFT_ID,
  memberId: ANNA.id,
  memberName: ANNA.name,
  position: 1,
  createdById: ANNA.id,
  createdAt: '2026-04-03T11:02:00Z',
};

export const WaitDto = Type.Object(
  {
    id: Id(),
    shiftId: Id(),
    memberId: Id(),
    memberName: Type.String(),
    position: Type.Integer({
      minimum: 1,
      description:
        'The place in the queue of the shift: 1 is next. It falls as others get places or stop waiting.',
    }),
    createdById: Nullable({
      ...Id(),
      description: 'The member who created the wait. Null: an operator did.',
    }),
    createdAt: Timestamp(),
  },
  {
    $id: 'WaitDto',
    examples: [
      exampleRow,
      {
        ...exampleRow,
        id: '019d5303-10d8-7f0e-8e41-2b7d95c6310a',
        memberId: BEN.id,
        memberName: BEN.name,
        position: 2,
        createdAt: '2026-04-03T11:03:43Z',
      },
    ],
  },
);
export type WaitDto = Static<typeof WaitDto>;

export const WAIT_SORT = 'position';
export const WAIT_SORTS = ['position'] as const;

export const WaitListQuery = ListQuery({}, WAIT_SORTS, WAIT_SORT);
