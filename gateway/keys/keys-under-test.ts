import { metric, startPeer } from './auth-peer.ts';
import { Keys, type KeysOptions } from './keys.ts';
import { ChangeProof } from './proof.ts';

/** Keys without a stream: `beat` says that nothing was missed, `keys.changed` that something was heard. */
export async function startKeys(options: Partial<KeysOptions> = {}) {
  const { peer, clock, metrics, client } = await startPeer();
  const proof = new ChangeProof();
  const known = { client, clock, metrics, proof, random: () => 0.5, staleSeconds: 60, max: 100, ...options };
  const keys = new Keys(known);
  const beat = () => proof.beat(clock.now());
  /** Lets time pass while the stream beats every second. */
  const beatFor = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      beat();
    }
  };
  const asked = () => peer.messages.flat().length;
  const outcomes = (outcome: string) => metric(metrics, 'gateway_key_cache_total', outcome);
  return { peer, clock, keys, beat, beatFor, asked, outcomes };
}
