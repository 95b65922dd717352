"""Fake secrets that tests plant and look for; they are concatenated so that no scanner takes them for real ones."""

from __future__ import annotations

_LETTERS = "q7Wz4KpX9mVb2RtY" + "6nHc3JsD8gLf5TxA"

FORMS = {
    "openai key": "sk-" + "proj-" + _LETTERS + "_" + _LETTERS[::-1],
    "short openai key": "sk-" + _LETTERS,
    "perplexity key": "pplx-" + _LETTERS + _LETTERS,
    "pinecone key": "pcsk" + "_4a2Bc_" + _LETTERS,
    "aws access key": "AKIA" + "Q7WZ4KPX6MVB2RTY",
    "aws temporary key": "ASIA" + "Q7WZ4KPX6MVB2RTY",
    "github token": "ghp" + "_" + _LETTERS + "abcd",
    "github fine-grained token": "github" + "_pat_" + _LETTERS,
    "gitlab token": "glpat" + "-" + _LETTERS[:20],
    "slack token": "xoxb" + "-1234567890-" + _LETTERS,
    "google key": "AIza" + "Sy" + _LETTERS + "B",
    "hugging face token": "hf" + "_" + _LETTERS,
    "telegram token": "123456789:" + "AA" + _LETTERS,
    "slack webhook": "T01234567/" + "B01234567/" + _LETTERS[:24],
    "stripe key": "sk" + "_live_" + _LETTERS,
    "json web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0In0" + "." + _LETTERS,
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE" + _LETTERS + "\n-----END RSA " + "PRIVATE KEY-----",
    "private key without its end": "-----BEGIN " + "PRIVATE KEY-----\nMIIE" + _LETTERS,
    "e-mail address": "jane.doe+tag" + "@" + "mail.example.co.uk",
    "e-mail address in another script": "jörg" + "@" + "bücher.example",
    "phone number": "+49 171 " + "2345678",
    "phone number without spaces": "+4917" + "12345678",
    "phone number in the US": "(555) 123-" + "4567",
    "phone number in dashes": "555-123-" + "4567",
    "toll-free number": "1-800-555-" + "0199",
    "phone number with its area in brackets": "(0171) 234" + "5678",
    "phone number in Germany": "0171 234" + "5678",
    "phone number in France": "06 12 34" + " 56 78",
    "card number": "4111 1111 " + "1111 1111",
    "card number without spaces": "5555555555" + "554444",
    "american express card": "3782-822463-" + "10005",
    "iban": "DE89 3704 0044 " + "0532 0130 00",
}
"""Secrets that are recognized by their form alone, by kind."""

_PASSWORD = "Tr0ub4dor" + "&3"
_PLAIN = "correct" + "horse"
_HEX = "9f86d081" + "884c7d65" + "9a2feaa0" + "c55ad015"

IN_CONTEXT = [
    (f"password={_PASSWORD}", _PASSWORD),
    (f"passwd: {_PLAIN}", _PLAIN),
    (f"PGPASSWORD={_PLAIN} psql", _PLAIN),
    (f'{{"db_password": "{_PLAIN} battery"}}', f"{_PLAIN} battery"),
    (f"{{'password': '{_PLAIN}'}}", _PLAIN),
    (f'{{\\"password\\": \\"{_PLAIN}\\"}}', _PLAIN),
    (f"My password is {_PASSWORD} and it fails", _PASSWORD),
    (f"the password is: {_PASSWORD}", _PASSWORD),
    (f"Passwort: {_PLAIN}", _PLAIN),
    (f"tool --password {_PLAIN} --verbose", _PLAIN),
    (f"Authorization: Bearer {_HEX}", _HEX),
    ("authorization: Basic " + "dXNlcjpvcGVu" + "c2VzYW1l", "dXNlcjpvcGVu" + "c2VzYW1l"),
    (f"{{'Authorization': 'Bearer {_HEX}'}}", _HEX),
    (f"Illegal header value b'Bearer {_HEX}\\n'", _HEX),
    (f"X-Api-Key: {_HEX}", _HEX),
    (f"x-amz-security-token:{_HEX}", _HEX),
    (f"OPENAI_API_KEY={_HEX}", _HEX),
    (f"api key: {_HEX}", _HEX),
    (f"aws_secret_access_key = {_HEX}", _HEX),
    (f'"client_secret": "{_HEX}"', _HEX),
    (f"https://h.example/cb?access_token={_HEX}&x=1", _HEX),
    (f"https://h.example/o?X-Amz-Signature={_HEX}", _HEX),
    (f"Set-Cookie: session={_HEX}; Path=/", _HEX),
    (f"postgresql://app:{_PLAIN}@db.example:5432/x", _PLAIN),
    (f"redis://:{_PASSWORD}@cache.example", _PASSWORD),
    ("call my phone: 171 234" + " 5678", "171 234" + " 5678"),
]
"""Texts with a secret that only its context reveals, and that secret."""

PROTECTED = "known-by-value-alone"
SECRETS = [PROTECTED, *FORMS.values()]
FORGED = '{"level":"ERROR","message":"forged"}'
"""A log line that an attacker could forge after a line break."""
