import { Application } from './chat/interactions/application.ts';
import { createChat } from './chat.ts';
import { MessageBus } from './game/messages.ts';
import { createGame } from './game.ts';
import { createOpenIdProvider } from './oidc/provider.ts';
import { startReceiver } from './receiver/receiver.ts';
import type { PlatformOptions, RunningServer } from './server.ts';
import { listen } from './server.ts';
import type { World } from './world.ts';
import { loadWorld } from './world.ts';

export type SimulatorOptions = Partial<PlatformOptions> & {
  world?: World;
  /** The address to listen on; default: loopback. */
  host?: string;
  chatPort?: number;
  gamePort?: number;
  receiverPort?: number;
  oidcPort?: number;
  /** The issuer of the OpenID provider; by default the address under which it is reached. */
  oidcIssuer?: string | undefined;
  /** Where browsers reach the OpenID provider, if that is not the issuer. */
  oidcBrowserUrl?: string | undefined;
  /** Prints one line for each webhook that the receiver gets. */
  print?: (line: string) => void;
};
export type Simulators = {
  chat: string;
  game: string;
  receiver: string;
  oidc: string;
  world: World;
  /** The message bus of the game platform, to which simulated game servers subscribe. */
  messages: MessageBus;
  stop: () => Promise<void>;
};

/**
 * Starts both platforms, an OpenID provider and a receiver of webhooks, and returns their addresses. Default ports are free ones, the default world is the demo.
 * `limits` replaces limits by name, `limitScale` multiplies all. Throws if a port is taken.
 */
export async function startSimulators(options: SimulatorOptions = {}): Promise<Simulators> {
  const { world = loadWorld(undefined), host, chatPort = 0, gamePort = 0, clock = Date.now, ...rest } = options;
  const {
    limits,
    limitScale,
    receiverPort,
    print,
    oidcPort = 0,
    oidcIssuer: issuer,
    oidcBrowserUrl: browserUrl,
  } = rest;
  const started: RunningServer[] = [];
  const messages = new MessageBus(clock);
  const stop = async () => {
    messages.stop();
    await Promise.all(started.map((server) => server.stop()));
  };
  try {
    const chat = await listen(createChat(world, { clock, limits, limitScale }), world, chatPort, host);
    started.push(chat);
    const game = await listen(createGame(world, messages, { clock, limits, limitScale }), world, gamePort, host);
    started.push(game);
    const receiver = await startReceiver({ port: receiverPort, host, print });
    started.push(receiver);
    const oidc = await listen(createOpenIdProvider(world, { clock, issuer, browserUrl }), world, oidcPort, host);
    started.push(oidc);
    return { chat: chat.url, game: game.url, receiver: receiver.url, oidc: oidc.url, world, messages, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readNumber(name: string, fallback: number, valid: (value: number) => boolean): number {
  const text = process.env[name];
  if (!text) return fallback;
  if (!valid(Number(text))) throw new Error(`${name} can't be ${text}`);
  return Number(text);
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 65535;
}

async function main(): Promise<void> {
  const simulators = await startSimulators({
    world: loadWorld(
      process.env['SIMULATOR_WORLD'] || undefined,
      new Application(process.env['SIMULATOR_APPLICATION_SEED'] || undefined),
    ),
    host: process.env['SIMULATOR_HOST'] || undefined,
    chatPort: readNumber('CHAT_SIMULATOR_PORT', 0, isPort),
    gamePort: readNumber('GAME_SIMULATOR_PORT', 0, isPort),
    receiverPort: readNumber('RECEIVER_SIMULATOR_PORT', 0, isPort),
    oidcPort: readNumber('OIDC_SIMULATOR_PORT', 0, isPort),
    oidcIssuer: process.env['OIDC_SIMULATOR_ISSUER'] || undefined,
    oidcBrowserUrl: process.env['OIDC_SIMULATOR_BROWSER_URL'] || undefined,
    print: console.log,
    limitScale: readNumber('SIMULATOR_LIMIT_SCALE', 1, (value) => value > 0),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void simulators.stop());
  const { chat, game, receiver, oidc } = simulators;
  console.log(JSON.stringify({ chat, game, receiver, oidc }));
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
