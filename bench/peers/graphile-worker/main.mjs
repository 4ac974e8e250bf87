// Graphile Worker, driven as `src/tasks/driver.rs` says: setup | enqueue N | offer RATE SECONDS | work CONCURRENCY POOL,
// on the database of DATABASE_URL.
//
// With its local queue, without which it fetches one job at a time. Each job is completed by itself, as it does by
// default; with BATCHED in the environment those that end at the same time are completed together.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const logger = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});
const [verb, ...rest] = process.argv.slice(2);
const numbers = rest.map(Number);
const pgPool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: verb === "work" ? numbers[1] : 10,
});
pgPool.on("error", (error) => console.error(error));
pgPool.on("connect", (client) => client.on("error", (error) => console.error(error)));

const enqueue = (utils, tasks, at) =>
  utils.addJobs(Array.from({ length: tasks }, () => ({ identifier: "noop", payload: { at } })));

// As `offer` in driver.rs.
async function offer(utils, rate, seconds) {
  const together = Math.max(rate / 100, 1);
  const every = together / rate;
  const begin = performance.now();
  const calls = [];
  let due = 0;
  let given = 0;
  for (let i = 0; i < Math.round(seconds / every); i++) {
    const wait = begin + i * every * 1000 - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    due += together;
    const number = Math.floor(due) - given;
    given += number;
    calls.push(enqueue(utils, number, now()));
  }
  await Promise.all(calls);
}

async function work(concurrentJobs) {
  let ran = 0;
  let told = 0;
  const seen = [];
  const noop = async ({ at }) => {
    if (at > 0) seen.push([at, now() - at]);
    ran += 1;
  };
  const runner = await run({
    pgPool,
    taskList: { noop },
    noHandleSignals: true,
    preset: {
      worker: {
        logger,
        concurrentJobs,
        localQueue: { size: concurrentJobs + 1 },
        ...(process.env.BATCHED ? { completeJobBatchDelay: 0 } : {}),
      },
    },
  });
  console.log("ready");
  const tell = () => {
    if (ran > told) {
      console.log(`ran ${ran}`);
      told = ran;
    }
  };
  const timer = setInterval(tell, 5);
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once("end", resolve));
  await runner.stop();
  clearInterval(timer);
  console.log(`ran ${ran}`);
  for (const [at, latency] of seen) console.log(`seen ${at} ${latency}`);
}

if (verb === "work") {
  await work(numbers[0]);
} else {
  const utils = await makeWorkerUtils({ pgPool, preset: { worker: { logger } } });
  if (verb === "setup") {
    await utils.migrate();
  } else if (verb === "enqueue") {
    const began = now();
    for (let left = numbers[0]; left > 0; left -= 1000) await enqueue(utils, Math.min(left, 1000), 0);
    console.log(`took ${now() - began}`);
  } else if (verb === "offer") {
    await offer(utils, numbers[0], numbers[1]);
  } else {
    throw new Error(`cannot ${verb}`);
  }
  await utils.release();
}
await pgPool.end();
