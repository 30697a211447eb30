// Runs the calls of a client and prints what each returned or threw, as JSON.
import { createRequire } from "node:module";

// A window of a limit may begin between two calls.
const MAX_CALLS = 20;

export const given = JSON.parse(process.argv[2]);
// The packages are in a folder of their own, which the test names.
export const load = createRequire(given.packages + "/");

export async function observe(calls) {
  const seen = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      seen[name] = { value: (await call()) ?? null };
    } catch (error) {
      seen[name] = { error: kinds(error), status: null, message: error.message, body: "" };
    }
  }
  process.stdout.write(JSON.stringify(seen));
}

export const untilRefused = (call) => async () => {
  for (let index = 0; index < MAX_CALLS; index++) await call();
  return "never refused";
};

function kinds(error) {
  const names = [];
  for (let each = Object.getPrototypeOf(error); each && each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    names.push(each.constructor.name);
  }
  return names;
}
