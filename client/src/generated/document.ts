// Generated from the OpenAPI document by make snapshot; make verify fails when it is stale.

export interface components {
    schemas: {
        AttendanceDto: {
            /** Format: uuid */
            shiftId: string;
            shiftTitle: string;
            /** Format: date-time */
            startsAt: string;
            /** Format: date-time */
            endsAt: string;
            /** @description Whether the member was signed up. Like the title and the times, as it was when the record was last changed. */
            wasSignedUp: boolean;
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /** @enum {string} */
            status: "Attended" | "Excused" | "NoShow";
            /** @description How long the member was there, in minutes. Null unless they attended. */
            minutes: number | null;
            /**
             * Format: uuid
             * @description The member who changed the record last.
             */
            recordedById: string | null;
            /** Format: date-time */
            recordedAt: string;
            version: number;
        };
        ShiftAttendanceDto: {
            /** Format: uuid */
            shiftId: string;
            shiftTitle: string;
            /** Format: date-time */
            startsAt: string;
            /** Format: date-time */
            endsAt: string;
            /** @description Whether the member was signed up. Like the title and the times, as it was when the record was last changed. */
            wasSignedUp: boolean;
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /**
             * @description Null where nothing is recorded, like all after it.
             * @enum {string|null}
             */
            status: "Attended" | "Excused" | "NoShow" | null;
            /** @description How long the member was there, in minutes. Null unless they attended. */
            minutes: number | null;
            /**
             * Format: uuid
             * @description The member who changed the record last.
             */
            recordedById: string | null;
            /** Format: date-time */
            recordedAt: string | null;
            version: number | null;
        };
        RecordAttendanceRequest: {
            /** @enum {string} */
            status: "Attended" | "Excused" | "NoShow";
            /** @description How long the member was there, in minutes. Only with `Attended`. Absent or null: the length of the shift, rounded down. */
            minutes?: number | null;
            /** @description The version that you read. When it is not the current one, nothing is changed. */
            version?: number;
        };
        CalendarLinkDto: {
            /** @description The URL to subscribe to. It is the right to read the calendar: keep it like a password. Null, except in the response that creates it. */
            url: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt: string;
        };
        ClubDto: {
            /** Format: uuid */
            id: string;
            name: string;
            slug: string;
            /** @description A time zone of the IANA database. */
            timeZone: string;
            /** @enum {string} */
            role: "Viewer" | "Member" | "Manager" | "Admin";
            /** Format: date-time */
            createdAt: string;
        };
        MemberDto: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            clubId: string;
            displayName: string;
            /** @description Null, unless it is your own or your role is at least Manager. */
            email: string | null;
            /**
             * @description The role at the last request; `Member` without a login.
             * @enum {string}
             */
            role: "Viewer" | "Member" | "Manager" | "Admin";
            /** @description The `sub` of their token. Null, unless it is your own or your role is Admin, and without a login. */
            externalUserId: string | null;
            /** @description Whether the member has used the service. Managers enter members without a login. */
            hasLogin: boolean;
            /** @enum {string} */
            status: "Active" | "Left" | "Erased";
            /**
             * Format: date-time
             * @description Since when the status is `Left`; otherwise null.
             */
            leftAt: string | null;
            /** @description The club’s own name for the member, such as a membership number. Null, unless it is your own or your role is at least Manager. */
            reference: string | null;
            /** Format: date-time */
            joinedAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        SignupListDto: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            shiftId: string;
            shiftTitle: string;
            location: string | null;
            /** Format: date-time */
            startsAt: string;
            /** Format: date-time */
            endsAt: string;
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /**
             * Format: uuid
             * @description The member who created the signup. Null: an operator did, or it is older than this field.
             */
            createdById: string | null;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the place was given to the member, who waited. Null: it was not given by promotion.
             */
            promotedAt: string | null;
        };
        WaitDto: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            shiftId: string;
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /** @description The place in the queue of the shift: 1 is next. It falls as others get places or stop waiting. */
            position: number;
            /**
             * Format: uuid
             * @description The member who created the wait. Null: an operator did.
             */
            createdById: string | null;
            /** Format: date-time */
            createdAt: string;
        };
        EventDto: {
            /** Format: uuid */
            id: string;
            /** @description The number in the club, in the order of commits and without a gap. */
            sequence: number;
            /**
             * @description Skip types that you do not know: more may be added.
             * @enum {string}
             */
            type: "attendance.created" | "attendance.changed" | "attendance.deleted" | "club.changed" | "member.created" | "member.changed" | "member.erased" | "member.deleted" | "shift.created" | "shift.changed" | "shift.deleted" | "signup.created" | "signup.deleted" | "task.created" | "task.changed" | "task.deleted" | "wait.created" | "wait.deleted";
            /**
             * Format: date-time
             * @description When the change was made. It may run backwards from one event to the next.
             */
            at: string;
            /**
             * Format: uuid
             * @description The task, shift, member or club; of a signup, a wait and of attendance the shift.
             */
            subjectId: string;
            /** @description Of what was deleted, such as a task or a shift. Null if it has none, once a member was erased who deleted it or whom it was about, and once a member whom it was about was deleted or merged. */
            subjectTitle: string | null;
            /**
             * Format: uuid
             * @description The member who made the change; null: an operator.
             */
            actorId: string | null;
            /**
             * Format: uuid
             * @description The member whom it is about: of a task its assignee, or if it has none the one before.
             */
            memberId: string | null;
            /** @description The changed fields and their values. Of what was created `from` is null, of what was deleted `to`. Of a signup only `promotedAt`, if the member waited and got the place. */
            changes: {
                [key: string]: {
                    from: string | number | boolean | null;
                    to: string | number | boolean | null;
                };
            };
            /** @description The names of the changed fields whose values are not shown, such as a title, in alphabetical order. */
            fields: string[];
        };
        MemberDataDto: {
            /** Format: date-time */
            exportedAt: string;
            member: components["schemas"]["MemberDto"];
            signups: components["schemas"]["SignupListDto"][];
            waits: components["schemas"]["WaitDto"][];
            attendance: components["schemas"]["AttendanceDto"][];
            tasksAssigned: {
                /** Format: uuid */
                id: string;
                title: string;
                /** @enum {string} */
                state: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
                /** Format: uuid */
                assigneeId: string | null;
                assigneeName: string | null;
                /** Format: date-time */
                dueAt: string | null;
                /** Format: date-time */
                createdAt: string;
                /** Format: date-time */
                updatedAt: string;
                version: number;
                description: string | null;
            }[];
            tasksCreated: {
                /** Format: uuid */
                id: string;
                title: string;
                /** @enum {string} */
                state: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
                /** Format: uuid */
                assigneeId: string | null;
                assigneeName: string | null;
                /** Format: date-time */
                dueAt: string | null;
                /** Format: date-time */
                createdAt: string;
                /** Format: date-time */
                updatedAt: string;
                version: number;
                description: string | null;
            }[];
            shiftsCreated: {
                /** Format: uuid */
                id: string;
                title: string;
                location: string | null;
                /** Format: date-time */
                startsAt: string;
                /** Format: date-time */
                endsAt: string;
                capacity: number;
                signupCount: number;
                freeSlots: number;
                /** @description Whether the member is signed up. */
                isSignedUp: boolean;
                /** @description How many members wait for a place. */
                waitCount: number;
                /** @description Whether the member waits. */
                isWaiting: boolean;
                /**
                 * Format: date-time
                 * @description From when members sign up; null: at once.
                 */
                signupOpensAt: string | null;
                /**
                 * Format: date-time
                 * @description Until when members sign up; null: until the start.
                 */
                signupClosesAt: string | null;
                /**
                 * Format: date-time
                 * @description Until when members cancel their signup; null: until the start.
                 */
                cancelUntil: string | null;
                /**
                 * Format: uuid
                 * @description The same for shifts that were created together.
                 */
                batchId: string | null;
                version: number;
                description: string | null;
            }[];
            /** @description Events about the member, and of changes that the member made. */
            events: components["schemas"]["EventDto"][];
            /** @description Null: the member has no link, or it has expired. */
            calendarLink: {
                /** Format: date-time */
                createdAt: string;
                /** Format: date-time */
                expiresAt: string;
            } | null;
            /** @description Responses that are stored for requests with an `Idempotency-Key`, for 24 hours. */
            storedResponses: {
                /** Format: date-time */
                createdAt: string;
                /** @description The header `Location` of the response. */
                location: string | null;
            }[];
        };
        HoursDto: {
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /** @description How many shifts the member attended. */
            shifts: number;
            /** @description For how many minutes, in sum. */
            minutes: number;
            noShows: number;
        };
        CreateMemberRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            displayName: string;
            /**
             * Format: email
             * @description Stored in lower case. An empty text is null.
             */
            email?: string | null;
            /** @description The club’s own name for the member, such as a membership number. Unique in the club. An empty text is null. */
            reference?: string | null;
        };
        ImportMembersRequest: {
            /** @description Each with another `reference`. */
            members: {
                /** @description One line without control characters. Blanks around it are removed. */
                displayName: string;
                /**
                 * Format: email
                 * @description Stored in lower case. An empty text is null.
                 */
                email?: string | null;
                /** @description The club’s own name for the member, such as a membership number. Unique in the club. */
                reference: string;
            }[];
        };
        UpdateMemberRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            displayName?: string;
            /**
             * Format: email
             * @description Stored in lower case. An empty text is null.
             */
            email?: string | null;
            /** @description The club’s own name for the member, such as a membership number. Unique in the club. An empty text is null. */
            reference?: string | null;
        };
        SetMembershipRequest: {
            /** @enum {string} */
            status: "Active" | "Left";
        };
        MergeMembersRequest: {
            /**
             * Format: uuid
             * @description The id of the member who gets what names the other one.
             */
            into: string;
        };
        ShiftSignupDto: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            shiftId: string;
            /** Format: uuid */
            memberId: string;
            memberName: string;
            /**
             * Format: uuid
             * @description The member who created the signup. Null: an operator did, or it is older than this field.
             */
            createdById: string | null;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the place was given to the member, who waited. Null: it was not given by promotion.
             */
            promotedAt: string | null;
        };
        ShiftListDto: {
            /** Format: uuid */
            id: string;
            title: string;
            location: string | null;
            /** Format: date-time */
            startsAt: string;
            /** Format: date-time */
            endsAt: string;
            capacity: number;
            signupCount: number;
            freeSlots: number;
            /** @description Whether the caller is signed up. */
            isSignedUp: boolean;
            /** @description How many members wait for a place. */
            waitCount: number;
            /** @description Whether the caller waits. */
            isWaiting: boolean;
            /**
             * Format: date-time
             * @description From when members sign up; null: at once.
             */
            signupOpensAt: string | null;
            /**
             * Format: date-time
             * @description Until when members sign up; null: until the start.
             */
            signupClosesAt: string | null;
            /**
             * Format: date-time
             * @description Until when members cancel their signup; null: until the start.
             */
            cancelUntil: string | null;
            /**
             * Format: uuid
             * @description The same for shifts that were created together.
             */
            batchId: string | null;
            version: number;
        };
        ShiftDetailDto: {
            /** Format: uuid */
            id: string;
            title: string;
            location: string | null;
            /** Format: date-time */
            startsAt: string;
            /** Format: date-time */
            endsAt: string;
            capacity: number;
            signupCount: number;
            freeSlots: number;
            /** @description Whether the caller is signed up. */
            isSignedUp: boolean;
            /** @description How many members wait for a place. */
            waitCount: number;
            /** @description Whether the caller waits. */
            isWaiting: boolean;
            /**
             * Format: date-time
             * @description From when members sign up; null: at once.
             */
            signupOpensAt: string | null;
            /**
             * Format: date-time
             * @description Until when members sign up; null: until the start.
             */
            signupClosesAt: string | null;
            /**
             * Format: date-time
             * @description Until when members cancel their signup; null: until the start.
             */
            cancelUntil: string | null;
            /**
             * Format: uuid
             * @description The same for shifts that were created together.
             */
            batchId: string | null;
            version: number;
            /** Format: uuid */
            clubId: string;
            description: string | null;
            /** @description In the order of signing up. */
            signups: components["schemas"]["ShiftSignupDto"][];
            /** Format: uuid */
            createdById: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        CreateShiftRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            title: string;
            /**
             * Format: date-time
             * @description A time with an offset (RFC 3339), in the years 1970 to 2199.
             */
            startsAt: string;
            /**
             * Format: date-time
             * @description After `startsAt`, by 31 days at most.
             */
            endsAt: string;
            capacity: number;
            /** @description One line without control characters. Blanks around it are removed. An empty text is null. */
            location?: string | null;
            /** @description Text without control characters other than line feeds and tabs. Blanks around it are removed. An empty text is null. */
            description?: string | null;
            /**
             * Format: date-time
             * @description From when members sign up: before `startsAt`. Null: at once.
             */
            signupOpensAt?: string | null;
            /**
             * Format: date-time
             * @description Until when members sign up: after `signupOpensAt`, and not after `startsAt`. Null: until the start.
             */
            signupClosesAt?: string | null;
            /**
             * Format: date-time
             * @description Until when members cancel their signup: not after `startsAt`. Null: until the start.
             */
            cancelUntil?: string | null;
        };
        UpdateShiftRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            title: string;
            /**
             * Format: date-time
             * @description A time with an offset (RFC 3339), in the years 1970 to 2199.
             */
            startsAt: string;
            /**
             * Format: date-time
             * @description After `startsAt`, by 31 days at most.
             */
            endsAt: string;
            capacity: number;
            /** @description One line without control characters. Blanks around it are removed. An empty text is null. */
            location?: string | null;
            /** @description Text without control characters other than line feeds and tabs. Blanks around it are removed. An empty text is null. */
            description?: string | null;
            /**
             * Format: date-time
             * @description From when members sign up: before `startsAt`. Null: at once.
             */
            signupOpensAt?: string | null;
            /**
             * Format: date-time
             * @description Until when members sign up: after `signupOpensAt`, and not after `startsAt`. Null: until the start.
             */
            signupClosesAt?: string | null;
            /**
             * Format: date-time
             * @description Until when members cancel their signup: not after `startsAt`. Null: until the start.
             */
            cancelUntil?: string | null;
            /** @description The version that you read. When it is not the current one, nothing is changed. */
            version?: number;
        };
        /** @description Exactly one of `shifts` and `repeat`. */
        CreateShiftBatchRequest: {
            shifts?: components["schemas"]["CreateShiftRequest"][];
            repeat?: {
                /** @description One line without control characters. Blanks around it are removed. */
                title: string;
                capacity: number;
                /** @description One line without control characters. Blanks around it are removed. An empty text is null. */
                location?: string | null;
                /** @description Text without control characters other than line feeds and tabs. Blanks around it are removed. An empty text is null. */
                description?: string | null;
                /** @description When sign-up opens. In minutes of real time before each start; null or absent: no such limit. */
                signupOpensBefore?: number | null;
                /** @description When sign-up closes. In minutes of real time before each start; null or absent: no such limit. */
                signupClosesBefore?: number | null;
                /** @description Until when members cancel their signup. In minutes of real time before each start; null or absent: no such limit. */
                cancelUntilBefore?: number | null;
                /**
                 * Format: date-time-local
                 * @description The first start, as the clocks of the club show it, without an offset.
                 */
                startsAtLocal: string;
                /**
                 * Format: date-time-local
                 * @description The first end. Every shift ends as many days after its start, at this time.
                 */
                endsAtLocal: string;
                /** @enum {string} */
                every: "day" | "week";
                /** @description Every so many days or weeks; 1 if absent. Weeks begin on Monday. */
                interval?: number;
                /** @description Only with `week`. The weekday of the start must be among them; it is the default. */
                weekdays?: ("MO" | "TU" | "WE" | "TH" | "FR" | "SA" | "SU")[];
                /**
                 * Format: date
                 * @description The last day on which a shift can start.
                 */
                until: string;
                /** @description Dates of the rule on which no shift starts, such as holidays. A date that the rule does not give is ignored. */
                except?: string[];
            };
        };
        TaskListDto: {
            /** Format: uuid */
            id: string;
            title: string;
            /** @enum {string} */
            state: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
            /** Format: uuid */
            assigneeId: string | null;
            assigneeName: string | null;
            /** Format: date-time */
            dueAt: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            version: number;
        };
        TaskDetailDto: {
            /** Format: uuid */
            id: string;
            title: string;
            /** @enum {string} */
            state: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
            /** Format: uuid */
            assigneeId: string | null;
            assigneeName: string | null;
            /** Format: date-time */
            dueAt: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            version: number;
            /** Format: uuid */
            clubId: string;
            description: string | null;
            /** Format: uuid */
            createdById: string | null;
            /** Format: date-time */
            completedAt: string | null;
            /** @description The states that this caller may set now. */
            allowedTransitions: ("Open" | "Assigned" | "InProgress" | "Review" | "Done")[];
        };
        CreateTaskRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            title: string;
            /** @description Text without control characters other than line feeds and tabs. Blanks around it are removed. An empty text is null. */
            description?: string | null;
            /**
             * Format: date-time
             * @description A time with an offset (RFC 3339), in the years 1970 to 2199.
             */
            dueAt?: string | null;
            /**
             * Format: uuid
             * @description The id of a member.
             */
            assigneeId?: string | null;
        };
        UpdateTaskRequest: {
            /** @description One line without control characters. Blanks around it are removed. */
            title?: string;
            /** @description Text without control characters other than line feeds and tabs. Blanks around it are removed. An empty text is null. */
            description?: string | null;
            /**
             * Format: date-time
             * @description A time with an offset (RFC 3339), in the years 1970 to 2199.
             */
            dueAt?: string | null;
            /**
             * Format: uuid
             * @description The id of a member.
             */
            assigneeId?: string | null;
            /**
             * @description One of `allowedTransitions`. `Assigned` without `assigneeId` assigns an open task to yourself.
             * @enum {string}
             */
            state?: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
            /** @description The version that you read. When it is not the current one, nothing is changed. */
            version?: number;
        };
        /** @description An error (RFC 9457). `code` never changes its meaning; `detail` says what to do. */
        Problem: {
            /**
             * Format: uri-reference
             * @description The page that explains the code.
             */
            type: string;
            /** @description A short name of the error. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @description What to do, for people. The text may change. */
            detail: string;
            /**
             * Format: uri-reference
             * @description The path of the request, without the secret of a calendar; a URN if the path is unknown.
             */
            instance: string;
            /**
             * @description The error, for programs; it never changes.
             * @enum {string}
             */
            code: "idempotency_key_invalid" | "invalid_cursor" | "invalid_parameter" | "malformed_json" | "tenant_header_invalid" | "tenant_header_missing" | "validation_failed" | "invalid_token" | "unauthenticated" | "insufficient_role" | "membership_ended" | "task_assign_forbidden" | "task_transition_forbidden" | "tenant_forbidden" | "attendance_not_found" | "calendar_not_found" | "member_not_found" | "route_not_found" | "shift_not_found" | "signup_not_found" | "task_not_found" | "wait_not_found" | "method_not_allowed" | "request_timeout" | "already_signed_up" | "already_waiting" | "attendance_conflict" | "attendance_version_conflict" | "capacity_below_signups" | "idempotency_in_progress" | "member_has_login" | "member_in_use" | "member_reference_taken" | "own_membership" | "shift_full" | "shift_not_full" | "shift_version_conflict" | "task_already_assigned" | "task_version_conflict" | "wait_list_full" | "events_forgotten" | "precondition_failed" | "payload_too_large" | "unsupported_media_type" | "assignee_not_member" | "cancel_too_late" | "idempotency_key_reused" | "invalid_task_transition" | "merge_target_invalid" | "shift_in_past" | "shift_not_started" | "signup_closed" | "signup_not_open" | "rate_limited" | "headers_too_large" | "internal_error" | "service_unavailable";
            /**
             * Format: uuid
             * @description The id of this request in the logs of the service.
             */
            requestId: string;
            /** @description Every invalid field, parameter or header of the request. */
            errors?: {
                /** @description A JSON Pointer (RFC 6901) into the body. */
                pointer?: string;
                /** @description The name of a parameter in the path or the query string. */
                parameter?: string;
                /** @description The name of a header. */
                header?: string;
                /** @description The kind of the error. */
                code: string;
                /** @description What is expected there. */
                detail: string;
            }[];
            /**
             * @description The lowest role that may do this.
             * @enum {string}
             */
            requiredRole?: "Viewer" | "Member" | "Manager" | "Admin";
            /**
             * @description Your role in the club.
             * @enum {string}
             */
            yourRole?: "Viewer" | "Member" | "Manager" | "Admin";
            /**
             * @description The state of the task.
             * @enum {string}
             */
            currentState?: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
            /**
             * @description The state that was asked for.
             * @enum {string}
             */
            requestedState?: "Open" | "Assigned" | "InProgress" | "Review" | "Done";
            /** @description The states that you may set now. */
            allowedTransitions?: ("Open" | "Assigned" | "InProgress" | "Review" | "Done")[];
            /** @description The shifts, by their start. */
            shiftIds?: string[];
            /** @description The current version. Read the object again before you repeat the change. */
            currentVersion?: number;
            /** @description How many members are signed up. */
            signupCount?: number;
            /** @description How many members wait for a place. */
            waitCount?: number;
            /** @description The `sequence` of the oldest event of the club. Absent if there is none. */
            oldestSequence?: number;
            /**
             * Format: date-time
             * @description Until when signups could be cancelled.
             */
            cancelUntil?: string;
            /**
             * Format: date-time
             * @description When sign-up closed.
             */
            signupClosesAt?: string;
            /**
             * Format: date-time
             * @description When sign-up opens.
             */
            signupOpensAt?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export interface operations {
    isAlive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
        };
    };
    isReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                        /** @description The result of the last audit of the isolation of clubs; it runs every minute. */
                        audit: {
                            /** @description Findings that mean that a club could reach the rows of another club, or that the audit cannot tell. */
                            critical: number;
                            /** @description Other findings. */
                            warnings: number;
                            /**
                             * Format: date-time
                             * @description When the audit was run.
                             */
                            at: string;
                            /** @description Whether no audit has run for ten minutes: the log has the reason. */
                            stale: boolean;
                        };
                    };
                };
            };
        };
    };
    getResourceMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The service: PUBLIC_URL. */
                        resource: string;
                        /** @description The issuer of the tokens. */
                        authorization_servers: string[];
                        bearer_methods_supported: string[];
                    };
                };
            };
        };
    };
    readCalendar: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the club. */
                clubId: string;
                /** @description The secret of the link. */
                secret: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/calendar": string;
                };
            };
        };
    };
    listAttendance: {
        parameters: {
            query?: {
                /** @description Of this member: the id of a member, or `me`. A Member reads their own only. */
                memberId?: string;
                /** @description Shifts that start at this moment or later. */
                from?: string;
                /** @description Shifts that start before this moment, which is not before `from`. */
                to?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "startsAt" | "-startsAt";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttendanceDto"][];
                };
            };
        };
    };
    listShiftAttendance: {
        parameters: {
            query?: {
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "memberName" | "-memberName";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the shift, which may have been deleted. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftAttendanceDto"][];
                };
            };
        };
    };
    getAttendance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift, which may have been deleted. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttendanceDto"];
                };
            };
        };
    };
    recordAttendance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift, which may have been deleted. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        /** @description The complete new state. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecordAttendanceRequest"];
            };
        };
        responses: {
            /** @description Replaced, if it differs from the current state; the body is the new state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttendanceDto"];
                };
            };
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttendanceDto"];
                };
            };
        };
    };
    deleteAttendance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift, which may have been deleted. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getCalendarLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CalendarLinkDto"];
                };
            };
        };
    };
    createCalendarLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty object, or nothing. */
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description There was one already; the body is the current state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CalendarLinkDto"];
                };
            };
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CalendarLinkDto"];
                };
            };
        };
    };
    deleteCalendarLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteCalendarLinkOf: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listMyClubs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClubDto"][];
                };
            };
        };
    };
    getCurrentClub: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClubDto"];
                };
            };
        };
    };
    copyMyData: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDataDto"];
                };
            };
        };
    };
    copyMemberData: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDataDto"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description The id of an event: only those that follow it. Beside a cursor it is not read. */
                after?: string;
                /** @description Events of one of these types. */
                type?: ("attendance.created" | "attendance.changed" | "attendance.deleted" | "club.changed" | "member.created" | "member.changed" | "member.erased" | "member.deleted" | "shift.created" | "shift.changed" | "shift.deleted" | "signup.created" | "signup.deleted" | "task.created" | "task.changed" | "task.deleted" | "wait.created" | "wait.deleted")[];
                /** @description Events of this task, shift, member or club. */
                subjectId?: string;
                /** @description The id of a member for events about them, `me` for those about you. */
                memberId?: string;
                /** @description The id of a member for their changes, `me` for yours, `none` for those of operators. */
                actorId?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "sequence" | "-sequence";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventDto"][];
                };
            };
        };
    };
    listHours: {
        parameters: {
            query?: {
                /** @description Of this member: the id of a member, or `me`. A Member reads their own only. */
                memberId?: string;
                /** @description Shifts that start at this moment or later. */
                from?: string;
                /** @description Shifts that start before this moment, which is not before `from`. */
                to?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "memberName" | "-memberName";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HoursDto"][];
                };
            };
        };
    };
    listMembers: {
        parameters: {
            query?: {
                /** @description Part of the display name, in any letter case. */
                q?: string;
                /** @description Members who had this role at their last request. */
                role?: "Viewer" | "Member" | "Manager" | "Admin";
                /** @description Members with one of these; `Active` if absent. */
                status?: ("Active" | "Left" | "Erased")[];
                /** @description Members who have used the service, or who have not. */
                hasLogin?: "true" | "false";
                /** @description The member with exactly this reference. For Managers and Admins. */
                reference?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "displayName" | "-displayName" | "joinedAt" | "-joinedAt";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"][];
                };
            };
        };
    };
    createMember: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The object to create. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateMemberRequest"];
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    getMyMembership: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    getMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    deleteMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        /** @description The fields to change. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateMemberRequest"];
                "application/merge-patch+json": components["schemas"]["UpdateMemberRequest"];
            };
        };
        responses: {
            /** @description Changed, if the patch differs from the current state; the body is the new state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    importMembers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The object to create. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportMembersRequest"];
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"][];
                };
            };
        };
    };
    setMembership: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        /** @description The complete new state. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetMembershipRequest"];
            };
        };
        responses: {
            /** @description Replaced, if it differs from the current state; the body is the new state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    mergeMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the member. */
                id: string;
            };
            cookie?: never;
        };
        /** @description What to do. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeMembersRequest"];
            };
        };
        responses: {
            /** @description Done; the body is the result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberDto"];
                };
            };
        };
    };
    listShifts: {
        parameters: {
            query?: {
                /** @description Shifts that end after this moment. */
                from?: string;
                /** @description Shifts that start before this moment, which is not before `from`. */
                to?: string;
                /** @description Shifts that start at this moment or later. */
                startsFrom?: string;
                /** @description Shifts that this member is signed up for: the id of a member, or `me`. */
                signedUp?: string;
                /** @description Shifts in which the caller waits for a place. */
                waiting?: "me";
                /** @description Shifts with a free place. */
                hasFreeSlots?: "true";
                /** @description Shifts that have not started and for which members can sign up now, if a place is free. */
                signupOpen?: "true";
                /** @description Shifts that were created together. */
                batchId?: string;
                /** @description Part of the title, in any letter case. */
                q?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "startsAt" | "-startsAt" | "title" | "-title" | "createdAt" | "-createdAt";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftListDto"][];
                };
            };
        };
    };
    createShift: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The object to create. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateShiftRequest"];
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftDetailDto"];
                };
            };
        };
    };
    deleteShifts: {
        parameters: {
            query: {
                /** @description Shifts that were created together. */
                batchId: string;
                /** @description Only those that start at this moment or later. */
                from?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getShift: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftDetailDto"];
                };
            };
        };
    };
    replaceShift: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        /** @description The complete new state. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateShiftRequest"];
            };
        };
        responses: {
            /** @description Replaced, if it differs from the current state; the body is the new state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftDetailDto"];
                };
            };
        };
    };
    deleteShift: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createShifts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The object to create. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateShiftBatchRequest"];
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftListDto"][];
                };
            };
        };
    };
    getMySignup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftSignupDto"];
                };
            };
        };
    };
    signUp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        /** @description An empty object, or nothing. */
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftSignupDto"];
                };
            };
        };
    };
    cancelSignUp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getSignup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftSignupDto"];
                };
            };
        };
    };
    assignSignUp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        /** @description An empty object, or nothing. */
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description There was one already; the body is the current state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftSignupDto"];
                };
            };
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShiftSignupDto"];
                };
            };
        };
    };
    removeSignUp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listSignups: {
        parameters: {
            query?: {
                /** @description Shifts that end after this moment. */
                from?: string;
                /** @description Shifts that start before this moment, which is not before `from`. */
                to?: string;
                /** @description Signups of this member: the id of a member, or `me`. */
                memberId?: string;
                /** @description Signups for this shift. */
                shiftId?: string;
                /** @description Signups for shifts that were created together. */
                batchId?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "startsAt" | "-startsAt";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignupListDto"][];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description Tasks in one of these states. */
                state?: ("Open" | "Assigned" | "InProgress" | "Review" | "Done")[];
                /** @description The id of a member for their tasks, `me` for your own, `none` for tasks without an assignee. */
                assigneeId?: string;
                /** @description Tasks that are due before this moment. */
                dueBefore?: string;
                /** @description Tasks that are due after this moment. */
                dueAfter?: string;
                /** @description Part of the title, in any letter case. */
                q?: string;
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "createdAt" | "-createdAt" | "updatedAt" | "-updatedAt" | "dueAt" | "-dueAt" | "title" | "-title";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskListDto"][];
                };
            };
        };
    };
    createTask: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The object to create. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTaskRequest"];
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetailDto"];
                };
            };
        };
    };
    getTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the task. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetailDto"];
                };
            };
        };
    };
    deleteTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the task. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the task. */
                id: string;
            };
            cookie?: never;
        };
        /** @description The fields to change. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateTaskRequest"];
                "application/merge-patch+json": components["schemas"]["UpdateTaskRequest"];
            };
        };
        responses: {
            /** @description Changed, if the patch differs from the current state; the body is the new state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetailDto"];
                };
            };
        };
    };
    getMyWait: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"];
                };
            };
        };
    };
    waitForPlace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        /** @description An empty object, or nothing. */
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"];
                };
            };
        };
    };
    stopWaiting: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listWaits: {
        parameters: {
            query?: {
                /** @description The sort order; a leading hyphen means descending. */
                sort?: "position" | "-position";
                /** @description The maximum number of rows of a page. */
                limit?: number;
                /** @description The start of the page, from the Link header of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"][];
                };
            };
        };
    };
    getWait: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"];
                };
            };
        };
    };
    assignWait: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        /** @description An empty object, or nothing. */
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description There was one already; the body is the current state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"];
                };
            };
            /** @description Created; the header Location has its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitDto"];
                };
            };
        };
    };
    removeWait: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the shift. */
                id: string;
                /** @description The id of the member. */
                memberId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. There is no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
