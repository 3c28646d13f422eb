import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from './checkout.mjs';

const READY_WITHIN_MS = 120_000;
const LOG_TAIL_CHARACTERS = 3_000;
/** The same on every Debian. */
const NOBODY = 65_534;

/**
 * Starts the MySQL of `provideMysql` on a free port of 127.0.0.1, with new data in a temporary folder. However this
 * process ends, even by SIGKILL, the watchdog stops the server and removes that folder.
 */
export async function startMysql(packageFolder, signal) {
  const folder = join(tmpdir(), `postcommit-mysql-${randomBytes(8).toString('hex')}`);
  const server = new MysqlServer(packageFolder, folder);
  try {
    await server.start(signal);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

class MysqlServer {
  #packageFolder;
  #folder;
  #log;
  #watchdog;
  #gone;
  #port = 0;

  constructor(packageFolder, folder) {
    this.#packageFolder = packageFolder;
    this.#folder = folder;
    this.#log = join(folder, 'mysql.log');
    const program = join(root, 'internal/test-database/src/watchdog-process.mjs');
    // A session of its own: Ctrl+C in our terminal is not for it.
    this.#watchdog = fork(program, [folder, this.#log], { cwd: '/', detached: true, stdio: 'ignore' });
    this.#gone = once(this.#watchdog, 'exit');
  }

  get url() {
    return `mysql://root@127.0.0.1:${this.#port}`;
  }

  async start(signal) {
    await mkdir(this.#folder, { mode: 0o700 });
    if (isRoot()) await chown(this.#folder, NOBODY, NOBODY);
    const failure = await this.#run(['--initialize-insecure'], signal);
    if (failure !== 'exit code 0') throw new Error(await this.#explain(failure));
    this.#port = await freePort();
    const ended = this.#run(this.#serverArguments(), signal);
    await this.#ready(ended, signal);
  }

  async stop() {
    if (this.#watchdog.connected) this.#watchdog.disconnect();
    await this.#gone;
  }

  /** Resolves with how the program ended, for example `exit code 1`. */
  async #run(args, signal) {
    const ended = new Promise((resolve) => {
      const onReport = ({ ended }) => {
        if (ended === undefined) return;
        this.#watchdog.off('message', onReport);
        resolve(ended);
      };
      this.#watchdog.on('message', onReport);
      signal.addEventListener('abort', () => resolve('interrupted'), { once: true });
      void this.#gone.then(() => resolve('its watchdog ended'));
    });
    signal.throwIfAborted();
    this.#watchdog.send({ run: await this.#command(args) });
    return ended;
  }

  /** By the folder's own loader: the libraries belong to a newer system than this one. */
  async #command(args) {
    const usr = join(this.#packageFolder, 'usr');
    const { loader, libraries } = await loaderBelow(join(usr, 'lib'));
    const program = join(usr, 'sbin/mysqld');
    const settings = [`--basedir=${usr}`, `--lc-messages-dir=${usr}/share/mysql`, '--secure-file-priv=NULL'];
    const own = [`--datadir=${this.#folder}/data`, ...(isRoot() ? ['--user=nobody'] : [])];
    // `--no-defaults` must be the first: this machine's my.cnf is for another server.
    return {
      file: loader,
      args: ['--library-path', libraries, program, '--no-defaults', ...settings, ...own, ...args],
    };
  }

  #serverArguments() {
    return [
      `--port=${this.#port}`,
      '--bind-address=127.0.0.1',
      '--mysqlx=OFF',
      `--socket=${this.#folder}/socket`,
      '--max-connections=500',
      // A crash of the server loses nothing by this, only one of the machine does.
      '--innodb-flush-log-at-trx-commit=2',
      '--skip-log-bin',
    ];
  }

  async #ready(ended, signal) {
    let failure;
    void ended.then((how) => {
      failure = how;
    });
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!(await this.#logText()).includes('ready for connections')) {
      if (failure === undefined && Date.now() > deadline) failure = `not ready within ${READY_WITHIN_MS} ms`;
      if (failure !== undefined) throw new Error(await this.#explain(failure));
      await sleep(50, undefined, { signal });
    }
  }

  async #explain(how) {
    return `MySQL did not start (${how}).\n${(await this.#logText()).slice(-LOG_TAIL_CHARACTERS)}`;
  }

  #logText() {
    return readFile(this.#log, 'utf8').catch(() => '');
  }
}

/** `usr/lib/<architecture>-linux-gnu` holds both, and is named after the package's architecture. */
async function loaderBelow(libraryFolder) {
  for (const name of await readdir(libraryFolder)) {
    if (!name.endsWith('-linux-gnu')) continue;
    const libraries = join(libraryFolder, name);
    const loader = (await readdir(libraries)).find((file) => /^ld-linux.*\.so\.\d+$/.test(file));
    if (loader !== undefined) return { loader: join(libraries, loader), libraries };
  }
  throw new Error(`There is no loader of programs below ${libraryFolder}: delete that cache and try again.`);
}

function isRoot() {
  return process.getuid?.() === 0;
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
