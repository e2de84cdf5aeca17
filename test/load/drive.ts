import type { Figures } from './load.ts';
import { MIXED, requestsOf, type Scenario, signedRequestsOf } from './scenarios.ts';
import { measureAt, nameOfRate, RATES, type Rate, type Stage, UnexpectedStatus } from './stage.ts';

/** The figures of one scenario under one load, through the whole system. */
export interface Driven {
  name: string;
  service: Scenario['service'];
  rate: string;
  through: Figures;
  /** The same requests directly to the service at the same rate. */
  direct: Figures | undefined;
}

/** Measures each scenario at each rate and at saturation, from a process of its own. */
export async function driveSystem(stage: Stage, scenarios: readonly Scenario[]): Promise<Driven[]> {
  const driven: Driven[] = [];
  await warmKeys(stage);
  for (const scenario of [...scenarios, MIXED].filter(({ name }) => stage.filter.test(name))) {
    for (const rate of [...RATES, undefined]) {
      try {
        driven.push(await drive(stage, scenario, rate));
      } catch (error) {
        if (!(error instanceof UnexpectedStatus)) throw error;
        // On a slow machine one scenario may fail; the others are measured all the same.
        console.log(`NOT MEASURED: ${scenario.name}, ${nameOfRate(rate)}: ${error.message}`);
        process.exitCode = 1;
      }
    }
  }
  return driven;
}

/** Measures one scenario under one load, through the gateway. */
export async function driveThrough(stage: Stage, scenario: Scenario, rate: Rate): Promise<Figures> {
  const requests = requestsOf(scenario, stage.world);
  return measure(stage, scenario, requests, rate, new URL(stage.system.up.gateway), await stage.system.processes());
}

/** One scenario under one load, through the gateway and, at a given rate, also directly to the service. */
async function drive(stage: Stage, scenario: Scenario, rate: Rate): Promise<Driven> {
  const through = await driveThrough(stage, scenario, rate);
  const address = stage.system.up.services[scenario.service]?.http;
  let direct: Figures | undefined;
  if (address && rate !== undefined) {
    const signed = signedRequestsOf(scenario, stage.world, stage.system.ring);
    direct = await measure(stage, scenario, signed, rate, new URL(address), await stage.system.processes());
  }
  console.log(`${scenario.name}, ${nameOfRate(rate)}: p99 ${through.latency.p99.toFixed(2)} ms`);
  return { name: scenario.name, service: scenario.service, rate: nameOfRate(rate), through, direct };
}

/** Sends a request with each key, so that the gateway has cached all keys before the measurement. */
export async function warmKeys(stage: Stage): Promise<void> {
  const whoami: Scenario = {
    name: 'keys',
    service: 'gateway',
    status: 200,
    variety: stage.world.guilds.length,
    make: () => ({ method: 'GET', path: '/whoami' }),
  };
  const seconds = Math.ceil(stage.world.guilds.length / 500);
  const gateway = new URL(stage.system.up.gateway);
  await measure({ ...stage, seconds }, whoami, requestsOf(whoami, stage.world), 1_000, gateway, {});
}

function measure(
  stage: Stage,
  { status }: Scenario,
  requests: string[],
  rate: Rate,
  { hostname, port }: URL,
  processes: Record<string, number>,
): Promise<Figures> {
  return measureAt(stage, { host: hostname, ports: [Number(port)], requests }, rate, { status, processes });
}
