import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limitWithLua } from './nginx-lua.ts';

const BINARY = '/usr/sbin/nginx';
const MODULES = '/usr/lib/nginx/modules';
const LUA_REDIS = '/usr/share/lua/5.1/nginx/redis.lua';

/** True if Debian's packages are installed: nginx, or its Lua module with a Redis client. */
export function nginxHas(feature: 'proxy' | 'lua'): boolean {
  if (!existsSync(BINARY)) return false;
  return feature === 'proxy' || (existsSync(join(MODULES, 'ngx_http_lua_module.so')) && existsSync(LUA_REDIS));
}

export interface NginxOptions {
  /** The folder for all files that nginx writes. */
  folder: string;
  port: number;
  /** The `host:port` that requests are forwarded to. */
  upstream: string;
  /** The API keys that are accepted, and the URL of the Redis that counts requests for rate limits. Default: neither is checked. */
  policy?: { keys: readonly string[]; redis: URL };
}

/** The command that runs one nginx worker in the foreground as a proxy with persistent connections. */
export function nginxCommand({ folder, port, upstream, policy }: NginxOptions): [string, ...string[]] {
  mkdirSync(folder, { recursive: true });
  if (policy) writeFileSync(join(folder, 'keys'), policy.keys.map(hashOf).join('\n'));
  const file = join(folder, 'nginx.conf');
  const modules = policy ? ['ndk_http_module.so', 'ngx_http_lua_module.so'] : [];
  writeFileSync(
    file,
    `${modules.map((name) => `load_module ${join(MODULES, name)};`).join('\n')}
daemon off;
user root;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream service { server ${upstream}; keepalive 256; keepalive_requests 1000000; }
  ${policy ? limitWithLua(join(folder, 'keys'), policy.redis) : ''}
  server {
    listen 127.0.0.1:${port};
    location / {
      ${policy ? 'access_by_lua_block { require("policy").check() }' : ''}
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-API-Key "";
    }
  }
}
`,
  );
  return [BINARY, '-p', folder, '-c', file];
}

function hashOf(key: string): string {
  return createHash('sha1').update(key).digest('base64');
}
