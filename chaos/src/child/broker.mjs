// A broker: confirms each message after a few milliseconds, and cuts all connections at one that begins with `cut`. Prints its port once it listens, and ends with its parent.
import { createServer } from 'node:net';

const sockets = new Set();
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('close', () => sockets.delete(socket));
  socket.once('data', (message) => {
    if (message.toString().startsWith('cut ')) for (const one of sockets) one.resetAndDestroy();
    else setTimeout(() => socket.writable && socket.write('ok\n'), 5);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));

const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(), 500).unref();
