# The service as it runs in production: no compiler, no development code, no embedded database.
FROM node:22-slim AS build
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22-slim
# Metrics and health are on a port of their own, which answers while the other one is full; publish it to probes only.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 METRICS_PORT=9464
WORKDIR /service
COPY --from=build /service/node_modules node_modules
COPY --from=build /service/dist dist
COPY package.json ./
COPY sql sql
USER node
EXPOSE 3000 9464
# Alive, not ready: a database that is down is no reason to restart the process.
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# A deploy is the same image with another command: node dist/migrate.js
CMD ["node", "--enable-source-maps", "--max-semi-space-size=64", "dist/server.js"]
