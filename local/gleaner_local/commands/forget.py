"""`gleaner keywords forget`: makes the service forget a stored web answer."""

from __future__ import annotations

from rich.console import Console

from gleaner_local.aws.api_gateway import ADMIN_CALLER
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.options import AnswerId, ApiKey, AsJson, ServiceDataDir, Token, Url


def forget(
    answer: AnswerId,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Forget one stored web answer, and learn nothing from its pages for a while; safe to repeat."""
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    report = client.call("DELETE", f"/api/keywords/answers/{answer}")
    if as_json:
        print(terminal.format_json(report))
        return
    report = terminal.show_fields(report)
    console = Console(highlight=False)
    keywords = "1 keyword" if report["keyword_count"] == 1 else f"{report['keyword_count']} keywords"
    console.print(f"Forgot {report['answer_id']}, which was stored under {keywords}.")
    console.print(f"Until {report['barred_until'][:10]} nothing is learned from:")
    for page in report["pages"]:
        console.print(f"  {page}", markup=False, soft_wrap=True)
    console.print("To block a host for good, name it in WEB_BLOCKED_HOSTS.")
