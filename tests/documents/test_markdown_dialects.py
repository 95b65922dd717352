"""Dialects of Markdown: text and titles stay, signs go, and nothing is lost where a form is broken."""

from __future__ import annotations

import pytest

from gleaner_documents.reading import read_document


def read(content: str, name: str = "a.md") -> str:
    """The text of all sections, with their chapters."""
    sections = read_document(name, content.encode()).sections
    return "\n\n".join(
        f"{section.chapter}: {section.text}" if section.chapter else section.text for section in sections
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('!!! danger "Flue"\n\n    Brush it.\n\n    Twice.\n\nAfter.', "Flue:\n\nBrush it.\n\nTwice.\n\nAfter."),
        ("???+ note inline end\n    Body.", "Body."),
        ('??? question "Where is it?"\n    Here.', "Where is it?\n\nHere."),
        ('Text\n=== "Gas"\n    Bleed it.\n=== "Oil"\n    Drain it.', "Text\n\nGas:\n\nBleed it.\n\nOil:\n\nDrain it."),
        ("!!! note\nnot indented", "not indented"),
        ('1. Open it.\n\n    !!! tip\n\n        Wear gloves.', "1. Open it.\nWear gloves."),
        ('!!! a "Outer"\n    !!! b "Inner"\n        Deep.', "Outer:\n\nInner:\n\nDeep."),
        ("/// note | Heed\n    type: x\n\nBody.\n///", "Heed:\n\nBody."),
    ],
)  # fmt: skip
def test_indented_and_slash_blocks(content: str, text: str) -> None:
    assert read(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (":::caution Load\n\n640 kilograms.\n\n:::", "Load:\n\n640 kilograms."),
        (":::note\nThe porter.\n:::\nAfter.", "The porter.\n\nAfter."),
        (":::tip[My *tip*]{.x}\nBody.\n:::", "My tip:\n\nBody."),
        ("::: details Click\nHidden.\n:::", "Click:\n\nHidden."),
        ('::: {.callout-note title="Heed"}\nBody.\n:::', "Heed:\n\nBody."),
        ("::::{grid}\n:::{card} Title\n:link: x\nBody.\n:::\n::::", "Title:\n\nBody."),
        (":::note\nNever closed.", "Never closed."),
        ("```{note} Heed\n:class: x\nBody with *mark*.\n```", "Heed:\n\nBody with mark."),
        ("````{tip}\n```{warning}\nDeep.\n```\n````", "Deep."),
        ("```{code-block} python\n:linenos:\nprint(1)\n```", "```\nprint(1)\n```"),
        ("```{python}\n#| echo: false\nx\n```", "```\n#| echo: false\nx\n```"),
        ("```mdx-code-block\n<Tabs>\n\n:::note\nBody.\n:::\n\n</Tabs>\n```", "Body."),
        ('```yaml title="a.yml"\nport: 1\n```', "a.yml:\n\n```\nport: 1\n```"),
        ("(target)=\n## Chapter\nText with {ref}`a label <target>`.", "Chapter: Text with a label."),
    ],
)
def test_containers_and_directives(content: str, text: str) -> None:
    assert read(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{{< callout type="warning" >}}\nIt cracks.\n{{< /callout >}}', "It cracks."),
        ('{{% hint "x" %}}text{{% /hint %}}', "text"),
        ('Some {{< tip text="Pods" id="pod" >}}, managed.', "Some Pods, managed."),
        ('{{< tabs name="group" >}}\n{{% tab name="Linux" %}}\nRun it.\n{{% /tab %}}\n{{< /tabs >}}', "Linux: Run it."),
        ('{{< tab name="Bash" codelang="bash" >}}\nls *\n{{< /tab >}}', "Bash:\n\n```\nls *\n```"),
        ("{{< highlight sh >}}\nls *.x\n{{< /highlight >}}", "```\nls *.x\n```"),
        ("{% highlight sh %}\nls *.x\n{% endhighlight %}", "```\nls *.x\n```"),
        ("| a |\n|---|\n| b |\n{{< /table >}}", "| a |\n| --- |\n| b |"),
        ('[one]({{< ref "x" >}}), [two]({% link y.md %}), [three](/a/{{< v >}}/#b)', "one, two, three"),
        ('{% hint style="info" %}\nSwept.\n{% endhint %}', "Swept."),
        ('{% tabs %}\n{% tab title="macOS" %}\nBrew it.\n{% endtab %}\n{% endtabs %}', "macOS: Brew it."),
        ("{% comment %}\nsecret\n{% endcomment %}\nText.", "Text."),
        ("In code `{{< ref >}}` and `{% raw %}`; {{ site.name }} stays.",
         "In code `{{< ref >}}` and `{% raw %}`; {{ site.name }} stays."),
        ("```jinja\n{% if x %}{{< y >}}{% endif %}\n```", "```\n{% if x %}{{< y >}}{% endif %}\n```"),
        ("{{< unclosed\nText.", "{{< unclosed Text."),
    ],
)  # fmt: skip
def test_shortcodes_and_template_tags(content: str, text: str) -> None:
    assert read(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("import Tabs from '@theme/Tabs';\nimport {\n  A,\n} from 'b';\n\nText.", "Text."),
        ("export const x = {\n  a: 1,\n\n  b: 2,\n};\n\nText.", "Text."),
        ("<Note>\nChanged *often*.\n</Note>", "Changed often."),
        ('<TabItem value="s" label="Small">\n\n    It holds **120**.\n\n</TabItem>', "Small:\n\nIt holds 120."),
        ('<Card title="Ice" icon={<svg a="b>c" />}>Defrost it.</Card>', "Ice: Defrost it."),
        ("{/* a comment\n\nover lines */}\n\nText {/* inside */}here.", "Text here."),
        ("A {'string'} and {props.name}.", "A string and ."),
        ("<>Text</>", "Text"),
        ("A List<String> of <Name> and <Icon/>.", "A List<String> of <Name> and ."),
        ("a < B and <Unclosed text", "a < B and <Unclosed text"),
        (
            "Fees.\n\n<Cards\n  items={[\n    { title: 'Fees', description: \"What to pay\", href: '/fees' },\n\n"
            "    { title: 'Berths' },\n\n]}\n/>\n\nEnd.",
            "Fees.\n\nFees: What to pay; Berths:\n\nEnd.",
        ),
        (
            "| | Moor |\n| --- | --- |\n| A1 | <Check /> |\n| A2 | <Cross size={18} /> Never |",
            "|  | Moor |\n| --- | --- |\n| A1 | ✓ |\n| A2 | ✗ Never |",
        ),
    ],
)
def test_mdx(content: str, text: str) -> None:
    assert read(content, "a.mdx") == text


