/**
 * The release from which this one is an upgrade, as a commit or tag of this repository. `npm run test:upgrade` runs its
 * processes beside ours. When a release is made, its commit or tag replaces this one in the next commit.
 *
 * There is no release yet: this is the last commit before the console.
 */
export const PREVIOUS_RELEASE = '3f323c596d4cea2acf7a5de1a88d898d3fd9bf15';
