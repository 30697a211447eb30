// What is wrong now, in the order of its weight.

const LEVELS = ["bad", "warn"];
/** Pairs that one issue names; a replica may serve hundreds. */
export const MAX_NAMED_PAIRS = 8;

/**
 * Returns the issues of a status, the worst first: `{level, kind, subject, values, why, runbook}`.
 * @param {object} status
 */
export function findIssues(status) {
  const issues = [];
  if (!status.redis.up) issues.push({ level: "warn", kind: "redis", subject: "", why: status.redis.error, runbook: status.redis_runbook });
  const bad = status.pairs.filter(({ level }) => level === "bad");
  addPairs(issues, "pair", bad.filter(({ ready }) => ready === 0));
  addPairs(issues, "pair-failing", bad.filter(({ ready }) => ready > 0));
  for (const each of status.replicas) {
    if (LEVELS.includes(each.level)) issues.push({ level: each.level, kind: each.cause, subject: each.url, why: each.why, runbook: each.runbook });
  }
  for (const [service, each] of Object.entries(status.services)) {
    if (each.why === null || each.expected === null) continue;
    const values = { ready: each.ready, expected: each.expected };
    issues.push({ level: "warn", kind: "service", subject: service, values, why: each.why, runbook: "replicas-missing" });
  }
  return issues.sort((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
}

function addPairs(issues, kind, pairs) {
  if (pairs.length === 0) return;
  const named = pairs.slice(0, MAX_NAMED_PAIRS).map(({ pair }) => pair);
  const more = pairs.length > MAX_NAMED_PAIRS ? ["…"] : [];
  issues.push({ level: "bad", kind, subject: [...named, ...more].join(", "), runbook: pairs[0].runbook });
}
