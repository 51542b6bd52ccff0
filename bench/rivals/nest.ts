/**
 * NestJS on Fastify with TypeORM, the best version that we know: the faster of its two platforms, a guard that reads the
 * caller, responses serialized by schema, and a query runner with one transaction per request that sets the club and finds the
 * member. SQL goes through the connection of the query runner as named prepared statements, because building queries and
 * hydrating entities would cost more. Times are text. Unlike the service it has no log, no rate limit and no metrics.
 */
import 'reflect-metadata';
import {
  type ArgumentsHost,
  Body,
  type CanActivate,
  Catch,
  Controller,
  createParamDecorator,
  Delete,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Headers,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication, RouteSchema } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import pg from 'pg';
import { type Caller, readCaller, requireMember } from './caller.js';
import { Club } from './club.js';
import { nextLink, readId, readPage, readPatch, readWindow, toRfc3339 } from './input.js';
import { claim, signUpOnce } from './keyed.js';
import { Refusal, refusalOf } from './refusal.js';
import * as schemas from './schemas.js';
import * as statements from './statements.js';

pg.types.setTypeParser(1184, toRfc3339);

type Identified = FastifyRequest & { caller: Caller };
type Values = Record<string, unknown>;

@Injectable()
class CallerGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Identified>();
    request.caller = await readCaller(request.headers);
    requireMember(request.caller);
    return true;
  }
}

const From = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<Identified>().caller,
);

@Catch()
class Refusals implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const refusal = refusalOf(error);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { url } = host.switchToHttp().getRequest<FastifyRequest>();
    reply.code(refusal.status).type('application/problem+json').send(refusal.toBody(url));
  }
}

@Controller('api/tasks')
@UseGuards(CallerGuard)
class Tasks {
  constructor(@Inject(Club) private readonly club: Club) {}

  @Get()
  @RouteSchema({ response: { 200: schemas.taskList } })
  async list(
    @From() caller: Caller,
    @Query() query: Values,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const page = readPage(query);
    const rows = await this.club.inside(caller, (query) =>
      query<{ id: string; createdAt: string }>(statements.tasksPage(page)),
    );
    const link = nextLink(
      request.url,
      page,
      rows.map(({ id, createdAt }) => ({ id, key: createdAt })),
    );
    if (link !== undefined) {
      reply.header('link', link);
    }
    return rows.slice(0, page.limit);
  }

  @Get(':id')
  @RouteSchema({ response: { 200: schemas.task } })
  async find(
    @From() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const statement = statements.task(readId(id));
    const [task] = await this.club.inside(caller, (query) => query<statements.TaskRow>(statement));
    if (task === undefined) {
      throw new Refusal(404, 'task_not_found');
    }
    reply.header('etag', `"${task.version}"`);
    return task;
  }

  @Patch(':id')
  @RouteSchema({ response: { 200: schemas.task } })
  async change(
    @From() caller: Caller,
    @Param('id') id: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const statement = statements.patchTask(readId(id), readPatch(body));
    const [task] = await this.club.inside(caller, (query) => query<statements.TaskRow>(statement));
    reply.header('etag', `"${task?.version}"`);
    return task;
  }
}

@Controller('api/shifts')
@UseGuards(CallerGuard)
class Shifts {
  constructor(@Inject(Club) private readonly club: Club) {}

  @Get()
  @RouteSchema({ response: { 200: schemas.shiftList } })
  async list(@From() caller: Caller, @Query() query: Values): Promise<unknown> {
    const window = readWindow(query);
    const rows = await this.club.inside(caller, (query) => query(statements.shiftsWindow(window)));
    return rows.slice(0, window.limit);
  }

  @Post(':id/signup')
  @RouteSchema({ response: { 201: schemas.signup } })
  async signUp(
    @From() caller: Caller,
    @Param('id') id: string,
    @Headers('idempotency-key') key: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    if (key !== undefined) {
      const { location, body } = await this.club.inside(caller, async (query) =>
        signUpOnce(await query<statements.StoredResponse>(claim(key, request.url)), query, key, readId(id)),
      );
      reply.header('location', location).type('application/json');
      return body;
    }
    const statement = statements.signUp(readId(id));
    const [signup] = await this.club.inside(caller, (query) => query(statement));
    reply.header('location', `/api/shifts/${id}/signup`);
    return signup;
  }

  @Delete(':id/signup')
  @HttpCode(204)
  async cancel(@From() caller: Caller, @Param('id') id: string): Promise<void> {
    const statement = statements.cancelSignUp(readId(id));
    await this.club.inside(caller, (query) => query(statement));
  }
}

@Module({ controllers: [Tasks, Shifts], providers: [Club, CallerGuard] })
class Application {}

const app = await NestFactory.create<NestFastifyApplication>(Application, new FastifyAdapter(), {
  logger: false,
});
app.useGlobalFilters(new Refusals());
await app.listen(Number(process.env.PORT), '127.0.0.1');
