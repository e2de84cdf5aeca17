import { vi } from 'vitest';
import { PATIENCE } from '../patience.ts';
import type { Network } from '../system/system.ts';
import { Recording } from './recording.ts';

// The values that stand in the examples for what the system generates.
const TOKEN = 'Zk3TqX9wVb1LrN7yHc5MfD2pGs8JaE4u';
const CODE = 'H7KM4PRX';
const ID = '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60';
const PREVIEW = '5b0c8d3e-7a41-4c3f-9d25-8e6f1a2b3c4d';
const COMMAND = '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11';
const PREFIX = 'service_900000000000000001_q8ZtL2';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq=';

/** Sends an example request until the response shows the change before it, which replicas may see a little later. */
async function recordWhen(
  recording: Recording,
  operationId: string,
  isReady: (data: Record<string, unknown>) => boolean,
): Promise<void> {
  const isDone = async () => isReady((await recording.send(operationId)).data);
  await vi.waitUntil(isDone, { ...PATIENCE, interval: 500 });
  await recording.record(operationId);
}

async function recordLinks(recording: Recording): Promise<void> {
  await recording.send('linkAccount', { chat_id: '920000000000000001', game_id: 7001 });
  await recording.record('getLinkByChatId');
  await recording.record('getLinkByGameId');
  await recording.record('getLinkStatuses');
  await recording.record('reverseLookup');
  await recording.record('getLinks');
  await recording.record('createVerificationToken', { token: TOKEN, code: CODE });
  await recording.record('redeemVerificationToken');
  await recording.record('getVerificationToken');
  await recording.record('listVerifiedUsers');
  await recording.record('linkAccount');
  await recording.record('unlinkAccount');
}

async function recordBindings(recording: Recording): Promise<void> {
  await recording.record('addBinding');
  await recording.record('listBindings');
  await recording.record('testBinding');
  await recording.record('explainRoles');
  await recording.record('previewBinding', { job_id: PREVIEW });
  await recording.record('validateBinding');
  await recording.record('syncRoles');
  await recording.record('updateBinding');
  await recording.record('removeBinding');
}

async function recordMembers(recording: Recording, { background }: ExamplesOptions): Promise<void> {
  await recording.record('listRoles');
  await recording.record('updateSettings');
  await recording.record('getSettings');
  await recording.record('createInvite');
  await recording.record('listMembers');
  await recording.record('getMember');
  await recording.record('searchPeople');
  await recording.record('resolveNames');
  await recording.record('syncNickname');
  await recording.record('syncGroup', { job_id: ID });
  await recordWhen(recording, 'getSyncJob', (job) => !background || job['finished_at'] !== null);
}

async function recordServers(recording: Recording): Promise<void> {
  const players = [{ game_id: 7001, username: 'AdaBuilds' }];
  await recording.send('sendServerHeartbeat', { players });
  await recording.record('sendCommand', { command_id: COMMAND });
  await recording.record('pollCommands');
  await recording.record('acknowledgeCommand');
  await recording.record('listCommands');
  await recording.record('getCommand');
  await sendCommand(recording);
  await recording.record('sendServerHeartbeat');
  await recording.send('sendServerHeartbeat', { players });
  await recording.record('listServers');
  await recording.record('getServer');
  await recording.record('findPlayerServer');
  await sendCommand(recording);
  await recording.record('cancelCommand');
}

/** Sends a new command. In the examples that follow, COMMAND stands for its ID. */
async function sendCommand(recording: Recording): Promise<void> {
  const { data } = await recording.send('sendCommand');
  recording.replace(COMMAND, String(data['command_id']));
}

async function recordModeration(recording: Recording): Promise<void> {
  await recording.record('banPlayer');
  await recordWhen(recording, 'getBanStatus', ({ banned }) => banned === true);
  await recording.record('listActiveBans');
  await recording.record('getPlayerStatuses');
  await recording.record('getPerson');
  await recording.record('unbanPlayer');
  await recording.record('mutePlayer');
  await recordWhen(recording, 'getMuteStatus', ({ muted }) => muted === true);
  await recording.record('listActiveMutes');
  await recording.record('unmutePlayer');
  await recording.record('listModerationLogs');
  await recording.record('flagPlayer');
  await recording.record('listFlags');
  await recordWhen(recording, 'checkShield', ({ flagged }) => flagged === true);
  await recording.record('checkShieldBatch');
  await recordWhen(recording, 'getPerson', ({ flag }) => flag !== null);
  await recording.record('unflagPlayer');
}

async function recordStaff(recording: Recording): Promise<void> {
  await recording.record('registerGame');
  await recording.record('startStaffSession', { session_id: ID });
  await recording.record('sendStaffHeartbeat');
  await recording.record('logStaffAction');
  await recording.record('listActions');
  await recording.record('listSessions');
  await recording.record('endStaffSession');
}

async function recordWebhooks(recording: Recording): Promise<void> {
  await recording.record('createWebhook', { id: ID, secret: SECRET });
  await recording.record('listWebhooks');
  await recording.record('getWebhook');
  await recording.record('updateWebhook');
  await recording.record('rotateWebhookSecret', { secret: SECRET });
  await recording.record('deleteWebhook');
}

export interface ExamplesOptions {
  /** False if the system does no work in the background, such as jobs. */
  background: boolean;
}

/** Sends the example request of each operation of the API to a new system, and returns the responses. */
export async function recordExamples(network: Network, options: ExamplesOptions): Promise<Recording> {
  const { secret } = await network.createKey();
  const recording = new Recording(network, secret);
  recording.replace(PREFIX, /^service_\d+_.{6}/.exec(secret)?.[0] ?? '');
  // Before anything else is recorded, so that they do not depend on it.
  await recording.record('getOverview');
  await recording.record('getDoctor');
  await recordLinks(recording);
  await recordBindings(recording);
  await recordMembers(recording, options);
  await recordServers(recording);
  await recordModeration(recording);
  await recordStaff(recording);
  await recordWebhooks(recording);
  return recording;
}