def test_pages_of_docusaurus_are_mdx_whatever_their_name_is() -> None:
    page = "import Tabs from '@theme/Tabs';\n\n<Tabs>\n\n    Indented text.\n\n</Tabs>"

    assert read(page) == "Indented text."
    assert read("    code\n") == "```\ncode\n```"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("> [!IMPORTANT]\n> Prime it.", "Prime it."),
        ("> [!tip]- Folded *title*\n> Body.", "Folded title: Body."),
        ("> **Note**\n> The switch.", "The switch."),
        ("## Contact {#contact}\nDesk.", "Contact: Desk."),
        ("## Setup {.x #y}\nValve.", "Setup: Valve."),
        ("A *word*{.big} [span]{.x} [link](#a){ data-b } `code`{.c}.", "A word span link `code`."),
        ("Text\n{: .note }\n\n* TOC\n{:toc}", "Text\n\n- TOC"),
        ("A ==marked== word, {--gone--}{++new++}, ~~deleted~~; a == b == c.", "A marked word, new, ; a == b == c."),
        ("[[Page|shown]], [[Other#Part]] and ![[x.png]].", "shown, Other › Part and ."),
        ("- [ ] open\n- [x] done", "- ☐ open\n- ☑ done"),
        (":smile: yes :material-check: at 12:30:45 in std::map::x", "yes ✓ at 12:30:45 in std::map::x"),
        ("10^6^ and $a_1 \\\\ b_2$ for $5 and $6.", "10^6 and $a_1 \\\\ b_2$ for $5 and $6."),
        ("*[HTML]: Hyper Text", "HTML: Hyper Text"),
        ("The [`url`][mkdocs.url] of a[i][j].", "The `url` of a[i][j]."),
        ("Term\n:   Its text.", "Term: Its text."),
        ("See [docs][d].\n\n[d]: https://example.org", "docs"),
    ],
)
def test_inline_forms(content: str, text: str) -> None:
    assert text in read(content)
    assert "{#" not in read(content)


