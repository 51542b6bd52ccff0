import { attempts } from './attempts.js';
import { callers } from './callers.js';
import { messages } from './messages.js';
import type { Refusal } from './refusal.js';
import { shifts } from './shifts.js';
import { tasks } from './tasks.js';

const table = { ...messages, ...callers, ...tasks, ...shifts, ...attempts };

export type Code = keyof typeof table;

/**
 * Every code a refusal can carry: its status and title, what it tells the caller to do, and what its page says.
 * The answers, the document, the pages below /problems and docs/errors.md are all made of it.
 *
 * Clients switch on the code, so a code never changes its meaning. Nothing else in the project knows a status.
 */
export const codes: Readonly<Record<Code, Refusal>> = table;

/** The codes in the order of their status. */
export const codesByStatus = (Object.keys(table) as Code[]).sort((a, b) => codes[a].status - codes[b].status);
