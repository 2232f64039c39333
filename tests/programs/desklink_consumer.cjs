// A consumer of desklink v3 as a Node host writes it, from the protocol alone: `node desklink_consumer.cjs ENGINE DISPLAY FOLDER`.
// Prints what it found as one JSON object; exits 1 with a message on stderr at the first thing that is not as the protocol has it.
'use strict';
const {spawn, execFileSync} = require('node:child_process');
const readline = require('node:readline');
const fs = require('node:fs');
const path = require('node:path');
const assert = require('node:assert/strict');

const [engine, display, folder] = process.argv.slice(2);

class Engine {
  constructor() {
    this.child = spawn(engine, ['serve'], {stdio: ['pipe', 'pipe', 'pipe']});
    this.next = 1;
    this.pending = new Map();
    this.events = [];
    this.waiters = [];
    this.stderr = '';
    this.child.stderr.on('data', (data) => (this.stderr += data));
    this.exited = new Promise((done) => this.child.on('exit', (code, signal) => done({code, signal})));
    readline.createInterface({input: this.child.stdout}).on('line', (line) => {
      const message = JSON.parse(line);
      if ('event' in message) {
        this.events.push(message);
        for (const waiter of [...this.waiters]) waiter();
      } else if (this.pending.has(message.id)) {
        this.pending.get(message.id)(message);
        this.pending.delete(message.id);
      } else {
        this.stray = message;
      }
    });
  }

  ask(method, params) {
    const id = this.next++;
    this.child.stdin.write(JSON.stringify({id, method, params}) + '\n');
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no answer to ${method}`)), 10000);
      this.pending.set(id, (message) => {
        clearTimeout(timer);
        if (message.error) fail(Object.assign(new Error(message.error.message), {code: message.error.code}));
        else done(message.result);
      });
    });
  }

  event(name, wanted = () => true) {
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no event ${name}; seen ${JSON.stringify(this.events)}`)), 10000);
      const look = () => {
        const found = this.events.find((message) => message.event === name && wanted(message.params));
        if (!found) return;
        clearTimeout(timer);
        this.waiters = this.waiters.filter((waiter) => waiter !== look);
        done(found.params);
      };
      this.waiters.push(look);
      look();
    });
  }

  async refused(code, method, params) {
    await assert.rejects(this.ask(method, params), (error) => error.code === code, `${method} is refused with ${code}`);
  }
}

async function captured() {
  const host = new Engine();
  await host.refused('unsupported-protocol', 'session.open', {});
  await host.refused('unsupported-protocol', 'hello', {protocol: 2});
  const caps = await host.ask('hello', {protocol: 3, client: {name: 'consumer', version: '1'}});
  assert.equal(caps.protocol, 3);
  assert.equal(caps.platform, 'linux');
  assert.equal(typeof caps.engine, 'string');
  assert.ok(caps.encoded.codecs.includes('h264'));
  assert.equal(caps.clipboard.maxBytes, 262144);
  assert.deepEqual(Object.keys(await host.ask('capabilities')).sort(), Object.keys(caps).sort());
  const open = {
    source: {kind: 'x11', display}, permissions: ['view', 'control', 'clipboard'], max_width: 640, max_height: 400, bitrate_kbps: 0,
    max_fps: 30, ice_servers: [], restore_token: null, ttl_seconds: 3600, loopback_tcp: false, agent_indicator: false,
  };
  await host.refused('permission', 'session.open', {...open, permissions: ['control']});
  const session = await host.ask('session.open', open);
  assert.match(session.sessionId, /^[0-9a-f]{32}$/);
  assert.equal(session.generation, 1);
  assert.equal(session.source.kind, 'x11-root');
  assert.deepEqual(session.geometry.encoded, {width: 640, height: 400});
  const of = {session_id: session.sessionId, generation: 1};
  const first = await host.event('session.state');
  assert.deepEqual(first, {sessionId: session.sessionId, capture: 'consented', transport: 'new', firstFrame: false});
  const changed = await host.event('session.frame.changed');
  assert.deepEqual([changed.sessionId, changed.seq, changed.damage], [session.sessionId, 1, [[0, 0, 640, 400]]]);
  const file = path.join(folder, 'frame.raw');
  const frame = await host.ask('session.frame', {...of, since: 0, path: file});
  assert.deepEqual([frame.width, frame.height, frame.format, frame.written], [640, 400, 'bgrx', true]);
  assert.equal(fs.statSync(file).size, 640 * 400 * 4);
  assert.equal((await host.ask('session.frame', {...of, since: frame.seq})).written, false);
  await host.refused('frame-timeout', 'session.frame', {...of, after_seq: 1000, timeout_ms: 50});
  await host.refused('coordinates', 'session.frame', {...of, region: [639, 0, 2, 1]});
  await host.refused('operation', 'session.wait_frame', of);
  await host.refused('generation', 'session.close', {...of, generation: 2});
  await host.refused('session', 'session.close', {session_id: '0'.repeat(32)});
  assert.deepEqual(await host.ask('session.clipboard.write', {...of, text: 'grüße'}), {written: true});
  assert.deepEqual(await host.ask('session.clipboard.read', of), {text: 'grüße', truncated: false});
  const metrics = await host.ask('session.metrics', of);
  for (const name of ['captured_frames', 'dropped_frames', 'encoded_frames', 'encoded_bytes', 'key_frames', 'refined_frames', 'encode_micros',
    'target_kbps', 'input_applied', 'input_rejected', 'fed_frames', 'input_forwarded']) {
    assert.ok(Number.isInteger(metrics[name]), name);
  }
  host.child.stdin.write('not json\n');
  assert.deepEqual(await host.ask('session.close', of), {closed: true});
  assert.deepEqual((await host.event('session.state', (state) => state.capture === 'ended')).transport, 'closed');
  assert.equal(host.stray.error.code, 'malformed');
  await host.refused('session', 'session.close', of);
  host.child.stdin.end();
  assert.deepEqual(await host.exited, {code: 0, signal: null});
  return {caps, transport: caps.encode.codecs, stderr: host.stderr};
}

