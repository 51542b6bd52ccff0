/** The response schemas, for the serializers of Fastify. */
const text = { type: 'string' };
const orNull = { type: 'string', nullable: true };
const integer = { type: 'integer' };

const object = (properties: Record<string, object>) => ({ type: 'object', properties });

const listedTask = {
  id: text,
  title: text,
  state: text,
  assigneeId: orNull,
  assigneeName: orNull,
  dueAt: orNull,
  createdAt: text,
  updatedAt: text,
  version: integer,
};

export const taskList = { type: 'array', items: object(listedTask) };

export const task = object({
  ...listedTask,
  clubId: text,
  description: orNull,
  createdById: orNull,
  completedAt: orNull,
  allowedTransitions: { type: 'array', items: text },
});

export const shiftList = {
  type: 'array',
  items: object({
    id: text,
    title: text,
    location: orNull,
    startsAt: text,
    endsAt: text,
    capacity: integer,
    signupCount: integer,
    freeSlots: integer,
    isSignedUp: { type: 'boolean' },
    waitCount: integer,
    isWaiting: { type: 'boolean' },
    signupOpensAt: orNull,
    signupClosesAt: orNull,
    cancelUntil: orNull,
    batchId: orNull,
    version: integer,
  }),
};

export const signup = object({
  id: text,
  shiftId: text,
  memberId: text,
  memberName: text,
  createdById: orNull,
  createdAt: text,
  promotedAt: orNull,
});
