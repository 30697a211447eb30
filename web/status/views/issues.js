// What is wrong now, or was when the server last said it.

import { html } from "../../common/view.js";
import { Drained, Entry, Level, More, RunbookLink, SinceTime, SmallButton } from "./elements.js";

/** The most that are named at once; the others stand in the lists below. */
const MAX_ISSUES = 12;

export function Issues({ state, text, format, fresh, actions, issueCount, verdict, asOf }) {
  const { isKnown } = verdict;
  if (issueCount === 0) {
    return html`<section class=${`card fine ${isKnown ? "" : "then"}`} aria-labelledby="issues-title">
      <h2 id="issues-title"><${Level} level=${isKnown ? "ok" : "off"} />${text(isKnown ? "issues.none" : "issues.none.then", { time: asOf })}</h2>
    </section>`;
  }
  const shown = state.status.issues.slice(0, MAX_ISSUES);
  return html`<section class="card issues" aria-labelledby="issues-title">
    <h2 id="issues-title">${text(isKnown ? "issues.title" : "issues.title.then", { time: asOf })} <span class="number">${format.count(issueCount)}</span></h2>
    <ul>
      ${shown.map(
        (issue) => html`<${Entry} key=${`${issue.code} ${issue.subject}`} ...${{ level: issue.level, label: text(`level.${issue.level}`), what: what(issue, text, format), why: issue.why }}
          links=${html`<p class="links">
            ${issue.subject.startsWith("http") && html`<${SmallButton} words=${text("details")} subject=${issue.subject} onClick=${() => actions.showReplica(issue.subject)} />`}
            <${RunbookLink} text=${text} runbook=${issue.code} subject=${issue.subject} />
          </p>`}>
          <p class="when"><${SinceTime} text=${text} format=${format} of=${issue} now=${fresh.serverNow} /></p>
          <${Again} ...${{ state, text, format, fresh, issue }} />
          <${Drained} ...${{ state, actions, text }} pairs=${issue.subject.split(", ")} />
        <//>`,
      )}
    </ul>
    <${More} ...${{ text, format, count: issueCount - shown.length }} />
  </section>`;
}

/** A replica whose engine died serves again, perhaps since so soon that nobody saw it away. */
function Again({ state, text, format, fresh, issue }) {
  const replica = issue.code === "engine-died" && state.status.replicas.find(({ url, level }) => url === issue.subject && level === "ok");
  if (!replica) return null;
  return html`<p class="when">${text("issue.again")}${" "}
    ${replica.since >= issue.since && html`<${SinceTime} text=${text} format=${format} of=${replica} now=${fresh.serverNow} />`}</p>`;
}

function what({ code, subject, figures }, text, format) {
  if (code === "pair-unavailable" && !subject) return text("pairs.none");
  const shown = Object.entries(figures).map(([name, value]) => [name, name.endsWith("_s") ? format.duration(value) : format.count(value)]);
  return text(`issue.${code}`, { subject, ...Object.fromEntries(shown) });
}