def test_footnotes_stand_at_their_reference() -> None:
    text = read(
        "It rings.[^1] Twice[^1] a day^[or less].[^long]\n\nAfter.\n\n"
        "[^1]: It weighs 910.\n[^long]: One.\n\n    Two.\n\n[^lost]: Never named.\n"
    )

    assert text == "It rings. (It weighs 910.) Twice a day (or less).\n\nOne.\n\nTwo.\n\nAfter.\n\nNever named."


def test_lists_of_any_depth_stay() -> None:
    text = read("\n".join(f"{'  ' * level}- level {level}" for level in range(60)))

    assert [line.strip() for line in text.split("\n")] == [f"- level {level}" for level in range(60)]


def test_headings_without_a_body_are_found() -> None:
    sections = read_document(
        "a.md", b"# Changes\n\n## 3.2 drops fax\n\n## 3.1\nText.\n\n### Moor?\n### Pay?\nKiosk.\n## End\n"
    ).sections

    assert [(section.chapter, section.text) for section in sections] == [
        ("Changes › 3.2 drops fax", "3.2 drops fax"),
        ("Changes › 3.1", "Text."),
        ("Changes › 3.1 › Moor?", "Moor?"),
        ("Changes › 3.1 › Pay?", "Kiosk."),
        ("Changes › End", "End"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Press ++ctrl+alt+del++ in C++ or g++.", "Press Ctrl+Alt+Del in C++ or g++."),
        ("++arrow-right++ moves on; i++ and ++i stay.", "Arrow Right moves on; i++ and ++i stay."),
        ("^^New fee^^: 10^3^ and a^b.", "New fee: 10^3 and a^b."),
        ("Use `#!css dark` and `:::python x = 1`, not `#!/bin/sh -e`.", "Use `dark` and `x = 1`, not `#!/bin/sh -e`."),
        ("## Fees { data-search-exclude }\n\nNone.", "Fees: None."),
        ("The [`site` folder]\n[mkdocs.site_dir] is new.", "The `site` folder is new."),
        ("A [font]\n[gf], [a]\n[b].\n\n[gf]: https://f.example/x", "A [font](https://f.example/x), [a] [b]."),
        ("`color`\n: {{< new-in 0.1 />}}\n: Red.", "`color`: Red."),
    ],
)
def test_marks_of_pymdown_and_python_markdown(content: str, text: str) -> None:
    assert read(content) == text


def test_macros_in_comments_are_read_as_they_are_shown() -> None:
    setting = "#### <!-- md:setting config.lang -->\n\n<!-- md:default `en` -->\n<!-- md:flag new -->\n\nThe language."
    option = "<!-- md:option fee.day -->\n\n:   <!-- md:default none -->\n    The fee.\n\n    - Per day"

    assert read(setting) == "config.lang: Default: `en`\n\nThe language."
    assert read("New since <!-- md:version 9.6.0 -->, twice.") == "New since 9.6.0, twice."
    assert read(option) == "fee.day: Default: none The fee.\n\n- Per day"
    assert read("<!-- A comment -->\n\nText <!-- vale off --> here.") == "Text here."


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<details>\n<summary>Free?</summary>\n\nOn *Sundays*.\n\n- One\n\n</details>\n\nAfter.",
         "Free?: On Sundays.\n\n- One\n\nAfter."),
        ("<details><summary>A</summary>\n\na\n\n<details><summary>B</summary>\n\nb\n\n</details>\n\n</details>\n\nc",
         "A: a\n\nA › B: b\n\nc"),
        ("<details><summary>A</summary>\n\nText.</details>\n\nAfter.", "A: Text.\n\nAfter."),
        ("<div>\n<details>\n<summary>A</summary>\n\na\n\n</details>\n</div>\n\nAfter.", "A: a\n\nAfter."),
        ("<details>\n<summary>A</summary>\n\n## H\n\nh\n\n</details>\n\nAfter.", "A › H: h\n\nAfter."),
        ("</details>\n\na\n\n<details>\n<summary>Never closed</summary>\n\nb", "a\n\nNever closed\n\nb"),
    ],
)  # fmt: skip
def test_details_hold_the_markdown_up_to_their_end(content: str, text: str) -> None:
    assert read(content) == text


