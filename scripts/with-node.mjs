/**
 * Runs a command under another major version of Node:
 *
 *   node scripts/with-node.mjs 24 npm test
 *
 * Node comes from npm, is kept below `.cache` and reused by the next run, and is the first `node` on the command's PATH.
 * Exit code: the command's, or 0 with a line on standard error where npm has no such Node for this machine.
 */
import { delimiter } from 'node:path';
import { requireSupportedNode } from './checkout.mjs';
import { interruptible } from './interruption.mjs';
import { currentPlatform, MAJORS, NodeUnavailable, provideNode } from './node-package.mjs';
import { runCommand } from './run-command.mjs';
import { StepFailed } from './step.mjs';

async function runWithNode(major, command, signal) {
  requireSupportedNode();
  if (!MAJORS.includes(major) || command.length === 0)
    throw new Error(`Usage: node scripts/with-node.mjs ${MAJORS.join('|')} <command> [arguments]`);
  const bin = await provideNode(major, currentPlatform(), signal);
  const path = [bin, process.env.PATH].filter(Boolean).join(delimiter);
  return await runCommand(command, { ...process.env, PATH: path }, signal);
}

/** Everything has been said when this returns. */
function report(error) {
  if (error instanceof NodeUnavailable) {
    console.error(`Skipped: ${error.message}`);
    return 0;
  }
  if (!(error instanceof StepFailed)) console.error(error.message);
  return error.exitCode ?? 1;
}

const [major, ...command] = process.argv.slice(2);
await interruptible(async (signal) => {
  try {
    process.exitCode = await runWithNode(major, command, signal);
  } catch (error) {
    process.exitCode = signal.aborted ? 1 : report(error);
  }
});
