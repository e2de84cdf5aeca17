import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildDashboard, uidOf } from './dashboard.ts';
import { console } from './dashboards/console.ts';
import { events } from './dashboards/events.ts';
import { gateway } from './dashboards/gateway.ts';
import { overview } from './dashboards/overview.ts';
import { platforms } from './dashboards/platforms.ts';
import { services } from './dashboards/services.ts';

const FOLDER = join(import.meta.dirname, '../../charts/guild-data/files/dashboards');

/** Every dashboard's text, by the name of its file. */
export function generate(): Map<string, string> {
  const specs = [overview, gateway, services, platforms, events, console];
  return new Map(
    specs.map((spec) => [`${uidOf(spec.name)}.json`, `${JSON.stringify(buildDashboard(spec), null, 2)}\n`]),
  );
}

if (import.meta.main) {
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
  for (const [file, text] of generate()) writeFileSync(join(FOLDER, file), text);
}
