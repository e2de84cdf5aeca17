// Express with http-proxy-middleware and nothing else: the tables call it "bare".
import { Agent, createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { listen, upstream } from './arguments.ts';

const app = express();
const agent = new Agent({ keepAlive: true, scheduling: 'lifo', maxFreeSockets: 256 });
app.use(createProxyMiddleware({ target: upstream().href, agent }));

listen(createServer({ keepAliveTimeout: 75_000 }, app));