def test_the_panes_of_docsy_hold_code_unless_they_say_text() -> None:
    tab = '{{< tab header="Toml" lang="toml" >}}\n  a = 1\n    b = 2\n{{< /tab >}}'
    untyped = tab.replace(' lang="toml"', "")

    code = "Toml:\n\n```\na = 1\n  b = 2\n```"
    assert read(f"{{{{< tabpane >}}}}\n{tab}\n{{{{< /tabpane >}}}}") == code
    assert read(f"{{{{< tabpane >}}}}\n{untyped}\n{{{{< /tabpane >}}}}") == code
    assert read(f"{{{{< tabpane text=true >}}}}\n{tab}\n{{{{< /tabpane >}}}}") == "Toml: a = 1 b = 2"
    empty = '{{< tab header="Formats" disabled=true />}}'
    assert read(f"{{{{< tabpane >}}}}\n{empty}\n{tab}\n{{{{< /tabpane >}}}}") == f"Formats:\n\n{code}"
    pair = '{{% tab header="A" %}}\n```\na\n```\n{{% /tab %}} {{% tab header="B" %}}\n```\nb\n```\n{{% /tab %}}'
    assert read(pair) == "A:\n\n```\na\n```\n\nB:\n\n```\nb\n```"
    assert read('{{% tab header="**English**" lang="en" %}}\nWelcome.\n{{% /tab %}}') == "English: Welcome."


def test_the_blocks_of_gitbook_keep_what_they_show() -> None:
    content = """{% swagger method="get" path="/berths/{id}" summary="A berth" %}
Returns it.
{% swagger-response status="404: Not Found" description="No such berth" %}
{% endswagger-response %}
{% endswagger %}

{% update date="2025-08-01" %}
The crane is new.
{% endupdate %}"""

    text = read(content)

    assert all(part in text for part in ("GET /berths/{id}: A berth", "404: Not Found: No such berth", "2025-08-01:"))
    assert "{%" not in text


def test_code_between_tags_loses_the_indent_of_its_list() -> None:
    content = "1. Step\n\n    {{< code-toggle file=hugo >}}\n    [a]\n      b = 1\n    {{< /code-toggle >}}"

    assert read(content) == "1. Step\n```\n[a]\n  b = 1\n```"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            '<Tabs groupId="os">\n  <TabItem value="a" label="Linux" default>\n\n  Red.\n\n  </TabItem>\n</Tabs>',
            "Linux:\n\nRed.",
        ),
        (
            '<ParamField path="limit" type="integer" default="10" required>\nHow many.\n</ParamField>',
            "limit (integer, default 10, required): How many.",
        ),
        ('<ResponseField name="id" type="string">The boat.</ResponseField>', "id (string): The boat."),
        ('{{< tabs >}}{{< tab "Sail" >}}Red.{{< /tab >}}{{< tab "Oar" >}}Blue.{{< /tab >}}', "Sail: Red. Oar: Blue."),
        ('{{% notice note "Winter" %}}\nClosed.\n{{% /notice %}}', "Winter: Closed."),
        ('The {{< glossary_tooltip text="Pod" term_id="pod" >}} sails. {{< youtube "x1" >}}', "The Pod sails."),
    ],
)
def test_tabs_and_parameters_stand_under_their_names(content: str, text: str) -> None:
    assert read(content, "a.mdx" if content.startswith("<") else "a.md") == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("H~2~O, x~n+1~ and ~~old~~ but ~900 and ~1000~", "H2O, x_(n+1) and but ~900 and ~1000~"),
        ("```sh [npm]\nnpm i\n```", "npm:\n\n```\nnpm i\n```"),
        ("```js [1, 2]\nx[0]\n```", "```\nx[0]\n```"),
        ("A\n\n<<< @/snippets/x.js{2}\n\n{{#include a.rs:2:3}}\n\n{!a.md!}\n\n@[youtube](x1)\n\nB", "A\n\nB"),
    ],
)
def test_signs_of_vitepress_mdbook_and_pandoc(content: str, text: str) -> None:
    assert read(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('<tabs>\n  <tab header="Oil">\n\n  Drain it.\n\n  </tab>\n</tabs>', "Oil: Drain it."),
        ("{% tabs log %}\n{% tab log php %}\nRed.\n{% endtab %}\n{% endtabs %}", "php: Red."),
        ('{{% alert title="Heed" %}}Look up.{{% /alert %}}', "Heed: Look up."),
        ("| A | B |\n|---|---|\n| <ul><li>x</li><li>y</li></ul> | <ul> |", "| A | B |\n| --- | --- |\n| x; y | <ul> |"),
        ("::::{grid} 1 2\n:::{grid-item-card} Fees\nTen.\n:::\n::::", "Fees:\n\nTen."),
        ("# Sail ![](a.png){: .x }\n\nText", "Sail: Text"),
    ],
)
def test_tabs_alerts_and_lists_on_one_line(content: str, text: str) -> None:
    assert read(content) == text
