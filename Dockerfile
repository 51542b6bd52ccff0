# The service for production, without compiler, development code and embedded database.
# A tag moves. For the same image at each build, replace both tags by the digest that
# `docker buildx imagetools inspect node:24-slim` prints: node@sha256:...
FROM node:24-slim AS build
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-slim
# Metrics and health have a port of their own, which responds while the other one is full; publish it to probes only.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 METRICS_PORT=9464
WORKDIR /service
COPY --from=build /service/node_modules node_modules
COPY --from=build /service/dist dist
COPY package.json ./
COPY sql sql
USER node
EXPOSE 3000 9464
# /livez, not /readyz: a restart of the process does not help while the database is down.
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# A deploy uses the same image with the command: node dist/migrate.js
CMD ["node", "--enable-source-maps", "--max-semi-space-size=64", "dist/server.js"]
