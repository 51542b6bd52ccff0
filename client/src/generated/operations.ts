// Generated from the OpenAPI document by make snapshot; make verify fails when it is stale.

export const routes = {
  isAlive: { method: 'GET', path: '/livez', needsToken: false, needsClub: false, takesKey: false },
  isReady: { method: 'GET', path: '/readyz', needsToken: false, needsClub: false, takesKey: false },
  listMyClubs: { method: 'GET', path: '/api/clubs/me', needsToken: true, needsClub: false, takesKey: false },
  getCurrentClub: { method: 'GET', path: '/api/clubs/current', needsToken: true, needsClub: true, takesKey: false },
  listMembers: { method: 'GET', path: '/api/members', needsToken: true, needsClub: true, takesKey: false },
  getMyMembership: { method: 'GET', path: '/api/members/me', needsToken: true, needsClub: true, takesKey: false },
  getMember: { method: 'GET', path: '/api/members/{id}', needsToken: true, needsClub: true, takesKey: false },
  listShifts: { method: 'GET', path: '/api/shifts', needsToken: true, needsClub: true, takesKey: false },
  createShift: { method: 'POST', path: '/api/shifts', needsToken: true, needsClub: true, takesKey: true },
  getShift: { method: 'GET', path: '/api/shifts/{id}', needsToken: true, needsClub: true, takesKey: false },
  replaceShift: { method: 'PUT', path: '/api/shifts/{id}', needsToken: true, needsClub: true, takesKey: false },
  deleteShift: { method: 'DELETE', path: '/api/shifts/{id}', needsToken: true, needsClub: true, takesKey: false },
  signUp: { method: 'POST', path: '/api/shifts/{id}/signup', needsToken: true, needsClub: true, takesKey: true },
  getMySignup: { method: 'GET', path: '/api/shifts/{id}/signup', needsToken: true, needsClub: true, takesKey: false },
  cancelSignUp: { method: 'DELETE', path: '/api/shifts/{id}/signup', needsToken: true, needsClub: true, takesKey: false },
  listTasks: { method: 'GET', path: '/api/tasks', needsToken: true, needsClub: true, takesKey: false },
  createTask: { method: 'POST', path: '/api/tasks', needsToken: true, needsClub: true, takesKey: true },
  getTask: { method: 'GET', path: '/api/tasks/{id}', needsToken: true, needsClub: true, takesKey: false },
  updateTask: { method: 'PATCH', path: '/api/tasks/{id}', needsToken: true, needsClub: true, takesKey: false },
  deleteTask: { method: 'DELETE', path: '/api/tasks/{id}', needsToken: true, needsClub: true, takesKey: false },
} as const;
