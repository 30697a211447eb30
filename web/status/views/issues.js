// What is wrong now, or was when the server last said it.

import { html } from "../../common/view.js";
import { Drained, Level, RunbookLink, SinceTime } from "./elements.js";

/** The most that are named at once; the others stand in the lists below. */
const MAX_ISSUES = 12;
const NOW = { title: "issues.title", none: "issues.none" };
const THEN = { title: "issues.title.then", none: "issues.none.then" };

export function Issues({ state, text, format, fresh, actions, issues, verdict, asOf }) {
  const names = verdict.isKnown ? NOW : THEN;
  if (issues.length === 0) {
    return html`<section class=${`card fine ${verdict.isKnown ? "" : "then"}`} aria-labelledby="issues-title">
      <h2 id="issues-title"><${Level} level=${verdict.isKnown ? "ok" : "off"} />${text(names.none, { time: asOf })}</h2>
    </section>`;
  }
  const more = Math.max(0, issues.length - MAX_ISSUES) + state.status.more_issues;
  return html`<section class="card issues" aria-labelledby="issues-title">
    <h2 id="issues-title">${text(names.title, { time: asOf })}</h2>
    <ul>
      ${issues.slice(0, MAX_ISSUES).map(
        (issue) => html`<li key=${`${issue.code} ${issue.subject}`} class=${issue.level}>
          <${Level} level=${issue.level} label=${text(`level.${issue.level}`)} />
          <div>
            <p class="what">${what(issue, text, format)}</p>
            ${issue.why && html`<p class="why" lang="en">${issue.why}</p>`}
            <p class="when"><${SinceTime} text=${text} format=${format} of=${issue} now=${fresh.serverNow} /></p>
            <${Drained} ...${{ state, actions, text }} pairs=${issue.subject.split(", ")} />
          </div>
          <p class="links">
            ${issue.subject.startsWith("http") &&
            html`<button class="button outlined small" type="button" onClick=${() => actions.showReplica(issue.subject)}>
              ${text("details")}<span class="visually-hidden"> ${issue.subject}</span>
            </button>`}
            <${RunbookLink} text=${text} runbook=${issue.code} subject=${issue.subject} />
          </p>
        </li>`,
      )}
    </ul>
    ${more > 0 && html`<p class="more">${text("more", { count: format.count(more) })}</p>`}
  </section>`;
}

function what({ code, subject, figures }, text, format) {
  if (code === "pair-unavailable" && !subject) return text("pairs.none");
  const shown = Object.entries(figures).map(([name, value]) => [name, name.endsWith("_s") ? format.duration(value) : format.count(value)]);
  return text(`issue.${code}`, { subject, ...Object.fromEntries(shown) });
}
