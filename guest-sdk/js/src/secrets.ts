/** Secrets that a node may send and never sees. Needs `graph-host:host/secrets` in `wants`. */
import { handle as handleOf, names as namesOf } from 'graph-host:host/secrets@0.1.0';
import { Failure, translated } from './failure.js';

/**
 * The handle of a granted secret.
 *
 * Write it into the one header that the secret is for, alone or behind other text, as in `Bearer ${handle('ACME_TOKEN')}`. The host puts the
 * value in its place as the request leaves.
 */
export function handle(name: string): string {
  return translated(
    () => handleOf(name),
    thrown => (thrown === 'not-granted' ? new Failure('denied', `no secret \`${name}\` is granted`) : undefined),
  );
}

/** The names of all secrets that are granted. */
export function names(): string[] {
  return namesOf();
}