async function fed() {
  const host = new Engine();
  await host.ask('hello', {protocol: 3});
  const session = await host.ask('session.open', {
    source: {kind: 'encoded', codec: 'h264', width: 486, height: 1080}, permissions: ['view', 'control'],
  });
  assert.deepEqual(session.geometry, {source: {width: 486, height: 1080}, encoded: {width: 486, height: 1080}, origin: {x: 0, y: 0}});
  const of = {session_id: session.sessionId, generation: 1};
  const unit = Buffer.concat([
    Buffer.from([0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x29, 0xda]), Buffer.from([0, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80]),
    Buffer.from([0, 0, 0, 1, 0x65, 0x88, 0x84, 0x21]),
  ]);
  await host.refused('transport', 'session.restart_ice', of);
  await host.refused('operation', 'session.frame', of);
  await host.refused('clipboard', 'session.clipboard.read', of);
  await host.refused('malformed', 'session.feed', {...of, keyframe: true, data_b64: '!'});
  assert.deepEqual(await host.ask('session.feed', {...of, keyframe: true, data_b64: unit.toString('base64')}), {accepted: true});
  const {description} = await host.event('session.description');
  assert.equal(description.type, 'offer');
  assert.match(description.sdp, /packetization-mode=1;profile-level-id=42c029/);
  assert.doesNotMatch(description.sdp, /VP9/);
  const metrics = await host.ask('session.metrics', of);
  assert.deepEqual([metrics.fed_frames, metrics.captured_frames, metrics.target_kbps], [1, 0, 0]);
  assert.deepEqual(await host.ask('shutdown'), {});
  assert.deepEqual(await host.exited, {code: 0, signal: null});
  assert.equal(host.events.at(-1).params.capture, 'ended');
}

async function kept() {
  const keeper = spawn(engine, ['keep', '--display', display], {stdio: ['ignore', 'pipe', 'inherit']});
  const exited = new Promise((done) => keeper.on('exit', (code, signal) => done({code, signal})));
  const report = await new Promise((done) => readline.createInterface({input: keeper.stdout}).once('line', done));
  assert.deepEqual(JSON.parse(report), {windows: []});
  const second = spawn(engine, ['keep', '--display', display], {stdio: ['ignore', 'pipe', 'ignore']});
  let said = '';
  second.stdout.on('data', (data) => (said += data));
  const code = await new Promise((done) => second.on('close', done));
  assert.deepEqual([JSON.parse(said), code], [{error: 'another window manager'}, 1]);
  keeper.stdout.destroy();
  assert.deepEqual(await exited, {code: 0, signal: null});
}

async function main() {
  const version = execFileSync(engine, ['version'], {encoding: 'utf8', timeout: 3000});
  assert.match(version, /^\d+\.\d+\.\d+\S*\n$/);
  const told = JSON.parse(execFileSync(engine, ['capabilities'], {encoding: 'utf8'}));
  const {caps, ...found} = await captured();
  assert.deepEqual(told, caps, 'the subcommand tells what hello does');
  if (found.transport.length) await fed();
  await kept();
  const host = new Engine();
  await host.ask('hello', {protocol: 3});
  host.child.kill('SIGTERM');
  assert.deepEqual(await host.exited, {code: 0, signal: null});
  console.log(JSON.stringify({version: version.trim(), ...found}));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
