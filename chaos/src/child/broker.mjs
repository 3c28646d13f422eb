// A broker: confirms each message after a few milliseconds. Prints its port once it listens, and ends with its parent.
import { createServer } from 'node:net';

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => setTimeout(() => socket.write('ok\n'), 5));
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));

const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(), 500).unref();
