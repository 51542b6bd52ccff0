// Generated from the OpenAPI document by make snapshot; make verify fails when it is stale.

export const routes = {
  isAlive: ['GET', '/livez'],
  isReady: ['GET', '/readyz'],
  listMyClubs: ['GET', '/api/clubs/me'],
  getCurrentClub: ['GET', '/api/clubs/current'],
  listMembers: ['GET', '/api/members'],
  getMyMembership: ['GET', '/api/members/me'],
  getMember: ['GET', '/api/members/{id}'],
  listShifts: ['GET', '/api/shifts'],
  createShift: ['POST', '/api/shifts'],
  getShift: ['GET', '/api/shifts/{id}'],
  replaceShift: ['PUT', '/api/shifts/{id}'],
  deleteShift: ['DELETE', '/api/shifts/{id}'],
  signUp: ['POST', '/api/shifts/{id}/signup'],
  getMySignup: ['GET', '/api/shifts/{id}/signup'],
  cancelSignUp: ['DELETE', '/api/shifts/{id}/signup'],
  listTasks: ['GET', '/api/tasks'],
  createTask: ['POST', '/api/tasks'],
  getTask: ['GET', '/api/tasks/{id}'],
  updateTask: ['PATCH', '/api/tasks/{id}'],
  deleteTask: ['DELETE', '/api/tasks/{id}'],
} as const;
